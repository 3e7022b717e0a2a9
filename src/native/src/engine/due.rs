//! What is learned of requests that were answered: whether the kernel completed them when they were due.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arrivals::Told;
use crate::lead::Lead;
use crate::model::Request;

/// When the kernel is to complete a request.
pub struct Due {
    pub at_ns: u64,
    pub request: Request,
    pub latency_ns: u64,
    /// For the floor and the lead: requests in flight of late.
    pub lately: u64,
    /// Whether its reply waits for the timer: if not it cannot be any earlier.
    pub waits: bool,
    /// Whether there is a floor, and the kernel says when: it said when the request was issued.
    pub learns: bool,
}

impl Due {
    /// Whether the kernel has completed it, which is learned from then.
    fn is_seen(&self, told: &dyn Told, lead: &Lead) -> bool {
        let Request { arrival_ns, op, offset, .. } = self.request;
        // A time from before the arrival is another request's.
        let completed_ns = told.completed_ns(op, offset).filter(|at_ns| *at_ns >= arrival_ns);
        let Some(completed_ns) = completed_ns else { return false };
        let is_late = completed_ns > self.at_ns;
        if self.waits || !is_late {
            lead.learn(self.lately, self.latency_ns, is_late);
        }
        true
    }
}

/// So many can wait to be seen.
const MOST: usize = 64;

/// Requests that were answered and not seen to be completed: a flush, and what another core completes, comes a little later.
#[derive(Default)]
pub struct Answered {
    unseen: Mutex<VecDeque<Due>>,
    count: AtomicUsize,
}

impl Answered {
    /// Looks whether a request is completed that was answered just now, and whether the oldest is of which that is not known.
    pub fn add(&self, due: Due, told: &dyn Told, lead: &Lead) {
        if !due.learns || due.latency_ns == 0 {
            return;
        }
        let is_seen = due.is_seen(told, lead);
        if is_seen && self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut unseen = self.unseen.lock().expect("no thread panics with the lock");
        if unseen.len() == MOST || unseen.front().is_some_and(|oldest| oldest.is_seen(told, lead)) {
            unseen.pop_front();
        }
        if !is_seen {
            unseen.push_back(due);
        }
        self.count.store(unseen.len(), Ordering::Relaxed);
    }
}
