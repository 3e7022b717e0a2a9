//! The device model, which says when a request that arrives now is completed. It is pure arithmetic on nanoseconds, without a
//! clock and without I/O, so that the emulator uses it in real time and a simulation can use it in simulated time.
//!
//! A request passes the token buckets and waits for a free channel. From then on its latency runs, and at the same time its bytes
//! cross the pipe that all channels share. The request is completed when both are over, and it holds its channel until then. An
//! idle device therefore answers small requests after its latency, and a busy one delivers its bandwidth (as `null_blk` does). A
//! write into a cache needs room there instead of a channel. A flush waits for the cache to drain. The head of a hard disk first
//! has to get to its place. While the device stalls, nothing starts. Each part has a file of its own, and a part that a device
//! does not have costs nothing.

mod cache;
mod channels;
mod closed;
mod credits;
mod draw;
mod inflight;
mod latency;
mod line;
mod pipe;
mod seek;
mod stall;

use std::num::{NonZeroU32, NonZeroU64};

pub use cache::CacheParameters;
pub use closed::closed_loop;
pub use credits::BucketParameters;
pub use draw::Draws;
pub use latency::Latency;
pub use seek::SeekParameters;
pub use stall::StallParameters;

use cache::Cache;
use channels::Channels;
use credits::Credits;
use inflight::Inflight;
use line::value;
use pipe::Pipe;
use seek::Head;
use stall::Stalls;

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

    /// Returns whether the operation's bytes cross the pipe. A flush has no bytes, and the bytes of a discard stay where they
    /// are.
    const fn is_transferred(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// The parameters of a device. If a parameter is `None` or empty, the device has no such part or no such limit.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Parameters {
    /// Latency of each operation, in the order of [`Op::ALL`].
    pub latency_ns: [Latency; 4],
    /// Bandwidth that all channels share.
    pub bandwidth_bytes_per_s: Option<NonZeroU64>,
    /// Number of requests in service at the same time.
    pub channels: Option<NonZeroU32>,
    /// Points of the factor by which latency is multiplied. A point is a number of requests in flight, in ascending order, and
    /// the factor at that number.
    pub load: Vec<[f64; 2]>,
    pub credits: Vec<BucketParameters>,
    pub seek: Option<SeekParameters>,
    pub stalls: Option<StallParameters>,
    pub cache: Option<CacheParameters>,
    pub seed: u64,
}

/// The properties of a request that decide its completion. Offset and length are in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub arrival_ns: u64,
    pub op: Op,
    pub offset: u64,
    pub length: u64,
}

#[derive(Debug)]
/// The state of one device between its requests.
pub struct Model {
    latency_ns: [Latency; 4],
    /// Random numbers for latencies. Number `n` belongs to request `n`.
    draws: Draws,
    requests: u64,
    channels: Channels,
    pipe: Option<Pipe>,
    load: Vec<[f64; 2]>,
    inflight: Option<Inflight>,
    credits: Option<Credits>,
    head: Option<Head>,
    stalls: Option<Stalls>,
    cache: Option<Cache>,
    armed_stall_ns: Option<u64>,
    stalled_until_ns: u64,
}

impl Model {
    pub fn new(parameters: Parameters) -> Self {
        let Parameters { latency_ns, bandwidth_bytes_per_s, channels, load, credits, seek, stalls, cache, seed } = parameters;
        // If bandwidth has no limit, no time passes while bytes pass under the head.
        let head = || seek.clone().map(|seek| Head::new(seek, bandwidth_bytes_per_s.unwrap_or(NonZeroU64::MAX)));
        let counts = !load.is_empty() || latency_ns.iter().any(Latency::is_by_inflight);
        Self {
            latency_ns,
            draws: Draws::new(seed, 0),
            requests: 0,
            channels: Channels::new(channels.map_or(0, NonZeroU32::get)),
            pipe: bandwidth_bytes_per_s.map(Pipe::new),
            load,
            inflight: counts.then(Inflight::default),
            credits: (!credits.is_empty()).then(|| Credits::new(credits)),
            cache: cache.map(|cache| Cache::new(cache, head())),
            head: head(),
            stalls: stalls.map(|stalls| Stalls::new(stalls, seed)),
            armed_stall_ns: None,
            stalled_until_ns: 0,
        }
    }

