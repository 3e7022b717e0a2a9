//! The binding with which Python issues replays.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::replay as issuer;

/// Time after which a running replay lets Python look for signals again.
const LOOK: Duration = Duration::from_millis(100);

/// Makes packed requests again, each at its due time, and returns when the last is completed.
///
/// `requests` are records of 40 bytes. `files` has for each file its path, whether it is a folder, and the number of handles on
/// it that are open from the beginning. Writes take their content from `noise`, which must be at least 4096 bytes longer than the
/// longest write. Due times count from a start, which is `lead_ns` after all streams are ready.
///
/// Returns the start in ns of `CLOCK_MONOTONIC`, whether memory was locked, whether all streams had real-time priority, and the
/// packed outcomes of the requests, 24 bytes each. Raises `ValueError` for a record that cannot be parsed, and `OSError` if the
/// replay cannot begin.
#[pyfunction]
#[pyo3(signature = (requests, files, noise, lead_ns))]
pub fn replay<'py>(
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
    let parsed = parsed.filter(|_| rest == 0).ok_or_else(|| PyValueError::new_err("each request is 40 bytes with a known op"))?;
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
