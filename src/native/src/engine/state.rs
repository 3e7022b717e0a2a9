//! The part of the engine's state that each arriving request reads and changes. It holds the model, the setting in force, and the
//! last arrivals, from which the arrival of the next request follows.

use super::{MAX_TRANSFER, Setting};
use crate::clock::now_ns;
use crate::log::Record;
use crate::model::{Model, Op, Parameters, Request};

/// A request that comes at most this many ns before a completion is due may have waited for that completion, because replies can
/// be a little early.
const EARLY_NS: u64 = 3_000;

/// A request that was taken, with the time of its reply.
pub struct Taken {
    pub record: Record,
    /// Time at which the reply is to be sent, in ns.
    pub deadline_ns: u64,
    pub burn_ns: u64,
    /// Whether the reply has to wait for the timer.
    pub waits: bool,
}

pub struct State {
    pub parameters: Parameters,
    pub model: Model,
    pub setting: Setting,
    /// Number of the setting in force.
    pub number: u32,
    pub next_seq: u64,
    /// Earliest time at which the next request can come, in ns. It is the time at which the last request came, or the time of the
    /// last change of the setting, or the time at which a stall was last armed.
    pub latest_ns: u64,
    /// Arrival of the last request, in ns. It can be later than `latest_ns`, because an arrival can be moved to a completion.
    arrived_ns: u64,
    /// If the last request may be a part of a larger one, this is its operation, the offset at which it ended, and the time at
    /// which it came, in ns.
    split: Option<(Op, u64, u64)>,
    /// Begin and end of every ordered stall so far, in ns.
    pub stalls: Vec<(u64, u64)>,
}

impl State {
    pub fn new(parameters: Parameters) -> Self {
        Self {
            model: Model::new(parameters.clone()),
            parameters,
            setting: Setting::default(),
            number: 0,
            next_seq: 0,
            latest_ns: 0,
            arrived_ns: 0,
            split: None,
            stalls: Vec::new(),
        }
    }

    /// Returns the arrival of a request that is taken now, in ns. This is the time at which the kernel issued the request, or the
    /// arrival of the larger request of which it is a part, or else `now_ns`. It is never before the last arrival nor before the
    /// last change of the setting. If the number in flight decides the latency, a request that comes shortly before a completion
    /// arrives at that completion, because in a closed loop it waited for that completion.
    pub fn arrival(&mut self, op: Op, offset: u64, length: u64, issued_ns: Option<u64>, now_ns: u64) -> u64 {
        let rest = self.split.filter(|(before, end, _)| (*before, *end) == (op, offset)).map(|(.., came_ns)| came_ns);
        let known = issued_ns.or(rest);
        self.latest_ns = known.map_or(now_ns, |ns| ns.min(now_ns).max(self.latest_ns));
        // If neither the kernel nor the request before says when this request came, the next request is not taken for a part of
        // it. Otherwise a stream of large requests would arrive all at once.
        self.split = (length == MAX_TRANSFER && known.is_some()).then_some((op, offset + length, self.latest_ns));
        self.arrived_ns = self.model.after_completion_ns(self.latest_ns, EARLY_NS).max(self.arrived_ns);
        self.arrived_ns
    }

    /// Takes a request that is here now, with `inflight` requests in the device, this one included. Returns its record, which has
    /// its arrival and its nominal completion, and the time at which it is to be answered so that it is completed then.
    pub fn take(&mut self, op: Op, offset: u64, length: u64, issued_ns: Option<u64>, inflight: u32) -> Taken {
        let now_ns = now_ns();
        let arrival_ns = self.arrival(op, offset, length, issued_ns, now_ns);
        let request = Request { arrival_ns, op, offset, length };
        let stalled_ns = self.model.stalled_until_ns();
        let nominal_ns = self.model.completion_ns(&request);
        let until_ns = self.model.stalled_until_ns();
        if until_ns != stalled_ns {
            self.stalls.push((arrival_ns, until_ns));
        }
        let record = Record { seq: self.next_seq, request, inflight, nominal_ns, replied_ns: 0, setting: self.number };
        self.next_seq += 1;
        let deadline_ns = nominal_ns.saturating_sub(self.setting.floor_ns);
        Taken { record, deadline_ns, burn_ns: self.setting.burn_ns, waits: deadline_ns > now_ns }
    }

    /// Begins a new setting, which holds for requests that arrive from now on. Returns the setting's number and the time, in ns.
    pub fn begin(&mut self) -> (u32, u64) {
        self.number += 1;
        self.latest_ns = now_ns();
        self.arrived_ns = self.latest_ns;
        self.split = None;
        (self.number, self.latest_ns)
    }
}
