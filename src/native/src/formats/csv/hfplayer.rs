//! The traces of hfplayer (Haghdoost et al., FAST 2017), with 16 columns, whose names end with the type of their values.

use super::{COLUMNS, Format, LATENCY, LENGTH, List, OFFSET, OPERATION, Output, Row, SINCE_BEGINNING, TIME, list, sectors};
use crate::formats::number::{decimal, fields, unsigned};

pub const HFPLAYER: Format = list::<Hfplayer>("hfplayer", "hfplayer: 16 columns from #DUMP_OFFSET.I to LATENCY_USECS.D");
/// Number of clock ticks in the time to which the two clocks are compared, per ns of that time, as a multiple of 10^-9.
const RATE_UNIT: i128 = 1_000_000_000;
/// The reciprocal of the share by which the rate of the ticks may change.
const TOLERANCE: i64 = 1000;

#[derive(Default)]
struct Hfplayer {
    /// Rate of the ticks, from the first line that tells it.
    rate: Option<i64>,
}

impl List for Hfplayer {
    const HEADER: &'static [u8] = b"#dump_offset.i,";
    const CLOCK: &'static str = SINCE_BEGINNING;

    fn row<'a>(&'a mut self, line: &'a [u8], output: &mut Output) -> Result<Row<'a>, &'static str> {
        let values: [&[u8]; 16] = fields(line, b',').ok_or(COLUMNS)?;
        let op: &[u8] = match values[3] {
            command if command.starts_with(b"RD") || command.starts_with(b"READ") => b"read",
            command if command.starts_with(b"WR") => b"write",
            _ => return Err(OPERATION),
        };
        let start_ns = decimal(values[1], 3).ok_or(TIME)?;
        self.compare(unsigned(values[2]).ok_or(TIME)?, start_ns, output);
        Ok(Row {
            op,
            start_ns: Some(start_ns),
            latency_ns: Some(decimal(values[15], 3).ok_or(LATENCY)?),
            volume: Some(values[7]),
            offset: Some(sectors(values[10]).ok_or(OFFSET)?),
            length: Some(sectors(values[11]).ok_or(LENGTH)?),
            ..Row::default()
        })
    }
}

impl Hfplayer {
    /// Compares the two clocks of a line, of which one counts ticks.
    fn compare(&mut self, ticks: i64, ns: i64, output: &mut Output) {
        if ns > 0 {
            let rate = i64::try_from(i128::from(ticks) * RATE_UNIT / i128::from(ns)).unwrap_or(i64::MAX);
            let first = *self.rate.get_or_insert(rate);
            if (rate - first).abs() > first / TOLERANCE {
                output.contradict("ticks and microseconds disagree");
            }
        }
    }
}
