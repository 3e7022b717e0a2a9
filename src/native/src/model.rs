//! The device model: when is a request that arrives now completed? Pure arithmetic on nanoseconds, no clock and no
//! I/O, so that the emulator uses it in real time and a simulation can use it in simulated time.
//!
//! A request waits for a free channel; from then on its base latency runs, and beside it the transfer over the pipe
//! that all channels share. It is completed when both are over, and holds its channel until then. So an idle device
//! answers small requests after its base latency, and a busy one delivers its bandwidth (as `null_blk` does). A stall
//! begins with a request: until it is over the device starts nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Op {
    Read,
    Write,
    Flush,
    Discard,
}

impl Op {
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// The bytes of a read or a write cross the pipe; a flush has none, and those of a discard stay where they are.
    const fn is_transferred(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Parameters {
    /// Base latency by operation, in the order of [`Op::ALL`].
    pub latency_ns: [u64; 4],
    /// Shared by all channels; `None` is unlimited.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Requests in service at the same time; `None` is unlimited.
    pub channels: Option<u32>,
}

/// What a model may look at. `inflight` counts the requests in the device at arrival, this one included.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub arrival_ns: u64,
    pub op: Op,
    pub offset: u64,
    pub length: u64,
    pub inflight: u32,
}

#[derive(Debug, Default)]
pub struct Model {
    parameters: Parameters,
    channel_free_ns: BinaryHeap<Reverse<u64>>,
    pipe_free_ns: u64,
    armed_stall_ns: Option<u64>,
    stalled_until_ns: u64,
}

impl Model {
    pub fn new(parameters: Parameters) -> Self {
        let channels = parameters.channels.unwrap_or(0);
        Self { parameters, channel_free_ns: (0..channels).map(|_| Reverse(0)).collect(), ..Self::default() }
    }

    /// Lets the next request begin a stall of `duration_ns`.
    pub fn stall_next(&mut self, duration_ns: u64) {
        self.armed_stall_ns = Some(duration_ns);
    }

    /// Until when the last stall lasts; 0 before the first one.
    pub fn stalled_until_ns(&self) -> u64 {
        self.stalled_until_ns
    }

    /// Completion of `request` on `CLOCK_MONOTONIC` or any other clock; requests are given in the order of their arrival.
    pub fn completion_ns(&mut self, request: &Request) -> u64 {
        if let Some(duration_ns) = self.armed_stall_ns.take() {
            self.stalled_until_ns = request.arrival_ns + duration_ns;
        }
        let channel = self.channel_free_ns.pop();
        let free_ns = channel.map_or(0, |Reverse(free_ns)| free_ns);
        let start_ns = request.arrival_ns.max(free_ns).max(self.stalled_until_ns);
        let mut done_ns = start_ns + self.parameters.latency_ns[request.op as usize];
        if let Some(bandwidth) = self.parameters.bandwidth_bytes_per_s
            && request.op.is_transferred()
        {
            self.pipe_free_ns = start_ns.max(self.pipe_free_ns) + transfer_ns(request.length, bandwidth);
            done_ns = done_ns.max(self.pipe_free_ns);
        }
        if channel.is_some() {
            self.channel_free_ns.push(Reverse(done_ns));
        }
        done_ns
    }
}

fn transfer_ns(length: u64, bandwidth_bytes_per_s: u64) -> u64 {
    let ns = (u128::from(length) * 1_000_000_000 + u128::from(bandwidth_bytes_per_s) / 2) / u128::from(bandwidth_bytes_per_s);
    u64::try_from(ns).unwrap_or(u64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arrival_ns: u64, length: u64) -> Request {
        Request { arrival_ns, op: Op::Read, offset: 0, length, inflight: 1 }
    }

    #[test]
    fn every_operation_has_its_own_latency() {
        let mut model = Model::new(Parameters { latency_ns: [1, 2, 3, 4], ..Parameters::default() });
        let completions = Op::ALL.map(|op| model.completion_ns(&Request { op, ..read(100, 4096) }));
        assert_eq!(completions, [101, 102, 103, 104]);
    }

    #[test]
    fn unlimited_channels_serve_at_once() {
        let mut model = Model::new(Parameters { latency_ns: [1000; 4], ..Parameters::default() });
        assert!((0..100).all(|at| model.completion_ns(&read(at, 4096)) == at + 1000));
    }

    #[test]
    fn channels_queue_first_come_first_served() {
        let mut model = Model::new(Parameters { latency_ns: [1000; 4], channels: Some(2), ..Parameters::default() });
        let completions = [0, 0, 0, 10, 5000].map(|at| model.completion_ns(&read(at, 4096)));
        assert_eq!(completions, [1000, 1000, 2000, 2000, 6000]);
    }

    #[test]
    fn the_pipe_is_shared_and_latency_overlaps_the_transfer() {
        let mut model =
            Model::new(Parameters { latency_ns: [500; 4], bandwidth_bytes_per_s: Some(1_000_000_000), ..Parameters::default() });
        let completions = [0, 0, 10_000].map(|at| model.completion_ns(&read(at, 4096)));
        assert_eq!(model.completion_ns(&read(20_000, 100)), 20_500);
        assert_eq!(completions, [4096, 8192, 14_096]);
    }

    #[test]
    fn discards_and_flushes_do_not_cross_the_pipe() {
        let parameters = Parameters { latency_ns: [0, 0, 7, 9], bandwidth_bytes_per_s: Some(1), channels: None };
        let mut model = Model::new(parameters);
        assert_eq!(model.completion_ns(&Request { op: Op::Discard, ..read(0, 1 << 40) }), 9);
        assert_eq!(model.completion_ns(&Request { op: Op::Flush, ..read(0, 0) }), 7);
    }

    #[test]
    fn a_stall_begins_with_the_next_request_and_holds_all_until_its_end() {
        let mut model = Model::new(Parameters { latency_ns: [1000; 4], ..Parameters::default() });
        assert_eq!(model.completion_ns(&read(0, 4096)), 1000);
        model.stall_next(500_000);
        let completions = [10_000, 200_000, 509_999, 510_000, 600_000].map(|at| model.completion_ns(&read(at, 4096)));
        assert_eq!(completions, [511_000, 511_000, 511_000, 511_000, 601_000]);
        assert_eq!(model.stalled_until_ns(), 510_000);
    }

    #[test]
    fn saturated_bandwidth_is_exact_over_many_requests() {
        let mut model = Model::new(Parameters { bandwidth_bytes_per_s: Some(550_000_000), ..Parameters::default() });
        let last = (0..1000).map(|_| model.completion_ns(&read(0, 1 << 20))).last().unwrap();
        let expected = 1000 * (1u64 << 20) * 1_000_000_000 / 550_000_000;
        assert!(last.abs_diff(expected) < 1000);
    }
}
