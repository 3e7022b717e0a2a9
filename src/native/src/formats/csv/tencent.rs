//! The block traces of Tencent's cloud (Zhang et al., USENIX ATC 2020), in whole seconds and sectors. There are no latencies.

use super::{
    COLUMNS, DEVICE, Format, LENGTH, List, ListReader, OFFSET, OPERATION, Output, Row, SINCE_1970, TIME, sectors, unsigned,
};
use crate::formats::number::fields;

pub const TENCENT: Format = Format {
    name: "tencent",
    about: "Tencent Cloud: time in s, first sector, sectors, 0 for a read or 1 for a write, volume",
    level: "block",
    reader: || Box::new(ListReader::<Tencent>::default()),
};

#[derive(Default)]
struct Tencent;

impl List for Tencent {
    const HEADER: &'static [u8] = b"timestamp,";
    const CLOCK: &'static str = SINCE_1970;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [time, sector, count, kind, volume] = fields(line, b',').ok_or(COLUMNS)?;
        let op: &[u8] = match kind {
            b"0" => b"read",
            b"1" => b"write",
            _ => return Err(OPERATION),
        };
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
