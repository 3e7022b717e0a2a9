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

    /// Waits as long as that pays for the request after the one that came at `came_ns`; `is_there` says whether it has come.
    fn wait(&mut self, came_ns: u64, now_ns: impl Fn() -> u64, is_there: impl Fn() -> bool) {
        let is_good = self.is_good(came_ns);
        self.answered_ns = now_ns();
        if !is_good {
            return;
        }
        let until_ns = self.answered_ns + SOON_NS;
        let mut has_come = false;
        while !has_come && now_ns() < until_ns {
            has_come = is_there();
        }
        self.learn(has_come);
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
        self.pace.lock().expect("no thread panics with the lock").wait(came_ns, now_ns, || is_readable(requests));
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
    use std::cell::Cell;
    use std::io::{Write, pipe};

    use super::*;

    /// A clock that goes on by this much each time that it is read.
    const READ_NS: u64 = 100;

    /// A reader answers requests that come `after_ns` after the last was answered, in the time of a clock of the test's own. Returns how
    /// long it waited for each, and whether it was there then.
    fn waits(pace: &mut Pace, after_ns: u64, requests: usize) -> Vec<(u64, bool)> {
        let clock_ns = Cell::new(pace.answered_ns);
        let now_ns = || {
            clock_ns.set(clock_ns.get() + READ_NS);
            clock_ns.get()
        };
        (0..requests)
            .map(|_| {
                let came_ns = clock_ns.get().max(pace.answered_ns + after_ns);
                clock_ns.set(came_ns);
                let next_ns = came_ns + READ_NS + after_ns;
                pace.wait(came_ns, now_ns, || clock_ns.get() >= next_ns);
                (clock_ns.get() - pace.answered_ns, clock_ns.get() >= next_ns)
            })
            .collect()
    }

    #[test]
    fn it_waits_for_each_that_comes_soon() {
        let waited = waits(&mut Pace::default(), SOON_NS / 2, 400);
        assert!(waited.iter().all(|(waited_ns, is_there)| *is_there && *waited_ns <= SOON_NS / 2 + 2 * READ_NS), "{waited:?}");
    }

    #[test]
    fn it_waits_in_vain_a_few_times_and_for_no_longer_than_soon() {
        let waited = waits(&mut Pace::default(), 2 * SOON_NS, 400);
        assert!(waited.iter().all(|(waited_ns, is_there)| !is_there && *waited_ns <= SOON_NS + READ_NS), "{waited:?}");
        let vain = waited.iter().filter(|(waited_ns, _)| *waited_ns > 0).count();
        assert_eq!(vain, VAIN as usize, "{waited:?}");
        assert!(waited[vain..].iter().all(|(waited_ns, _)| *waited_ns == 0), "it begins again by itself");
    }

    #[test]
    fn it_waits_again_when_they_come_soon_again() {
        let mut pace = Pace::default();
        waits(&mut pace, 2 * SOON_NS, 400);
        let waited = waits(&mut pace, SOON_NS / 2, 2 * MOST_SOON as usize);
        assert!(waited.last().is_some_and(|(_, is_there)| *is_there), "{:?}", waited.last());
    }

    #[test]
    fn it_sees_a_request_in_a_pipe() {
        let (requests, mut submit) = pipe().unwrap();
        let requests = OwnedFd::from(requests);
        assert!(!is_readable(&requests));
        submit.write_all(&[0]).unwrap();
        assert!(is_readable(&requests));
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
}
