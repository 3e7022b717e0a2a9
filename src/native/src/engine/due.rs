//! What is learned of requests that were answered: whether the kernel completed them when they were due.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::arrivals::Told;
use crate::lead::Lead;
use crate::model::{Op, Request};

/// When the kernel is to complete a request.
pub struct Due {
    pub at_ns: u64,
    pub request: Request,
    pub latency_ns: u64,
    /// For the floor and the lead: requests in flight of late.
    pub lately: u64,
    /// Whether its reply waits for the timer: if not it cannot be any earlier.
    pub waits: bool,
    /// Whether there is a floor, and the kernel says when: it said when the request was issued, and completes all of it at once.
    pub learns: bool,
    /// When its reply was sent: what the kernel completed before was another request.
    pub sent_ns: u64,
}

impl Due {
    /// Whether the kernel has completed it, and before `until_ns`, which is learned from then.
    fn is_seen(&self, until_ns: u64, told: &dyn Told, lead: &Lead) -> bool {
        let Some(completed_ns) = told.completed_ns(self.request.op, self.request.offset, self.sent_ns..until_ns) else {
            return false;
        };
        let is_late = completed_ns > self.at_ns;
        if self.waits || !is_late {
            lead.learn(self.lately, self.latency_ns, is_late);
        }
        true
    }

    /// Whether the kernel tells of it in the same place as of the other, and so only of one of the two.
    fn shares_place(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|due| (due.request.op == Op::Flush, due.request.offset));
        own.0 == others.0 && (own.0 || own.1 == others.1)
    }
}

/// So many can wait to be seen,
const MOST: usize = 64;
/// for so long: then the kernel's word was lost, as another request overwrote it,
const PATIENCE_NS: u64 = 10_000_000;
/// and so many of them are looked for with each reply.
const LOOKS: usize = 2;

/// Requests that were answered and not seen to be completed: a flush, and what another core completes, comes a little later.
#[derive(Default)]
pub struct Answered {
    unseen: Mutex<VecDeque<Due>>,
    count: AtomicUsize,
}

impl Answered {
    /// Looks whether a request is completed that was answered just now, and whether some are of which that is not known yet.
    pub fn add(&self, due: Due, told: &dyn Told, lead: &Lead) {
        if !due.learns || due.latency_ns == 0 {
            return;
        }
        let is_alone = self.count.load(Ordering::Relaxed) == 0;
        if is_alone && due.is_seen(u64::MAX, told, lead) {
            return;
        }
        let mut unseen = self.unseen.lock().expect("no thread panics with the lock");
        unseen.retain(|other| {
            let is_over = other.shares_place(&due);
            if is_over {
                other.is_seen(due.sent_ns, told, lead); // what comes from now on may be this one's
            }
            !is_over
        });
        for _ in 0..LOOKS.min(unseen.len()) {
            let Some(oldest) = unseen.pop_front() else { break };
            if !oldest.is_seen(u64::MAX, told, lead) && due.sent_ns.saturating_sub(oldest.sent_ns) < PATIENCE_NS {
                unseen.push_back(oldest);
            }
        }
        if is_alone || !due.is_seen(u64::MAX, told, lead) {
            if unseen.len() == MOST {
                unseen.pop_front();
            }
            unseen.push_back(due);
        }
        self.count.store(unseen.len(), Ordering::Relaxed);
    }

