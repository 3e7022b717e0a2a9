//! One thread that hands over items at their deadlines, and rests in between (`rest.rs`). Where threads are real-time, who takes
//! requests from the kernel has the same priority, and gets the core between the spins and after what was due; an ordinary thread that
//! let others have the core would wait for it for milliseconds.

use std::cmp::Ordering as Order;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use crate::clock::now_ns;
use crate::realtime;
use crate::rest::{Company, Plan, Rest};

/// So shortly before a deadline a spin no longer lets others of the same priority run: taking a request lasts as long.
const KEEP_NS: u64 = 5_000;
/// Who naps wakes by itself after so long. Any sooner its alarm would be the next, before the kernel's tick, and would have to be set.
const LONGEST_NAP: Duration = Duration::from_millis(5);
const AWAKE: u64 = u64::MAX;

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
    /// Reversed: the heap's greatest entry is the earliest.
    fn cmp(&self, other: &Self) -> Order {
        (other.deadline_ns, other.seq).cmp(&(self.deadline_ns, self.seq))
    }
}

struct Queue<T> {
    heap: BinaryHeap<Entry<T>>,
    sleeping: bool,
    stopped: bool,
}

pub struct Timer<T> {
    queue: Mutex<Queue<T>>,
    changed: Condvar,
    /// Earliest deadline, so that the spinning thread sees an earlier one without taking the lock from those who submit.
    head_ns: AtomicU64,
    company: AtomicU8,
    /// When an occupant was last there,
    seen_ns: AtomicU64,
    /// and when it is to wake the thread.
    nap_until_ns: AtomicU64,
}

impl<T> Timer<T> {
    pub fn new() -> Self {
        let queue = Queue { heap: BinaryHeap::with_capacity(4096), sleeping: false, stopped: false };
        Self {
            queue: Mutex::new(queue),
            changed: Condvar::new(),
            head_ns: AtomicU64::new(u64::MAX),
            company: AtomicU8::new(Company::Others as u8),
            seen_ns: AtomicU64::new(0),
            nap_until_ns: AtomicU64::new(AWAKE),
        }
    }

    /// From now on it has this company, of others at first; an occupant calls `wake` all the time.
    pub fn keep(&self, company: Company) {
        self.company.store(company as u8, Ordering::Relaxed);
        if company == Company::Others {
            self.wake_at(AWAKE - 1); // nobody else would
        }
    }

    /// Wakes the thread if it was left to an occupant to do so, and it is time.
    pub fn wake(&self) {
        let now_ns = now_ns();
        self.seen_ns.store(now_ns, Ordering::Relaxed);
        self.wake_at(now_ns);
    }

    fn wake_at(&self, now_ns: u64) {
        if self.nap_until_ns.load(Ordering::Relaxed) <= now_ns {
            self.nap_until_ns.store(AWAKE, Ordering::Relaxed);
            self.changed.notify_one();
        }
    }

    fn company(&self) -> Company {
        let kept = self.company.load(Ordering::Relaxed);
        [Company::Occupant, Company::Starved].into_iter().find(|company| *company as u8 == kept).unwrap_or(Company::Others)
    }

    /// Items with the same deadline are handed over in the order of `seq`; after `stop` they are dropped.
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

