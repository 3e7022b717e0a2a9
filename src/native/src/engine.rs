//! The device in real time: takes requests, asks the model when each is completed, and answers it then.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::burner::Burner;
use crate::clock::now_ns;
use crate::floor::Floor;
use crate::log::{Log, Record};
use crate::memory::Memory;
use crate::model::{Model, Op, Parameters, Request};
use crate::realtime;
use crate::timer::Timer;

/// What is in force, beside the model, from one `set` to the next.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// What the emulator itself adds, by requests in flight: replies are sent earlier by this, though never before the arrival.
    pub floor: Floor,
    /// CPU time to burn for each request, after its reply.
    pub burn_ns: u64,
}

/// Sends the reply to one request; given the disk's bytes, because a read's are copied when it completes.
pub trait Answer: Send + 'static {
    fn send(self, memory: &Memory);
}

struct State {
    model: Model,
    setting: Setting,
    number: u32,
    next_seq: u64,
    /// Stalls so far: begin and end.
    stalls: Vec<(u64, u64)>,
}

struct Pending<A> {
    record: Record,
    burn_ns: u64,
    answer: A,
}

#[derive(Default)]
struct Counters {
    requests: [AtomicU64; 4],
    bytes: [AtomicU64; 4],
    inflight: AtomicU32,
    max_inflight: AtomicU32,
}

/// What the engine has done since it was made.
#[derive(Clone, Debug)]
pub struct Status {
    /// By operation, in the order of [`Op::ALL`].
    pub requests: [u64; 4],
    pub bytes: [u64; 4],
    pub inflight: u32,
    pub max_inflight: u32,
    pub log_written: u64,
    pub log_lost: u64,
    pub burn_owed_ns: u64,
    pub setting: Setting,
    pub number: u32,
    /// Begin and end of every stall.
    pub stalls: Vec<(u64, u64)>,
}

pub struct Engine<A> {
    pub memory: Memory,
    state: Mutex<State>,
    timer: Timer<Pending<A>>,
    burner: Burner,
    log: Log,
    counters: Counters,
}

