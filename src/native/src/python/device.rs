//! The bindings with which Python mounts the emulated device and runs its model in simulated time.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrivals::{Arrivals, Tracepoint};
use crate::disk::Pending;
use crate::engine::{Engine, Setting};
use crate::model::{Model, Op, Parameters, Request, closed_loop};
use crate::mounted::Mounted;
use crate::order::Needs;
use crate::realtime;
use crate::streams::{self, Step};

const NAMES: [&str; 4] = ["read", "write", "flush", "discard"];

/// A device behind a FUSE mount, which is one file in memory or a tree of files. It answers at once until `set` is called.
#[pyclass(frozen)]
pub struct Disk {
    engine: Arc<Engine<Pending>>,
    is_real_time: bool,
    mounted: Mutex<Mounted>,
}

impl From<Mounted> for Disk {
    fn from(mounted: Mounted) -> Self {
        Self { engine: Arc::clone(&mounted.engine), is_real_time: mounted.is_real_time, mounted: Mutex::new(mounted) }
    }
}

#[pymethods]
impl Disk {
    /// Mounts a file system at `mount_point` whose one file, `disk`, has `size_bytes` zero bytes.
    ///
    /// The kernel lists the mount as `source`. The device's log is written to `log_path`, or not kept if that is None. Only a
    /// `volatile` device can be `cut`. Raises `OSError` if the file system cannot be mounted.
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
        let mounted = py.detach(|| Mounted::disk(&mount_point, source, size_bytes, log_path.as_deref(), volatile))?;
        Ok(mounted.into())
    }

    /// Mounts a file system at `mount_point` that passes everything on to `folder`, below the kernel's write-back cache.
    ///
    /// The kernel lists the mount as `source`. The device's log is written to `log_path`, or not kept if that is None. Returns
    /// the device. Raises `OSError` if the file system cannot be mounted.
    #[staticmethod]
    #[pyo3(signature = (mount_point, source, folder, log_path=None))]
    fn tree(py: Python<'_>, mount_point: PathBuf, source: &str, folder: PathBuf, log_path: Option<PathBuf>) -> PyResult<Self> {
        Ok(py.detach(|| Mounted::tree(&mount_point, source, &folder, log_path.as_deref()))?.into())
    }

    /// Takes the arrival times of requests from the kernel from now on, for the block device with the numbers `major` and
    /// `minor`.
    ///
    /// `issue` describes the tracepoint `block:block_rq_issue` with four numbers: its own number, and the places in bytes at
    /// which its record has the device, the first sector and the number of sectors. Raises `OSError` if the kernel gives no
    /// times. Requests then arrive when they are taken.
    fn watch(&self, py: Python<'_>, major: u32, minor: u32, issue: [u64; 4]) -> PyResult<()> {
        let issue = Tracepoint::try_from(issue)?;
        py.detach(|| {
            realtime::with(|| self.engine.watch(None));
            let arrivals = Arrivals::watch(issue, major << 20 | minor)?;
            realtime::with(|| self.engine.watch(Some(arrivals)));
            Ok(())
        })
    }

    /// Lets the kernel forget the pages of a tree's files. Data that is not yet written stays.
    fn cool(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.mounted.lock().cool())?)
    }

    /// Puts the model with these `parameters` in force, at rest.
    ///
    /// Replies are sent `floor_ns` earlier than the model says, and `burn_ns` of CPU time are burned for each request. Returns
    /// the setting's number and the `CLOCK_MONOTONIC` time in ns from which it holds.
    fn set(&self, parameters: Parameters, floor_ns: u64, burn_ns: u64) -> (u32, u64) {
        realtime::with(|| self.engine.set(parameters, Setting { floor_ns, burn_ns }))
    }

    /// Lets the next request begin a stall of `duration_ns`. Returns the `CLOCK_MONOTONIC` time in ns from which the stall is
    /// armed.
    fn stall(&self, duration_ns: u64) -> u64 {
        realtime::with(|| self.engine.stall_next(duration_ns))
    }

    /// Cuts the power of a volatile device.
    ///
    /// Unflushed data is lost, except for versions of pages, of which each survives with probability `keep_share`, drawn with
    /// `seed`. Programs that had the disk open get errors. The device answers at once until `power_on`. Returns a dict with the
    /// numbers of versions that were lost and that survived (`pages_dropped`, `pages_kept`), the number of `requests_failed`, and
    /// the `CLOCK_MONOTONIC` time of the cut in ns (`cut_ns`). Raises `ValueError` if `keep_share` is not from 0 to 1 or the
    /// device is not volatile.
    fn cut<'py>(&self, py: Python<'py>, keep_share: f64, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        check_share(keep_share)?;
        let cut = py.detach(|| realtime::with(|| self.engine.cut(keep_share, seed))).ok_or_else(not_volatile)?;
        let dict = PyDict::new(py);
        dict.set_item("pages_dropped", cut.versions.dropped)?;
        dict.set_item("pages_kept", cut.versions.kept)?;
        dict.set_item("requests_failed", cut.requests_failed)?;
        dict.set_item("cut_ns", cut.at_ns)?;
        Ok(dict)
    }

    /// Writes into the empty file at `path` the disk as a `cut` now would leave it, while the device goes on.
    ///
    /// Pages of zeroes are holes. Returns a dict with the numbers of versions that the cut would drop and keep (`pages_dropped`,
    /// `pages_kept`), the `CLOCK_MONOTONIC` time of the cut in ns (`cut_ns`), and the time in ns for which changes of the disk
    /// waited then (`held_ns`). Raises `ValueError` if `keep_share` is not from 0 to 1 or the device is not volatile, and
    /// `OSError` if the file does not exist or cannot be written.
    fn image<'py>(&self, py: Python<'py>, path: PathBuf, keep_share: f64, seed: u64) -> PyResult<Bound<'py, PyDict>> {
        check_share(keep_share)?;
        let image = py.detach(|| {
            let file = File::options().write(true).open(path)?;
            self.engine.image(&file, keep_share, seed).transpose()
        });
        let image = image?.ok_or_else(not_volatile)?;
        let dict = PyDict::new(py);
        dict.set_item("pages_dropped", image.versions.dropped)?;
        dict.set_item("pages_kept", image.versions.kept)?;
        dict.set_item("cut_ns", image.at_ns)?;
        dict.set_item("held_ns", image.held_ns)?;
        Ok(dict)
    }

    /// Replaces the content of the disk, which nobody may use, by the image in the file at `path`.
    ///
    /// The device answers at once until `power_on`. Raises `OSError` if the file cannot be read or has another size than the
    /// disk.
    fn load(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.engine.load(&File::open(path)?))?;
        Ok(())
    }

    /// Puts the device that was last set in force again, at rest. Returns the setting's number and the `CLOCK_MONOTONIC` time in
    /// ns from which it holds.
    fn power_on(&self) -> (u32, u64) {
        realtime::with(|| self.engine.power_on())
    }

    /// Returns a dict with the counts of what the device has done, by operation and in total, and with the setting in force.
    ///
    /// `stamped` counts requests for which the kernel said when it issued them. `log_overflow` counts answered requests without a
    /// record in the log. `stalls` has the begin and end of every ordered stall. Times are in ns.
    fn status<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let status = py.detach(|| realtime::with(|| self.engine.status()));
        let (dict, requests, bytes) = (PyDict::new(py), PyDict::new(py), PyDict::new(py));
        for (op, name) in NAMES.iter().enumerate() {
            requests.set_item(name, status.requests[op])?;
            bytes.set_item(name, status.bytes[op])?;
        }
        dict.set_item("requests", requests)?;
        dict.set_item("bytes", bytes)?;
        dict.set_item("inflight", status.inflight)?;
        dict.set_item("max_inflight", status.max_inflight)?;
        dict.set_item("stamped", status.stamped)?;
        dict.set_item("log_written", status.log_written)?;
        dict.set_item("log_overflow", status.log_lost)?;
        dict.set_item("burn_owed_ns", status.burn_owed_ns)?;
        dict.set_item("floor_ns", status.setting.floor_ns)?;
        dict.set_item("setting", status.number)?;
        dict.set_item("stalls", status.stalls)?;
        dict.set_item("real_time", self.is_real_time)?;
        dict.set_item("requests_failed", status.failed)?;
        dict.set_item("unflushed_pages", status.unflushed_pages)?;
        Ok(dict)
    }

    /// Returns whether the file system was unmounted or its connection aborted.
    fn has_ended(&self, py: Python<'_>) -> bool {
        py.detach(|| self.mounted.lock().has_ended())
    }

    /// Unmounts the file system if it is still mounted, ends the device's threads and completes the log. Raises `OSError` if that
    /// fails.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.mounted.lock().close())?)
    }
}

