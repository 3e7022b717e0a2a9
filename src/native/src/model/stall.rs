//! Stalls that the device makes by itself, such as the garbage collection of flash. Nothing starts until a stall is over.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::draw::Draws;
use super::latency::Latency;
use super::times;

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct StallParameters {
    /// Number of written bytes from one stall to the next. A stall begins with the write that completes this number.
    pub every_bytes: Option<NonZeroU64>,
    /// Length of a period. There is one stall in each period, and periods are counted from the first request.
    pub period_ns: Option<NonZeroU64>,
    /// Whether a stall is at a drawn place in its period instead of at the period's end.
    pub at_random: bool,
    /// Duration of a stall.
    pub length_ns: Latency,
}

#[derive(Debug)]
pub struct Stalls {
    parameters: StallParameters,
    first_ns: Option<u64>,
    /// The period that was computed last, as its number and the begin and end of its stall in ns.
    period: (u64, u64, u64),
    written_bytes: u64,
    collections: u64,
    /// Begin and end of the stalls that writes cause, in order and in ns. Stalls that no request can meet any more are left out.
    collecting: VecDeque<(u64, u64)>,
    collected_ns: u64,
    collection_lengths: Draws,
    period_lengths: Draws,
    places: Draws,
}

impl Stalls {
    pub fn new(parameters: StallParameters, seed: u64) -> Self {
        let [collection_lengths, period_lengths, places] = [1, 2, 3].map(|stream| Draws::new(seed, stream));
        Self {
            parameters,
            first_ns: None,
            period: (u64::MAX, 0, 0),
            written_bytes: 0,
            collections: 0,
            collecting: VecDeque::new(),
            collected_ns: 0,
            collection_lengths,
            period_lengths,
            places,
        }
    }

    /// Counts a write that could start at `start_ns`. If the write causes a stall, the stall holds the write itself, too.
    pub fn write(&mut self, start_ns: u64, length: u64) {
        let Some(every_bytes) = self.parameters.every_bytes else { return };
        self.written_bytes = self.written_bytes.saturating_add(length);
        while self.written_bytes >= every_bytes.get() {
            self.written_bytes -= every_bytes.get();
            let length_ns = self.parameters.length_ns.ns(1.0, || self.collection_lengths.share(self.collections));
            let begin_ns = start_ns.max(self.collected_ns);
            self.collected_ns = begin_ns.saturating_add(length_ns);
            self.collecting.push_back((begin_ns, self.collected_ns));
            self.collections += 1;
        }
    }

    /// Returns the time at which a request that could start at `start_ns` does start, in ns. The request arrives at `arrival_ns`,
    /// which is not before the last arrival. A stall that a waiting write causes is still to come, so a request that need not
    /// wait may start before it.
    pub fn over_ns(&mut self, arrival_ns: u64, start_ns: u64) -> u64 {
        while self.collecting.front().is_some_and(|(_, end_ns)| *end_ns <= arrival_ns) {
            self.collecting.pop_front();
        }
        let mut start_ns = self.over_collections_ns(start_ns);
        let first_ns = *self.first_ns.get_or_insert(start_ns);
        loop {
            let end_ns = self.over_period_ns(first_ns, start_ns);
            // At the end of a periodic stall there may be a stall that a write causes, at whose end there may be a periodic one
            // again.
            start_ns = self.over_collections_ns(end_ns);
            if start_ns == end_ns {
                return end_ns;
            }
        }
    }

    fn over_collections_ns(&self, mut start_ns: u64) -> u64 {
        let over = self.collecting.partition_point(|(_, end_ns)| *end_ns <= start_ns);
        for (begin_ns, end_ns) in self.collecting.range(over..) {
            if *begin_ns > start_ns {
                break;
            }
            start_ns = *end_ns;
        }
        start_ns
    }

    fn over_period_ns(&mut self, first_ns: u64, start_ns: u64) -> u64 {
        let Some(period_ns) = self.parameters.period_ns else { return start_ns };
        let number = (start_ns - first_ns) / period_ns;
        if number != self.period.0 {
            let length_ns = self.parameters.length_ns.ns(1.0, || self.period_lengths.share(number)).min(period_ns.get());
            let latest_ns = period_ns.get() - length_ns;
            let into_ns = if self.parameters.at_random { times(latest_ns, self.places.share(number)) } else { latest_ns };
            let begin_ns = first_ns + number * period_ns.get() + into_ns;
            self.period = (number, begin_ns, begin_ns + length_ns);
        }
        let (_, begin_ns, end_ns) = self.period;
        if (begin_ns..end_ns).contains(&start_ns) { end_ns } else { start_ns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls(every_bytes: u64, period_ns: u64, at_random: bool) -> Stalls {
        let [every_bytes, period_ns] = [every_bytes, period_ns].map(NonZeroU64::new);
        Stalls::new(StallParameters { every_bytes, period_ns, at_random, length_ns: Latency::Constant(100) }, 1)
    }

    #[test]
    fn the_write_that_completes_the_bytes_begins_a_stall() {
        let mut stalls = stalls(10_000, 0, false);
        let started = [(0, 4096), (10, 4096), (20, 4096), (50, 4096), (200, 4096), (230, 20_000)].map(|(at, length)| {
            stalls.write(at, length);
            stalls.over_ns(at, at)
        });
        assert_eq!(started, [0, 10, 120, 120, 300, 500], "the last write causes two, after the one under way");
    }

    #[test]
    fn where_one_stall_ends_another_may_hold() {
        let mut stalls = stalls(4096, 1000, false);
        assert_eq!(stalls.over_ns(0, 0), 0);
        stalls.write(950, 4096);
        assert_eq!([940, 950, 1049].map(|start| stalls.over_ns(0, start)), [1050, 1050, 1050], "the periodic one ends at 1000");
    }

    #[test]
    fn who_always_stalls_starts_once_a_period() {
        let mut stalls = stalls(0, 100, false);
        assert_eq!([0, 99, 100].map(|start| stalls.over_ns(0, start)), [100, 100, 200]);
    }

    #[test]
    fn what_needs_not_wait_starts_before_a_stall_that_a_waiting_write_brings() {
        let mut stalls = stalls(4096, 0, false);
        stalls.write(1000, 8192);
        assert_eq!([999, 1000, 1150, 1200].map(|start| stalls.over_ns(0, start)), [999, 1200, 1200, 1200]);
        assert_eq!((stalls.over_ns(1150, 1150), stalls.collecting.len()), (1200, 1));
        assert_eq!((stalls.over_ns(1200, 1200), stalls.collecting.len()), (1200, 0));
    }

    #[test]
    fn a_period_ends_with_its_stall() {
        let mut stalls = stalls(0, 1000, false);
        let started = [5000, 5899, 5900, 5999, 6000, 6950].map(|at| stalls.over_ns(at, at));
        assert_eq!(started, [5000, 5899, 6000, 6000, 6000, 7000]);
    }

    #[test]
    fn at_random_there_is_one_in_each_period() {
        let mut stalls = stalls(0, 1000, true);
        let mut begins = Vec::new();
        for period in 0..50 {
            let held: Vec<u64> = (0..1000)
                .filter(|at| {
                    let at = period * 1000 + at;
                    stalls.over_ns(at, at) > at
                })
                .collect();
            assert_eq!(held.len(), 100);
            assert_eq!(held[99] - held[0], 99);
            begins.push(held[0]);
        }
        begins.sort_unstable();
        begins.dedup();
        assert!(begins.len() > 40);
    }
}
