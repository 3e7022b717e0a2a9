//! The head of a hard disk over a turning platter. The place to which the head has to go decides how long a request takes.

use std::num::NonZeroU64;

use super::pipe::transfer_ns;
use super::whole;

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct SeekParameters {
    /// Time of the shortest seek. The time grows from here with the square root of the distance (Ruemmler and Wilkes, 1994).
    pub least_ns: u64,
    /// Time of a seek over `span_bytes` or any longer distance.
    pub most_ns: u64,
    pub span_bytes: NonZeroU64,
    /// Time of one revolution. It is 0 if the device has no platter.
    pub revolution_ns: u64,
}

#[derive(Debug)]
pub struct Head {
    parameters: SeekParameters,
    bytes_per_s: NonZeroU64,
    track_bytes: u64,
    offset: u64,
    /// Time at which the head was over `offset`, in ns. `None` before the first request.
    left_ns: Option<u64>,
}

impl Head {
    /// Makes a head under which `bytes_per_s` pass. A track is as long as what passes in a revolution.
    pub fn new(parameters: SeekParameters, bytes_per_s: NonZeroU64) -> Self {
        let passing = u128::from(bytes_per_s.get()) * u128::from(parameters.revolution_ns) / 1_000_000_000;
        let track_bytes = u64::try_from(passing).unwrap_or(u64::MAX).max(1);
        Self { parameters, bytes_per_s, track_bytes, offset: 0, left_ns: None }
    }

    /// Returns the time at which the head, which is free at `start_ns`, is over `offset`, in ns. A request that goes on where the
    /// last request ended needs no movement if the drive knew of it (at `known_ns`) before the last request ended.
    #[allow(clippy::cast_precision_loss, reason = "far below 2^53")]
    pub fn reach(&mut self, start_ns: u64, offset: u64, known_ns: u64) -> u64 {
        let SeekParameters { least_ns, most_ns, span_bytes, revolution_ns } = self.parameters;
        let left_ns = *self.left_ns.get_or_insert(start_ns);
        let distance = offset.abs_diff(self.offset);
        if distance == 0 && known_ns <= left_ns {
            return start_ns;
        }
        let way = (distance as f64 / span_bytes.get() as f64).min(1.0).sqrt();
        let seek_ns = if distance == 0 { 0 } else { least_ns + whole(way * (most_ns as f64 - least_ns as f64)) };
        let there_ns = start_ns.saturating_add(seek_ns);
        if revolution_ns == 0 {
            return there_ns;
        }
        let passed_ns = transfer_ns(distance % self.track_bytes, self.bytes_per_s) % revolution_ns;
        let ahead_ns = if offset < self.offset { revolution_ns - passed_ns } else { passed_ns };
        let turned_ns = there_ns.saturating_sub(left_ns) % revolution_ns;
        there_ns.saturating_add((ahead_ns + revolution_ns - turned_ns) % revolution_ns)
    }

    /// Takes note that the last byte before `offset` passed under the head at `at_ns`.
    pub fn leave(&mut self, offset: u64, at_ns: u64) {
        self.offset = offset;
        self.left_ns = Some(at_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Makes a head for which a byte takes a nanosecond and a seek over 400 MiB takes 11 us.
    fn head(revolution_ns: u64) -> Head {
        let span_bytes = NonZeroU64::new(400 * MIB).unwrap();
        let bytes_per_s = NonZeroU64::new(1_000_000_000).unwrap();
        Head::new(SeekParameters { least_ns: 1_000, most_ns: 11_000, span_bytes, revolution_ns }, bytes_per_s)
    }

    #[test]
    fn a_seek_grows_with_the_root_of_the_distance() {
        for (offset, expected) in [(0, 0), (4 * MIB, 2_000), (100 * MIB, 6_000), (400 * MIB, 11_000), (900 * MIB, 11_000)] {
            assert_eq!(head(0).reach(500, offset, 500) - 500, expected);
        }
    }

    #[test]
    fn the_platter_turns_on_while_the_head_moves() {
        let mut head = head(8_000_000);
        // The head goes from byte 0 at 100 to byte 2,000,000. It is there 2 ms later, after a seek of 1 us + 10 us *
        // sqrt(0.00477).
        assert_eq!(head.reach(100, 2_000_000, 100), 2_000_100);
        head.leave(2_004_096, 2_004_196);
        assert_eq!(head.reach(2_004_196, 4_096, 2_004_196), 2_004_196 + 6_000_000, "2 ms back is 6 ms ahead");
        assert_eq!(head.reach(2_004_196, 8_004_096, 2_004_196), 2_004_196 + 6_000_000);
        assert_eq!(head.reach(2_004_196, 2_004_096 + 16, 2_004_196), 2_004_196 + 16 + 8_000_000, "the seek missed the byte");
    }

    #[test]
    fn what_goes_on_at_once_needs_no_way_and_what_comes_too_late_a_revolution() {
        let mut head = head(8_000_000);
        head.leave(4096, 1_000);
        assert_eq!(head.reach(1_000, 4096, 900), 1_000);
        assert_eq!(head.reach(1_500, 4096, 900), 1_500, "the request was known before");
        assert_eq!(head.reach(1_500, 4096, 1_500), 8_001_000);
    }
}
