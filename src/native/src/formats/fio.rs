//! Trace files of fio (`write_iolog`), of version 2 and 3, and its logs of latencies (`write_lat_log`).
//!
//! fio's HOWTO describes both. Its `iolog.c` shows that version 3 has times in microseconds, and how fio waits for them.

use rustc_hash::FxHashMap;

use super::number::{unsigned, words};
use super::output::Output;
use super::table::Row;
use super::{EMPTY, Format, Reader};

pub const IOLOG: Format = Format {
    name: "fio-iolog",
    about: "trace file of fio, version 2 or 3",
    level: "syscall",
    reader: || Box::new(Iolog::default()),
};
pub const LATENCIES: Format = Format {
    name: "fio-latencies",
    about: "latency log of fio 3: ms, ns, direction, size, offset (with log_offset), priority, issue time (with log_issue_time)",
    level: "syscall",
    reader: || Box::new(Latencies::default()),
};
pub const OLD_LATENCIES: Format = Format {
    name: "fio-latencies-3.27",
    about: "latency log of fio 3.0 to 3.27 with log_offset: ms, ns, direction, size, offset",
    level: "syscall",
    reader: || Box::new(Latencies { is_old: true, ..Latencies::default() }),
};
const OTHER_COLUMNS: &str = "has another number of columns than a latency log";
/// Time in ms since 1970 that tells fio's option `log_unix_epoch` from a time since the beginning of a run.
const UNIX_MS: i64 = 100_000_000_000;
const AVERAGES: &str = "the log has averages or maxima of windows of time (log_avg_msec), as sizes of 0 show, and no single \
    requests; write it without log_avg_msec";
/// Latest time of an open that stands for a file which was open before. fio does not wait after a time of 0.
const HEAD_US: i64 = 1;

#[derive(Default)]
struct Iolog {
    /// Version of the format, or 0 before the first line.
    version: u8,
    last_us: i64,
    due_ns: i64,
    /// For each file, whether it is open.
    files: FxHashMap<Vec<u8>, bool>,
}

impl Reader for Iolog {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let line = line.trim_ascii();
        if self.version == 0 {
            self.version = match line {
                b"fio version 2 iolog" => 2,
                b"fio version 3 iolog" => 3,
                _ => return Err("comes before a first line `fio version 2 iolog` or `fio version 3 iolog`"),
            };
            let clock = if self.version == 3 { "time since the beginning of the trace" } else { "none" };
            output.facts.insert("clock", clock.into());
            output.skip("headers");
            return Ok(());
        }
        if line.is_empty() {
            output.skip(EMPTY);
            return Ok(());
        }
        self.action(line, output)
    }
}

impl Iolog {
    fn action(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let mut parts = words(line);
        let stamp_us = match self.version {
            3 => Some(parts.next().and_then(unsigned).ok_or("lacks a time in whole microseconds")?),
            _ => None,
        };
        let file = parts.next().ok_or("lacks a file")?;
        let action = parts.next().ok_or("lacks an action")?;
        let numbers = (parts.next().map(unsigned), parts.next().map(unsigned));
        if parts.next().is_some() {
            return Err("has more columns than an action has");
        }
        let (offset, length) = match numbers {
            (None, None) => (None, None),
            (Some(Some(offset)), Some(Some(length))) => (Some(offset), Some(length)),
            _ => return Err("lacks an offset and a length in whole bytes"),
        };
        let (op, call): (&[u8], &[u8]) = match (action, offset.is_some()) {
            (b"add" | b"open" | b"close", true) => return Err("has an offset for an action that has none"),
            (b"read", true) => (b"read", b"pread64"),
            (b"write", true) => (b"write", b"pwrite64"),
            (b"trim", true) => (b"discard", b"trim"),
            (b"sync_file_range", true) => (b"sync", b"sync_file_range"),
            (b"read" | b"write" | b"trim" | b"sync_file_range", false) => return Err("lacks an offset and a length"),
            (b"sync", _) => (b"sync", b"fsync"),
            (b"datasync", _) => (b"sync", b"fdatasync"),
            (b"syncfs", _) => (b"sync", b"syncfs"),
            (b"add", _) => (b"", b""),
            (b"open", _) => (b"open", b"open"),
            (b"close", _) => (b"close", b"close"),
            (b"wait", _) => {
                self.wait(stamp_us, output);
                output.skip("waits");
                return Ok(());
            }
            _ => return Err("has an action that fio does not have"),
        };
        self.wait(stamp_us, output);
        if op.is_empty() {
            self.files.entry(file.into()).or_insert(false);
            output.skip("files added");
            return Ok(());
        }
        self.follow(file, call, output);
        if op == b"open" && stamp_us.is_some_and(|us| us <= HEAD_US) {
            output.skip("files open before");
            return Ok(());
        }
        let is_placed = !matches!(call, b"fsync" | b"fdatasync" | b"syncfs");
        let row = Row {
            op,
            call: Some(call),
            start_ns: stamp_us.map(|_| self.due_ns),
            file: Some(file),
            offset: offset.filter(|_| is_placed),
            length: length.filter(|_| is_placed),
            ..Row::default()
        };
        output.table.push(&row);
        Ok(())
    }

