//! One direction of a link: what happens to a packet, and when it arrives.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Largest number of packets under way. It is that of the kernel's own emulator of links, netem.
const MOST_PACKETS: usize = 1000;

/// The model of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Conditions {
    pub delay_ns: u64,
    /// Packets take up to this much less or more than the delay, all times alike. Packets keep their order.
    pub jitter_ns: u64,
    /// Share of packets that are lost, each by itself.
    pub loss: f64,
    /// Share of packets that arrive without the delay, and so before others.
    pub reordered: f64,
    /// Bandwidth, or `None` if it has no limit.
    pub bytes_per_s: Option<u64>,
}

/// The number of packets by what happened to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub packets: u64,
    pub bytes: u64,
    pub lost: u64,
    pub reordered: u64,
    /// Packets that came while too many others were under way.
    pub overflowed: u64,
}

/// The packets that are under way in one direction.
#[derive(Debug)]
pub struct Line {
    conditions: Conditions,
    random: fastrand::Rng,
    counts: Counts,
    /// Time at which the bandwidth is free again.
    free_ns: u64,
    /// Arrival of the last packet that was not reordered.
    last_ns: u64,
    /// Packets by the time at which they arrive, and by their number.
    under_way: BinaryHeap<Reverse<(u64, u64, Vec<u8>)>>,
}

impl Line {
    pub fn new(conditions: Conditions, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { conditions, random, counts: Counts::default(), free_ns: 0, last_ns: 0, under_way: BinaryHeap::new() }
    }

    /// Takes a packet that was sent at a time of the monotonic clock.
    pub fn take(&mut self, now_ns: u64, packet: &[u8]) {
        let conditions = self.conditions;
        self.counts.packets += 1;
        self.counts.bytes += packet.len() as u64;
        // All choices are made for each packet, so that one choice does not change the others.
        let (is_lost, is_reordered) = (self.random.f64() < conditions.loss, self.random.f64() < conditions.reordered);
        let shift_ns = self.random.u64(..=2 * conditions.jitter_ns);
        if is_lost {
            self.counts.lost += 1;
            return;
        }
        if self.under_way.len() >= MOST_PACKETS {
            self.counts.overflowed += 1;
            return;
        }
        let mut sent_ns = now_ns;
        if let Some(bytes_per_s) = conditions.bytes_per_s {
            self.free_ns = now_ns.max(self.free_ns) + packet.len() as u64 * 1_000_000_000 / bytes_per_s;
            sent_ns = self.free_ns;
        }
        let arrival_ns = if is_reordered {
            self.counts.reordered += 1;
            sent_ns
        } else {
            self.last_ns = self.last_ns.max(sent_ns + (conditions.delay_ns + shift_ns).saturating_sub(conditions.jitter_ns));
            self.last_ns
        };
        self.under_way.push(Reverse((arrival_ns, self.counts.packets, packet.to_vec())));
    }

    /// Returns a packet that has arrived.
    pub fn arrived(&mut self, now_ns: u64) -> Option<Vec<u8>> {
        let is_there = self.next_ns().is_some_and(|next_ns| next_ns <= now_ns);
        if is_there { self.under_way.pop().map(|Reverse((_, _, packet))| packet) } else { None }
    }

    /// Returns the time at which the next packet arrives.
    pub fn next_ns(&self) -> Option<u64> {
        self.under_way.peek().map(|Reverse((arrival_ns, ..))| *arrival_ns)
    }

    pub fn counts(&self) -> Counts {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Sends packets one after another, and returns the number and the arrival of each that arrives.
    fn arrivals(conditions: Conditions, packets: u32, apart_ns: u64) -> (Vec<(u32, u64)>, Counts) {
        let mut line = Line::new(conditions, 42);
        let mut found = Vec::new();
        for number in 0..packets {
            line.take(u64::from(number) * apart_ns, &[&number.to_le_bytes()[..], &[0; 96]].concat());
            let now_ns = u64::from(number) * apart_ns;
            while let Some(next_ns) = line.next_ns().filter(|next_ns| *next_ns <= now_ns || number + 1 == packets) {
                let packet = line.arrived(next_ns).unwrap();
                found.push((u32::from_le_bytes(packet[..4].try_into().unwrap()), next_ns));
            }
        }
        assert_eq!(line.arrived(u64::MAX), None);
        (found, line.counts())
    }

    #[test]
    fn without_conditions_packets_arrive_at_once_and_in_order() {
        let (found, counts) = arrivals(Conditions::default(), 100, 10);
        assert!(found.iter().zip(0_u32..).all(|(one, number)| *one == (number, u64::from(number) * 10)));
        assert_eq!(counts, Counts { packets: 100, bytes: 10_000, ..Counts::default() });
    }

    #[test]
    fn a_delay_is_exact_and_jitter_lies_around_it_without_a_change_of_order() {
        let (found, _) = arrivals(Conditions { delay_ns: 15 * MS, ..Conditions::default() }, 100, MS);
        assert!(found.iter().all(|(number, at_ns)| *at_ns == u64::from(*number) * MS + 15 * MS));
        let jitter = Conditions { delay_ns: 15 * MS, jitter_ns: 5 * MS, ..Conditions::default() };
        let (found, _) = arrivals(jitter, 2000, 20 * MS);
        let took: Vec<u64> = found.iter().map(|(number, at_ns)| at_ns - u64::from(*number) * 20 * MS).collect();
        assert!(took.iter().all(|took_ns| (10 * MS..=20 * MS).contains(took_ns)));
        let mean = took.iter().sum::<u64>() / 2000;
        assert!(mean.abs_diff(15 * MS) < MS / 3, "{mean}");
        let (close, _) = arrivals(jitter, 500, MS / 10);
        assert!(close.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
    }

    #[test]
    fn losses_and_changes_of_order_have_their_shares() {
        let packets = 20_000;
        let (found, counts) = arrivals(Conditions { loss: 0.01, ..Conditions::default() }, packets, 10);
        // Four standard deviations of a binomial distribution are 56.
        assert!(counts.lost.abs_diff(200) <= 56, "{counts:?}");
        assert_eq!(found.len() as u64, u64::from(packets) - counts.lost);
        let (found, counts) = arrivals(Conditions { delay_ns: MS, reordered: 0.05, ..Conditions::default() }, packets, MS / 10);
        assert!(counts.reordered.abs_diff(1000) <= 124, "{counts:?}");
        let overtaken = found.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
        assert!((800..=1000).contains(&overtaken), "{overtaken}");
    }

    #[test]
    fn a_bandwidth_lets_packets_wait_and_too_many_are_thrown_away() {
        let slow = Conditions { bytes_per_s: Some(1_000_000), ..Conditions::default() };
        let (found, counts) = arrivals(slow, 1500, 0);
        assert!(found.iter().zip(1_u64..).all(|((_, at_ns), place)| *at_ns == place * 100_000));
        assert_eq!((found.len(), counts.overflowed), (1000, 500));
    }

    #[test]
    fn the_same_seed_makes_the_same_choices() {
        let conditions = Conditions { loss: 0.3, jitter_ns: MS, delay_ns: MS, ..Conditions::default() };
        assert_eq!(arrivals(conditions, 200, MS), arrivals(conditions, 200, MS));
    }
}
