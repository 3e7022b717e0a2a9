//! Burns CPU time for the sham, the arm with the baseline's latency that costs the emulator as much CPU time as the slowest arm
//! does.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

use crate::clock::thread_cpu_ns;

/// The longest time that is burned before the burner looks whether it is to stop, in ns.
const PIECE_NS: u64 = 50_000;

/// CPU time that is still to be burned. One thread burns it in `run`, and any thread may add to it.
#[derive(Default)]
pub struct Burner {
    owed_ns: AtomicU64,
    stopped: AtomicBool,
    thread: OnceLock<Thread>,
}

impl Burner {
    /// Adds `ns` to the CPU time that is owed and returns at once. The thread in `run` burns that time.
    pub fn owe(&self, ns: u64) {
        if ns > 0 && self.owed_ns.fetch_add(ns, Ordering::SeqCst) == 0 {
            self.wake();
        }
    }

    /// Returns the CPU time that is still to be burned, in ns.
    pub fn owed_ns(&self) -> u64 {
        self.owed_ns.load(Ordering::SeqCst)
    }

    /// Burns the CPU time that is owed, until `stop` is called. The calling thread sleeps while nothing is owed.
    pub fn run(&self) {
        self.thread.get_or_init(thread::current);
        while !self.stopped.load(Ordering::SeqCst) {
            let owed_ns = self.owed_ns();
            if owed_ns == 0 {
                thread::park();
                continue;
            }
            let start_ns = thread_cpu_ns();
            while thread_cpu_ns() < start_ns + owed_ns.min(PIECE_NS) {
                std::hint::spin_loop();
            }
            let burned_ns = (thread_cpu_ns() - start_ns).min(owed_ns);
            self.owed_ns.fetch_sub(burned_ns, Ordering::SeqCst);
        }
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn burns_what_is_owed_and_no_more() {
        let burner = Arc::new(Burner::default());
        let runner = Arc::clone(&burner);
        let thread = thread::spawn(move || {
            runner.run();
            thread_cpu_ns()
        });
        for _ in 0..20 {
            burner.owe(1_000_000);
        }
        while burner.owed_ns() > 0 {
            thread::yield_now();
        }
        burner.stop();
        let cpu_ns = thread.join().unwrap();
        assert!((19_000_000..25_000_000).contains(&cpu_ns), "{cpu_ns} ns");
    }
}