    /// Advances the time as fio does, which waits for the difference to the last stamp, but not after a stamp of 0, and not if the
    /// stamp is earlier than the last one.
    fn wait(&mut self, stamp_us: Option<i64>, output: &mut Output) {
        let Some(us) = stamp_us else { return };
        if us < self.last_us {
            output.contradict("the clock runs backwards");
        } else if self.last_us > 0 {
            self.due_ns = self.due_ns.saturating_add((us - self.last_us).saturating_mul(1000));
        } else {
            self.due_ns = us.saturating_mul(1000);
        }
        self.last_us = us;
    }

    fn follow(&mut self, file: &[u8], call: &[u8], output: &mut Output) {
        let is_open = self.files.get(file).copied();
        match call {
            b"open" | b"close" => {
                self.files.insert(file.into(), call == b"open");
            }
            _ if is_open != Some(true) => {
                output.contradict("a file is used that is not open");
                self.files.insert(file.into(), true);
            }
            _ => {}
        }
    }
}

/// A log of latencies. A line is written when its request is completed.
#[derive(Default)]
struct Latencies {
    /// Whether the fifth column is an offset, and not a priority, because fio did not write priorities.
    is_old: bool,
    is_unix: bool,
    /// Whether the meaning of the fifth column has been said.
    is_said: bool,
}

impl Reader for Latencies {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if line.is_empty() {
            output.skip(EMPTY);
            return Ok(());
        }
        let mut columns = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut number = || columns.next().and_then(unsigned);
        let (Some(ms), Some(latency_ns), Some(direction), Some(length)) = (number(), number(), number(), number()) else {
            return Err("lacks the columns of a latency log");
        };
        let (fifth, sixth, seventh) = (columns.next(), columns.next(), columns.next());
        if columns.next().is_some() {
            return Err(OTHER_COLUMNS);
        }
        if length == 0 || direction > 2 && length <= 2 && fifth.and_then(unsigned) == Some(0) {
            // With log_window_value=both, an average and a maximum are before the direction.
            output.refusal = Some(AVERAGES);
            return Ok(());
        }
        let Some(fifth) = fifth else {
            output.refusal =
                Some("the log has four columns, as older versions of fio write it, and may be in us or ns; write it with fio 3");
            return Ok(());
        };
        let offset = match (sixth.is_some(), self.is_old) {
            (false, true) | (true, false) => Some(unsigned(fifth).ok_or("has an offset that is no number")?),
            (true, true) => return Err(OTHER_COLUMNS),
            (false, false) if is_priority(fifth) => None,
            (false, false) => {
                return Err("has a fifth column that is no priority; the format fio-latencies-3.27 has offsets there");
            }
        };
        let op: &[u8] = match direction {
            0 => b"read",
            1 => b"write",
            2 => b"discard",
            _ => return Err("has a direction that is neither 0, 1 nor 2"),
        };
        self.say(sixth.is_none(), ms, output);
        let issued_ns = seventh.and_then(unsigned).filter(|ns| *ns > 0 && !self.is_unix);
        let row = Row {
            op,
            start_ns: issued_ns.or_else(|| ms.checked_mul(1_000_000).map(|ns| ns - latency_ns)),
            latency_ns: Some(latency_ns),
            offset,
            length: Some(length),
            ..Row::default()
        };
        output.table.push(&row);
        Ok(())
    }

    fn end(&mut self, output: &mut Output) {
        let since = if self.is_unix { "since 1970 in UTC" } else { "time since the beginning of the trace" };
        output.facts.insert("clock", format!("{since}, in whole milliseconds"));
    }
}

impl Latencies {
    /// Says how a line is understood that can be understood in two ways.
    fn say(&mut self, has_five: bool, ms: i64, output: &mut Output) {
        self.is_unix |= ms >= UNIX_MS;
        if has_five && !std::mem::replace(&mut self.is_said, true) {
            let choice = if self.is_old {
                "the fifth column is taken for the offset, which fio up to 3.27 wrote there with log_offset"
            } else {
                "the fifth column is taken for the priority, which fio writes there without log_offset"
            };
            output.facts.insert("choice", choice.into());
        }
    }
}

/// Returns whether a column is 0 or 1, or four digits in base 16, as fio writes a priority without and with `log_prio`.
fn is_priority(column: &[u8]) -> bool {
    matches!(column, b"0" | b"1")
        || column.len() == 6 && column.starts_with(b"0x") && column[2..].iter().all(u8::is_ascii_hexdigit)
}
