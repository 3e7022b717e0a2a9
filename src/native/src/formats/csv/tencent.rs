//! The block traces of Tencent's cloud (Zhang et al., USENIX ATC 2020), in whole seconds and sectors. There are no latencies.

use super::{COLUMNS, DEVICE, Format, LENGTH, List, OFFSET, Output, Row, SINCE_1970, TIME, list, operation, sectors, unsigned};
use crate::formats::number::fields;

pub const TENCENT: Format =
    list::<Tencent>("tencent", "Tencent Cloud: time in s, first sector, sectors, 0 for a read or 1 for a write, volume");

#[derive(Default)]
struct Tencent;

impl List for Tencent {
    const HEADER: &'static [u8] = b"timestamp,";
    const CLOCK: &'static str = SINCE_1970;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [time, sector, count, kind, volume] = fields(line, b',').ok_or(COLUMNS)?;
        let op = operation(kind, b"0", b"1")?;
        unsigned(volume).ok_or(DEVICE)?;
        Ok(Row {
            op,
            start_ns: Some(unsigned(time).and_then(|s| s.checked_mul(1_000_000_000)).ok_or(TIME)?),
            volume: Some(volume),
            offset: Some(sectors(sector).ok_or(OFFSET)?),
            length: Some(sectors(count).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}
