//! How far a stream has come, for the streams that wait for its requests.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Longest time that a waiting stream takes to see that it is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// The completed requests of a stream.
pub struct Progress {
    /// Times at which the requests were completed, in ns. A request that is not completed has 0.
    completed_ns: Box<[AtomicU64]>,
    completed: AtomicUsize,
    waiting: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Progress {
    /// Describes a stream with some number of requests, of which none is completed.
    pub fn of(requests: usize) -> Self {
        Self {
            completed_ns: (0..requests).map(|_| AtomicU64::new(0)).collect(),
            completed: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    /// Notes that the next request was completed. Only the stream itself calls this.
    pub fn complete(&self, at_ns: u64) {
        let number = self.completed.load(Ordering::Relaxed);
        self.completed_ns[number].store(at_ns, Ordering::Relaxed);
        self.completed.store(number + 1, Ordering::SeqCst);
        // A stream that begins to wait after this look sees the new number, because it says that it waits before it looks.
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock());
            self.changed.notify_all();
        }
    }

    /// Waits until `count` requests are completed, and returns the time at which the last of them was. Returns `None` if `stopped`
    /// was set meanwhile.
    pub fn wait(&self, count: u32, stopped: &AtomicBool) -> Option<u64> {
        let count = count as usize;
        if self.completed.load(Ordering::SeqCst) < count {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let mut guard = self.lock.lock();
            while self.completed.load(Ordering::SeqCst) < count && !stopped.load(Ordering::Relaxed) {
                self.changed.wait_for(&mut guard, LOOK);
            }
            drop(guard);
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        }
        (self.completed.load(Ordering::SeqCst) >= count).then(|| self.completed_ns[count - 1].load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn waits_until_enough_requests_are_completed() {
        let (progress, stopped) = (Arc::new(Progress::of(1000)), Arc::new(AtomicBool::new(false)));
        let waiters: Vec<_> = [1_u32, 500, 1000, 1000]
            .into_iter()
            .map(|count| {
                let (progress, stopped) = (Arc::clone(&progress), Arc::clone(&stopped));
                thread::spawn(move || progress.wait(count, &stopped))
            })
            .collect();
        for at_ns in 1..=1000 {
            progress.complete(at_ns);
        }
        let found: Vec<_> = waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect();
        assert_eq!(found, [Some(1), Some(500), Some(1000), Some(1000)]);
    }

    #[test]
    fn a_waiting_stream_sees_that_it_is_to_stop() {
        let (progress, stopped) = (Progress::of(1), AtomicBool::new(true));
        assert_eq!(progress.wait(1, &stopped), None);
        progress.complete(5);
        assert_eq!(progress.wait(1, &stopped), Some(5));
    }
}
