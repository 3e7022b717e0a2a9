//! The output of biosnoop, in the layouts of bcc, of libbpf-tools and of bpftrace, which their headers tell apart.
//!
//! A line is printed when its request is completed. The command may contain blanks, so the columns before it are taken from the
//! left, and those after it from the right.

use super::number::{days, decimal, signed, time_of_day_ns, words};
use super::output::Output;
use super::table::Row;
use super::{COMMENTS, EMPTY, Format, Reader};

pub const FORMAT: Format = Format {
    name: "biosnoop",
    about: "output of biosnoop (bcc, libbpf-tools or bpftrace), with its header",
    level: "block",
    reader: || Box::new(Biosnoop::default()),
};
const OTHER_TOOL: &str = "its header has a column that biosnoop does not print, so it is of another tool, such as fileslower; trace a \
    device with biosnoop, or calls with strace";
const NO_HEADER: &str = "comes before a header that begins with TIME and has the columns COMM and LAT(ms)";
const SECTOR_BYTES: i64 = 512;
/// Number that the kernel gives for the first sector of a command that has none, which is 2^64 - 1.
const NO_SECTOR: &[u8] = b"18446744073709551615";
const NS_PER_DAY: i64 = 86_400_000_000_000;
/// Time by which a line may be older than the line before it. Tools collect the events of several processors, whose order is not
/// exact.
const DISORDER_NS: i64 = 10_000_000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Column {
    /// Time in units of `10^-places` s since the beginning of the trace.
    Time(usize),
    /// Date and time of day, which are two words.
    Date,
    TimeOfDay,
    Command,
    Process,
    Disk,
    /// The minor number of a disk, whose major number is in the column before it.
    Minor,
    Kind,
    Sector,
    Bytes,
    Queued,
    Latency,
    /// A column that is not used, which tells whether a request follows the one before.
    Other,
}

#[derive(Default)]
struct Biosnoop {
    columns: Vec<Column>,
    /// Number of columns before and after the command.
    before: usize,
    after: usize,
    last_ns: i64,
    /// Time of the days that have passed, if lines have a time of day alone.
    days_ns: i64,
}

impl Reader for Biosnoop {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if line.starts_with(b"TIME") {
            output.skip("headers");
            return self.header(line, output);
        }
        let mut of_line = words(line);
        let skipped = match of_line.next() {
            None => Some(EMPTY),
            Some(b"Attached" | b"Attaching" | b"Tracing") => Some(COMMENTS),
            Some(b"MAJOR") if of_line.next() == Some(b"MINOR") => Some("headers"),
            _ => None,
        };
        if let Some(kind) = skipped {
            output.skip(kind);
            return Ok(());
        }
        if let Some(count) = lost(line) {
            output.lack("lost events", count);
            return Ok(());
        }
        if self.columns.is_empty() {
            return Err(NO_HEADER);
        }
        if output.refusal.is_some() { Ok(()) } else { self.request(line, output) }
    }
}

impl Biosnoop {
    fn header(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let mut columns = Vec::new();
        let mut clock = "time since the beginning of the trace";
        for word in words(line) {
            let column = match word {
                b"TIME(s)" => Column::Time(9),
                b"TIME(ms)" => Column::Time(6),
                b"TIME" => {
                    clock = "local date and time";
                    columns.push(Column::Date);
                    Column::TimeOfDay
                }
                b"TIMESTAMP" => {
                    clock = "local time of day";
                    Column::TimeOfDay
                }
                b"COMM" => Column::Command,
                b"PID" => Column::Process,
                b"DISK" => Column::Disk,
                b"ID" => Column::Minor,
                b"T" => Column::Kind,
                b"SECTOR" => Column::Sector,
                b"BYTES" => Column::Bytes,
                b"QUE(ms)" => Column::Queued,
                b"LAT(ms)" => Column::Latency,
                b"P" => Column::Other,
                _ => {
                    output.refusal = Some(OTHER_TOOL);
                    Column::Other
                }
            };
            columns.push(column);
        }
        let command = columns.iter().position(|column| *column == Column::Command).ok_or(NO_HEADER)?;
        let is_timed = columns.iter().any(|column| matches!(column, Column::Time(_) | Column::TimeOfDay));
        if !is_timed || !columns.contains(&Column::Latency) {
            return Err(NO_HEADER);
        }
        if output.facts.insert("clock", clock.into()).is_some_and(|before| before != clock) {
            output.refusal =
                Some("two of its headers have times of two kinds, so it is of two traces; give each a file of its own");
        }
        (self.before, self.after) = (command, columns.len() - command - 1);
        columns.remove(command);
        self.columns = columns;
        Ok(())
    }

