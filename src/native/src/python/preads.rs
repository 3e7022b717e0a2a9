//! The binding with which Python runs the workload that only reads.

use std::path::PathBuf;

use pyo3::prelude::*;

/// Reads `count` blocks of 4 KiB of the cached file at `path`, one after another, and returns the time that they took in ns.
/// Raises `OSError` if the file is shorter than 4 KiB or cannot be read.
#[pyfunction]
pub fn preads(py: Python<'_>, path: PathBuf, count: u64) -> PyResult<u64> {
    Ok(py.detach(|| crate::preads::elapsed_ns(&path, count))?)
}
