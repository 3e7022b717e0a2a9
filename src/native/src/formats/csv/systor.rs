//! The block traces of virtual desktops of SYSTOR '17 (Lee et al.). Times and response times are in seconds. A response time may be
//! missing.

use super::{COLUMNS, Format, LATENCY, LENGTH, List, OFFSET, Output, Row, SINCE_1970, TIME, list, operation, unsigned};
use crate::formats::number::{fields, seconds_ns};

pub const SYSTOR: Format = list::<Systor>("systor", "SYSTOR '17: Timestamp,Response,IOType,LUN,Offset,Size");

#[derive(Default)]
struct Systor;

impl List for Systor {
    const HEADER: &'static [u8] = b"timestamp,";
    const CLOCK: &'static str = SINCE_1970;

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [time, response, kind, unit, offset, size] = fields(line, b',').ok_or(COLUMNS)?;
        let op = operation(kind, b"R", b"W")?;
        let latency_ns = if response.is_empty() { None } else { Some(seconds_ns(response).ok_or(LATENCY)?) };
        Ok(Row {
            op,
            start_ns: Some(seconds_ns(time).ok_or(TIME)?),
            latency_ns,
            volume: Some(unit),
            offset: Some(unsigned(offset).ok_or(OFFSET)?),
            length: Some(unsigned(size).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}
