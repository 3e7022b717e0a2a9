//! The binding with which Python reads trace files.

use std::collections::BTreeMap;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::formats::strace::{Descriptor, Mapping, Snapshot};
use crate::formats::{Column, FORMATS, Found, Trace, recognise};

/// A column: name, one bit for each value that is there or None if all are, values as int64, and the texts that they number.
type Exported<'py> = (&'static str, Option<Bound<'py, PyBytes>>, Bound<'py, PyBytes>, Option<Vec<Bound<'py, PyBytes>>>);
/// Numbers of things that were found, and the first line of each, by kind.
type Kinds = BTreeMap<&'static str, (u64, u64)>;

/// A reader of one trace. `feed` takes its bytes, and `take` gives the requests that were read.
#[pyclass]
pub struct TraceReader {
    trace: Trace,
}

#[pymethods]
impl TraceReader {
    /// Begins a trace in one of the formats that `trace_formats` lists. Raises `ValueError` for another name.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        let format = FORMATS.iter().find(|known| known.name == name);
        let format = format.ok_or_else(|| PyValueError::new_err("there is no such format"))?;
        Ok(Self { trace: Trace::new(format) })
    }

    /// Takes in a process that ran when the trace began, with its folders, the numbers and names of its threads, and its files.
    #[pyo3(signature = (process, folder, root, threads, files, mappings))]
    fn begin(
        &mut self,
        process: i64,
        folder: Vec<u8>,
        root: Vec<u8>,
        threads: Vec<(i64, Vec<u8>)>,
        files: Vec<Descriptor>,
        mappings: Vec<Mapping>,
    ) {
        self.trace.begin(Snapshot { process, folder, root, threads, files, mappings });
    }

    /// Takes in the size in bytes that a file has at the end of the trace.
    fn size(&mut self, path: &[u8], size: i64) {
        self.trace.size(path, size);
    }

    /// Reads the next part of the trace, which may begin and end within a line. Returns the number of requests that can be taken.
    fn feed(&mut self, py: Python<'_>, part: &[u8]) -> usize {
        py.detach(|| self.trace.feed(part));
        self.trace.output.table.len()
    }

    /// Reads the end of the trace. Returns the number of requests that can be taken.
    fn end(&mut self, py: Python<'_>) -> usize {
        py.detach(|| self.trace.end());
        self.trace.output.table.len()
    }

    /// Takes the requests that have been read. Returns their number, and the columns that have values.
    fn take<'py>(&mut self, py: Python<'py>) -> (usize, Vec<Exported<'py>>) {
        let (rows, columns) = self.trace.output.table.take();
        let columns = columns.into_iter().filter(|column| !column.values.is_empty());
        (rows, columns.map(|column| exported(py, &column)).collect())
    }

    /// Takes the lines that could not be read: number, reason and text of each.
    fn take_rejects<'py>(&mut self, py: Python<'py>) -> Vec<(u64, &'static str, Bound<'py, PyBytes>)> {
        let rejects = std::mem::take(&mut self.trace.output.rejects);
        rejects.into_iter().map(|reject| (reject.line, reject.reason, PyBytes::new(py, &reject.text))).collect()
    }

    /// Number of lines that have been read.
    #[getter]
    fn lines(&self) -> u64 {
        self.trace.output.line
    }

    /// Number of requests that had not ended when the trace ended.
    #[getter]
    fn unfinished(&self) -> u64 {
        self.trace.output.unfinished
    }

    /// Reason why nothing of the trace can be read, or None.
    #[getter]
    fn refusal(&self) -> Option<&'static str> {
        self.trace.output.refusal
    }

    /// Number and first line of the lines that could not be read, by reason.
    #[getter]
    fn rejected(&self) -> Kinds {
        kinds(&self.trace.output.rejected)
    }

    /// Number and first line of the contradictions in the trace, by kind.
    #[getter]
    fn contradictions(&self) -> Kinds {
        kinds(&self.trace.output.contradictions)
    }

    /// Numbers of things that are no requests, by kind.
    #[getter]
    fn skipped(&self) -> BTreeMap<String, u64> {
        self.trace.output.skipped.clone()
    }

    /// Kinds among those of `skipped` that happened and should be requests.
    #[getter]
    fn lacking(&self) -> Vec<String> {
        self.trace.output.lacking.iter().cloned().collect()
    }

    /// Facts about the trace, such as its clock.
    #[getter]
    fn facts(&self) -> BTreeMap<&'static str, String> {
        self.trace.output.facts.clone()
    }
}

fn kinds(found: &BTreeMap<&'static str, Found>) -> Kinds {
    found.iter().map(|(kind, found)| (*kind, (found.count, found.first_line))).collect()
}

fn exported<'py>(py: Python<'py>, column: &Column) -> Exported<'py> {
    let mut bytes = Vec::with_capacity(column.values.len() * size_of::<i64>());
    column.values.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
    let known = column.known.as_ref().map(|bits| PyBytes::new(py, bits));
    let texts = column.texts.as_ref().map(|texts| texts.iter().map(|text| PyBytes::new(py, text)).collect());
    (column.name, known, PyBytes::new(py, &bytes), texts)
}

/// Returns the name, the description and the layer (`syscall` or `block`) of every format.
#[pyfunction]
pub fn trace_formats() -> Vec<(&'static str, &'static str, &'static str)> {
    FORMATS.iter().map(|format| (format.name, format.about, format.level)).collect()
}

/// Returns the names of the formats that fit the first bytes of a trace best. The first one is to be taken.
#[pyfunction]
pub fn recognise_trace(head: &[u8]) -> Vec<&'static str> {
    recognise(head).into_iter().map(|format| format.name).collect()
}
