//! What the engine knows of its requests: the model, what is in force beside it, and who came last.

use super::{MAX_TRANSFER, Setting};
use crate::clock::now_ns;
use crate::floor::Lately;
use crate::model::{Model, Op, Parameters};

pub struct State {
    pub parameters: Parameters,
    pub model: Model,
    pub setting: Setting,
    pub number: u32,
    pub next_seq: u64,
    /// No request arrives before it: the last arrival, or the last change of what is in force.
    pub latest_ns: u64,
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
            split: None,
            lately: Lately::default(),
            stalls: Vec::new(),
        }
    }

    /// When a request arrives that is taken now: when it was issued, or, as the rest of a larger one, when that was; if nobody knows,
    /// now. Never before the last one, nor before what is in force. And whether somebody knew.
    pub fn arrival_ns(&mut self, op: Op, offset: u64, length: u64, issued_ns: Option<u64>, now_ns: u64) -> (u64, bool) {
        let rest = self.split.filter(|(before, end, _)| (*before, *end) == (op, offset)).map(|(.., arrival_ns)| arrival_ns);
        let known = issued_ns.or(rest);
        self.latest_ns = known.map_or(now_ns, |ns| ns.min(now_ns).max(self.latest_ns));
        self.split = (length == MAX_TRANSFER).then_some((op, offset + length, self.latest_ns));
        (self.latest_ns, known.is_some())
    }

    /// What is in force now is so for requests that arrive from now on; returns its number and the time.
    pub fn begin(&mut self) -> (u32, u64) {
        self.number += 1;
        self.latest_ns = now_ns();
        self.lately = Lately::default();
        (self.number, self.latest_ns)
    }
}