    /// Lets the next request begin a stall of `duration_ns`. Requests that were given before keep their completions.
    pub fn stall_next(&mut self, duration_ns: u64) {
        self.armed_stall_ns = Some(duration_ns);
    }

    /// Returns the time until which the ordered stalls last that have begun so far, in ns. It is 0 before the first of them.
    pub fn stalled_until_ns(&self) -> u64 {
        self.stalled_until_ns
    }

    /// Returns the arrival of a request that comes at `arrival_ns`, if completions can come up to `early_ns` too early. If the
    /// number in flight decides the latency, this is the last completion for which the request may have waited, but not before
    /// `arrival_ns`. Otherwise it is `arrival_ns`.
    pub fn after_completion_ns(&mut self, arrival_ns: u64, early_ns: u64) -> u64 {
        let last_ns = self.inflight.as_mut().and_then(|inflight| inflight.last_until(arrival_ns + early_ns));
        last_ns.map_or(arrival_ns, |last_ns| last_ns.max(arrival_ns))
    }

    /// Returns the completion of `request`, in ns of the clock of its arrival, which is `CLOCK_MONOTONIC` or any other. Requests
    /// must be given in the order of their arrival.
    pub fn completion_ns(&mut self, request: &Request) -> u64 {
        let Request { arrival_ns, op, offset, length } = *request;
        if let Some(duration_ns) = self.armed_stall_ns.take() {
            self.stalled_until_ns = self.stalled_until_ns.max(arrival_ns + duration_ns);
        }
        let is_transferred = op.is_transferred();
        let is_cached = op == Op::Write && self.cache.is_some();

        let mut start_ns = arrival_ns.max(self.stalled_until_ns);
        if is_transferred && let Some(credits) = &mut self.credits {
            start_ns = credits.pass(start_ns, length);
        }
        start_ns = match &mut self.cache {
            Some(cache) if is_cached => cache.admit(start_ns, length),
            _ => start_ns.max(self.channels.free_ns()),
        };
        if let Some(stalls) = &mut self.stalls {
            if op == Op::Write {
                stalls.write(start_ns, length);
            }
            start_ns = stalls.over_ns(arrival_ns, start_ns);
        }

        let latency = match &self.cache {
            Some(cache) if is_cached => cache.latency(),
            _ => &self.latency_ns[op as usize],
        };
        let inflight = self.inflight.as_mut().map_or(1.0, |inflight| inflight.at(arrival_ns));
        let mut latency_ns = latency.ns(inflight, || self.draws.share(self.requests));
        self.requests += 1;
        if !self.load.is_empty() {
            latency_ns = times(latency_ns, value(&self.load, inflight));
        }

        let mut ready_ns = start_ns;
        let mut head = self.head.as_mut().filter(|_| is_transferred && !is_cached);
        if let Some(head) = &mut head {
            // The drive reads ahead, so it has always known of a read that goes on where the last request ended.
            ready_ns = head.reach(start_ns, offset, if op == Op::Read { 0 } else { arrival_ns });
        }
        if op == Op::Flush
            && let Some(cache) = &self.cache
        {
            ready_ns = start_ns.max(cache.drained_ns());
        }
        let mut done_ns = ready_ns.saturating_add(latency_ns);
        if is_transferred {
            let crossed_ns = self.pipe.as_mut().map_or(ready_ns, |pipe| pipe.cross(ready_ns, length));
            done_ns = done_ns.max(crossed_ns);
            if let Some(head) = head {
                head.leave(offset + length, crossed_ns);
            }
        }

        match &mut self.cache {
            Some(cache) if is_cached => cache.hold(done_ns, offset, length),
            _ => self.channels.hold(done_ns),
        }
        if let Some(inflight) = &mut self.inflight {
            inflight.add(done_ns);
        }
        done_ns
    }
}