    fn request(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        let (left, rest) = from_left(line, self.before).ok_or("has too few columns")?;
        let (command, right) = from_right(rest, self.after).ok_or("has too few columns")?;
        let numbered;
        let mut row = Row { thread_name: Some(command).filter(|command| !command.is_empty()), ..Row::default() };
        let (mut end_ns, mut minor, mut sector, mut bytes, mut kind) = (0_i64, None, None, None, None);
        let mut is_placed = true;
        for (column, word) in self.columns.iter().zip(left.into_iter().chain(right)) {
            match column {
                Column::Time(places) => end_ns += decimal(word, *places).ok_or("has a time that is no number")?,
                Column::Date => end_ns += days(word).ok_or("has a date of another form")? * NS_PER_DAY,
                Column::TimeOfDay => end_ns += time_of_day_ns(word).ok_or("has a time of another form")?,
                Column::Process => row.process = Some(signed(word).ok_or("has a process that is no number")?),
                Column::Disk => row.volume = Some(word),
                Column::Minor => minor = Some(word),
                Column::Kind => kind = Some(word),
                Column::Sector if word == NO_SECTOR || word == b"-1" => is_placed = false,
                Column::Sector => sector = Some(signed(word).ok_or("has a sector that is no number")?),
                Column::Bytes => bytes = Some(signed(word).ok_or("has a size that is no number")?),
                // It was queued before the trace began.
                Column::Queued if word == b"-1.000" => {}
                Column::Queued => row.queued_ns = Some(decimal(word, 6).ok_or("has a time in the queue that is no number")?),
                Column::Latency => row.latency_ns = Some(decimal(word, 6).ok_or("has a latency that is no number")?),
                Column::Command | Column::Other => {}
            }
        }
        if let (Some(major), Some(minor)) = (row.volume, minor) {
            numbered = [major, b":", minor].concat();
            row.volume = Some(&numbered);
        }
        if !is_placed && kind.is_none_or(|kind| operation(kind, bytes.unwrap_or(0)) != Some(b"flush")) {
            output.skip("commands to the device");
            return Ok(());
        }
        row.op = match kind {
            Some(kind) => operation(kind, bytes.unwrap_or(0)).ok_or("has a kind that is neither R, W, F nor D")?,
            None => b"",
        };
        row.offset = sector.filter(|_| row.op != b"flush").and_then(|sector| sector.checked_mul(SECTOR_BYTES));
        row.length = bytes.filter(|_| row.op != b"flush");
        let is_of_day = self.columns.contains(&Column::TimeOfDay) && !self.columns.contains(&Column::Date);
        if is_of_day && end_ns + self.days_ns < self.last_ns - NS_PER_DAY / 2 {
            self.days_ns += NS_PER_DAY;
        }
        end_ns += self.days_ns;
        row.start_ns = end_ns.checked_sub(row.latency_ns.unwrap_or(0));
        if end_ns < self.last_ns - DISORDER_NS {
            output.contradict("the clock runs backwards");
        }
        self.last_ns = end_ns;
        output.table.push(&row);
        Ok(())
    }
}

/// Returns the operation of a request from the letters that the kernel prints for it, such as `WS` for a synchronous write.
///
/// A request without bytes is a flush if it is a write, and is of no known kind if it is a read.
pub fn operation(kind: &[u8], bytes: i64) -> Option<&'static [u8]> {
    if bytes == 0 {
        return kind.iter().any(|letter| matches!(letter, b'F' | b'W')).then_some(b"flush");
    }
    match kind.strip_prefix(b"F").unwrap_or(kind).first()? {
        b'R' => Some(b"read"),
        b'W' => Some(b"write"),
        b'D' => Some(b"discard"),
        _ => None,
    }
}

/// Returns the number of events that a tool says it has lost, as in `Possibly lost 12 samples` and `lost 3 events on CPU #1`.
fn lost(line: &[u8]) -> Option<u64> {
    let mut parts = words(line).skip_while(|word| *word == b"Possibly");
    parts.next().filter(|word| matches!(*word, b"lost" | b"Lost"))?;
    parts.next().and_then(signed).map(i64::unsigned_abs)
}

/// Splits `count` words off the beginning of a line.
fn from_left(line: &[u8], count: usize) -> Option<(Vec<&[u8]>, &[u8])> {
    let mut rest = line.trim_ascii_start();
    let mut found = Vec::with_capacity(count);
    for _ in 0..count {
        let at = rest.iter().position(u8::is_ascii_whitespace)?;
        found.push(&rest[..at]);
        rest = rest[at..].trim_ascii_start();
    }
    Some((found, rest))
}

/// Splits `count` words off the end of a line, and returns them after the rest.
fn from_right(line: &[u8], count: usize) -> Option<(&[u8], Vec<&[u8]>)> {
    let mut rest = line.trim_ascii_end();
    let mut found = Vec::with_capacity(count);
    for _ in 0..count {
        let at = rest.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1);
        if at == rest.len() {
            return None;
        }
        found.push(&rest[at..]);
        rest = rest[..at].trim_ascii_end();
    }
    found.reverse();
    Some((rest, found))
}
