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
//!
//! It says whether it gets as much of the core as kernels want ordinary threads to have, and wakes whoever leaves the core to it
//! otherwise (`rest.rs`).

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::Duration;

use crate::clock::{now_ns, thread_cpu_ns};
use crate::cores;
use crate::realtime;
use crate::rest::Company;

/// A core that serves fewer is there for others, too. Far below what makes it busy: where it comes and goes, as with bunches that are
/// now within a look and now not, the worker is on either core, and p99 of 6 ms with 128 in flight twice as long.
const BUSY_PER_S: u64 = 5_000;
/// So many in flight are few, of requests that are answered at once.
const FEW: u64 = 4;
/// Who gets less of the core where requests are answered at once is in the way: newer kernels stop real-time threads for up to 50 ms in a
/// second for ordinary ones that wait.
const LEAST_PART: u64 = 50;
const LOOK_NS: u64 = 10_000_000;
/// It is to have this part of the core: kernels stop real-time threads that leave less than a twentieth, some for up to 50 ms in a
/// second.
const PART: u64 = 14;
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

/// Whose core it occupies.
pub trait Host {
    /// What was taken so far; nobody waits for that.
    fn served(&self) -> Served;
    /// Tells it who is there beside it.
    fn keep(&self, company: Company);
    /// Is called all the time while an occupant is there: it may have left it to the occupant to wake it.
    fn wake(&self);
}

/// How much more of the core than its part it has had, or less, for some looks.
#[derive(Default)]
struct Share {
    over_ns: i64,
}

impl Share {
    const MOST_NS: i64 = 2 * LOOK_NS.cast_signed();

    fn add(&mut self, used_ns: u64, all_ns: u64) {
        let over_ns = self.over_ns + used_ns.cast_signed() - (all_ns / PART).cast_signed();
        self.over_ns = over_ns.clamp(-Self::MOST_NS, Self::MOST_NS);
    }

    fn is_had(&self) -> bool {
        self.over_ns >= 0
    }

    /// Whether there is no hope of that for now.
    fn is_lost(&self) -> bool {
        self.over_ns == -Self::MOST_NS
    }
}

