//! Python runs the micro-workload of reads here.

use std::path::PathBuf;

use pyo3::prelude::*;

/// Time in ns that `count` reads of 4 KiB of a cached file take, one after another.
#[pyfunction]
pub fn preads(py: Python<'_>, path: PathBuf, count: u64) -> PyResult<u64> {
    Ok(py.detach(|| crate::preads::elapsed_ns(&path, count))?)
}