    /// Those until now are of no interest any more.
    pub fn forget(&self) {
        let mut unseen = self.unseen.lock().expect("no thread panics with the lock");
        unseen.clear();
        self.count.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::ops::Range;

    use super::*;

    /// A kernel with one place for each offset, and one for all flushes.
    #[derive(Default)]
    struct Kernel(Mutex<HashMap<(bool, u64), u64>>);

    impl Kernel {
        fn complete(&self, op: Op, offset: u64, at_ns: u64) {
            self.0.lock().unwrap().insert(Self::place(op, offset), at_ns);
        }
        fn place(op: Op, offset: u64) -> (bool, u64) {
            if op == Op::Flush { (true, 0) } else { (false, offset) }
        }
    }

    impl Told for Kernel {
        fn issued_ns(&self, _: Op, _: u64) -> Option<u64> {
            None
        }
        fn completed_ns(&self, op: Op, offset: u64, within: Range<u64>) -> Option<u64> {
            let (mut places, place) = (self.0.lock().unwrap(), Self::place(op, offset));
            let found_ns = places.get(&place).copied().filter(|at_ns| within.contains(at_ns));
            found_ns.and_then(|_| places.remove(&place))
        }
    }

    const LATENCY_NS: u64 = 1_000_000;

    #[derive(Default)]
    struct Bench {
        kernel: Kernel,
        answered: Answered,
        lead: Lead,
    }

    impl Bench {
        /// Answers a request that is due at `at_ns`, with the lead that there is; returns when.
        fn answer(&self, op: Op, offset: u64, at_ns: u64) -> u64 {
            let sent_ns = at_ns - self.lead_ns();
            let request = Request { arrival_ns: at_ns - LATENCY_NS, op, offset, length: 4096 };
            let due = Due { at_ns, request, latency_ns: LATENCY_NS, lately: 1000, waits: true, learns: true, sent_ns };
            self.answered.add(due, &self.kernel, &self.lead);
            sent_ns
        }
        fn lead_ns(&self) -> u64 {
            self.lead.ns(1000, LATENCY_NS)
        }
        fn waiting(&self) -> usize {
            self.answered.unseen.lock().unwrap().len()
        }
    }

    const TAKES_NS: u64 = 20_000;

    #[test]
    fn what_is_told_later_is_learned_from_the_next_reply() {
        for op in [Op::Read, Op::Flush] {
            let bench = Bench::default();
            for number in 1..300 {
                let sent_ns = bench.answer(op, 0, 2 * number * LATENCY_NS);
                bench.kernel.complete(op, 0, sent_ns + TAKES_NS);
            }
            assert!(bench.lead_ns().abs_diff(TAKES_NS) <= 2_000, "{op:?}: {}", bench.lead_ns());
            assert_eq!(bench.waiting(), 1);
        }
    }

    #[test]
    fn of_two_flushes_that_overlap_one_is_not_told_and_none_is_taken_for_the_other() {
        let bench = Bench::default();
        for number in 1..300 {
            let at_ns = 2 * number * LATENCY_NS;
            bench.answer(Op::Flush, 0, at_ns);
            let sent_ns = bench.answer(Op::Flush, 0, at_ns + 1_000);
            bench.kernel.complete(Op::Flush, 0, sent_ns + TAKES_NS);
            for offset in [1, 2] {
                let sent_ns = bench.answer(Op::Write, offset << 12, at_ns + 100_000 * offset);
                bench.kernel.complete(Op::Write, offset << 12, sent_ns + TAKES_NS);
            }
        }
        assert!(bench.lead_ns().abs_diff(TAKES_NS) <= 2_000, "{}", bench.lead_ns());
        assert!(bench.waiting() <= 3);
    }

    #[test]
    fn words_that_are_lost_and_many_that_come_late_stop_nothing() {
        let bench = Bench::default();
        let mut sent = VecDeque::new();
        for number in 1..3_000 {
            let offset = (number % 1_000) << 12;
            sent.push_back((offset, bench.answer(Op::Read, offset, number * 10_000 + LATENCY_NS)));
            if sent.len() > 40 {
                let (offset, sent_ns) = sent.pop_front().unwrap();
                if offset % 3 != 0 {
                    bench.kernel.complete(Op::Read, offset, sent_ns + TAKES_NS);
                }
            }
        }
        assert!(bench.lead_ns().abs_diff(TAKES_NS) <= 4_000, "{}", bench.lead_ns());
        assert!(bench.waiting() <= MOST);
        bench.answered.forget();
        assert_eq!(bench.waiting(), 0);
    }
}
