//! `tickdisk._native`: the emulated device and the replay's issuer for Python.

#![allow(clippy::needless_pass_by_value, reason = "Python's values arrive converted, and owned")]

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::buffer::PyBuffer;
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
    #[pyo3(signature = (mount_point, source, size_bytes, log_path=None, volatile=false))]
    fn new(
        py: Python<'_>,
        mount_point: PathBuf,
        source: &str,
        size_bytes: usize,
        log_path: Option<PathBuf>,
        volatile: bool,
    ) -> PyResult<Self> {
        let mounted = py.detach(|| MountedDisk::mount(&mount_point, source, size_bytes, log_path.as_deref(), volatile))?;
        Ok(Self { engine: Arc::clone(&mounted.engine), mounted: Mutex::new(mounted) })
    }

    /// Puts a model in force; returns the setting's number and the `CLOCK_MONOTONIC` time from which it holds.
    fn set(&self, parameters: Parameters, floor_ns: u64, burn_ns: u64) -> (u32, u64) {
        self.engine.set(parameters, Setting { floor_ns, burn_ns })
    }

    /// Lets the next request begin a stall of `duration_ns`; returns the `CLOCK_MONOTONIC` time from which it is armed.
    fn stall(&self, duration_ns: u64) -> u64 {
        self.engine.stall_next(duration_ns)
    }

    /// Cuts the power: what was not flushed is gone, who had the disk open gets errors. It answers at once until `power_on`.
    fn cut<'py>(&self, py: Python<'py>, keep_share: f64, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        if !(0.0..=1.0).contains(&keep_share) {
            return Err(PyValueError::new_err(format!("a share of {keep_share} is not from 0 to 1")));
        }
        let cut = py.detach(|| self.engine.cut(keep_share, seed));
        let cut = cut.ok_or_else(|| PyValueError::new_err("the device is not volatile, it has nothing to lose"))?;
        let dict = PyDict::new(py);
        dict.set_item("pages_dropped", cut.versions.dropped)?;
        dict.set_item("pages_kept", cut.versions.kept)?;
        dict.set_item("requests_failed", cut.requests_failed)?;
        dict.set_item("cut_ns", cut.at_ns)?;
        Ok(dict)
    }

    /// Puts the device that was last set in force again; returns the setting's number and the time from which it holds.
    fn power_on(&self) -> (u32, u64) {
        self.engine.power_on()
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
        dict.set_item("requests_failed", status.failed)?;
        dict.set_item("unflushed_pages", status.unflushed_pages)?;
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

/// Writes the completions that the model gives to requests, in the order of their arrival, into `completions_ns`. Columns:
/// arrivals in ns, ops (indices of read, write, flush, discard), offsets, lengths. Each of the `stalls` (time and duration, in
/// order) begins with the first request from its time on.
#[pyfunction]
fn simulate(
    py: Python<'_>,
    parameters: Parameters,
    columns: [PyBuffer<i64>; 4],
    completions_ns: PyBuffer<i64>,
    stalls: Vec<[u64; 2]>,
) -> PyResult<()> {
    let [arrivals, ops, offsets, lengths] = columns;
    let mut times_ns = arrivals.to_vec(py)?;
    let (ops, offsets, lengths) = (ops.to_vec(py)?, offsets.to_vec(py)?, lengths.to_vec(py)?);
    if [ops.len(), offsets.len(), lengths.len()] != [times_ns.len(); 3] {
        return Err(PyValueError::new_err("every column has a row for each request"));
    }
    let mut stalls = stalls.into_iter().peekable();
    let simulated = py.detach(|| {
        let (mut model, mut last_ns) = (Model::new(parameters), 0);
        for (number, (((time_ns, op), offset), length)) in times_ns.iter_mut().zip(ops).zip(offsets).zip(lengths).enumerate() {
            let op = usize::try_from(op).ok().and_then(|op| Op::ALL.get(op));
            let (Ok(arrival_ns), Some(op), Ok(offset), Ok(length)) =
                (u64::try_from(*time_ns), op, offset.try_into(), length.try_into())
            else {
                return Err(format!("request {number}: times, offsets and lengths are not negative, ops 0 to 3"));
            };
            if arrival_ns < last_ns {
                return Err(format!("request {number} arrives before the one that precedes it"));
            }
            last_ns = arrival_ns;
            while let Some([_, duration_ns]) = stalls.next_if(|[from_ns, _]| *from_ns <= arrival_ns) {
                model.stall_next(duration_ns);
            }
            let done_ns = model.completion_ns(&Request { arrival_ns, op: *op, offset, length });
            *time_ns = i64::try_from(done_ns).unwrap_or(i64::MAX);
        }
        Ok(())
    });
    simulated.map_err(PyValueError::new_err)?;
    completions_ns.copy_from_slice(py, &times_ns)
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

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::{Disk, preads, replay, simulate};
}
