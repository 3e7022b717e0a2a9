//! The clock of the times at the beginning of strace's lines.

use rustc_hash::FxHashMap;

use super::syntax::Stamp;
use crate::formats::output::Output;

const TWO_CLOCKS: &str = "its lines have times of two kinds (such as those of -ttt and of -r), so they are of two traces; give each \
    trace a file of its own";
const NS_PER_DAY: i64 = 86_400_000_000_000;
/// Time by which the ends of calls may be later than strace's times tell.
const TOLERANCE_NS: i64 = 1_000_000;

/// The time of the trace, which goes on from line to line.
#[derive(Default)]
pub struct Clock {
    pub name: &'static str,
    last_ns: i64,
    days_ns: i64,
    /// Unit of the times, which is a second with option `-t`.
    tolerance_ns: i64,
    /// End of the last call of each thread.
    ends: FxHashMap<i64, i64>,
}

impl Clock {
    pub fn advance(&mut self, stamp: Stamp, output: &mut Output) -> Option<i64> {
        let (name, mut ns) = match stamp {
            Stamp::None if self.name.is_empty() => return None,
            Stamp::None => {
                output.contradict("a line has no time, although others have one");
                return None;
            }
            Stamp::Unix(ns) => ("since 1970 in UTC", ns),
            Stamp::OfDay(ns) => ("local time of day", ns + self.days_ns),
            Stamp::Relative(ns) => ("sum of the relative times of all lines before", self.last_ns.saturating_add(ns)),
        };
        if matches!(stamp, Stamp::OfDay(_)) && ns < self.last_ns - NS_PER_DAY / 2 {
            self.days_ns += NS_PER_DAY;
            ns += NS_PER_DAY;
        }
        if !self.name.is_empty() && self.name != name {
            output.refusal = Some(TWO_CLOCKS);
        } else if self.name.is_empty() {
            self.name = name;
            // The first time tells the unit, and a later one with a fraction corrects it.
            self.tolerance_ns = 1_000_000_000;
        } else if ns < self.last_ns {
            output.contradict("the clock runs backwards");
        }
        if ns % 1_000_000_000 != 0 {
            self.tolerance_ns = TOLERANCE_NS;
        }
        self.last_ns = ns;
        Some(ns)
    }

    /// Takes in that a call has ended. Returns its latency, and compares the times that tell it.
    pub fn end(
        &mut self,
        thread: i64,
        times: (Option<i64>, Option<i64>),
        took_ns: Option<i64>,
        output: &mut Output,
    ) -> Option<i64> {
        let between_ns = times.0.zip(times.1).map(|(start, end)| end.saturating_sub(start));
        if let (Some(took), Some(between)) = (took_ns, between_ns)
            && took > between.saturating_add(between / 2).saturating_add(self.tolerance_ns)
        {
            output.contradict("a call took longer than the times of its two lines are apart");
        }
        let latency_ns = took_ns.or(between_ns);
        if let (Some(start), Some(latency)) = (times.0, latency_ns) {
            self.ends.insert(thread, start.saturating_add(latency));
        }
        latency_ns
    }

    /// Compares the beginning of a call with the end of the one before it in the same thread.
    pub fn check_order(&mut self, thread: i64, ns: Option<i64>, output: &mut Output) {
        if let (Some(ns), Some(end)) = (ns, self.ends.get(&thread))
            && ns.saturating_add(self.tolerance_ns) < *end
        {
            output.contradict("a thread's next call begins before the last one has ended");
            self.ends.remove(&thread);
        }
    }

    /// Takes in that a thread has ended.
    pub fn forget(&mut self, thread: i64) {
        self.ends.remove(&thread);
    }
}
