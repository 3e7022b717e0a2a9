//! How much earlier than due replies are sent, so that the kernel completes requests when they are due.
//!
//! Between a reply and the completion of the block device's request, and between a deadline and the reply, are some microseconds that
//! move by as many within minutes: with the machine's clock and neighbours, with how long its cores have rested. The kernel says when
//! it completes each request; a step earlier after each that was late, a step later after each that was not, keeps half of them late.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::floor::MILLI;

/// Levels double: 1, 2, 4, ... requests in flight of late.
pub const LEVELS: usize = 8;
/// Latencies double, too, from this one; a core that has rested for longer needs longer.
const LEAST_LATENCY_NS: u64 = 1 << 10;
const LATENCIES: usize = 20;
/// All requests that are in flight together step by this share of their latency.
const STEP_PART: u64 = 1000;
/// But by no more than this; and at first by this much, by half as much the second time, a third the third ...
const FIRST_STEP_NS: u64 = 16_000;
/// What takes longer is no matter of completing requests: the machine does not keep up.
const MOST_NS: u64 = 500_000;

#[derive(Debug, Default)]
struct Level {
    lead_ns: AtomicU64,
    seen: AtomicU64,
}

/// What was learned, by latency and by requests in flight.
#[derive(Debug, Default)]
pub struct Lead {
    levels: [[Level; LEVELS]; LATENCIES],
}

impl Lead {
    /// Of a request of this latency, with so many thousandths of requests in flight of late.
    pub fn ns(&self, lately: u64, latency_ns: u64) -> u64 {
        let level = &self.levels[doubled(latency_ns, LEAST_LATENCY_NS, LATENCIES)][doubled(lately, MILLI, LEVELS)];
        level.lead_ns.load(Ordering::Relaxed).min(latency_ns)
    }

    /// Such a request was completed late, or not.
    pub fn learn(&self, lately: u64, latency_ns: u64, is_late: bool) {
        let number = doubled(lately, MILLI, LEVELS);
        let Level { lead_ns, seen } = &self.levels[doubled(latency_ns, LEAST_LATENCY_NS, LATENCIES)][number];
        let rounds = seen.fetch_add(1, Ordering::Relaxed) >> number;
        let step_ns = ((latency_ns / STEP_PART).clamp(FIRST_STEP_NS / (rounds + 1), FIRST_STEP_NS) >> number).max(1);
        // Two threads reply, most of the time one of them; what is lost if both learn at once is a step.
        let now_ns = lead_ns.load(Ordering::Relaxed);
        let next_ns = if is_late { (now_ns + step_ns).min(latency_ns.min(MOST_NS)) } else { now_ns.saturating_sub(step_ns) };
        lead_ns.store(next_ns, Ordering::Relaxed);
    }

    /// What was learned: the least latency for which it is so, and the lead of each level.
    pub fn all(&self) -> Vec<(u64, [u64; LEVELS])> {
        let read = |row: &[Level; LEVELS]| row.each_ref().map(|level| level.lead_ns.load(Ordering::Relaxed));
        let rows = self.levels.iter().enumerate().map(|(number, row)| (LEAST_LATENCY_NS << number, read(row)));
        rows.filter(|(_, row)| row.iter().any(|lead_ns| *lead_ns > 0)).collect()
    }

    pub fn forget(&self) {
        for Level { lead_ns, seen } in self.levels.iter().flatten() {
            lead_ns.store(0, Ordering::Relaxed);
            seen.store(0, Ordering::Relaxed);
        }
    }
}

/// How often `value` is twice `least`, at most `count - 1` times.
fn doubled(value: u64, least: u64, count: usize) -> usize {
    usize::try_from((value / least).max(1).ilog2()).map_or(count - 1, |number| number.min(count - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Completions are `delay_ns` after the reply, more or less; returns the lead, with so many requests in flight all along.
    fn settled(lead: &Lead, inflight: u64, latency_ns: u64, rounds: u64, delay_ns: impl Fn(u64) -> u64) -> u64 {
        let lately = inflight * 1000;
        for round in 0..rounds {
            // What is sent together has one lead between it.
            let led_ns = lead.ns(lately, latency_ns);
            for each in 0..inflight {
                lead.learn(lately, latency_ns, delay_ns(round * inflight + each) > led_ns);
            }
        }
        lead.ns(lately, latency_ns)
    }

    #[test]
    fn half_of_all_are_late() {
        // Nine delays of 10 to 50 us, and one of 4 ms in a hundred, which counts as one.
        let delay_ns = |seq: u64| if seq % 100 < 1 { 4_000_000 } else { 10_000 + seq * 7 % 9 * 5_000 };
        for (inflight, latency_ns) in [(1, 50_000), (2, 50_000), (1, 1_000_000), (32, 1_000_000), (128, 6_000_000)] {
            let lead_ns = settled(&Lead::default(), inflight, latency_ns, 2_000, delay_ns);
            assert!((24_000..=36_000).contains(&lead_ns), "{inflight} in flight, {latency_ns} ns: {lead_ns}");
        }
    }

    #[test]
    fn it_follows_and_is_found_soon_at_first() {
        let lead = Lead::default();
        let found_ns = settled(&lead, 1, 1_000_000, 12, |_| 40_000);
        assert!((32_000..=48_000).contains(&found_ns), "{found_ns}");
        let moved_ns = settled(&lead, 1, 1_000_000, 100, |_| 80_000);
        assert!((78_000..=82_000).contains(&moved_ns), "{moved_ns}");
        assert_eq!(lead.ns(2000, 1_000_000), 0, "with more in flight it is another");
        assert_eq!(lead.ns(1000, 200_000), 0, "and for another latency");
        assert_eq!((lead.ns(1000, 1_000_000), lead.ns(1000, 600_000)), (moved_ns, moved_ns), "not for a similar one");
        assert_eq!(lead.all(), [(524_288, [moved_ns, 0, 0, 0, 0, 0, 0, 0])]);
        lead.forget();
        assert_eq!((lead.ns(1000, 1_000_000), lead.all().len()), (0, 0));
    }

    #[test]
    fn it_has_bounds() {
        assert_eq!(settled(&Lead::default(), 1, 5_000, 100, |_| 40_000), 5_000);
        assert_eq!(settled(&Lead::default(), 1, 3_600_000_000_000, 100, |_| u64::MAX), MOST_NS, "nor than this");
        let lead = Lead::default();
        settled(&lead, 1, 100_000, 100, |_| 80_000);
        assert_eq!(lead.ns(1000, 70_000), 70_000, "of a shorter one in the same row");
        let level = |lately| doubled(lately, MILLI, LEVELS);
        assert_eq!([0, 1999, 2000, 130_000, u64::MAX].map(level), [0, 0, 1, 7, 7]);
    }
}
