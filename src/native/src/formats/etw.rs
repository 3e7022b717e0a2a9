//! The disk events of Windows' event tracing (ETW), as the Windows Performance Analyzer exports its table of disk usage.
//!
//! The columns and their order are what the user has chosen, so the header tells them, with the units of times and sizes. A row is
//! a request if the table is not grouped; a group's row has no times, and is counted as such. Numbers may have commas between
//! thousands.

use super::number::decimal;
use super::output::Output;
use super::table::Row;
use super::{EMPTY, Format, Reader};

pub const FORMAT: Format = Format {
    name: "etw",
    about: "table of disk usage that the Windows Performance Analyzer exports (CSV, with its header)",
    level: "block",
    reader: || Box::new(Etw::default()),
};
const NO_HEADER: &str = "comes before a header with the columns IO Type, Size (B) and IO Init Time (s) or IO Complete Time (s)";
const UNIT: &str = "names a column whose unit is not known";
const QUOTES: &str = "has a quotation mark that does not end";
const COLUMNS: &str = "lacks the columns of the header";
/// Time by which columns may disagree, because they are rounded to microseconds.
const ROUNDED_NS: i64 = 2_000;
const NS_PER_S: i64 = 1_000_000_000;
const TWICE: &str = "names two columns for the same thing";

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Column {
    Kind,
    Disk,
    Process,
    Path,
    /// Times and their unit, which is a number of ns.
    Begin(i64),
    End(i64),
    Latency(i64),
    Service(i64),
    Offset(i64),
    Size(i64),
    Other,
}

#[derive(Default)]
struct Etw {
    columns: Vec<Column>,
}

impl Reader for Etw {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if line.trim_ascii().is_empty() {
            output.skip(EMPTY);
            return Ok(());
        }
        let fields = quoted_fields(line).ok_or(QUOTES)?;
        if self.columns.is_empty() {
            self.columns = header(&fields)?;
            output.facts.insert("clock", "time since the beginning of the trace".into());
            output.skip("headers");
            return Ok(());
        }
        self.request(&fields, output)
    }
}

impl Etw {
    fn request(&mut self, fields: &[Vec<u8>], output: &mut Output) -> Result<(), &'static str> {
        if fields.len() != self.columns.len() {
            return Err(COLUMNS);
        }
        let mut row = Row::default();
        let (mut kind, mut end_ns, mut service_ns) = (&b""[..], None, None);
        for (column, field) in self.columns.iter().zip(fields) {
            let field = field.trim_ascii();
            match column {
                Column::Kind => kind = field,
                Column::Disk => row.volume = Some(field).filter(|field| !field.is_empty()),
                Column::Path => row.file = Some(field).filter(|field| !field.is_empty() && *field != b"Unknown"),
                Column::Process => (row.thread_name, row.process) = process(field),
                Column::Begin(unit) => row.start_ns = scaled(field, *unit, "has a time of its begin that is no number")?,
                Column::End(unit) => end_ns = scaled(field, *unit, "has a time of its completion that is no number")?,
                Column::Latency(unit) => row.latency_ns = scaled(field, *unit, "has a latency that is no number")?,
                Column::Service(unit) => service_ns = scaled(field, *unit, "has a service time that is no number")?,
                Column::Offset(unit) => row.offset = scaled(field, *unit, "has an offset that is no number")?,
                Column::Size(unit) => row.length = scaled(field, *unit, "has a size that is no number")?,
                Column::Other => {}
            }
        }
        row.op = match kind.to_ascii_lowercase().as_slice() {
            b"read" => b"read",
            b"write" => b"write",
            b"flush" => b"flush",
            _ if row.start_ns.is_none() && end_ns.is_none() => {
                output.skip("rows of groups");
                return Ok(());
            }
            _ => return Err("has an IO Type that is neither Read, Write nor Flush"),
        };
        if row.start_ns.is_none() && end_ns.is_none() {
            output.skip("rows of groups");
            return Ok(());
        }
        row.latency_ns = row.latency_ns.or_else(|| end_ns?.checked_sub(row.start_ns?));
        row.start_ns = row.start_ns.or_else(|| end_ns?.checked_sub(row.latency_ns?));
        if row.op == b"flush" {
            (row.offset, row.length) = (None, None);
        }
        compare(&row, end_ns, service_ns, output);
        output.table.push(&row);
        Ok(())
    }
}

/// Names contradictions between the columns of a row.
fn compare(row: &Row, end_ns: Option<i64>, service_ns: Option<i64>, output: &mut Output) {
    if let (Some(begin_ns), Some(latency_ns), Some(end_ns)) = (row.start_ns, row.latency_ns, end_ns)
        && begin_ns.saturating_add(latency_ns).saturating_sub(end_ns).saturating_abs() > ROUNDED_NS
    {
        output.contradict("begin, latency and completion disagree");
    }
    if let (Some(latency_ns), Some(service_ns)) = (row.latency_ns, service_ns)
        && service_ns > latency_ns.saturating_add(ROUNDED_NS)
    {
        output.contradict("a request was served for longer than it took");
    }
}

/// Returns the columns that a header names.
fn header(names: &[Vec<u8>]) -> Result<Vec<Column>, &'static str> {
    let columns = names.iter().map(|name| column(name)).collect::<Result<Vec<_>, _>>()?;
    let kinds = columns.iter().filter(|column| **column != Column::Other).map(std::mem::discriminant);
    if kinds.clone().collect::<std::collections::HashSet<_>>().len() < kinds.count() {
        return Err(TWICE);
    }
    let has = |wanted: fn(&Column) -> bool| columns.iter().any(wanted);
    let is_timed = has(|column| matches!(column, Column::Begin(_)))
        || has(|column| matches!(column, Column::End(_))) && has(|column| matches!(column, Column::Latency(_)));
    let is_whole = has(|column| *column == Column::Kind) && has(|column| matches!(column, Column::Size(_)));
    (is_timed && is_whole).then_some(columns).ok_or(NO_HEADER)
}

