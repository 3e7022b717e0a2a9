//! The table of requests that readers fill. A value that a trace does not have is missing, and never 0.

use rustc_hash::FxHashMap;
use std::sync::Arc;

const SECTOR_BYTES: i64 = 512;
const NS_PER_DAY: i64 = 86_400_000_000_000;
const NS_PER_CENTURY: u64 = 36_525 * 86_400_000_000_000;
/// Number of bytes that a call or a request to a block device does not exceed. Requests to devices are much smaller in fact.
const LARGEST_CALL: i64 = (1 << 32) - 1;
const LARGEST_BLOCK: i64 = 1 << 30;

/// One request of a trace. Times are in ns of the trace's own clock, and places and lengths in bytes.
///
/// Each field is a column of the requests table, which `docs/data.md` describes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row<'a> {
    /// Kind of request, or an empty text if the trace does not tell it.
    pub op: &'a [u8],
    /// Name of the system call.
    pub call: Option<&'a [u8]>,
    /// Beginning of the call, or time at which the request was issued to the device.
    pub start_ns: Option<i64>,
    pub latency_ns: Option<i64>,
    /// Time for which the request had been in a queue before it was issued to the device.
    pub queued_ns: Option<i64>,
    pub thread: Option<i64>,
    pub thread_name: Option<&'a [u8]>,
    pub process: Option<i64>,
    pub volume: Option<&'a [u8]>,
    pub file: Option<&'a [u8]>,
    /// New name of a renamed or linked file, or the path to which a symbolic link leads.
    pub renamed: Option<&'a [u8]>,
    pub offset: Option<i64>,
    pub length: Option<i64>,
    /// Flags of an open, a rename or a link, or the mode of a fallocate.
    pub flags: Option<i64>,
    pub result: Option<i64>,
    pub errno: Option<i64>,
    /// How a read or a write asks to be stored.
    pub storing: Option<&'a [u8]>,
}

/// A column of integers, in which values may be missing.
#[derive(Default)]
pub struct Integers {
    values: Vec<i64>,
    /// One bit for each value that is there. It is empty as long as none is missing.
    known: Vec<u8>,
}

/// A column of texts. Each different text is kept once.
#[derive(Default)]
pub struct Texts {
    codes: Integers,
    numbers: FxHashMap<Arc<[u8]>, usize>,
    known: Vec<Arc<[u8]>>,
    /// The two texts that came last, the last one first. Texts such as `read` and `write` come in turn.
    last: [usize; 2],
}

/// The requests that a reader has read and that have not been taken yet.
#[derive(Default)]
pub struct Table {
    /// Number of requests that were taken before.
    taken: usize,
    rows: usize,
    integers: [Integers; Self::INTEGERS.len()],
    texts: [Texts; Self::TEXTS.len()],
}

/// The values of one column, as Arrow lays them out. All values are missing if `values` is empty.
pub struct Column {
    pub name: &'static str,
    /// One bit for each value that is there, or `None` if all are there.
    pub known: Option<Vec<u8>>,
    pub values: Vec<i64>,
    /// For a column of texts, the texts that the values number from 0.
    pub texts: Option<Vec<Arc<[u8]>>>,
}

impl Integers {
    /// Puts a value into the row `row`. Rows between the last one and this one get no value.
    fn put(&mut self, row: usize, value: i64) {
        self.pad(row);
        if !self.known.is_empty() {
            set_bit(&mut self.known, row);
        }
        self.values.push(value);
    }

    fn pad(&mut self, rows: usize) {
        let before = self.values.len();
        if before < rows {
            if self.known.is_empty() {
                (0..before).for_each(|row| set_bit(&mut self.known, row));
            }
            self.known.resize(rows / 8 + 1, 0);
            self.values.resize(rows, 0);
        }
    }

    fn get(&self, row: usize) -> Option<i64> {
        let is_known = self.known.is_empty() || self.known.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        self.values.get(row).copied().filter(|_| is_known)
    }

    fn take(&mut self, rows: usize) -> (Option<Vec<u8>>, Vec<i64>) {
        if self.values.is_empty() {
            return (None, Vec::new());
        }
        self.pad(rows);
        let known = std::mem::take(&mut self.known);
        (Some(known).filter(|known| !known.is_empty()), std::mem::take(&mut self.values))
    }
}

fn set_bit(bits: &mut Vec<u8>, at: usize) {
    if bits.len() <= at / 8 {
        bits.resize(at / 8 + 1, 0);
    }
    bits[at / 8] |= 1 << (at % 8);
}

impl Texts {
    fn put(&mut self, row: usize, text: &[u8]) {
        let is_text = |known: &Vec<Arc<[u8]>>, at: usize| known.get(at).is_some_and(|last| **last == *text);
        if !is_text(&self.known, self.last[0]) {
            let next = if is_text(&self.known, self.last[1]) { self.last[1] } else { self.code_of(text) };
            self.last = [next, self.last[0]];
        }
        self.codes.put(row, index(self.last[0]));
    }

