//! Readers of trace files, which turn the lines that other tools print into requests.
//!
//! A trace has either the system calls of programs or the requests to a block device. Each format has a file of its own, with a
//! reader, and one entry in `FORMATS`. A reader gets one line after another and puts requests into an `Output`, which also counts
//! everything else. It keeps each line that cannot be read, with the reason.

mod biosnoop;
mod blkparse;
mod csv;
mod etw;
mod fio;
mod number;
mod output;
mod perf;
pub mod strace;
mod table;

pub use output::{Found, Output};
pub use table::Column;

/// Length in bytes of the longest line. A longer line is rejected, so that a file without line feeds does not fill the memory.
const LONGEST_LINE: usize = 16 << 20;
/// Length in bytes of the part of a line that is too long which its reject keeps.
const LONGEST_KEPT: usize = 1 << 10;
/// Kind of skipped lines that are empty.
const EMPTY: &str = "empty lines";
/// Kind of skipped lines that say nothing of a request. Other texts have such lines, too.
const COMMENTS: &str = "comments";
const TOO_LONG: &str = "is longer than 16 MiB";

/// A reader of one trace, which gets its lines in order.
pub trait Reader: Send + Sync {
    /// Reads one line, without its line feed.
    ///
    /// Returns the reason why the line cannot be read, as the end of a sentence that begins with "the line".
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str>;

    /// Reads the end of the trace. Requests that are still under way become known as such.
    fn end(&mut self, _output: &mut Output) {}

    /// Takes in a process that ran when the trace began, if the format needs to know it.
    fn begin(&mut self, _process: strace::Snapshot) {}

    /// Takes in the size of a file at the end of the trace, from which the offsets of appends follow. It is called after the end.
    fn size(&mut self, _path: &[u8], _bytes: i64, _output: &mut Output) {}
}

/// A format of trace files.
pub struct Format {
    /// Name for the option `--format`.
    pub name: &'static str,
    /// Description of the format and of the tool that writes it.
    pub about: &'static str,
    /// Layer of the requests, which is `syscall` or `block`.
    pub level: &'static str,
    pub reader: fn() -> Box<dyn Reader>,
}

/// The formats. If two of them can read a file equally well, the earlier one is taken.
pub const FORMATS: &[Format] = &[
    strace::FORMAT,
    biosnoop::FORMAT,
    blkparse::FORMAT,
    fio::IOLOG,
    csv::TENCENT,
    fio::LATENCIES,
    fio::OLD_LATENCIES,
    csv::MSR,
    csv::ALIBABA,
    csv::CLOUD_PHYSICS,
    csv::SYSTOR,
    csv::HFPLAYER,
    csv::MQSIM,
    etw::FORMAT,
    perf::FORMAT,
];

/// Number of lines of which `recognise` looks at most.
const LOOKED_AT: usize = 500;

/// Returns the formats whose readers understand the first lines of a trace best, of which the first one is to be taken. It returns
/// none if no reader understands at least half of these lines. A request whose values no request has is not understood.
pub fn recognise(head: &[u8]) -> Vec<&'static Format> {
    let tried = FORMATS.iter().map(|format| {
        let mut trace = Trace::new(format);
        let cut = head.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(LOOKED_AT).map_or(head.len(), |(at, _)| at + 1);
        trace.feed(&head[..cut]);
        // The last line may be cut off, and counts only if it is the only one.
        if trace.output.line > 0 {
            trace.rest.clear();
        }
        trace.end();
        (trace.understood(format.level), format)
    });
    let tried: Vec<_> = tried.collect();
    let best = tried.iter().map(|(understood, _)| *understood).max().unwrap_or(0).max(1000 / 2);
    tried.into_iter().filter(|(understood, _)| *understood == best).map(|(_, format)| format).collect()
}

/// A trace that is being read.
pub struct Trace {
    reader: Box<dyn Reader>,
    pub output: Output,
    /// The beginning of a line whose end has not been read yet.
    rest: Vec<u8>,
    /// Whether the line that is being read is too long, so that all up to its end is left out.
    is_too_long: bool,
    /// Sizes of files at the end of the trace, by path.
    sizes: Vec<(Vec<u8>, i64)>,
}

impl Trace {
    pub fn new(format: &Format) -> Self {
        let (output, rest, sizes) = (Output::default(), Vec::new(), Vec::new());
        Self { reader: (format.reader)(), output, rest, is_too_long: false, sizes }
    }

    /// Takes in a process that ran when the trace began.
    pub fn begin(&mut self, process: strace::Snapshot) {
        self.reader.begin(process);
    }

    /// Takes in the size that a file has at the end of the trace.
    pub fn size(&mut self, path: &[u8], bytes: i64) {
        self.sizes.push((path.into(), bytes));
    }

    /// Reads the next part of the trace, which may begin and end within a line.
    pub fn feed(&mut self, mut part: &[u8]) {
        while let Some(at) = memchr::memchr(b'\n', part) {
            let line = &part[..at];
            if self.rest.is_empty() && !self.is_too_long {
                self.line(line);
            } else {
                self.extend(line);
                self.end_of_line();
            }
            part = &part[at + 1..];
        }
        self.extend(part);
    }

    /// Reads the end of the trace.
    pub fn end(&mut self) {
        if !self.rest.is_empty() || self.is_too_long {
            self.end_of_line();
        }
        self.reader.end(&mut self.output);
        for (path, bytes) in std::mem::take(&mut self.sizes) {
            self.reader.size(&path, bytes, &mut self.output);
        }
    }

    fn extend(&mut self, part: &[u8]) {
        if self.rest.len() + part.len() > LONGEST_LINE {
            self.is_too_long = true;
            self.rest.truncate(LONGEST_KEPT);
        }
        if !self.is_too_long {
            self.rest.extend_from_slice(part);
        }
    }

    fn end_of_line(&mut self) {
        let line = std::mem::take(&mut self.rest);
        if std::mem::take(&mut self.is_too_long) {
            self.output.line += 1;
            self.output.reject(TOO_LONG, &line);
        } else {
            self.line(&line);
        }
    }

    fn line(&mut self, line: &[u8]) {
        self.output.line += 1;
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if self.output.line == 1 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if let Err(reason) = self.reader.line(line, &mut self.output) {
            self.output.reject(reason, line);
        }
    }

    /// Returns how many of 1,000 lines the reader has understood. Comments, empty lines and those that only add to others do not count.
    fn understood(&self, level: &str) -> u64 {
        let aside =
            [EMPTY, COMMENTS, strace::STACKS, strace::DUMPS].map(|kind| self.output.skipped.get(kind).copied().unwrap_or(0));
        let lines = self.output.line - aside.iter().sum::<u64>();
        let wrong = self.output.rejects.len() as u64 + self.output.table.implausible(level);
        let understood = (lines.saturating_sub(wrong) * 1000).checked_div(lines).unwrap_or(0);
        // A reader that refuses a trace which another one reads has taken it for something else.
        understood.saturating_sub(u64::from(self.output.refusal.is_some()))
    }
}
