//! How many requests are in the device: service can take longer the more there are.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Completions that are still to come.
#[derive(Debug, Default)]
pub struct Inflight {
    completions_ns: BinaryHeap<Reverse<u64>>,
}

impl Inflight {
    /// Those that a request meets that arrives now: it counts, with those that arrived before it and are not completed.
    #[allow(clippy::cast_precision_loss, reason = "a count")]
    pub fn at(&mut self, arrival_ns: u64) -> f64 {
        while self.completions_ns.peek().is_some_and(|Reverse(done_ns)| *done_ns <= arrival_ns) {
            self.completions_ns.pop();
        }
        (self.completions_ns.len() + 1) as f64
    }

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
    }
}
