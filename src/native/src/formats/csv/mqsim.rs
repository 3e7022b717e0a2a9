//! The traces that `MQSim` reads (Tavakkol et al., FAST 2018), whose values are separated by blanks.

use super::{COLUMNS, DEVICE, Format, LENGTH, List, OFFSET, Output, Row, SINCE_BEGINNING, TIME, list, operation, sectors};
use crate::formats::number::{fields, unsigned};

pub const MQSIM: Format =
    list::<Mqsim>("mqsim", "MQSim: arrival time in ns, device, first sector, sectors, and 0 for a write or 1 for a read");

#[derive(Default)]
struct Mqsim;

impl List for Mqsim {
    const HEADER: &'static [u8] = b"";
    const CLOCK: &'static str = SINCE_BEGINNING;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [time, device, sector, count, kind] = fields(line, b' ').ok_or(COLUMNS)?;
        let op = operation(kind, b"1", b"0")?;
        unsigned(device).ok_or(DEVICE)?;
        Ok(Row {
            op,
            start_ns: Some(unsigned(time).ok_or(TIME)?),
            volume: Some(device),
            offset: Some(sectors(sector).ok_or(OFFSET)?),
            length: Some(sectors(count).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}
