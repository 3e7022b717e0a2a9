//! The device in real time: takes requests, asks the model when each is completed, and answers it then.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::thread::{self, JoinHandle};

use crate::arrivals::Issued;
use crate::burner::Burner;
use crate::clock::now_ns;
use crate::floor::{Floor, Lately};
use crate::log::{Log, Record};
use crate::memory::Memory;
use crate::model::{Model, Op, Parameters, Request};
use crate::realtime;
use crate::timer::Timer;
use crate::undo::{Undo, Versions};

/// The most that FUSE asks for at once, in bytes: what is larger comes in parts, of which the kernel knows when the first was issued.
pub const MAX_TRANSFER: u64 = 1 << 20;

/// What is in force, beside the model, from one `set` to the next.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// What the emulator itself adds, by requests in flight of late: replies are sent earlier by this, though never before the arrival.
    pub floor: Floor,
    /// CPU time to burn for each request, after its reply.
    pub burn_ns: u64,
}

/// Sends the reply to one request; given the disk's bytes, because a read's are copied when it completes.
pub trait Answer: Send + 'static {
    fn send(self, memory: &Memory);
    /// The device lost its power.
    fn fail(self);
}

struct State {
    parameters: Parameters,
    model: Model,
    setting: Setting,
    number: u32,
    next_seq: u64,
    /// No request arrives before it: the last arrival, or the last change of what is in force.
    latest_ns: u64,
    /// The last request, if it may be a part of a larger one: its operation, where it ended, and when it arrived.
    split: Option<(Op, u64, u64)>,
    /// For the floor.
    lately: Lately,
    /// Stalls so far: begin and end.
    stalls: Vec<(u64, u64)>,
}

impl State {
    fn new(parameters: Parameters) -> Self {
        Self {
            model: Model::new(parameters.clone()),
            parameters,
            setting: Setting::default(),
            number: 0,
            next_seq: 0,
            latest_ns: 0,
            split: None,
            lately: Lately::default(),
            stalls: Vec::new(),
        }
    }

    /// When a request arrives that is taken now: when it was issued, or, as the rest of a larger one, when that was; if nobody knows,
    /// now. Never before the last one, nor before what is in force.
    fn arrival_ns(&mut self, op: Op, offset: u64, length: u64, issued_ns: Option<u64>, now_ns: u64) -> u64 {
        let rest = self.split.filter(|(before, end, _)| (*before, *end) == (op, offset)).map(|(.., arrival_ns)| arrival_ns);
        self.latest_ns = issued_ns.or(rest).map_or(now_ns, |ns| ns.min(now_ns).max(self.latest_ns));
        self.split = (length == MAX_TRANSFER).then_some((op, offset + length, self.latest_ns));
        self.latest_ns
    }

    /// What is in force now is so for requests that arrive from now on; returns its number and the time.
    fn begin(&mut self) -> (u32, u64) {
        self.number += 1;
        self.latest_ns = now_ns();
        self.lately = Lately::default();
        (self.number, self.latest_ns)
    }
}

struct Pending<A> {
    record: Record,
    burn_ns: u64,
    power: u64,
    /// Of a flush: what is durable when it is answered.
    closed: Option<u64>,
    answer: A,
}

/// Of a device that loses at a power cut what was not flushed.
struct Volatile {
    /// How often power was cut. Arrivals and answers share it, a cut has it alone: a request is before a cut or after it.
    power: RwLock<u64>,
    undo: Mutex<Undo>,
}

/// What a power cut did.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub versions: Versions,
    /// Pending requests that were answered with an error.
    pub requests_failed: u64,
    pub at_ns: u64,
}

#[derive(Default)]
struct Counters {
    requests: [AtomicU64; 4],
    bytes: [AtomicU64; 4],
    inflight: AtomicU32,
    max_inflight: AtomicU32,
    stamped: AtomicU64,
    failed: AtomicU64,
}

/// What the engine has done since it was made.
#[derive(Clone, Debug)]
pub struct Status {
    /// By operation, in the order of [`Op::ALL`].
    pub requests: [u64; 4],
    pub bytes: [u64; 4],
    pub inflight: u32,
    pub max_inflight: u32,
    /// Requests of which the kernel said when they reached the block device; of the others arrival is when they are taken.
    pub stamped: u64,
    pub log_written: u64,
    pub log_lost: u64,
    pub burn_owed_ns: u64,
    pub setting: Setting,
    pub number: u32,
    /// Begin and end of every stall.
    pub stalls: Vec<(u64, u64)>,
    /// Requests that a power cut failed, or that came from before one.
    pub failed: u64,
    /// Versions of pages that a power cut could take; `None`: the device is not volatile.
    pub unflushed_pages: Option<usize>,
}

