//! The block traces of virtual machines by `CloudPhysics` (Waldspurger et al., FAST 2015). Times are whole seconds, and operations are
//! numbers of SCSI commands, in base 16 in some files and in base 10 in others.

use super::{COLUMNS, Format, LENGTH, List, OFFSET, OPERATION, Output, Row, TIME, list, sectors, unsigned};
use crate::formats::number::{fields, seconds_ns};

pub const CLOUD_PHYSICS: Format = list::<CloudPhysics>("cloudphysics", "CloudPhysics: version,time,op,size,lbn");
/// SCSI's commands to read and to write, of 6, 10, 12 and 16 bytes.
const READS: [i64; 4] = [0x08, 0x28, 0xa8, 0x88];
const WRITES: [i64; 4] = [0x0a, 0x2a, 0xaa, 0x8a];

#[derive(Default)]
struct CloudPhysics {
    /// Whether commands are in base 10. The first read or write of 10 bytes tells it.
    is_decimal: Option<bool>,
}

impl List for CloudPhysics {
    const HEADER: &'static [u8] = b"version,";
    const CLOCK: &'static str = "whole seconds of the trace";

    fn row<'a>(&'a mut self, line: &'a [u8], _: &mut Output) -> Result<Row<'a>, &'static str> {
        let [version, time, command, size, block] = fields(line, b',').ok_or(COLUMNS)?;
        unsigned(version).ok_or("has a version that is no number")?;
        Ok(Row {
            op: self.operation(command).ok_or(OPERATION)?,
            start_ns: Some(seconds_ns(time).ok_or(TIME)?),
            offset: Some(sectors(block).ok_or(OFFSET)?),
            length: Some(unsigned(size).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}

impl CloudPhysics {
    fn operation(&mut self, command: &[u8]) -> Option<&'static [u8]> {
        match command {
            b"28" | b"2a" | b"2A" => self.is_decimal = Some(false),
            b"40" | b"42" => _ = self.is_decimal.get_or_insert(true),
            _ => {}
        }
        let code = if self.is_decimal == Some(true) {
            unsigned(command)?
        } else {
            i64::from_str_radix(std::str::from_utf8(command).ok()?, 16).ok()?
        };
        match (READS.contains(&code), WRITES.contains(&code)) {
            (true, _) => Some(b"read"),
            (_, true) => Some(b"write"),
            _ => None,
        }
    }
}
