//! The traces that `MQSim` reads (Tavakkol et al., FAST 2018), whose values are separated by blanks.

use super::{COLUMNS, DEVICE, Format, LENGTH, List, ListReader, OFFSET, OPERATION, Output, Row, SINCE_BEGINNING, TIME, sectors};
use crate::formats::number::{fields, unsigned};

pub const MQSIM: Format = Format {
    name: "mqsim",
    about: "MQSim: arrival time in ns, device, first sector, sectors, and 0 for a write or 1 for a read",
    level: "block",
    reader: || Box::new(ListReader::<Mqsim>::default()),
};

#[derive(Default)]
struct Mqsim;

impl List for Mqsim {
    const HEADER: &'static [u8] = b"";
    const CLOCK: &'static str = SINCE_BEGINNING;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [time, device, sector, count, kind] = fields(line, b' ').ok_or(COLUMNS)?;
        let op: &[u8] = match kind {
            b"0" => b"write",
            b"1" => b"read",
            _ => return Err(OPERATION),
        };
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
