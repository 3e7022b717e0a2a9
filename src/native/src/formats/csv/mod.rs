//! The traces of block devices that are published as lists of values, one request a line.

mod alibaba;
mod cloudphysics;
mod hfplayer;
mod mqsim;
mod msr;
mod systor;
mod tencent;

pub use alibaba::ALIBABA;
pub use cloudphysics::CLOUD_PHYSICS;
pub use hfplayer::HFPLAYER;
pub use mqsim::MQSIM;
pub use msr::MSR;
pub use systor::SYSTOR;
pub use tencent::TENCENT;

use super::number::unsigned;
use super::output::Output;
use super::table::Row;
use super::{EMPTY, Format, Reader};

const SECTOR_BYTES: i64 = 512;
const COLUMNS: &str = "lacks the columns of this format";
const TIME: &str = "has a time that is no number";
const DEVICE: &str = "has a device that is no number";
const OFFSET: &str = "has an offset that is no number";
const LENGTH: &str = "has a size that is no number";
const OPERATION: &str = "has an operation that is neither a read nor a write";
const LATENCY: &str = "has a latency that is no number";
const SINCE_1970: &str = "since 1970 in UTC";
/// Begin of 1990 in ns since 1970, before which nobody took a trace.
const NS_UNTIL_1990: i64 = 631_152_000_000_000_000;
const SINCE_BEGINNING: &str = "time since the beginning of the trace";

/// A format with one request a line.
trait List: Default + Send + Sync {
    /// Beginning of the first line in small letters, if that line names the columns.
    const HEADER: &'static [u8];
    /// Description of the clock.
    const CLOCK: &'static str;

    /// Parses one line. Returns the reason if it cannot.
    fn row<'a>(&'a mut self, line: &'a [u8], output: &mut Output) -> Result<Row<'a>, &'static str>;
}

/// Returns the format of a list.
const fn list<L: List + 'static>(name: &'static str, about: &'static str) -> Format {
    Format { name, about, level: "block", reader: || Box::new(ListReader::<L>::default()) }
}

/// Returns the operation of a request, whose word is one of two.
fn operation(word: &[u8], read: &[u8], write: &[u8]) -> Result<&'static [u8], &'static str> {
    match word {
        _ if word == read => Ok(b"read"),
        _ if word == write => Ok(b"write"),
        _ => Err(OPERATION),
    }
}

/// The reader of a list.
#[derive(Default)]
struct ListReader<L> {
    list: L,
    last_ns: Option<i64>,
}

impl<L: List> Reader for ListReader<L> {
    fn line(&mut self, line: &[u8], output: &mut Output) -> Result<(), &'static str> {
        if output.line == 1 && !L::HEADER.is_empty() && line.to_ascii_lowercase().starts_with(L::HEADER) {
            output.skip("headers");
            return Ok(());
        }
        if line.is_empty() {
            output.skip(EMPTY);
            return Ok(());
        }
        let row = self.list.row(line, output)?;
        if row.start_ns < self.last_ns {
            output.contradict("the clock runs backwards");
        }
        if L::CLOCK == SINCE_1970 && self.last_ns.is_none() && row.start_ns.is_some_and(|ns| ns < NS_UNTIL_1990) {
            output.contradict("the times are before 1990, so their unit or their beginning is another than the format's");
        }
        self.last_ns = row.start_ns;
        output.table.push(&row);
        Ok(())
    }

    fn end(&mut self, output: &mut Output) {
        output.facts.insert("clock", L::CLOCK.into());
    }
}

/// Parses a number of sectors, and returns the bytes of that many.
fn sectors(text: &[u8]) -> Option<i64> {
    unsigned(text)?.checked_mul(SECTOR_BYTES)
}
