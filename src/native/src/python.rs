//! `tickdisk._native`: the emulated device and the replay's issuer for Python, and where all that Python sees is registered.

#![allow(clippy::needless_pass_by_value, reason = "Python's values arrive converted, and owned")]

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::disk::{MountedDisk, Pending};
use crate::engine::{Engine, Setting};
use crate::model::{Model, Op, Parameters, Request};
use crate::replay as issuer;

const NAMES: [&str; 4] = ["read", "write", "flush", "discard"];
/// How often a replay lets Python look for signals.
const LOOK: Duration = Duration::from_millis(100);

/// A disk in memory behind a FUSE mount; it answers at once until `set`.
#[pyclass(frozen)]
struct Disk {
    engine: Arc<Engine<Pending>>,
    mounted: Mutex<MountedDisk>,
}

#[pymethods]
impl Disk {
    /// Mounts the file system at `mount_point`; its one file, `disk`, has `size_bytes` zero bytes.
    #[new]
    #[pyo3(signature = (mount_point, source, size_bytes, log_path=None))]
    fn new(py: Python<'_>, mount_point: PathBuf, source: &str, size_bytes: usize, log_path: Option<PathBuf>) -> PyResult<Self> {
        let mounted = py.detach(|| MountedDisk::mount(&mount_point, source, size_bytes, log_path.as_deref()))?;
        Ok(Self { engine: Arc::clone(&mounted.engine), mounted: Mutex::new(mounted) })
    }

    /// Puts a model in force; returns the setting's number and the `CLOCK_MONOTONIC` time from which it holds.
    #[pyo3(signature = (latency_ns, bandwidth_bytes_per_s, channels, floor_ns, burn_ns))]
    fn set(
        &self,
        latency_ns: [u64; 4],
        bandwidth_bytes_per_s: Option<u64>,
        channels: Option<u32>,
        floor_ns: u64,
        burn_ns: u64,
    ) -> PyResult<(u32, u64)> {
        let parameters = checked(latency_ns, bandwidth_bytes_per_s, channels)?;
        Ok(self.engine.set(Setting { parameters, floor_ns, burn_ns }))
    }

    /// Lets the next request begin a stall of `duration_ns`; returns the `CLOCK_MONOTONIC` time from which it is armed.
    fn stall(&self, duration_ns: u64) -> u64 {
        self.engine.stall_next(duration_ns)
    }

    /// What the device has done, by operation and in total.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = py.detach(|| self.engine.status());
        let (dict, requests, bytes) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        for (op, name) in NAMES.iter().enumerate() {
            requests.set_item(name, status.requests[op])?;
            bytes.set_item(name, status.bytes[op])?;
        }
        dict.set_item("requests", requests)?;
        dict.set_item("bytes", bytes)?;
        dict.set_item("inflight", status.inflight)?;
        dict.set_item("max_inflight", status.max_inflight)?;
        dict.set_item("log_written", status.log_written)?;
        dict.set_item("log_overflow", status.log_lost)?;
        dict.set_item("burn_owed_ns", status.burn_owed_ns)?;
        dict.set_item("floor_ns", status.setting.floor_ns)?;
        dict.set_item("setting", status.number)?;
        dict.set_item("stalls", status.stalls)?;
        Ok(dict)
    }

    /// Whether the mount was taken away.
    fn has_ended(&self, py: Python<'_>) -> bool {
        py.detach(|| self.mounted.lock().expect("no thread panics with the lock").has_ended())
    }

    /// Unmounts if need be, ends the threads and completes the log.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.mounted.lock().expect("no thread panics with the lock").close())?)
    }
}

/// Completions, in ns, that the model gives to requests in the order of their arrival; `ops` index read, write, flush, discard.
#[pyfunction]
#[pyo3(signature = (latency_ns, bandwidth_bytes_per_s, channels, arrivals_ns, ops, lengths))]
fn simulate(
    py: Python<'_>,
    latency_ns: [u64; 4],
    bandwidth_bytes_per_s: Option<u64>,
    channels: Option<u32>,
    arrivals_ns: Vec<u64>,
    ops: Vec<usize>,
    lengths: Vec<u64>,
) -> PyResult<Vec<u64>> {
    if arrivals_ns.len() != ops.len() || ops.len() != lengths.len() || ops.iter().any(|op| *op >= Op::ALL.len()) {
        return Err(PyValueError::new_err("one arrival, one op of 0 to 3 and one length a request"));
    }
    let mut model = Model::new(checked(latency_ns, bandwidth_bytes_per_s, channels)?);
    let requests = arrivals_ns.into_iter().zip(ops).zip(lengths);
    Ok(py.detach(|| {
        requests
            .map(|((arrival_ns, op), length)| {
                model.completion_ns(&Request { arrival_ns, op: Op::ALL[op], offset: 0, length, inflight: 1 })
            })
            .collect()
    }))
}

/// Makes packed requests again; returns when the first was due, whether memory was locked and
/// whether streams had real-time priority, and the packed outcome of each.
///
/// `files` are paths, whether each is a folder, and how many handles on it are open from the beginning.
#[pyfunction]
#[pyo3(signature = (requests, files, noise, lead_ns))]
fn replay<'py>(
    py: Python<'py>,
    requests: &[u8],
    files: Vec<(PathBuf, bool, usize)>,
    noise: &[u8],
    lead_ns: u64,
) -> PyResult<(u64, bool, bool, Bound<'py, PyBytes>)> {
    let chunks = requests.chunks_exact(issuer::REQUEST_BYTES);
    let rest = chunks.remainder().len();
    let parse = |chunk: &[u8]| issuer::Request::parse(chunk.try_into().ok()?);
    let parsed: Option<Vec<_>> = chunks.map(parse).collect();
    let parsed = parsed.filter(|_| rest == 0).ok_or_else(|| PyValueError::new_err("requests are records of 40 bytes"))?;
    let open = |(path, is_folder, handles): (PathBuf, bool, usize)| {
        issuer::File::new(CString::new(path.into_os_string().into_vec())?, is_folder, handles)
    };
    let files = files.into_iter().map(open).collect::<std::io::Result<Vec<_>>>()?;
    let mut running = py.detach(|| issuer::Replay::start(files, noise.to_vec(), &parsed, lead_ns))?;
    while !py.detach(|| running.wait(LOOK)) {
        py.check_signals()?;
    }
    let (start_ns, is_locked, is_real_time) = (running.start_ns, running.is_locked, running.is_real_time);
    let mut log = Vec::with_capacity(parsed.len() * issuer::OUTCOME_BYTES);
    py.detach(|| running.finish()).iter().for_each(|outcome| outcome.append_to(&mut log));
    Ok((start_ns, is_locked, is_real_time, PyBytes::new(py, &log)))
}

/// Time in ns that `count` reads of 4 KiB of a cached file take, one after another.
#[pyfunction]
fn preads(py: Python<'_>, path: PathBuf, count: u64) -> PyResult<u64> {
    Ok(py.detach(|| crate::preads::elapsed_ns(&path, count))?)
}

fn checked(latency_ns: [u64; 4], bandwidth_bytes_per_s: Option<u64>, channels: Option<u32>) -> PyResult<Parameters> {
    if bandwidth_bytes_per_s == Some(0) || channels == Some(0) {
        return Err(PyValueError::new_err("bandwidth and channels are positive, or None for unlimited"));
    }
    Ok(Parameters { latency_ns, bandwidth_bytes_per_s, channels })
}

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Disk, preads, replay, simulate};
    #[pymodule_export]
    use crate::checkpoint::python::{KnightsAndArchers, Updates};
}