    /// Hands over items until `stop`; what is scheduled then is dropped.
    pub fn run(&self, mut hand_over: impl FnMut(T)) {
        // SAFETY: sets the calling thread's timer slack; no pointers are involved.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
        let shares_core = realtime::is_taken();
        let mut due = Vec::with_capacity(256);
        let mut rest = Rest::default();
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
            let seen_ns = self.seen_ns.load(Ordering::Relaxed);
            match rest.plan(now, head_ns, queue.heap.len(), self.company(), seen_ns) {
                Plan::Spin => {
                    drop(queue);
                    self.spin(head_ns, shares_core);
                    queue = self.lock();
                }
                Plan::Sleep(ns) => {
                    let has_slept;
                    (queue, has_slept) = self.wait(queue, Duration::from_nanos(ns));
                    if has_slept {
                        rest.overslept(now_ns().saturating_sub(now + ns));
                    }
                }
                Plan::Nap(until_ns) => {
                    self.nap_until_ns.store(until_ns, Ordering::Relaxed);
                    (queue, _) = self.wait(queue, LONGEST_NAP);
                    self.nap_until_ns.store(AWAKE, Ordering::Relaxed);
                    rest.napped(until_ns, now_ns());
                }
            }
        }
        queue.heap.clear();
    }

    /// Until something is to be done earlier, or `longest` is over: whether it is.
    fn wait<'a>(&self, mut queue: MutexGuard<'a, Queue<T>>, longest: Duration) -> (MutexGuard<'a, Queue<T>>, bool) {
        queue.sleeping = true;
        let (mut queue, waited) = self.changed.wait_timeout(queue, longest).expect("no thread panics with the lock");
        queue.sleeping = false;
        (queue, waited.timed_out())
    }

    /// Until a deadline, or an earlier one.
    fn spin(&self, head_ns: u64, shares_core: bool) {
        while self.head_ns.load(Ordering::Relaxed) == head_ns {
            match head_ns.saturating_sub(now_ns()) {
                0 => return,
                rest_ns if rest_ns > KEEP_NS && shares_core => thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }

    /// Takes out all that is not yet handed over, in no order.
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
        self.queue.lock().expect("no thread panics with the lock")
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

    /// Somebody comes in between, and is due at once: the rest of the first one's sleep is slept, not spun.
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

    const NAPS: usize = 10;

    /// How late items are handed over that it naps for, of 2,000 that are scheduled 50 us before they are due, one after another; until
    /// there are `NAPS`. Meanwhile `beside` is called all the time, and told whether it naps.
    fn naps(company: Company, beside: impl Fn(&Timer<u64>, bool)) -> Vec<u64> {
        let timer = Arc::new(Timer::new());
        let (sender, receiver) = mpsc::channel();
        let runner = Arc::clone(&timer);
        let thread = thread::spawn(move || runner.run(|due_ns: u64| sender.send(now_ns() - due_ns).unwrap()));
        let mut naps = Vec::new();
        for seq in 0..2000 {
            timer.keep(company);
            timer.wake();
            let due_ns = now_ns() + 50_000;
            timer.schedule(due_ns, seq, due_ns);
            let mut has_napped = false;
            let late_ns = loop {
                let naps = timer.nap_until_ns.load(Ordering::Relaxed) != AWAKE;
                has_napped |= naps;
                beside(&timer, naps);
                match receiver.try_recv() {
                    Ok(late_ns) => break late_ns,
                    Err(_) => assert!(now_ns() < due_ns + 5_000_000_000, "it was never handed over"),
                }
                thread::yield_now();
            };
            naps.extend(has_napped.then_some(late_ns));
            if naps.len() == NAPS {
                break;
            }
        }
        timer.stop();
        thread.join().unwrap();
        naps
    }

    fn median_ns(mut late_ns: Vec<u64>) -> u64 {
        late_ns.sort_unstable();
        late_ns[late_ns.len() / 2]
    }

    #[test]
    fn it_leaves_the_core_to_an_occupant_that_starves_and_is_woken_by_it() {
        let woken_ns = naps(Company::Starved, |timer, _| timer.wake());
        assert_eq!(woken_ns.len(), NAPS, "{woken_ns:?}: the last one was late");
        assert!(median_ns(woken_ns.clone()) < 1_000_000, "{woken_ns:?}");
        let forgotten_ns = naps(Company::Starved, |_, _| ());
        assert!((1..NAPS).contains(&forgotten_ns.len()), "{forgotten_ns:?}: it goes on, and is not woken");
        assert!(forgotten_ns[0] > 3_000_000, "{forgotten_ns:?}: it was to be woken");
        assert!(naps(Company::Occupant, |timer, _| timer.wake()).len() < NAPS, "it has the core itself");
    }

    #[test]
    fn it_is_woken_when_the_occupant_leaves() {
        let woken_ns = naps(Company::Starved, |timer, naps| {
            if naps {
                // By now it has let go of the lock: a moment before nobody would hear.
                let from_ns = now_ns();
                while now_ns() - from_ns < 5_000 {}
                timer.keep(Company::Others);
                assert_eq!(timer.nap_until_ns.load(Ordering::Relaxed), AWAKE);
            }
        });
        assert_eq!(woken_ns.len(), NAPS, "{woken_ns:?}: the last one was late");
        assert!(median_ns(woken_ns.clone()) < 1_000_000, "{woken_ns:?}");
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
