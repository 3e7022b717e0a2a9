//! Python looks for standstills here.

use pyo3::prelude::*;

/// Returns for each core every time in ns that it stood still for more than `over_ns`, within `duration_ns`.
#[pyfunction]
pub fn standstills(py: Python<'_>, cores: Vec<usize>, duration_ns: u64, over_ns: u64) -> Vec<Vec<u64>> {
    py.detach(|| crate::standstill::standstills(&cores, duration_ns, over_ns))
}
