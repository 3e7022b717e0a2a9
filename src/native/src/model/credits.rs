//! Token buckets, as cloud volumes have them. A request waits until every bucket holds as many tokens as the request costs.

use std::num::NonZeroU64;

/// Tokens are counted in billionths, so that a rate per second is a whole number of billionths per nanosecond.
const BILLION: i128 = 1_000_000_000;

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct BucketParameters {
    /// Number of tokens that the bucket gains per second.
    pub per_s: NonZeroU64,
    /// Number of tokens that the bucket can hold. A new bucket is full.
    pub capacity: u64,
    /// Number of bytes that one token pays for. A request costs a token for each begun run of this many bytes. If it is `None`, a
    /// request costs a token for each byte.
    pub request_bytes: Option<NonZeroU64>,
}

#[derive(Debug)]
struct Bucket {
    per_s: NonZeroU64,
    request_bytes: Option<NonZeroU64>,
    capacity: i128,
    level: i128,
}

impl Bucket {
    fn cost(&self, length: u64) -> i128 {
        let tokens = match self.request_bytes {
            None => length,
            Some(bytes) if length <= bytes.get() => 1,
            Some(bytes) => length.div_ceil(bytes.get()),
        };
        i128::from(tokens) * BILLION
    }

    fn fill(&mut self, ns: u64) {
        let gained = i128::from(self.per_s.get()) * i128::from(ns);
        self.level = (self.level + gained).min(self.capacity);
    }

    /// Returns the time until `length` bytes may pass, in ns. A request that costs more than the bucket can hold passes when the
    /// bucket is full.
    fn wait_ns(&self, length: u64) -> u64 {
        let lacking = self.cost(length).min(self.capacity) - self.level;
        if lacking <= 0 {
            return 0;
        }
        u64::try_from(lacking.unsigned_abs().div_ceil(u128::from(self.per_s.get()))).unwrap_or(u64::MAX)
    }
}

#[derive(Debug)]
pub struct Credits {
    buckets: Vec<Bucket>,
    at_ns: u64,
}

impl Credits {
    pub fn new(buckets: Vec<BucketParameters>) -> Self {
        let full = |BucketParameters { per_s, capacity, request_bytes }| {
            let capacity = i128::from(capacity) * BILLION;
            Bucket { per_s, request_bytes, capacity, level: capacity }
        };
        Self { buckets: buckets.into_iter().map(full).collect(), at_ns: 0 }
    }

    /// Takes the tokens of a request that is ready at `ready_ns`, and returns the time at which the request may pass, in ns.
    /// Requests pass in the order in which they are given.
    pub fn pass(&mut self, ready_ns: u64, length: u64) -> u64 {
        let ready_ns = ready_ns.max(self.at_ns);
        let mut wait_ns = 0;
        for bucket in &mut self.buckets {
            bucket.fill(ready_ns - self.at_ns);
            wait_ns = bucket.wait_ns(length).max(wait_ns);
        }
        for bucket in &mut self.buckets {
            bucket.fill(wait_ns);
            bucket.level -= bucket.cost(length);
        }
        self.at_ns = ready_ns.saturating_add(wait_ns);
        self.at_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(per_s: u64, capacity: u64, request_bytes: u64) -> BucketParameters {
        BucketParameters { per_s: NonZeroU64::new(per_s).unwrap(), capacity, request_bytes: NonZeroU64::new(request_bytes) }
    }

    #[test]
    fn a_burst_passes_at_once_and_then_the_rate_decides() {
        let mut credits = Credits::new(vec![bucket(1000, 3, 1 << 18)]);
        let passed = [0, 0, 0, 0, 0, 5_000_000, 5_000_000].map(|at| credits.pass(at, 4096));
        assert_eq!(passed, [0, 0, 0, 1_000_000, 2_000_000, 5_000_000, 5_000_000]);
    }

    #[test]
    fn long_requests_count_as_several_and_the_narrowest_bucket_decides() {
        let mut credits = Credits::new(vec![bucket(1000, 4, 1 << 18), bucket(1 << 30, 1 << 20, 0)]);
        assert_eq!(credits.pass(0, 1 << 20), 0, "it takes four tokens and all bytes");
        assert_eq!(credits.pass(0, 1 << 19), 2_000_000, "two tokens take 2 ms, and the bytes take 0.5 ms");
        assert_eq!(credits.pass(0, (1 << 18) + 1), 4_000_000);
    }

    #[test]
    fn what_never_fits_passes_a_full_bucket_and_leaves_a_debt() {
        let mut credits = Credits::new(vec![bucket(1000, 2, 1)]);
        assert_eq!([0, 0, 10_000_000].map(|at| credits.pass(at, 5)), [0, 5_000_000, 10_000_000]);
        assert_eq!(credits.pass(10_000_000, 1), 14_000_000);
    }
}
