//! The binding with which Python issues replays.

use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::order::{Call, Kind, Needs, order};
use crate::replay as issuer;

/// Time after which a running replay lets Python look for signals again.
const LOOK: Duration = Duration::from_millis(100);

/// Finds which calls must wait for calls of other streams, so that a replay keeps the order of a trace. Returns packed needs.
///
/// The six `columns` are the bytes of arrays of int64, with a row for each call in the order of the begins: begin and end in ns
/// (the end is -1 if it is not known), stream, kind (0 for a read or write, 1 for a call that changes the life of its file, 2 for
/// a sync of a file, 3 for a call that concerns many files), file, and the new name of a rename (otherwise the same file). Raises
/// `ValueError` if they do not agree.
#[pyfunction]
pub fn order_calls<'py>(py: Python<'py>, columns: [Bound<'py, PyBytes>; 6], is_strict: bool) -> PyResult<Bound<'py, PyBytes>> {
    let columns = columns.map(|column| {
        let words = column.as_bytes().chunks_exact(8);
        words.map(|word| i64::from_le_bytes(word.try_into().expect("a word has 8 bytes"))).collect::<Vec<_>>()
    });
    let parse = |row: usize| {
        let [begin, end, stream, kind, file, other] = std::array::from_fn(|column| columns[column].get(row).copied());
        let short = |value: Option<i64>| u32::try_from(value?).ok();
        Some(Call {
            begin_ns: u64::try_from(begin?).ok()?,
            end_ns: u64::try_from(end?).ok(),
            stream: short(stream)?,
            kind: *Kind::ALL.get(usize::try_from(kind?).ok()?)?,
            file: short(file)?,
            other: short(other)?,
        })
    };
    let calls: Option<Vec<_>> = (0..columns[0].len()).map(parse).collect();
    let calls = calls.filter(|calls| calls.is_sorted_by_key(|call| call.begin_ns));
    let calls = calls.ok_or_else(|| PyValueError::new_err("calls must have six columns, and be in the order of their begins"))?;
    let found = py.detach(|| order(&calls, is_strict));
    Ok(PyBytes::new(py, &found.into_iter().flat_map(|(call, need)| need.pack(call)).collect::<Vec<_>>()))
}

/// Makes packed requests again, each at its due time, and returns when the last is completed.
///
/// `requests` are records of 48 bytes. `files` has for each file its path, whether it is a folder, and the number of handles on
/// it that are open from the beginning. Writes take their content from `noise`, which must be at least 4096 bytes longer than the
/// longest write. Due times count from a start, which is `lead_ns` after all streams are ready. `needs` are as `order_calls` returns
/// them. If `is_closed`, a due time counts from the moment at which its request has nothing more to wait for.
///
/// Returns the start in ns of `CLOCK_MONOTONIC`, whether memory was locked, whether all streams had real-time priority, and the
/// packed outcomes of the requests, 24 bytes each. Raises `ValueError` for a record or need that cannot be parsed, and `OSError` if
/// the replay cannot begin.
#[pyfunction]
pub fn replay<'py>(
    py: Python<'py>,
    requests: &[u8],
    files: Vec<(PathBuf, bool, usize)>,
    noise: &[u8],
    lead_ns: u64,
    needs: &[u8],
    is_closed: bool,
) -> PyResult<(u64, bool, bool, Bound<'py, PyBytes>)> {
    let chunks = requests.chunks_exact(issuer::REQUEST_BYTES);
    let rest = chunks.remainder().len();
    let parse = |chunk: &[u8]| issuer::Request::parse(chunk.try_into().ok()?);
    let parsed: Option<Vec<_>> = chunks.map(parse).collect();
    let parsed = parsed.filter(|_| rest == 0).ok_or_else(|| PyValueError::new_err("each request is 48 bytes with a known op"))?;
    let open = |(path, is_folder, handles): (PathBuf, bool, usize)| {
        issuer::File::new(CString::new(path.into_os_string().into_vec())?, is_folder, handles)
    };
    let files = files.into_iter().map(open).collect::<std::io::Result<Vec<_>>>()?;
    let streams: Vec<u32> = parsed.iter().map(|request| request.stream).collect();
    let needs =
        Needs::unpack(needs, &streams).ok_or_else(|| PyValueError::new_err("a request needs one that is not before it"))?;
    let mut log = Vec::with_capacity(parsed.len() * issuer::OUTCOME_BYTES);
    let work = issuer::Work { files, noise: noise.to_vec(), requests: parsed, needs, is_closed };
    let mut running = py.detach(|| issuer::Replay::start(work, lead_ns))?;
    while !py.detach(|| running.wait(LOOK)) {
        py.check_signals()?;
    }
    let (start_ns, is_locked, is_real_time) = (running.start_ns, running.is_locked, running.is_real_time);
    py.detach(|| running.finish()).iter().for_each(|outcome| outcome.append_to(&mut log));
    Ok((start_ns, is_locked, is_real_time, PyBytes::new(py, &log)))
}