pub struct Engine<A> {
    pub memory: Memory,
    volatile: Option<Volatile>,
    issued: RwLock<Option<Box<dyn Issued>>>,
    state: Mutex<State>,
    timer: Timer<Pending<A>>,
    burner: Burner,
    log: Log,
    counters: Counters,
}

impl<A: Answer> Engine<A> {
    /// A disk of `size` zero bytes that answers at once (setting 0), and the threads that serve it until `stop`. A `volatile` one
    /// can be `cut`.
    pub fn start(size: usize, log: Option<&Path>, volatile: bool) -> io::Result<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let state = State::new(Parameters::default());
        let engine = Arc::new(Self {
            memory: Memory::new(size)?,
            volatile: volatile.then(|| Volatile { power: RwLock::new(0), undo: Mutex::new(Undo::new(size)) }),
            issued: RwLock::new(None),
            state: Mutex::new(state),
            timer: Timer::new(),
            burner: Burner::default(),
            log: Log::create(log)?,
            counters: Counters::default(),
        });
        let (timed, burning) = (Arc::clone(&engine), Arc::clone(&engine));
        let spawn = |name: &str, run: Box<dyn FnOnce() + Send>| thread::Builder::new().name(name.into()).spawn(run);
        let threads = vec![
            spawn("device-timer", Box::new(move || timed.timer.run(|pending| timed.reply_at_deadline(pending))))?,
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

    /// What an opened disk is used with: it is good until the power is cut.
    pub fn open(&self) -> u64 {
        self.volatile.as_ref().map_or(0, |volatile| *volatile.power.read().expect("no thread panics with the lock"))
    }

    /// From now on the kernel says when requests of a block device arrive; `None`: they arrive when they are taken.
    pub fn watch(&self, issued: Option<Box<dyn Issued>>) {
        let before = std::mem::replace(&mut *self.issued.write().expect("no thread panics with the lock"), issued);
        drop(before); // without the lock: the kernel may take its time
    }

    /// Takes a read or a flush that arrives now from who has the disk open; `answer` is sent at its completion, by this thread or the timer's.
    pub fn submit(&self, power: u64, op: Op, offset: u64, length: u64, answer: A) {
        self.arrive(power, op, offset, length, answer, |_, undo| undo.map(Undo::close));
    }

    /// Takes a write that arrives now and lies within the disk.
    pub fn write(&self, power: u64, offset: u64, data: &[u8], answer: A) {
        let length = data.len() as u64;
        self.arrive(power, Op::Write, offset, length, answer, |memory, undo| {
            if let Some(undo) = undo {
                undo.keep_for_write(memory, offset, length);
            }
            memory.write(offset, data);
            None
        });
    }

    pub fn discard(&self, power: u64, offset: u64, length: u64, answer: A) {
        self.arrive(power, Op::Discard, offset, length, answer, |memory, undo| {
            if let Some(undo) = undo {
                undo.keep_for_discard(memory, offset, length);
            }
            memory.discard(offset, length);
            None
        });
    }

    fn arrive(
        &self,
        power: u64,
        op: Op,
        offset: u64,
        length: u64,
        answer: A,
        change: impl FnOnce(&Memory, Option<&mut Undo>) -> Option<u64>,
    ) {
        let volatile = self.volatile.as_ref();
        let on = volatile.map(|volatile| volatile.power.read().expect("no thread panics with the lock"));
        if on.as_ref().is_some_and(|on| **on != power) {
            return self.fail(answer);
        }
        let closed = if op == Op::Read {
            None
        } else {
            let mut undo = volatile.map(|volatile| volatile.undo.lock().expect("no thread panics with the lock"));
            change(&self.memory, undo.as_deref_mut())
        };
        let inflight = self.counters.inflight.fetch_add(1, Ordering::Relaxed) + 1;
        self.counters.max_inflight.fetch_max(inflight, Ordering::Relaxed);
        self.counters.requests[op as usize].fetch_add(1, Ordering::Relaxed);
        self.counters.bytes[op as usize].fetch_add(length, Ordering::Relaxed);
        let issued_ns = self.issued.read().expect("no thread panics with the lock").as_ref().and_then(|all| all.ns(op, offset));
        self.counters.stamped.fetch_add(u64::from(issued_ns.is_some()), Ordering::Relaxed);
        let (deadline_ns, now_ns, pending) = {
            let mut state = self.state.lock().expect("no thread panics with the lock");
            let now_ns = now_ns();
            let arrival_ns = state.arrival_ns(op, offset, length, issued_ns, now_ns);
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
            let lately = state.lately.with(inflight, now_ns, nominal_ns - arrival_ns);
            let deadline_ns = nominal_ns.saturating_sub(state.setting.floor.ns(lately));
            (deadline_ns, now_ns, Pending { record, burn_ns: state.setting.burn_ns, power, closed, answer })
        };
        if deadline_ns <= now_ns {
            self.reply(pending);
        } else {
            self.timer.schedule(deadline_ns, pending.record.seq, pending);
        }
    }

    fn reply_at_deadline(&self, pending: Pending<A>) {
        let on = self.volatile.as_ref().map(|volatile| volatile.power.read().expect("no thread panics with the lock"));
        if on.as_ref().is_none_or(|on| **on == pending.power) {
            self.reply(pending);
        } else {
            self.counters.inflight.fetch_sub(1, Ordering::Relaxed);
            self.fail(pending.answer);
        }
    }

    fn reply(&self, pending: Pending<A>) {
        let closed = self.volatile.as_ref().zip(pending.closed);
        if let Some((volatile, number)) = closed {
            volatile.undo.lock().expect("no thread panics with the lock").make_durable(number);
        }
        // Before the answer: who gets it may submit the next request at once.
        self.counters.inflight.fetch_sub(1, Ordering::Relaxed);
        pending.answer.send(&self.memory);
        self.log.append(Record { replied_ns: now_ns(), ..pending.record });
        self.burner.owe(pending.burn_ns);
        if let Some((volatile, _)) = closed {
            let released = volatile.undo.lock().expect("no thread panics with the lock").release();
            drop(released); // without the lock
        }
    }

    fn fail(&self, answer: A) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        answer.fail();
    }

