//! Keeps the emulator's core from looking idle while it serves many requests.
//!
//! A loop device hands its requests on by a worker of the kernel, an ordinary thread. Woken while the emulator's core has nothing to do
//! for a moment it is put there, and stays: to the scheduler the core has no load, because real-time threads are none. So it waits
//! whenever these work or spin, and with it up to half of the requests, for about as long as a request takes. No thread is put on a
//! core that has an ordinary one already if another core would have it sooner: this one needs the core for nothing, and lets any other
//! that waits have it at once, which a worker that was put there all the same would else wait for until the next tick. Only one core
//! can be kept so, and another must be there.
//!
//! How many are in flight cannot be asked for: of two the worker holds back the second until the first is answered, so that each is
//! taken alone. Only where requests are answered at once are few better off without: whoever takes them looks for the next, and is
//! woken in no time on a core that only idles.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::clock::{now_ns, thread_cpu_ns};
use crate::cores;
use crate::realtime;

/// A core that serves fewer is there for others, too. Far below what makes it busy: where it comes and goes, as with bunches that are
/// now within a look and now not, the worker is on either core, and p99 of 6 ms with 128 in flight twice as long.
const BUSY_PER_S: u64 = 5_000;
/// So many in flight are few, of requests that are answered at once.
const FEW: u64 = 4;
/// Who gets less of the core is in the way: newer kernels stop real-time threads for up to 50 ms in a second for ordinary ones that wait.
const LEAST_PART: u64 = 50;
const LOOK_NS: u64 = 10_000_000;
/// A tenth of the share of an ordinary thread of the same session: with the least, of a hundredth, workers are put there all the same now
/// and then.
const NICE: libc::c_int = 10;

/// What a device has taken so far.
#[derive(Clone, Copy)]
pub struct Served {
    pub requests: u64,
    /// Summed over them: how many were in flight, itself included, when each was taken.
    pub inflight: u64,
    /// Whether the last one was answered at once.
    pub at_once: bool,
}

#[derive(Default)]
pub struct Occupant {
    stopped: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Occupant {
    /// Occupies the calling thread's core whenever many requests were `taken` of late, until `stop`, unless few that are answered at
    /// once; returns at once where that is of no use.
    pub fn run(&self, taken: impl Fn() -> Served) {
        if !realtime::is_taken() || !cores::has_one_of_several() {
            return;
        }
        realtime::give_up();
        if !realtime::is_taken() {
            // SAFETY: takes numbers only; 0 is the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
            self.watch(taken);
        }
    }

    fn watch(&self, taken: impl Fn() -> Served) {
        self.thread.get_or_init(thread::current);
        let (mut before_ns, mut before) = (now_ns(), taken());
        let (mut is_busy, mut is_crowded) = (false, false);
        while !self.is_stopped() {
            if is_busy && !is_crowded {
                let (from_ns, used_ns) = (now_ns(), thread_cpu_ns());
                self.occupy(from_ns + LOOK_NS);
                is_crowded = LEAST_PART * (thread_cpu_ns() - used_ns) < now_ns() - from_ns;
            } else {
                thread::park_timeout(Duration::from_nanos(LOOK_NS));
                is_crowded = false;
            }
            let (at_ns, now) = (now_ns(), taken());
            let requests = now.requests - before.requests;
            let is_fast = requests * 1_000_000_000 >= BUSY_PER_S * (at_ns - before_ns);
            is_busy = is_fast && (!now.at_once || now.inflight - before.inflight > FEW * requests);
            (before_ns, before) = (at_ns, now);
        }
    }

    fn occupy(&self, until_ns: u64) {
        while now_ns() < until_ns && !self.is_stopped() {
            thread::yield_now();
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    use super::*;

    const WATCHED_NS: u64 = 400_000_000;

    /// CPU time of an occupant while so many requests a second are taken, so many in flight, and answered at once or later.
    fn cpu_ns_at(per_s: u64, inflight: u64, at_once: bool) -> u64 {
        let (occupant, taken) = (Arc::new(Occupant::default()), Arc::new(AtomicU64::new(7)));
        let (watching, counted) = (Arc::clone(&occupant), Arc::clone(&taken));
        let thread = thread::spawn(move || {
            watching.watch(|| {
                let requests = counted.load(Ordering::Relaxed);
                Served { requests, inflight: inflight * requests, at_once }
            });
            thread_cpu_ns()
        });
        let start_ns = now_ns();
        while now_ns() - start_ns < WATCHED_NS {
            thread::sleep(Duration::from_millis(1));
            taken.store(7 + per_s * (now_ns() - start_ns) / 1_000_000_000, Ordering::Relaxed);
        }
        occupant.stop();
        thread.join().unwrap()
    }

    #[test]
    fn it_is_there_while_many_requests_are_taken_and_only_then() {
        let (calm_per_s, busy_per_s) = (BUSY_PER_S / 4, BUSY_PER_S * 4);
        let many = [(FEW + 1, true), (1, false)].map(|(inflight, at_once)| cpu_ns_at(busy_per_s, inflight, at_once));
        let many_ns = many.into_iter().min().unwrap();
        for (per_s, inflight, at_once) in [(calm_per_s, FEW + 1, true), (calm_per_s, FEW + 1, false), (busy_per_s, FEW, true)] {
            let calm_ns = cpu_ns_at(per_s, inflight, at_once);
            assert!(many_ns > 4 * calm_ns && calm_ns < WATCHED_NS / 10, "{calm_ns} and {many_ns} ns");
        }
    }

    #[test]
    fn without_real_time_it_returns_at_once() {
        let ordinary = thread::spawn(|| {
            realtime::give_up();
            Occupant::default().run(|| panic!("nobody asks"));
        });
        ordinary.join().unwrap();
    }
}
