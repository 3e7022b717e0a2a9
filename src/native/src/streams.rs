//! Runs streams of requests in simulated time. A stream issues its next step when that step is due and the previous step is
//! completed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Model, Op, Request};

/// Requests that a stream issues together. The step is completed when all of them are.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Number of the stream that issues the step, from 0 on.
    pub stream: usize,
    pub due_ns: u64,
    /// Number of requests that belong to the step. In the list of all requests they follow the requests of the step before.
    pub requests: usize,
}

/// Returns the times at which each step was issued and completed, in ns. `requests` has an operation, an offset and a length in
/// bytes for each request, in the order of the steps.
pub fn simulate(mut model: Model, steps: &[Step], requests: &[(Op, u64, u64)]) -> Vec<(u64, u64)> {
    let mut first = 0;
    let mut streams: Vec<Vec<(usize, std::ops::Range<usize>)>> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        if streams.len() <= step.stream {
            streams.resize_with(step.stream + 1, Vec::new);
        }
        streams[step.stream].push((number, first..first + step.requests));
        first += step.requests;
    }
    let mut streams: Vec<_> = streams.into_iter().map(|steps| steps.into_iter().peekable()).collect();
    let mut outcomes = vec![(0, 0); steps.len()];
    let mut next = BinaryHeap::new();
    for (stream, waiting) in streams.iter_mut().enumerate() {
        if let Some((number, _)) = waiting.peek() {
            next.push(Reverse((steps[*number].due_ns, *number, stream)));
        }
    }
    while let Some(Reverse((issued_ns, number, stream))) = next.pop() {
        let waiting = &mut streams[stream];
        let range = waiting.next().map_or(0..0, |(_, range)| range);
        let completed = requests[range]
            .iter()
            .map(|&(op, offset, length)| model.completion_ns(&Request { arrival_ns: issued_ns, op, offset, length }));
        let completed_ns = completed.max().unwrap_or(issued_ns).max(issued_ns);
        outcomes[number] = (issued_ns, completed_ns);
        if let Some((following, _)) = waiting.peek() {
            next.push(Reverse((steps[*following].due_ns.max(completed_ns), *following, stream)));
        }
    }
    outcomes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Parameters;

    fn step(stream: usize, due_ns: u64, requests: usize) -> Step {
        Step { stream, due_ns, requests }
    }

    #[test]
    fn a_stream_waits_for_itself_and_for_nobody_else() {
        // The model has no latency, and its pipe passes one byte per nanosecond, so a request takes as many nanoseconds as it has
        // bytes.
        let parameters = Parameters { bandwidth_bytes_per_s: 1_000_000_000.try_into().ok(), ..Parameters::default() };
        let steps = [step(0, 0, 1), step(1, 10, 1), step(0, 20, 2), step(1, 5_000, 0)];
        let read = |length| (Op::Read, 0, length);
        let requests = [read(100), read(50), read(10), read(20)];
        let outcomes = simulate(Model::new(parameters), &steps, &requests);
        // Step 0 takes from 0 to 100. Step 1 waits for it in the pipe and ends at 150. Step 2 is issued at 100 and waits for step
        // 1. Step 3 has no requests.
        assert_eq!(outcomes, [(0, 100), (10, 150), (100, 180), (5_000, 5_000)]);
    }
}
