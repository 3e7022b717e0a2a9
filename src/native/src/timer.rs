//! A thread that hands over items, such as the answers to requests, at their deadlines.
//!
//! The thread sleeps until shortly before a deadline and spins for the rest, because a thread wakes up some microseconds late. If
//! threads have real-time priority, the thread that takes requests from the kernel has the same priority as this one. It gets the
//! core between two readings of the clock in a spin, and after items were handed over.

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::clock::now_ns;
use crate::realtime;

/// A sleep ends this many ns before the deadline. With a timer slack of 1 ns a thread wakes up some 3 us late, in a virtual
/// machine some 15 us.
const SPIN_NS: u64 = 15_000;
/// Time before a deadline, in ns, in which a spin no longer lets other threads of the same priority run, because taking a request
/// lasts as long.
const KEEP_NS: u64 = 5_000;
const LONGEST_SLEEP_NS: u64 = 3_600_000_000_000;

struct Entry<T> {
    deadline_ns: u64,
    seq: u64,
    item: T,
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Order::Equal
    }
}
impl<T> Eq for Entry<T> {}
impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}
impl<T> Ord for Entry<T> {
    /// The order is reversed, so that the greatest entry of the heap has the earliest deadline.
    fn cmp(&self, other: &Self) -> Order {
        (other.deadline_ns, other.seq).cmp(&(self.deadline_ns, self.seq))
    }
}

struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    sleeping: bool,
    stopped: bool,
}

/// Items that wait for their deadlines. One thread hands them over in `run`, and any thread may schedule items.
pub struct Timer<T> {
    queue: Mutex<Queue<T>>,
    changed: Condvar,
    /// Earliest deadline, in ns. The spinning thread reads it to see an earlier deadline without taking the lock from threads
    /// that schedule items.
    head_ns: AtomicU64,
}

impl<T> Timer<T> {
    pub fn new() -> Self {
        let queue = Queue { heap: BinaryHeap::with_capacity(4096), sleeping: false, stopped: false };
        Self { queue: Mutex::new(queue), changed: Condvar::new(), head_ns: AtomicU64::new(u64::MAX) }
    }

    /// Adds an item that is to be handed over at `deadline_ns`. Items with the same deadline are handed over in the order of
    /// `seq`. After `stop` the item is dropped.
    pub fn schedule(&self, deadline_ns: u64, seq: u64, item: T) {
        let mut queue = self.lock();
        if queue.stopped {
            return;
        }
        let is_first = queue.heap.peek().is_none_or(|head| deadline_ns < head.deadline_ns);
        queue.heap.push(Entry { deadline_ns, seq, item });
        if is_first {
            self.head_ns.store(deadline_ns, Ordering::Relaxed);
            if std::mem::take(&mut queue.sleeping) {
                drop(queue);
                self.changed.notify_one();
            }
        }
    }

    /// Hands over items until `stop` is called, and then drops the items that are left.
    pub fn run(&self, mut hand_over: impl FnMut(T)) {
        // SAFETY: the call sets the calling thread's timer slack, and no pointers are involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        let shares_core = realtime::is_taken();
        let mut due = Vec::with_capacity(256);
        let mut queue = self.lock();
        while !queue.stopped {
            let now = now_ns();
            while queue.heap.peek().is_some_and(|head| head.deadline_ns <= now) {
                due.extend(queue.heap.pop());
            }
            let head_ns = queue.heap.peek().map_or(u64::MAX, |head| head.deadline_ns);
            self.head_ns.store(head_ns, Ordering::Relaxed);
            if !due.is_empty() {
                drop(queue);
                due.drain(..).for_each(|entry| hand_over(entry.item));
                if shares_core {
                    thread::yield_now();
                }
                queue = self.lock();
                continue;
            }
            let rest_ns = head_ns.saturating_sub(now);
            queue = if rest_ns <= SPIN_NS {
                drop(queue);
                self.spin(head_ns, shares_core);
                self.lock()
            } else {
                self.sleep(queue, Duration::from_nanos((rest_ns - SPIN_NS).min(LONGEST_SLEEP_NS)))
            };
        }
        queue.heap.clear();
    }