fn column(name: &[u8]) -> Result<Column, &'static str> {
    let name = String::from_utf8_lossy(name).trim().to_lowercase();
    let (word, unit) = match name.rsplit_once('(') {
        Some((word, unit)) => (word.trim(), unit.trim_end_matches(')').trim()),
        None => (name.as_str(), ""),
    };
    let word = word.strip_prefix("io ").unwrap_or(word);
    let time = || match unit {
        "s" => Ok(NS_PER_S),
        "ms" => Ok(1_000_000),
        "us" | "µs" | "μs" => Ok(1_000),
        "ns" => Ok(1),
        _ => Err(UNIT),
    };
    let size = || match unit {
        "b" | "" => Ok(1),
        "kb" => Ok(1 << 10),
        "mb" => Ok(1 << 20),
        _ => Err(UNIT),
    };
    Ok(match word {
        "type" => Column::Kind,
        "disk" => Column::Disk,
        "process" => Column::Process,
        "path name" | "path" | "file name" => Column::Path,
        "init time" => Column::Begin(time()?),
        "complete time" => Column::End(time()?),
        "time" => Column::Latency(time()?),
        "disk service time" => Column::Service(time()?),
        "min offset" | "offset" => Column::Offset(size()?),
        "size" => Column::Size(size()?),
        _ => Column::Other,
    })
}

/// Returns a number as a multiple of a unit, and `None` if the field is empty.
fn scaled(field: &[u8], unit: i64, reason: &'static str) -> Result<Option<i64>, &'static str> {
    if field.is_empty() {
        return Ok(None);
    }
    let plain = without_commas(field).ok_or(reason)?;
    let value = match unit {
        NS_PER_S => decimal(&plain, 9),
        1_000_000 => decimal(&plain, 6),
        1_000 => decimal(&plain, 3),
        1 => decimal(&plain, 0),
        // Kilobytes and megabytes may have a fraction.
        _ => decimal(&plain, 6).and_then(|millionths| i64::try_from(i128::from(millionths) * i128::from(unit) / 1_000_000).ok()),
    };
    value.map(Some).ok_or(reason)
}

/// Removes the commas between thousands. Returns `None` if a comma stands elsewhere, such as a decimal comma.
fn without_commas(text: &[u8]) -> Option<Vec<u8>> {
    let whole = text.split(|byte| *byte == b'.').next().unwrap_or(text);
    let mut groups = whole.split(|byte| *byte == b',');
    let first = groups.next()?;
    let (mut rest, has_groups) = (groups.clone(), groups.next().is_some());
    if has_groups && (first.is_empty() || first.len() > 3 || first == b"0" || !rest.all(|group| group.len() == 3)) {
        return None;
    }
    let fraction = &text[whole.len()..];
    (!fraction.contains(&b',')).then(|| text.iter().copied().filter(|byte| *byte != b',').collect())
}

/// Splits the name of a process from its number, as in `luanti.exe (1234)`.
fn process(field: &[u8]) -> (Option<&[u8]>, Option<i64>) {
    let Some(at) = field.iter().rposition(|byte| *byte == b'(') else {
        return (Some(field).filter(|field| !field.is_empty()), None);
    };
    let number = field[at + 1..].strip_suffix(b")").and_then(|inside| super::number::unsigned(inside.trim_ascii()));
    if number.is_none() {
        return (Some(field), None);
    }
    (Some(field[..at].trim_ascii_end()), number)
}

/// Splits a line into fields at commas that are not within quotation marks. Two quotation marks within a quoted field stand for
/// one.
fn quoted_fields(line: &[u8]) -> Option<Vec<Vec<u8>>> {
    let (mut fields, mut field, mut is_quoted) = (Vec::new(), Vec::new(), false);
    let mut bytes = line.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_quoted && bytes.peek() == Some(&b'"') => field.extend(bytes.next()),
            b'"' if is_quoted || field.is_empty() => is_quoted = !is_quoted,
            b',' if !is_quoted => fields.push(std::mem::take(&mut field)),
            _ => field.push(byte),
        }
    }
    fields.push(field);
    (!is_quoted).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_separate_thousands_and_nothing_else() {
        let plain = |text: &str| without_commas(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(plain("1,234,567.891"), Some("1234567.891".into()));
        assert_eq!((plain("512"), plain("0.25")), (Some("512".into()), Some("0.25".into())));
        for wrong in ["0,123", "1,23", "1234,567", "1,234.5,6", ",123"] {
            assert_eq!(plain(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn fields_may_be_quoted() {
        let fields = |line: &str| quoted_fields(line.as_bytes());
        assert_eq!(fields("a,\"b,\"\"c\"\"\",").unwrap(), [b"a".to_vec(), b"b,\"c\"".to_vec(), Vec::new()]);
        assert!(fields("a,\"b").is_none());
    }

    #[test]
    fn a_process_has_a_name_and_a_number() {
        assert_eq!(process(b"luanti (x86).exe (1234)"), (Some(&b"luanti (x86).exe"[..]), Some(1234)));
        assert_eq!(process(b"System (x)"), (Some(&b"System (x)"[..]), None));
    }
}
