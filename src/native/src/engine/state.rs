//! What the engine knows of its requests: the model, what is in force beside it, and who came last.

use super::{MAX_TRANSFER, Setting};
use crate::clock::now_ns;
use crate::floor::Lately;
use crate::model::{Model, Op, Parameters};

/// Completions are held to so much (p50): who comes so shortly before one that is due may have waited for it.
const EARLY_NS: u64 = 3_000;

/// When a request arrives.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub at_ns: u64,
    /// By how much that is later than it came.
    pub moved_ns: u64,
    /// Whether somebody knew when it came.
    pub is_known: bool,
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
    /// For the floor.
    pub lately: Lately,
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
            lately: Lately::default(),
            stalls: Vec::new(),
        }
    }

    /// When a request arrives that is taken now: when it was issued, or, as the rest of a larger one, when that was; if nobody knows,
    /// now. Never before the last one, nor before what is in force. In a closed loop it waited for a completion, which may have been a
    /// little early: then it arrives when that was due, or the model would count what is completed.
    pub fn arrival(&mut self, op: Op, offset: u64, length: u64, issued_ns: Option<u64>, now_ns: u64) -> Arrival {
        let rest = self.split.filter(|(before, end, _)| (*before, *end) == (op, offset)).map(|(.., came_ns)| came_ns);
        let known = issued_ns.or(rest);
        self.latest_ns = known.map_or(now_ns, |ns| ns.min(now_ns).max(self.latest_ns));
        self.split = (length == MAX_TRANSFER).then_some((op, offset + length, self.latest_ns));
        self.arrived_ns = self.model.after_completion_ns(self.latest_ns, EARLY_NS).max(self.arrived_ns);
        Arrival { at_ns: self.arrived_ns, moved_ns: self.arrived_ns - self.latest_ns, is_known: known.is_some() }
    }

    /// What is in force now is so for requests that arrive from now on; returns its number and the time.
    pub fn begin(&mut self) -> (u32, u64) {
        self.number += 1;
        self.latest_ns = now_ns();
        self.arrived_ns = self.latest_ns;
        self.lately = Lately::default();
        (self.number, self.latest_ns)
    }
}
