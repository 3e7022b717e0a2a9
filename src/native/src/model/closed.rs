//! A closed loop, in which a constant number of requests is in the device because every completion issues the next request.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Model, Op, Request};

/// Returns the arrival and the completion of each request, in ns and in the order of arrival. The first `depth` requests arrive
/// at 0, and each later request arrives when the earliest request in flight completes. `requests` has the operation, the offset
/// and the length in bytes of each.
pub fn closed_loop(model: &mut Model, depth: usize, requests: impl Iterator<Item = (Op, u64, u64)>) -> Vec<(u64, u64)> {
    let mut under_way = BinaryHeap::with_capacity(depth);
    let run = requests.map(|(op, offset, length)| {
        let arrival_ns = if under_way.len() < depth { 0 } else { under_way.pop().map_or(0, |Reverse(done_ns)| done_ns) };
        let done_ns = model.completion_ns(&Request { arrival_ns, op, offset, length });
        under_way.push(Reverse(done_ns));
        (arrival_ns, done_ns)
    });
    run.collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::model::{Latency, Parameters};

    fn run(channels: u32, depth: usize) -> Vec<(u64, u64)> {
        let latency_ns = [1000; 4].map(Latency::Constant);
        let mut model = Model::new(Parameters { latency_ns, channels: NonZeroU32::new(channels), ..Parameters::default() });
        closed_loop(&mut model, depth, (0..6).map(|_| (Op::Read, 0, 4096)))
    }

    #[test]
    fn each_completion_issues_the_next() {
        let alone: Vec<_> = (0..6).map(|n| (n * 1000, n * 1000 + 1000)).collect();
        assert_eq!((run(0, 1), run(4, 1)), (alone.clone(), alone));
        assert_eq!(run(0, 3), [(0, 1000), (0, 1000), (0, 1000), (1000, 2000), (1000, 2000), (1000, 2000)]);
        assert_eq!(run(2, 3), [(0, 1000), (0, 1000), (0, 2000), (1000, 2000), (1000, 3000), (2000, 3000)]);
    }
}
