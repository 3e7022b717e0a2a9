//! Runs streams of requests in simulated time. A stream issues its next step when that step is due, the previous step is completed,
//! and the steps of other streams that it needs are completed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::model::{Model, Op, Request};
use crate::order::Needs;

/// Requests that a stream issues together. The step is completed when all of them are.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Number of the stream that issues the step, from 0 on.
    pub stream: u32,
    /// Time at which the step is due. In a closed loop, it is the time from the moment at which the step has nothing more to wait
    /// for.
    pub due_ns: u64,
    /// Number of requests that belong to the step. In the list of all requests they follow the requests of the step before.
    pub requests: usize,
}

#[derive(Default)]
struct Stream {
    /// Number of each step, and the range of its requests.
    steps: Vec<(usize, std::ops::Range<usize>)>,
    /// Time at which each step that has been issued is completed.
    completed_ns: Vec<u64>,
    /// Streams that wait for a step which has not been issued.
    waiting: Vec<usize>,
}

/// Returns the times at which each step was issued and completed, in ns. `requests` has an operation, an offset and a length in
/// bytes for each request, in the order of the steps. `needs` has the steps of other streams that each step waits for.
pub fn simulate(
    mut model: Model,
    steps: &[Step],
    requests: &[(Op, u64, u64)],
    needs: &Needs,
    is_closed: bool,
) -> Vec<(u64, u64)> {
    let mut first = 0;
    let mut streams: Vec<Stream> = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let stream = step.stream as usize;
        if streams.len() <= stream {
            streams.resize_with(stream + 1, Stream::default);
        }
        streams[stream].steps.push((number, first..first + step.requests));
        first += step.requests;
    }
    let mut outcomes = vec![(0, 0); steps.len()];
    let mut next = BinaryHeap::new();
    let mut released: Vec<usize> = (0..streams.len()).collect();
    loop {
        for stream in released.drain(..) {
            let Some(&(number, _)) = streams[stream].steps.get(streams[stream].completed_ns.len()) else { continue };
            let before_ns = streams[stream].completed_ns.last().copied().unwrap_or(0);
            let ready = needs.of(number).iter().try_fold(before_ns, |ready_ns, need| {
                let other = &mut streams[need.stream as usize];
                let completed_ns = other.completed_ns.get(need.count as usize - 1).copied();
                completed_ns.map(|ns| ready_ns.max(ns)).or_else(|| {
                    other.waiting.push(stream);
                    None
                })
            });
            if let Some(ready_ns) = ready {
                let due_ns = steps[number].due_ns;
                let at_ns = if is_closed { ready_ns.saturating_add(due_ns) } else { ready_ns.max(due_ns) };
                next.push(Reverse((at_ns, number, stream)));
            }
        }
        let Some(Reverse((issued_ns, number, stream))) = next.pop() else { return outcomes };
        let range = streams[stream].steps[streams[stream].completed_ns.len()].1.clone();
        let completed = requests[range]
            .iter()
            .map(|&(op, offset, length)| model.completion_ns(&Request { arrival_ns: issued_ns, op, offset, length }));
        let completed_ns = completed.max().unwrap_or(issued_ns).max(issued_ns);
        outcomes[number] = (issued_ns, completed_ns);
        streams[stream].completed_ns.push(completed_ns);
        released.append(&mut streams[stream].waiting);
        released.push(stream);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Parameters;
    use crate::order::Need;

    fn step(stream: u32, due_ns: u64, requests: usize) -> Step {
        Step { stream, due_ns, requests }
    }

    /// Runs steps on a model that has no latency, and whose pipe passes one byte per nanosecond, so that a request takes as many
    /// nanoseconds as it has bytes.
    fn run(steps: &[Step], lengths: &[u64], needs: Vec<(u32, Need)>, is_closed: bool) -> Vec<(u64, u64)> {
        let parameters = Parameters { bandwidth_bytes_per_s: 1_000_000_000.try_into().ok(), ..Parameters::default() };
        let streams: Vec<u32> = steps.iter().map(|step| step.stream).collect();
        let requests: Vec<_> = lengths.iter().map(|&length| (Op::Read, 0, length)).collect();
        simulate(Model::new(parameters), steps, &requests, &Needs::new(&streams, needs).unwrap(), is_closed)
    }

    #[test]
    fn a_stream_waits_for_itself_and_for_nobody_else() {
        let steps = [step(0, 0, 1), step(1, 10, 1), step(0, 20, 2), step(1, 5_000, 0)];
        let outcomes = run(&steps, &[100, 50, 10, 20], Vec::new(), false);
        // Step 0 takes from 0 to 100. Step 1 waits for it in the pipe and ends at 150. Step 2 is issued at 100 and waits for step
        // 1. Step 3 has no requests.
        assert_eq!(outcomes, [(0, 100), (10, 150), (100, 180), (5_000, 5_000)]);
    }

    #[test]
    fn a_step_waits_for_the_steps_that_it_needs() {
        let steps = [step(0, 0, 1), step(1, 10, 1), step(0, 20, 1), step(2, 0, 0)];
        let needs = vec![(1, Need { stream: 0, count: 1 }), (3, Need { stream: 0, count: 2 }), (3, Need { stream: 1, count: 1 })];
        assert_eq!(run(&steps, &[100, 50, 10], needs, false), [(0, 100), (100, 150), (100, 160), (160, 160)]);
    }

    #[test]
    fn in_a_closed_loop_a_step_is_due_after_what_it_waits_for() {
        let steps = [step(0, 5, 1), step(1, 10, 1), step(0, 20, 1)];
        let needs = vec![(1, Need { stream: 0, count: 1 })];
        assert_eq!(run(&steps, &[100, 50, 10], needs, true), [(5, 105), (115, 165), (125, 175)]);
    }
}
