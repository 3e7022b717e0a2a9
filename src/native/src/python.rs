//! The Python module `tickdisk._native`. The bindings of each part are in a file of their own, so that a change to one part is
//! not a change to another.

#![allow(clippy::needless_pass_by_value, reason = "Python's values arrive converted, and owned")]

mod device;
mod formats;
mod pools;
mod preads;
mod replay;
mod reuse;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::device::{Disk, simulate, simulate_closed, simulate_streams};
    #[pymodule_export]
    use super::formats::{TraceReader, recognise_trace, trace_formats};
    #[pymodule_export]
    use super::pools::{complete_workload, find_dependencies, run_pool};
    #[pymodule_export]
    use super::preads::preads;
    #[pymodule_export]
    use super::replay::{order_calls, replay};
    #[pymodule_export]
    use super::reuse::reuse_distances;
    #[pymodule_export]
    use crate::checkpoint::python::{KnightsAndArchers, Updates};
    #[pymodule_export]
    use crate::checkpoint::store_python::{World, store_live, store_look, store_micro, store_recover, store_verify};
}
