//! Counts the requests in the device, because service can take longer the more of them there are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The completions that are still to come, which are those of the requests in flight.
#[derive(Debug, Default)]
pub struct Inflight {
    completions_ns: BinaryHeap<Reverse<u64>>,
}

impl Inflight {
    /// Returns the number of requests in flight when a request arrives at `arrival_ns`, that request included.
    #[allow(clippy::cast_precision_loss, reason = "a count")]
    pub fn at(&mut self, arrival_ns: u64) -> f64 {
        self.last_until(arrival_ns);
        (self.completions_ns.len() + 1) as f64
    }

    /// Returns the last completion until `limit_ns`, if there is one. Requests that complete until then no longer count.
    pub fn last_until(&mut self, limit_ns: u64) -> Option<u64> {
        let mut last_ns = None;
        while let Some(Reverse(done_ns)) = self.completions_ns.peek().filter(|Reverse(done_ns)| *done_ns <= limit_ns) {
            last_ns = Some(*done_ns);
            self.completions_ns.pop();
        }
        last_ns
    }

    /// Counts a request that completes at `done_ns`.
    pub fn add(&mut self, done_ns: u64) {
        self.completions_ns.push(Reverse(done_ns));
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn who_is_completed_does_not_count() {
        let mut inflight = Inflight::default();
        let counts = [(0, 100), (50, 300), (99, 120), (100, 130), (120, 400)].map(|(arrival_ns, done_ns)| {
            let count = inflight.at(arrival_ns);
            inflight.add(done_ns);
            count
        });
        assert_eq!(counts, [1.0, 2.0, 3.0, 3.0, 3.0]);
        assert_eq!([200, 350, 350].map(|limit_ns| inflight.last_until(limit_ns)), [Some(130), Some(300), None]);
        assert_eq!(inflight.at(350), 2.0);
    }
}
