//! Service that takes longer the more requests are in the device.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::line::value;

/// By what the latency is multiplied, over the requests in flight.
#[derive(Debug)]
pub struct Load {
    points: Vec<[f64; 2]>,
    completions_ns: BinaryHeap<Reverse<u64>>,
}

impl Load {
    /// `points`: requests in flight, ascending, and factor; linear in between, and on with the last slope.
    pub fn new(points: Vec<[f64; 2]>) -> Self {
        Self { points, completions_ns: BinaryHeap::new() }
    }

    #[allow(clippy::cast_precision_loss, reason = "a count")]
    /// The factor for a request that arrives now; it counts, with those that arrived before it and are not completed.
    pub fn factor(&mut self, arrival_ns: u64) -> f64 {
        while self.completions_ns.peek().is_some_and(|Reverse(done_ns)| *done_ns <= arrival_ns) {
            self.completions_ns.pop();
        }
        value(&self.points, (self.completions_ns.len() + 1) as f64)
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
        let mut load = Load::new(vec![[1.0, 1.0], [2.0, 2.0]]);
        let factors = [(0, 100), (50, 300), (99, 120), (100, 130), (120, 400)].map(|(arrival_ns, done_ns)| {
            let factor = load.factor(arrival_ns);
            load.add(done_ns);
            factor
        });
        assert_eq!(factors, [1.0, 2.0, 3.0, 3.0, 3.0]);
    }
}