impl<A: Answer> Engine<A> {
    /// A disk of `size` zero bytes that answers at once (setting 0), and the threads that serve it until `stop`.
    pub fn start(size: usize, log: Option<&Path>) -> io::Result<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let setting = Setting::default();
        let state = State { model: Model::new(Parameters::default()), setting, number: 0, next_seq: 0, stalls: Vec::new() };
        let engine = Arc::new(Self {
            memory: Memory::new(size)?,
            state: Mutex::new(state),
            timer: Timer::new(),
            burner: Burner::default(),
            log: Log::create(log)?,
            counters: Counters::default(),
        });
        let (timed, burning) = (Arc::clone(&engine), Arc::clone(&engine));
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name.into()).spawn(run);
        let threads = vec![
            spawn("device-timer", Box::new(move || timed.timer.run(|pending| timed.reply(pending))))?,
            spawn(
                "device-burner",
                Box::new(move || {
                    // It stands for work of no urgency.
                    realtime::give_up();
                    burning.burner.run();
                }),
            )?,
        ];
        Ok((engine, threads))
    }

    /// Takes a request that arrives now; `answer` is sent at its completion, by this thread or the timer's.
    pub fn submit(&self, op: Op, offset: u64, length: u64, answer: A) {
        let inflight = self.counters.inflight.fetch_add(1, Ordering::Relaxed) + 1;
        self.counters.max_inflight.fetch_max(inflight, Ordering::Relaxed);
        self.counters.requests[op as usize].fetch_add(1, Ordering::Relaxed);
        self.counters.bytes[op as usize].fetch_add(length, Ordering::Relaxed);
        let (deadline_ns, pending) = {
            let mut state = self.state.lock().expect("no thread panics with the lock");
            let arrival_ns = now_ns();
            let request = Request { arrival_ns, op, offset, length };
            let stalled_ns = state.model.stalled_until_ns();
            let nominal_ns = state.model.completion_ns(&request);
            let until_ns = state.model.stalled_until_ns();
            if until_ns != stalled_ns {
                state.stalls.push((arrival_ns, until_ns));
            }
            let (seq, setting) = (state.next_seq, state.number);
            state.next_seq += 1;
            let record = Record { seq, request, inflight, nominal_ns, replied_ns: 0, setting };
            let deadline_ns = nominal_ns.saturating_sub(state.setting.floor.ns(inflight)).max(arrival_ns);
            (deadline_ns, Pending { record, burn_ns: state.setting.burn_ns, answer })
        };
        if deadline_ns == pending.record.request.arrival_ns {
            self.reply(pending);
        } else {
            self.timer.schedule(deadline_ns, pending.record.seq, pending);
        }
    }

    fn reply(&self, pending: Pending<A>) {
        // Before the answer: who gets it may submit the next request at once.
        self.counters.inflight.fetch_sub(1, Ordering::Relaxed);
        pending.answer.send(&self.memory);
        self.log.append(Record { replied_ns: now_ns(), ..pending.record });
        self.burner.owe(pending.burn_ns);
    }

    /// Puts a device at rest and `setting` in force for requests that arrive from now on; returns the setting's number and the time.
    pub fn set(&self, parameters: Parameters, setting: Setting) -> (u32, u64) {
        let model = Model::new(parameters);
        let mut state = self.state.lock().expect("no thread panics with the lock");
        state.model = model;
        state.setting = setting;
        state.number += 1;
        (state.number, now_ns())
    }

    /// Lets the next request begin a stall: the device starts nothing until `duration_ns` later. `set` ends it. Returns the time.
    pub fn stall_next(&self, duration_ns: u64) -> u64 {
        let mut state = self.state.lock().expect("no thread panics with the lock");
        state.model.stall_next(duration_ns);
        now_ns()
    }

    pub fn status(&self) -> Status {
        let (setting, number, stalls) = {
            let state = self.state.lock().expect("no thread panics with the lock");
            (state.setting.clone(), state.number, state.stalls.clone())
        };
        let read = |counters: &[AtomicU64; 4]| counters.each_ref().map(|counter| counter.load(Ordering::Relaxed));
        Status {
            requests: read(&self.counters.requests),
            bytes: read(&self.counters.bytes),
            inflight: self.counters.inflight.load(Ordering::Relaxed),
            max_inflight: self.counters.max_inflight.load(Ordering::Relaxed),
            log_written: self.log.written(),
            log_lost: self.log.lost(),
            burn_owed_ns: self.burner.owed_ns(),
            setting,
            number,
            stalls,
        }
    }

    /// Completes the log; requests that are answered from now on are counted as lost.
    pub fn close_log(&self) {
        self.log.close();
    }

    /// Ends the engine's threads; pending requests are dropped, which answers them with an error.
    pub fn stop(&self) {
        self.timer.stop();
        self.burner.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    use super::*;
    use crate::model::Latency;

    struct Tell(Sender<u64>);
    impl Answer for Tell {
        fn send(self, _: &Memory) {
            self.0.send(now_ns()).unwrap();
        }
    }

    fn latency(ns: u64) -> Parameters {
        Parameters { latency_ns: [ns; 4].map(Latency::Constant), ..Parameters::default() }
    }

    #[test]
    fn a_setting_is_for_requests_that_arrive_after_it() {
        let (engine, threads) = Engine::start(1 << 20, None).unwrap();
        let (sender, receiver) = channel();
        let answered_after = |latency_ns, floor_ns| {
            let (number, effective_ns) =
                engine.set(latency(latency_ns), Setting { floor: Floor::new(floor_ns, &[]), burn_ns: 0 });
            engine.submit(Op::Read, 0, 4096, Tell(sender.clone()));
            (number, receiver.recv_timeout(Duration::from_secs(5)).unwrap() - effective_ns)
        };
        let (first, slow_ns) = answered_after(2_000_000_000, 0);
        let (second, early_ns) = answered_after(2_000_000_000, 1_500_000_000);
        let (third, at_once_ns) = answered_after(1_000, 500_000_000);
        assert_eq!((first, second, third), (1, 2, 3));
        assert!(slow_ns >= 2_000_000_000);
        assert!((500_000_000..2_000_000_000).contains(&early_ns));
        assert!(at_once_ns < 500_000_000);
        let status = engine.status();
        assert_eq!((status.requests, status.bytes, status.inflight), ([3, 0, 0, 0], [12_288, 0, 0, 0], 0));
        engine.stop();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