#[derive(Default)]
pub struct Occupant {
    stopped: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Occupant {
    /// Occupies the calling thread's core whenever its `host` has taken many requests of late, until `stop`, unless few that are
    /// answered at once; returns at once where that is of no use.
    pub fn run(&self, host: &impl Host) {
        if !realtime::is_taken() || !cores::has_one_of_several() {
            return;
        }
        realtime::give_up();
        if !realtime::is_taken() {
            // SAFETY: takes numbers only; 0 is the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
            self.watch(host);
        }
    }

    fn watch(&self, host: &impl Host) {
        self.thread.get_or_init(thread::current);
        let (mut before_ns, mut before) = (now_ns(), host.served());
        let (mut is_busy, mut is_crowded) = (false, false);
        let mut share = Share::default();
        while !self.is_stopped() {
            if is_busy && !is_crowded {
                let (from_ns, used_ns) = (now_ns(), thread_cpu_ns());
                self.occupy(host, from_ns + LOOK_NS);
                let (used_ns, all_ns) = (thread_cpu_ns() - used_ns, now_ns() - from_ns);
                share.add(used_ns, all_ns);
                host.keep(if share.is_had() { Company::Occupant } else { Company::Starved });
                is_crowded = if before.at_once { LEAST_PART * used_ns < all_ns } else { share.is_lost() };
            } else {
                host.keep(Company::Others);
                thread::park_timeout(Duration::from_nanos(LOOK_NS));
                (is_crowded, share) = (false, Share::default());
            }
            let (at_ns, now) = (now_ns(), host.served());
            let requests = now.requests - before.requests;
            let is_fast = requests * 1_000_000_000 >= BUSY_PER_S * (at_ns - before_ns);
            is_busy = is_fast && (!now.at_once || now.inflight - before.inflight > FEW * requests);
            (before_ns, before) = (at_ns, now);
        }
        host.keep(Company::Others);
    }

    fn occupy(&self, host: &impl Host, until_ns: u64) {
        while now_ns() < until_ns && !self.is_stopped() {
            host.wake();
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
    use std::sync::atomic::AtomicU64;
    use std::sync::{Arc, Mutex};

    use super::*;

    const WATCHED_NS: u64 = 400_000_000;

    #[derive(Default)]
    struct Device {
        taken: AtomicU64,
        inflight: u64,
        at_once: bool,
        kept: Mutex<Vec<Company>>,
        woken: AtomicU64,
    }

    impl Host for Device {
        fn served(&self) -> Served {
            let requests = self.taken.load(Ordering::Relaxed);
            Served { requests, inflight: self.inflight * requests, at_once: self.at_once }
        }

        fn keep(&self, company: Company) {
            self.kept.lock().unwrap().push(company);
        }

        fn wake(&self) {
            self.woken.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// CPU time of an occupant while so many requests a second are taken, so many in flight, and answered at once or later; and
    /// whether its host was told of it, and woken.
    fn watched(per_s: u64, inflight: u64, at_once: bool) -> (u64, bool) {
        let (occupant, device) = (Arc::new(Occupant::default()), Arc::new(Device { inflight, at_once, ..Device::default() }));
        let (watching, serving) = (Arc::clone(&occupant), Arc::clone(&device));
        let thread = thread::spawn(move || {
            watching.watch(&*serving);
            thread_cpu_ns()
        });
        let start_ns = now_ns();
        while now_ns() - start_ns < WATCHED_NS {
            thread::sleep(Duration::from_millis(1));
            device.taken.store(per_s * (now_ns() - start_ns) / 1_000_000_000, Ordering::Relaxed);
        }
        occupant.stop();
        let used_ns = thread.join().unwrap();
        let kept = device.kept.lock().unwrap();
        assert_eq!(kept.last(), Some(&Company::Others), "when it has gone");
        (used_ns, kept.iter().any(|company| *company != Company::Others) && device.woken.load(Ordering::Relaxed) > 100)
    }

    #[test]
    fn it_is_there_while_many_requests_are_taken_and_only_then() {
        let (calm_per_s, busy_per_s) = (BUSY_PER_S / 4, BUSY_PER_S * 4);
        let many = [(FEW + 1, true), (1, false)].map(|(inflight, at_once)| watched(busy_per_s, inflight, at_once));
        assert!(many.iter().all(|(_, is_told)| *is_told), "{many:?}");
        let many_ns = many.into_iter().map(|(used_ns, _)| used_ns).min().unwrap();
        for (per_s, inflight, at_once) in [(calm_per_s, FEW + 1, true), (calm_per_s, FEW + 1, false), (busy_per_s, FEW, true)] {
            let (calm_ns, _) = watched(per_s, inflight, at_once);
            assert!(many_ns > 4 * calm_ns && calm_ns < WATCHED_NS / 10, "{calm_ns} and {many_ns} ns");
        }
    }

    #[test]
    fn it_knows_what_it_lacks() {
        let mut share = Share::default();
        assert!(share.is_had() && !share.is_lost());
        share.add(LOOK_NS / 4, LOOK_NS);
        share.add(LOOK_NS / 50, LOOK_NS);
        assert!(share.is_had(), "what was left over is kept");
        (0..3).for_each(|_| share.add(LOOK_NS / 50, LOOK_NS));
        assert!(!share.is_had() && !share.is_lost());
        share.add(LOOK_NS / 4, LOOK_NS);
        assert!(share.is_had(), "what was missed is made up for");
        let looks = (1..100).find(|_| {
            share.add(LOOK_NS / 50, LOOK_NS);
            share.is_lost()
        });
        assert!((20..60).contains(&looks.unwrap()), "{looks:?}: before a second is over");
    }

    #[test]
    fn without_real_time_it_returns_at_once() {
        let ordinary = thread::spawn(|| {
            realtime::give_up();
            let device = Device::default();
            Occupant::default().run(&device);
            assert_eq!(device.kept.into_inner().unwrap(), []);
        });
        ordinary.join().unwrap();
    }
}