    /// Puts a device at rest and `setting` in force for requests that arrive from now on; returns the setting's number and the time.
    pub fn set(&self, parameters: Parameters, setting: Setting) -> (u32, u64) {
        let model = Model::new(parameters.clone());
        let mut state = self.state.lock().expect("no thread panics with the lock");
        state.parameters = parameters;
        state.model = model;
        state.setting = setting;
        state.begin()
    }

    /// Cuts the power; `None` when the device is not volatile. What is pending is answered with an error and has no record in the
    /// log; so is whatever comes from who opened the disk before. What was not flushed is gone, but for pages that survive with
    /// probability `keep_share`, drawn with `seed`. Until `power_on` the device answers at once: the kernel holds locks that others
    /// need while it attaches to it.
    pub fn cut(&self, keep_share: f64, seed: u64) -> Option<Cut> {
        let volatile = self.volatile.as_ref()?;
        self.watch(None); // the block device of before is gone, and who comes after it is not known yet
        let mut power = volatile.power.write().expect("no thread panics with the lock");
        // What was answered before this time is durable if it promised to be.
        let at_ns = now_ns();
        *power += 1;
        let pending = self.timer.take_all();
        let requests_failed = pending.len() as u64;
        for pending in pending {
            self.counters.inflight.fetch_sub(1, Ordering::Relaxed);
            self.fail(pending.answer);
        }
        let versions = volatile.undo.lock().expect("no thread panics with the lock").roll_back(&self.memory, keep_share, seed);
        let mut state = self.state.lock().expect("no thread panics with the lock");
        state.model = Model::new(Parameters::default());
        state.begin();
        Some(Cut { versions, requests_failed, at_ns })
    }

    /// Puts the device that was last `set` in force again, at rest; returns the setting's number and the time.
    pub fn power_on(&self) -> (u32, u64) {
        let mut state = self.state.lock().expect("no thread panics with the lock");
        state.model = Model::new(state.parameters.clone());
        state.begin()
    }

    /// Lets the next request begin a stall: the device starts nothing until `duration_ns` later. `set` ends it. Returns the time.
    pub fn stall_next(&self, duration_ns: u64) -> u64 {
        let mut state = self.state.lock().expect("no thread panics with the lock");
        state.model.stall_next(duration_ns);
        state.latest_ns = now_ns();
        state.latest_ns
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
            stamped: self.counters.stamped.load(Ordering::Relaxed),
            log_written: self.log.written(),
            log_lost: self.log.lost(),
            burn_owed_ns: self.burner.owed_ns(),
            setting,
            number,
            stalls,
            failed: self.counters.failed.load(Ordering::Relaxed),
            unflushed_pages: self
                .volatile
                .as_ref()
                .map(|volatile| volatile.undo.lock().expect("no thread panics with the lock").unflushed_pages()),
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
mod tests;
