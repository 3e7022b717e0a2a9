//! Stays awake for the next request where requests come one after another.
//!
//! Who reads a device's requests sleeps until there is one. To be woken, on another core than the waker's, takes a fifth of what a
//! request takes that is answered at once: where all are, as long as each comes soon after the last, this looks for the next instead. It
//! also keeps the loop device's worker, which wakes the reader, from the reader's core (see the occupant): that is never idle then, and
//! the worker runs where the request was submitted. A device that lets requests wait has its core to itself at times, so that the worker
//! may be there: it would wait for who looks for the next.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Mutex, OnceLock};

use crate::clock::now_ns;
use crate::cores;

/// Who comes within this time of the last answer is soon, and is waited for so long: 10 to 30 us where the next request is submitted at
/// once. With less the reader sleeps now and then; the loop device's worker may be put on its core then, and waits there the next time.
const SOON_NS: u64 = 60_000;
/// After so many in a row that were waited for in vain no other is until some were soon by themselves.
const VAIN: u32 = 8;
/// So many, twice as many each time that one is waited for in vain after them, up to the most: who is always soon by itself, and never
/// while it is waited for, is handed on by a worker on the reader's core.
const FIRST_SOON: u32 = 16;
const MOST_SOON: u32 = 4096;

#[derive(Default)]
pub struct Attention {
    requests: OnceLock<OwnedFd>,
    pace: Mutex<Pace>,
}

struct Pace {
    /// When the last one was answered.
    answered_ns: u64,
    /// How many in a row were waited for in vain.
    vain: u32,
    /// How many were soon by themselves since then, and how many must be.
    soon: u32,
    must_be_soon: u32,
}

impl Default for Pace {
    fn default() -> Self {
        Self { answered_ns: 0, vain: 0, soon: 0, must_be_soon: FIRST_SOON }
    }
}

impl Pace {
    /// Whether to wait for the next after this one, which came at `came_ns`.
    fn is_good(&mut self, came_ns: u64) -> bool {
        let was_soon = came_ns.saturating_sub(self.answered_ns) < SOON_NS;
        if self.vain < VAIN {
            // Somebody comes now and then: that is no reason to stop.
            self.vain = if was_soon { 0 } else { self.vain };
            return true;
        }
        self.soon += u32::from(was_soon);
        self.soon >= self.must_be_soon
    }

    fn learn(&mut self, is_there: bool) {
        if is_there {
            *self = Self { answered_ns: self.answered_ns, ..Self::default() };
        } else if self.vain == VAIN {
            (self.soon, self.must_be_soon) = (0, (2 * self.must_be_soon).min(MOST_SOON));
        } else {
            self.vain += 1;
        }
    }
}

impl Attention {
    /// From now on it looks at `requests`, which can be read when there is one. Does nothing where it would take the only core.
    pub fn pay_to(&self, requests: &impl AsFd) -> io::Result<()> {
        if cores::has_several() {
            let requests = requests.as_fd().try_clone_to_owned()?;
            self.requests.get_or_init(|| requests);
        }
        Ok(())
    }

    /// To be called by the one reader when it has answered what came at `came_ns`, and nothing is in flight: returns when there is the
    /// next request, at once if they do not come soon, and soon in any case.
    pub fn wait(&self, came_ns: u64) {
        let Some(requests) = self.requests.get() else { return };
        let mut pace = self.pace.lock().expect("no thread panics with the lock");
        let is_good = pace.is_good(came_ns);
        pace.answered_ns = now_ns();
        if !is_good {
            return;
        }
        let until_ns = pace.answered_ns + SOON_NS;
        let mut is_there = false;
        while !is_there && now_ns() < until_ns {
            is_there = is_readable(requests);
        }
        pace.learn(is_there);
    }
}

