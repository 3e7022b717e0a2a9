//! What the engine knows of its requests: the model, what is in force beside it, and who came last.

use super::{MAX_TRANSFER, Setting};
use crate::clock::now_ns;
use crate::log::Record;
use crate::model::{Model, Op, Parameters, Request};

/// A request that comes so shortly before a completion is due may have waited for it, because replies can be a little early.
const EARLY_NS: u64 = 3_000;

/// A request that was taken.
pub struct Taken {
    pub record: Record,
    /// When its reply is to be sent.
    pub deadline_ns: u64,
    pub burn_ns: u64,
    /// Whether the reply waits for the timer.
    pub waits: bool,
}

pub struct State {
    pub parameters: Parameters,
    pub model: Model,
    pub setting: Setting,
    pub number: u32,
    pub next_seq: u64,
    /// No request comes before it: when the last one came, or the last change of what is in force.
    pub latest_ns: u64,
    /// The last arrival.
    arrived_ns: u64,
    /// The last request, if it may be a part of a larger one: its operation, where it ended, and when it arrived.
    split: Option<(Op, u64, u64)>,
    /// Stalls so far: begin and end.
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

    /// Returns when a request arrives that is taken now: the time at which the kernel issued it, the arrival of the larger request that it
    /// is a part of, or now. It is never before the last arrival, nor before the last change of what is in force. If the number in flight
    /// decides the latency, a request that comes shortly before a completion arrives at that completion: in a closed loop it waited for it.
    pub fn arrival(&mut self, op: Op, offset: u64, length: u64, issued_ns: Option<u64>, now_ns: u64) -> u64 {
        let rest = self.split.filter(|(before, end, _)| (*before, *end) == (op, offset)).map(|(.., came_ns)| came_ns);
        let known = issued_ns.or(rest);
        self.latest_ns = known.map_or(now_ns, |ns| ns.min(now_ns).max(self.latest_ns));
        // What nobody knows of is no part of another: a stream of large requests would arrive all at once.
        self.split = (length == MAX_TRANSFER && known.is_some()).then_some((op, offset + length, self.latest_ns));
        self.arrived_ns = self.model.after_completion_ns(self.latest_ns, EARLY_NS).max(self.arrived_ns);
        self.arrived_ns
    }

    /// Takes a request that is here now, with `inflight` in the device. Returns when it arrived, when the model completes it, and when it is
    /// to be answered so that it is completed then.
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

    /// What is in force now is so for requests that arrive from now on; returns its number and the time.
    pub fn begin(&mut self) -> (u32, u64) {
        self.number += 1;
        self.latest_ns = now_ns();
        self.arrived_ns = self.latest_ns;
        self.split = None;
        (self.number, self.latest_ns)
    }
}
