//! A volatile write cache. A write is answered when it is in the cache, and it reaches the medium later.

use std::collections::VecDeque;
use std::num::NonZeroU64;

use super::latency::Latency;
use super::pipe::transfer_ns;
use super::seek::Head;

/// The parameters of a volatile write cache.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct CacheParameters {
    /// Number of bytes that the cache can hold.
    pub bytes: u64,
    /// Latency of a write into the cache.
    pub latency_ns: Latency,
    /// Rate at which writes go from the cache to the medium.
    pub destage_bytes_per_s: NonZeroU64,
}

#[derive(Debug)]
pub struct Cache {
    parameters: CacheParameters,
    /// The head that destaging moves, if the device is a hard disk. It moves apart from the head that serves reads.
    head: Option<Head>,
    /// Writes in the cache, in order. Each has the time at which it will be on the medium, in ns, and its length in bytes.
    writes: VecDeque<(u64, u64)>,
    held_bytes: u64,
    admitted_ns: u64,
    drained_ns: u64,
}

impl Cache {
    pub fn new(parameters: CacheParameters, head: Option<Head>) -> Self {
        Self { parameters, head, writes: VecDeque::new(), held_bytes: 0, admitted_ns: 0, drained_ns: 0 }
    }

    pub fn latency(&self) -> &Latency {
        &self.parameters.latency_ns
    }

    /// Returns the time at which there is room for a write of `length` bytes that is ready at `ready_ns`, in ns. A write that is
    /// longer than the cache waits until the cache is empty.
    pub fn admit(&mut self, ready_ns: u64, length: u64) -> u64 {
        self.admitted_ns = self.admitted_ns.max(ready_ns);
        while let Some((drained_ns, drained_bytes)) = self.writes.front().copied()
            && (drained_ns <= self.admitted_ns || self.held_bytes.saturating_add(length) > self.parameters.bytes)
        {
            self.admitted_ns = self.admitted_ns.max(drained_ns);
            self.held_bytes -= drained_bytes;
            self.writes.pop_front();
        }
        self.admitted_ns
    }

    /// Takes an admitted write that is in the cache at `done_ns`. From then on the write waits for its turn to be written to the
    /// medium.
    pub fn hold(&mut self, done_ns: u64, offset: u64, length: u64) {
        let free_ns = self.drained_ns.max(done_ns);
        let there_ns = self.head.as_mut().map_or(free_ns, |head| head.reach(free_ns, offset, done_ns));
        self.drained_ns = there_ns.saturating_add(transfer_ns(length, self.parameters.destage_bytes_per_s));
        if let Some(head) = &mut self.head {
            head.leave(offset + length, self.drained_ns);
        }
        self.held_bytes += length;
        self.writes.push_back((self.drained_ns, length));
    }

    /// Returns the time at which everything in the cache will be on the medium, in ns.
    pub fn drained_ns(&self) -> u64 {
        self.drained_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(bytes: u64) -> Cache {
        let destage_bytes_per_s = NonZeroU64::new(1_000_000_000).unwrap();
        Cache::new(CacheParameters { bytes, latency_ns: Latency::Constant(0), destage_bytes_per_s }, None)
    }

    #[test]
    fn writes_wait_when_there_is_no_room() {
        let mut cache = cache(10_000);
        let admitted = [(0, 4000), (0, 4000), (0, 4000), (0, 10), (100_000, 20_000), (100_000, 1)].map(|(at, length)| {
            let at = cache.admit(at, length);
            cache.hold(at, 0, length);
            at
        });
        // A byte takes a nanosecond, so the first write leaves room at 4,000. A write that is longer than the cache goes into the
        // empty cache.
        assert_eq!(admitted, [0, 0, 4000, 4000, 100_000, 120_000]);
        assert_eq!(cache.drained_ns(), 120_001);
    }
}