    fn code_of(&mut self, text: &[u8]) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let kept: Arc<[u8]> = text.into();
        self.numbers.insert(Arc::clone(&kept), self.known.len());
        self.known.push(kept);
        self.known.len() - 1
    }

    /// Takes the codes of all rows.
    fn take(&mut self, rows: usize) -> (Option<Vec<u8>>, Vec<i64>) {
        self.numbers.clear();
        self.codes.take(rows)
    }
}

fn index(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

impl Table {
    const INTEGERS: [&str; 10] =
        ["start_ns", "latency_ns", "queued_ns", "thread", "process", "offset", "length", "flags", "result", "errno"];
    const TEXTS: [&str; 7] = ["op", "call", "thread_name", "volume", "file", "renamed", "storing"];
    const START: usize = 0;
    const LATENCY: usize = 1;
    const OFFSET: usize = 5;
    const LENGTH: usize = 6;

    /// Adds a request and returns its number, which counts all requests of the trace from 0.
    #[expect(
        clippy::inline_always,
        reason = "a reader's own copy leaves out the columns that its format never has: a tenth of its time"
    )]
    #[inline(always)]
    pub fn push(&mut self, row: &Row) -> usize {
        let integers = [
            row.start_ns,
            row.latency_ns,
            row.queued_ns,
            row.thread,
            row.process,
            row.offset,
            row.length,
            row.flags,
            row.result,
            row.errno,
        ];
        for (column, value) in self.integers.iter_mut().zip(integers) {
            if let Some(value) = value {
                column.put(self.rows, value);
            }
        }
        let op = Some(row.op).filter(|op| !op.is_empty());
        let texts = [op, row.call, row.thread_name, row.volume, row.file, row.renamed, row.storing];
        for (column, value) in self.texts.iter_mut().zip(texts) {
            if let Some(value) = value {
                column.put(self.rows, value);
            }
        }
        self.rows += 1;
        self.taken + self.rows - 1
    }

    /// Fills in the offset of a request of which it was not known, unless the request has been taken already.
    pub fn fill_in_offset(&mut self, request: usize, offset: i64) -> bool {
        let Some(row) = request.checked_sub(self.taken).filter(|row| *row < self.rows) else { return false };
        let column = &mut self.integers[Self::OFFSET];
        column.pad(self.rows);
        if column.get(row).is_none() {
            column.values[row] = offset;
            set_bit(&mut column.known, row);
        }
        true
    }

    /// Returns how many of the requests that have not been taken have values that no request has.
    ///
    /// Their times lie more than a century after the first one's, they took longer than a day, or they read or wrote more bytes
    /// than a request can, or, on a block device, no whole sectors.
    pub fn implausible(&self, level: &str) -> u64 {
        let first_ns = self.integers[Self::START].get(0);
        let (most, unit) = if level == "block" { (LARGEST_BLOCK, SECTOR_BYTES) } else { (LARGEST_CALL, 1) };
        let is_wrong = |row: &usize| {
            let [start_ns, latency_ns, length] = [Self::START, Self::LATENCY, Self::LENGTH].map(|at| self.integers[at].get(*row));
            let op = self.texts[0].codes.get(*row).and_then(|code| self.texts[0].known.get(usize::try_from(code).ok()?));
            let moves = op.is_some_and(|op| matches!(&**op, b"read" | b"write"));
            let is_sized = |length: i64| (0..=most).contains(&length) && length % unit == 0 && (length > 0 || unit == 1);
            start_ns.zip(first_ns).is_some_and(|(ns, first)| ns.abs_diff(first) > NS_PER_CENTURY)
                || latency_ns.is_some_and(|ns| !(0..=NS_PER_DAY).contains(&ns))
                || moves && length.is_some_and(|length| !is_sized(length))
        };
        (0..self.rows).filter(is_wrong).count() as u64
    }

    /// Returns the number of requests that have not been taken.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Takes all requests out of the table, column by column.
    pub fn take(&mut self) -> (usize, Vec<Column>) {
        let rows = std::mem::take(&mut self.rows);
        self.taken += rows;
        let integers = self.integers.iter_mut().zip(Self::INTEGERS).map(|(column, name)| {
            let (known, values) = column.take(rows);
            Column { name, known, values, texts: None }
        });
        let mut columns: Vec<_> = integers.collect();
        columns.extend(self.texts.iter_mut().zip(Self::TEXTS).map(|(column, name)| {
            let (known, values) = column.take(rows);
            Column { name, known, values, texts: Some(std::mem::take(&mut column.known)) }
        }));
        (rows, columns)
    }
}