/// Also when it has ended: whoever reads it is told.
fn is_readable(requests: &OwnedFd) -> bool {
    let mut asked = libc::pollfd { fd: requests.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: the kernel writes to the one entry, which outlives the call; 0: it does not wait.
    unsafe { libc::poll(&raw mut asked, 1, 0) != 0 }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write, pipe};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::clock::thread_cpu_ns;

    const ROUNDS: u32 = 400;

    /// Requests come through a pipe, each `after_ns` after the last was answered; returns the CPU time of waiting for each, and for
    /// how many it waited until they were there.
    fn waits(after_ns: u64) -> (u64, u32) {
        let (mut requests, mut submit) = pipe().unwrap();
        let (mut answers, mut answer) = pipe().unwrap();
        let attention = Attention::default();
        attention.pay_to(&requests).unwrap();
        let asking = thread::spawn(move || {
            for _ in 0..ROUNDS {
                let from_ns = now_ns();
                if after_ns >= 1_000_000 {
                    thread::sleep(Duration::from_nanos(after_ns));
                }
                while now_ns() < from_ns + after_ns {}
                submit.write_all(&[0]).unwrap();
                answers.read_exact(&mut [0]).unwrap();
            }
        });
        let (mut waited_ns, mut met) = (0, 0);
        while requests.read(&mut [0]).unwrap() == 1 {
            let came_ns = now_ns();
            answer.write_all(&[0]).unwrap();
            let before_ns = thread_cpu_ns();
            attention.wait(came_ns);
            waited_ns += thread_cpu_ns() - before_ns;
            met += u32::from(is_readable(attention.requests.get().unwrap()));
        }
        asking.join().unwrap();
        (waited_ns / u64::from(ROUNDS), met)
    }

    #[test]
    fn it_waits_for_who_comes_soon_and_for_nobody_else() {
        let (_, met) = waits(0);
        assert!(met > ROUNDS / 2, "{met} of {ROUNDS} requests that came one after another");
        let (waited_ns, met) = waits(2_000_000);
        assert!(waited_ns < SOON_NS / 10 && met < ROUNDS / 10, "{waited_ns} ns for each of {ROUNDS}, {met} met");
    }

    #[test]
    fn it_waits_for_no_longer_than_soon() {
        let (requests, _submit) = pipe().unwrap();
        let attention = Attention::default();
        attention.pay_to(&requests).unwrap();
        let used_ns = |after_ns| {
            let from_ns = now_ns();
            while now_ns() < from_ns + after_ns {}
            let (came_ns, before_ns) = (now_ns(), thread_cpu_ns());
            attention.wait(came_ns);
            thread_cpu_ns() - before_ns
        };
        let (soon, late): (Vec<u64>, Vec<u64>) = (0..2 * VAIN).map(|_| (used_ns(0), used_ns(2 * SOON_NS))).unzip();
        let [soon_ns, late_ns] = [soon, late].map(|all| all.into_iter().max().unwrap());
        assert!((SOON_NS / 2..SOON_NS * 4).contains(&soon_ns), "{soon_ns} and {late_ns}");
        (0..VAIN).for_each(|_| {
            used_ns(2 * SOON_NS);
        });
        let rest_ns = (0..VAIN).map(|_| used_ns(2 * SOON_NS)).min().unwrap();
        assert!(rest_ns < SOON_NS / 2, "{rest_ns} after many in vain");
    }

    /// Each request comes soon when nobody waits for it, and else when that is over.
    #[test]
    fn it_gives_up_who_is_kept_from_coming_by_the_wait() {
        let mut pace = Pace::default();
        let mut waited = Vec::new();
        for _ in 0..100_000 {
            let waits = pace.is_good(pace.answered_ns + if waited.last() == Some(&true) { SOON_NS + 1 } else { SOON_NS / 4 });
            pace.answered_ns += SOON_NS;
            if waits {
                pace.learn(false);
            }
            waited.push(waits);
        }
        let all = waited.iter().filter(|waits| **waits).count();
        assert!((10..60).contains(&all), "{all} waits");
        // It comes while it is waited for again.
        let tries = (0..2 * MOST_SOON).take_while(|_| !pace.is_good(pace.answered_ns)).count();
        assert!(tries <= MOST_SOON as usize);
        pace.learn(true);
        assert!((0..100).all(|_| pace.is_good(pace.answered_ns)));
    }

    #[test]
    fn without_requests_to_look_at_it_returns() {
        let attention = Attention::default();
        let before_ns = thread_cpu_ns();
        (0..1000).for_each(|_| attention.wait(now_ns()));
        assert!(thread_cpu_ns() - before_ns < 10 * SOON_NS);
    }
}
