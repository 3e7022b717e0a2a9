//! The pipe that all channels share. Bytes cross it one request after another.

use std::num::NonZeroU64;

#[derive(Debug)]
pub struct Pipe {
    bytes_per_s: NonZeroU64,
    free_ns: u64,
}

impl Pipe {
    pub const fn new(bytes_per_s: NonZeroU64) -> Self {
        Self { bytes_per_s, free_ns: 0 }
    }

    /// Returns the time at which the last of `length` bytes that are ready at `ready_ns` has crossed, in ns.
    pub fn cross(&mut self, ready_ns: u64, length: u64) -> u64 {
        self.free_ns = ready_ns.max(self.free_ns).saturating_add(transfer_ns(length, self.bytes_per_s));
        self.free_ns
    }
}

/// Returns the time that `length` bytes take, to the nearest nanosecond.
pub fn transfer_ns(length: u64, bytes_per_s: NonZeroU64) -> u64 {
    const NS_PER_S: u64 = 1_000_000_000;
    let half = bytes_per_s.get() / 2;
    // 64 bits are enough up to 18 GB, and dividing them is several times as fast.
    match length.checked_mul(NS_PER_S).and_then(|bytes_ns| bytes_ns.checked_add(half)) {
        Some(bytes_ns) => bytes_ns / bytes_per_s,
        None => u64::try_from((u128::from(length) * u128::from(NS_PER_S) + u128::from(half)) / u128::from(bytes_per_s.get()))
            .unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_transfers_round_alike() {
        let rate = NonZeroU64::new(3).unwrap();
        for length in [1, 2, 4096, 18_000_000_000, 18_446_744_073, 1 << 60] {
            let exact = (u128::from(length) * 1_000_000_000 * 2 + 3) / 6;
            assert_eq!(u128::from(transfer_ns(length, rate)), exact.min(u128::from(u64::MAX)), "{length}");
        }
    }
}
