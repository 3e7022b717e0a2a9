//! The block traces of servers at Microsoft Research Cambridge (Narayanan et al., FAST 2008). Times and response times are in units
//! of 100 ns, and the times are Windows' file time.

use super::{COLUMNS, Format, LATENCY, LENGTH, List, OFFSET, Output, Row, SINCE_1970, TIME, list, operation, unsigned};
use crate::formats::number::fields;

pub const MSR: Format = list::<Msr>("msr", "MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime");
/// Number of units of 100 ns from the beginning of 1601, where Windows' file time begins, to that of 1970.
const TICKS_BEFORE_1970: i64 = 116_444_736_000_000_000;
const NS_PER_TICK: i64 = 100;

#[derive(Default)]
struct Msr {
    volume: Vec<u8>,
}

impl List for Msr {
    const HEADER: &'static [u8] = b"timestamp,";
    const CLOCK: &'static str = SINCE_1970;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [time, host, disk, kind, offset, size, response] = fields(line, b',').ok_or(COLUMNS)?;
        let start_ns =
            unsigned(time).ok_or(TIME)?.checked_sub(TICKS_BEFORE_1970).and_then(|ticks| ticks.checked_mul(NS_PER_TICK));
        let op = operation(kind, b"Read", b"Write")?;
        self.volume.clear();
        self.volume.extend_from_slice(host);
        self.volume.push(b'.');
        self.volume.extend_from_slice(disk);
        Ok(Row {
            op,
            start_ns: Some(start_ns.ok_or("has a time that is no file time of Windows")?),
            latency_ns: Some(unsigned(response).and_then(|ticks| ticks.checked_mul(NS_PER_TICK)).ok_or(LATENCY)?),
            volume: Some(&self.volume),
            offset: Some(unsigned(offset).ok_or(OFFSET)?),
            length: Some(unsigned(size).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}