fn check_share(keep_share: f64) -> PyResult<()> {
    let is_share = (0.0..=1.0).contains(&keep_share);
    is_share.then_some(()).ok_or_else(|| PyValueError::new_err(format!("a share of {keep_share} is not from 0 to 1")))
}

fn not_volatile() -> PyErr {
    PyValueError::new_err("the device is not volatile, so it has nothing to lose")
}

/// Computes when the model with these `parameters` completes each request, and writes these times in ns into `completions_ns`.
///
/// The four `columns` are arrivals in ns, operations (indices of read, write, flush, discard), offsets in bytes and lengths in
/// bytes, in the order of arrival. Each of the `stalls` is a time and a duration in ns, in order of time. A stall begins with the
/// first request from its time on. Raises `ValueError` if the columns differ in length or a request is not possible.
#[pyfunction]
pub fn simulate(
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
        return Err(PyValueError::new_err("every column must have a row for each request"));
    }
    let mut stalls = stalls.into_iter().peekable();
    let simulated = py.detach(|| {
        let (mut model, mut last_ns) = (Model::new(parameters), 0);
        for (number, (((time_ns, op), offset), length)) in times_ns.iter_mut().zip(ops).zip(offsets).zip(lengths).enumerate() {
            let op = usize::try_from(op).ok().and_then(|op| Op::ALL.get(op));
            let (Ok(arrival_ns), Some(op), Ok(offset), Ok(length)) =
                (u64::try_from(*time_ns), op, offset.try_into(), length.try_into())
            else {
                return Err(format!("request {number}: times, offsets and lengths must be at least 0, and ops 0 to 3"));
            };
            if arrival_ns < last_ns {
                return Err(format!("request {number} arrives before the request that precedes it"));
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

/// Computes a closed loop, and writes arrivals and completions in ns into the two arrays of `times_ns`, in the order of arrival.
///
/// The first `depth` requests arrive at 0, and each later request arrives when the earliest request in flight completes. The
/// three `columns` are operations (indices of read, write, flush, discard), offsets in bytes and lengths in bytes. Raises
/// `ValueError` if `depth` is 0, the columns differ in length, or a request is not possible.
#[pyfunction]
pub fn simulate_closed(
    py: Python<'_>,
    parameters: Parameters,
    depth: usize,
    columns: [PyBuffer<i64>; 3],
    times_ns: [PyBuffer<i64>; 2],
) -> PyResult<()> {
    let [ops, offsets, lengths] = columns;
    let (ops, offsets, lengths) = (ops.to_vec(py)?, offsets.to_vec(py)?, lengths.to_vec(py)?);
    if depth == 0 || [offsets.len(), lengths.len()] != [ops.len(); 2] {
        return Err(PyValueError::new_err("the depth must be at least 1, and every column must have a row for each request"));
    }
    let parse = |((op, offset), length): ((i64, i64), i64)| {
        let op = usize::try_from(op).ok().and_then(|op| Op::ALL.get(op));
        Some((*op?, u64::try_from(offset).ok()?, u64::try_from(length).ok()?))
    };
    let requests: Option<Vec<_>> = ops.into_iter().zip(offsets).zip(lengths).map(parse).collect();
    let requests = requests.ok_or_else(|| PyValueError::new_err("offsets and lengths must be at least 0, and ops 0 to 3"))?;
    let made = py.detach(|| closed_loop(&mut Model::new(parameters), depth, requests.into_iter()));
    let column = |times: &mut dyn Iterator<Item = u64>| times.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)).collect::<Vec<_>>();
    let [arrivals_ns, completions_ns] = times_ns;
    arrivals_ns.copy_from_slice(py, &column(&mut made.iter().map(|(arrival_ns, _)| *arrival_ns)))?;
    completions_ns.copy_from_slice(py, &column(&mut made.iter().map(|(_, done_ns)| *done_ns)))
}

/// Runs streams in simulated time, and writes when each step was issued and completed, in ns, into the two arrays of `times_ns`.
///
/// The three arrays of `steps` are the number of the step's stream, its due time in ns and the number of its requests. The three
/// arrays of `requests` are operations (indices of read, write, flush, discard), offsets in bytes and lengths in bytes, in the
/// order of the steps. `needs` are packed as `order_calls` returns them, with steps as calls. If `is_closed`, a due time counts from
/// the moment at which its step has nothing more to wait for. Raises `ValueError` if a number is negative, an operation is unknown,
/// the requests do not match the steps, or a step needs one that is not before it.
#[pyfunction]
pub fn simulate_streams(
    py: Python<'_>,
    parameters: Parameters,
    steps: [PyBuffer<i64>; 3],
    requests: [PyBuffer<i64>; 3],
    needs: &[u8],
    is_closed: bool,
    times_ns: [PyBuffer<i64>; 2],
) -> PyResult<()> {
    let [issued_ns, completed_ns] = times_ns;
    let wrong = || PyValueError::new_err("numbers must be at least 0, ops 0 to 3, and every request must belong to a step");
    let [streams, dues, counts] = steps;
    let (streams, dues, counts) = (streams.to_vec(py)?, dues.to_vec(py)?, counts.to_vec(py)?);
    let step = |((stream, due), count): ((&i64, &i64), &i64)| {
        let (stream, requests) = (u32::try_from(*stream).ok()?, usize::try_from(*count).ok()?);
        ((stream as usize) < streams.len()).then_some(Step { stream, due_ns: u64::try_from(*due).ok()?, requests })
    };
    let steps: Option<Vec<_>> = streams.iter().zip(&dues).zip(&counts).map(step).collect();
    let [ops, offsets, lengths] = requests;
    let (ops, offsets, lengths) = (ops.to_vec(py)?, offsets.to_vec(py)?, lengths.to_vec(py)?);
    let request = |((op, offset), length): ((&i64, &i64), &i64)| {
        let op = *Op::ALL.get(usize::try_from(*op).ok()?)?;
        Some((op, u64::try_from(*offset).ok()?, u64::try_from(*length).ok()?))
    };
    let requests: Option<Vec<_>> = ops.iter().zip(&offsets).zip(&lengths).map(request).collect();
    let (steps, requests) = (steps.ok_or_else(wrong)?, requests.ok_or_else(wrong)?);
    let counted = steps.iter().try_fold(0_usize, |sum, step| sum.checked_add(step.requests));
    if counted != Some(requests.len()) || [dues.len(), counts.len()] != [streams.len(); 2] {
        return Err(wrong());
    }
    let streams: Vec<u32> = steps.iter().map(|step| step.stream).collect();
    let needs = Needs::unpack(needs, &streams).ok_or_else(|| PyValueError::new_err("a step needs one that is not before it"))?;
    let outcomes = py.detach(|| streams::simulate(Model::new(parameters), &steps, &requests, &needs, is_closed));
    let column = |which: fn(&(u64, u64)) -> u64| -> Vec<i64> {
        outcomes.iter().map(|outcome| i64::try_from(which(outcome)).unwrap_or(i64::MAX)).collect()
    };
    issued_ns.copy_from_slice(py, &column(|outcome| outcome.0))?;
    completed_ns.copy_from_slice(py, &column(|outcome| outcome.1))
}
