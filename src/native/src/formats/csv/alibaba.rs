//! The block traces of virtual disks in Alibaba's cloud (Li et al., IISWC 2020). Times are in microseconds. There are no latencies.

use super::{COLUMNS, DEVICE, Format, LENGTH, List, OFFSET, Output, Row, SINCE_1970, TIME, list, operation, unsigned};
use crate::formats::number::fields;

pub const ALIBABA: Format = list::<Alibaba>("alibaba", "Alibaba Cloud: device_id,opcode,offset,length,timestamp");

#[derive(Default)]
struct Alibaba;

impl List for Alibaba {
    const HEADER: &'static [u8] = b"device_id,";
    const CLOCK: &'static str = SINCE_1970;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [device, kind, offset, length, time] = fields(line, b',').ok_or(COLUMNS)?;
        let op = operation(kind, b"R", b"W")?;
        unsigned(device).ok_or(DEVICE)?;
        Ok(Row {
            op,
            start_ns: Some(unsigned(time).and_then(|us| us.checked_mul(1000)).ok_or(TIME)?),
            volume: Some(device),
            offset: Some(unsigned(offset).ok_or(OFFSET)?),
            length: Some(unsigned(length).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}