/// Returns the nearest whole number, or 0 if `ns` is negative.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the function is for this conversion")]
fn whole(ns: f64) -> u64 {
    (ns + 0.5) as u64
}

#[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns, 104 days")]
fn times(ns: u64, factor: f64) -> u64 {
    whole(ns as f64 * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arrival_ns: u64, length: u64) -> Request {
        Request { arrival_ns, op: Op::Read, offset: 0, length }
    }

    fn constant(latency_ns: u64) -> [Latency; 4] {
        [latency_ns; 4].map(Latency::Constant)
    }

    #[test]
    fn every_operation_has_its_own_latency() {
        let mut model = Model::new(Parameters { latency_ns: [1, 2, 3, 4].map(Latency::Constant), ..Parameters::default() });
        let completions = Op::ALL.map(|op| model.completion_ns(&Request { op, ..read(100, 4096) }));
        assert_eq!(completions, [101, 102, 103, 104]);
    }

    #[test]
    fn unlimited_channels_serve_at_once() {
        let mut model = Model::new(Parameters { latency_ns: constant(1000), ..Parameters::default() });
        assert!((0..100).all(|at| model.completion_ns(&read(at, 4096)) == at + 1000));
    }

    #[test]
    fn channels_queue_first_come_first_served() {
        let mut model =
            Model::new(Parameters { latency_ns: constant(1000), channels: NonZeroU32::new(2), ..Parameters::default() });
        let completions = [0, 0, 0, 10, 5000].map(|at| model.completion_ns(&read(at, 4096)));
        assert_eq!(completions, [1000, 1000, 2000, 2000, 6000]);
    }

    #[test]
    fn the_pipe_is_shared_and_latency_overlaps_the_transfer() {
        let mut model = Model::new(Parameters {
            latency_ns: constant(500),
            bandwidth_bytes_per_s: NonZeroU64::new(1_000_000_000),
            ..Parameters::default()
        });
        let completions = [0, 0, 10_000].map(|at| model.completion_ns(&read(at, 4096)));
        assert_eq!(model.completion_ns(&read(20_000, 100)), 20_500);
        assert_eq!(completions, [4096, 8192, 14_096]);
    }

    #[test]
    fn discards_and_flushes_do_not_cross_the_pipe() {
        let latency_ns = [0, 0, 7, 9].map(Latency::Constant);
        let parameters = Parameters { latency_ns, bandwidth_bytes_per_s: NonZeroU64::new(1), ..Parameters::default() };
        let mut model = Model::new(parameters);
        assert_eq!(model.completion_ns(&Request { op: Op::Discard, ..read(0, 1 << 40) }), 9);
        assert_eq!(model.completion_ns(&Request { op: Op::Flush, ..read(0, 0) }), 7);
    }

    #[test]
    fn a_stall_begins_with_the_next_request_and_holds_all_until_its_end() {
        let mut model = Model::new(Parameters { latency_ns: constant(1000), ..Parameters::default() });
        assert_eq!(model.completion_ns(&read(0, 4096)), 1000);
        model.stall_next(500_000);
        let completions = [10_000, 200_000, 509_999, 510_000, 600_000].map(|at| model.completion_ns(&read(at, 4096)));
        assert_eq!(completions, [511_000, 511_000, 511_000, 511_000, 601_000]);
        assert_eq!(model.stalled_until_ns(), 510_000);
    }

    #[test]
    fn a_short_stall_does_not_end_a_long_one() {
        let mut model = Model::new(Parameters { latency_ns: constant(1000), ..Parameters::default() });
        model.stall_next(500_000);
        assert_eq!(model.completion_ns(&read(0, 4096)), 501_000);
        model.stall_next(10_000);
        assert_eq!([1000, 20_000].map(|at| model.completion_ns(&read(at, 4096))), [501_000, 501_000]);
    }

    #[test]
    fn what_was_taken_before_a_stall_goes_on() {
        let mut model =
            Model::new(Parameters { latency_ns: constant(1000), channels: NonZeroU32::new(1), ..Parameters::default() });
        assert_eq!([0, 0, 0].map(|at| model.completion_ns(&read(at, 4096))), [1000, 2000, 3000]);
        model.stall_next(500_000);
        assert_eq!(model.completion_ns(&read(500, 4096)), 501_500);
    }

    #[test]
    fn who_may_have_waited_for_a_completion_arrives_after_it() {
        let quantiles = vec![vec![0.0, 1000.0, 5000.0], vec![1.0, 1000.0, 5000.0]];
        let latency_ns =
            [(); 4].map(|()| Latency::QuantilesByInflight { inflight: vec![1.0, 2.0], quantiles: quantiles.clone() });
        let mut model = Model::new(Parameters { latency_ns, ..Parameters::default() });
        assert_eq!((model.after_completion_ns(0, 100), model.completion_ns(&read(0, 4096))), (0, 1000));
        assert_eq!([800, 899].map(|at| model.after_completion_ns(at, 100)), [800, 899]);
        assert_eq!((model.after_completion_ns(900, 100), model.completion_ns(&read(1000, 4096))), (1000, 2000), "one in flight");
        assert_eq!((model.after_completion_ns(1500, 100), model.completion_ns(&read(1500, 4096))), (1500, 6500), "two in flight");
        let mut constant = Model::new(Parameters { latency_ns: constant(1000), ..Parameters::default() });
        assert_eq!((constant.completion_ns(&read(0, 4096)), constant.after_completion_ns(900, 100)), (1000, 900));
    }

    #[test]
    fn saturated_bandwidth_is_exact_over_many_requests() {
        let mut model = Model::new(Parameters { bandwidth_bytes_per_s: NonZeroU64::new(550_000_000), ..Parameters::default() });
        let last = (0..1000).map(|_| model.completion_ns(&read(0, 1 << 20))).last().unwrap();
        let expected = 1000 * (1u64 << 20) * 1_000_000_000 / 550_000_000;
        assert!(last.abs_diff(expected) < 1000);
    }

    #[test]
    fn a_cached_write_needs_no_channel_and_a_flush_waits_for_it() {
        let rate = |bytes_per_s| NonZeroU64::new(bytes_per_s).unwrap();
        let mut model = Model::new(Parameters {
            latency_ns: [1000, 5000, 10, 0].map(Latency::Constant),
            channels: NonZeroU32::new(1),
            cache: Some(CacheParameters {
                bytes: 1 << 20,
                latency_ns: Latency::Constant(100),
                destage_bytes_per_s: rate(1_000_000),
            }),
            ..Parameters::default()
        });
        let made = [Op::Read, Op::Write, Op::Write, Op::Flush, Op::Read];
        let completions = made.map(|op| model.completion_ns(&Request { op, ..read(0, 4096) }));
        assert_eq!(completions, [1000, 100, 100, 100 + 2 * 4_096_000 + 10, 100 + 2 * 4_096_000 + 10 + 1000]);
    }

    #[test]
    fn each_request_has_its_own_draw() {
        let drawn = Latency::Quantiles { quantiles: vec![[0.0, 0.0], [1.0, 1e6]] };
        let mixed = Parameters {
            latency_ns: [drawn.clone(), Latency::Constant(5), drawn, Latency::Constant(0)],
            ..Parameters::default()
        };
        let run = |parameters: &Parameters, ops: [Op; 3]| {
            let mut model = Model::new(parameters.clone());
            ops.map(|op| model.completion_ns(&Request { op, ..read(0, 0) }))
        };
        let reads = run(&mixed, [Op::Read; 3]);
        assert_eq!(run(&mixed, [Op::Read, Op::Write, Op::Flush]), [reads[0], 5, reads[2]]);
        assert_ne!(run(&Parameters { seed: 1, ..mixed }, [Op::Read; 3]), reads);
    }
}