    /// Sleeps for at most `longest`, or until an earlier deadline is scheduled or the timer is stopped.
    fn sleep<'a>(&self, mut queue: MutexGuard<'a, Queue<T>>, longest: Duration) -> MutexGuard<'a, Queue<T>> {
        queue.sleeping = true;
        self.changed.wait_for(&mut queue, longest);
        queue.sleeping = false;
        queue
    }

    /// Spins until the deadline `head_ns`, or until the earliest deadline has changed.
    fn spin(&self, head_ns: u64, shares_core: bool) {
        while self.head_ns.load(Ordering::Relaxed) == head_ns {
            match head_ns.saturating_sub(now_ns()) {
                0 => return,
                rest_ns if rest_ns > KEEP_NS && shares_core => thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Takes out all items that are not yet handed over, and returns them in no particular order.
    pub fn take_all(&self) -> Vec<T> {
        let mut queue = self.lock();
        self.head_ns.store(u64::MAX, Ordering::Relaxed);
        queue.heap.drain().map(|entry| entry.item).collect()
    }

    pub fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.queue.lock()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use super::*;
    use crate::clock::thread_cpu_ns;

    #[test]
    fn hands_over_in_order_of_deadlines_and_never_early() {
        let timer = Arc::new(Timer::new());
        let (sender, receiver) = mpsc::channel();
        let runner = Arc::clone(&timer);
        let thread = thread::spawn(move || runner.run(|item: (u64, u32)| sender.send((now_ns(), item)).unwrap()));
        let start = now_ns();
        for (seq, after_us) in [300_000, 100_000, 200_000, 10, 100_000, 0].into_iter().enumerate() {
            let deadline = start + after_us * 1000;
            timer.schedule(deadline, seq as u64, (deadline, u32::try_from(seq).unwrap()));
        }
        let seen: Vec<_> = (0..6).map(|_| receiver.recv_timeout(Duration::from_secs(5)).unwrap()).collect();
        assert!(seen.iter().all(|(at, (deadline, _))| at >= deadline));
        let order: Vec<u32> = seen.iter().map(|(_, (_, seq))| *seq).collect();
        let far: Vec<u32> = order.into_iter().filter(|seq| ![3, 5].contains(seq)).collect();
        assert_eq!(far, [1, 4, 2, 0]);
        timer.stop();
        thread.join().unwrap();
    }

    #[test]
    fn what_is_taken_out_is_not_handed_over() {
        let timer = Arc::new(Timer::new());
        let (sender, receiver) = mpsc::channel();
        let runner = Arc::clone(&timer);
        let thread = thread::spawn(move || runner.run(|item: u32| sender.send(item).unwrap()));
        let start = now_ns();
        timer.schedule(start + 200_000_000, 0, 7);
        timer.schedule(start + 3_600_000_000_000, 1, 8);
        let mut taken = timer.take_all();
        taken.sort_unstable();
        assert_eq!(taken, [7, 8]);
        timer.schedule(start + 400_000_000, 2, 9);
        assert_eq!(receiver.recv_timeout(Duration::from_secs(5)).unwrap(), 9);
        timer.stop();
        thread.join().unwrap();
    }

    /// An item that is due at once comes before the first item's deadline. For the rest of the first item's time, the thread
    /// sleeps and does not spin.
    #[test]
    fn it_sleeps_again() {
        let timer = Arc::new(Timer::new());
        let (sender, receiver) = mpsc::channel();
        let runner = Arc::clone(&timer);
        let thread = thread::spawn(move || runner.run(|item: u32| sender.send((item, thread_cpu_ns())).unwrap()));
        let start = now_ns();
        timer.schedule(start + 400_000_000, 0, 1);
        thread::sleep(Duration::from_millis(100));
        timer.schedule(now_ns(), 1, 2);
        let [(first, before_ns), (second, after_ns)] = [(); 2].map(|()| receiver.recv_timeout(Duration::from_secs(5)).unwrap());
        assert_eq!((first, second), (2, 1));
        assert!(after_ns - before_ns < 100_000_000, "{} of 300 ms were spun", (after_ns - before_ns) / 1_000_000);
        timer.stop();
        thread.join().unwrap();
    }

    #[test]
    fn stop_drops_what_is_scheduled() {
        let timer = Arc::new(Timer::new());
        let item = Arc::new(());
        timer.schedule(u64::MAX, 0, Arc::clone(&item));
        let runner = Arc::clone(&timer);
        let thread = thread::spawn(move || runner.run(|_| panic!("not due")));
        timer.stop();
        thread.join().unwrap();
        assert_eq!(Arc::strong_count(&item), 1);
    }
}
