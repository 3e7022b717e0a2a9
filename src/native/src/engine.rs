//! The device in real time. The engine takes requests, asks the model when each request is completed, and sends its answer at
//! that time.

mod state;
mod status;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use parking_lot::{Mutex, RwLock};

use self::state::{State, Taken};
use self::status::Counters;
pub use self::status::Status;
use crate::arrivals::Arrivals;
use crate::burner::Burner;
use crate::clock::now_ns;
use crate::image;
use crate::log::{Log, Record};
use crate::memory::Memory;
use crate::model::{Model, Op, Parameters};
use crate::realtime;
use crate::softirq::Softirqs;
use crate::timer::Timer;
use crate::undo::{Snapshot, Undo, Unflushed, Versions};

/// The most bytes for which FUSE asks at once. A larger request comes in parts, and the kernel knows only when the first part was
/// issued.
pub const MAX_TRANSFER: u64 = 1 << 20;

/// Settings that hold beside the model, from one `set` to the next.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// The time that this machine adds to the model's latency. Replies are sent earlier by this time, though never before the
    /// arrival.
    pub floor_ns: u64,
    /// CPU time to burn for each request after its reply, in ns, as for the sham.
    pub burn_ns: u64,
}

/// The reply to one request, which can be sent once.
pub trait Answer: Send + 'static {
    /// Sends the reply. The reply to a read copies the bytes from `memory` only now, because a read returns the bytes that are
    /// there at its completion.
    fn send(self, memory: &Memory);
    /// Answers the request with an error, because the device lost its power.
    fn fail(self);
}

struct Pending<A> {
    record: Record,
    burn_ns: u64,
    /// The number that `open` returned to the program that made the request.
    power: u64,
    /// For a flush, the last epoch that is durable once the flush is answered. `None` for any other request.
    closed: Option<u64>,
    answer: A,
}

/// The state of a device that loses unflushed data at a power cut.
struct Volatile {
    /// Number of power cuts. Arrivals and answers share the lock and a cut holds it alone, so that every request comes either
    /// before a cut or after it.
    power: RwLock<u64>,
    undo: Mutex<Undo>,
}

/// The effects of a power cut.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub versions: Versions,
    /// Pending requests that were answered with an error.
    pub requests_failed: u64,
    pub at_ns: u64,
}

/// The image of a power cut, which was written while the device went on.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    pub versions: Versions,
    pub at_ns: u64,
    /// Time for which changes of the disk waited at the instant of the image, in ns.
    pub held_ns: u64,
}

/// The engine of one device, which the device's threads share.
pub struct Engine<A> {
    pub memory: Memory,
    volatile: Option<Volatile>,
    /// The lock of the thread that writes or loads an image. Threads that serve requests never take it.
    imaging: Mutex<()>,
    is_over: AtomicBool,
    arrivals: RwLock<Option<Arrivals>>,
    state: Mutex<State>,
    timer: Timer<Pending<A>>,
    softirqs: Softirqs,
    burner: Burner,
    log: Log,
    counters: Counters,
}

impl<A: Answer> Engine<A> {
    /// Starts a disk of `size` zero bytes that answers at once (setting 0), and the threads that serve it until `stop`. A
    /// `volatile` disk can be `cut`.
    pub fn start(size: usize, log: Option<&Path>, volatile: bool) -> io::Result<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let state = State::new(Parameters::default());
        let engine = Arc::new(Self {
            memory: Memory::new(size)?,
            volatile: volatile.then(|| Volatile { power: RwLock::new(0), undo: Mutex::new(Undo::new(size)) }),
            imaging: Mutex::new(()),
            is_over: AtomicBool::new(false),
            arrivals: RwLock::new(None),
            state: Mutex::new(state),
            timer: Timer::new(),
            softirqs: Softirqs::new(),
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
                    // The burned time stands for work that is not urgent.
                    realtime::give_up();
                    burning.burner.run();
                }),
            )?,
        ];
        Ok((engine, threads))
    }

    /// Returns the number that a program which opens the disk gives with each request. Requests with this number are served until
    /// the power is cut.
    pub fn open(&self) -> u64 {
        self.volatile.as_ref().map_or(0, |volatile| *volatile.power.read())
    }

    /// Takes the arrival times of requests from `arrivals` from now on. If `arrivals` is `None`, a request arrives when it is
    /// taken.
    pub fn watch(&self, arrivals: Option<Arrivals>) {
        let before = std::mem::replace(&mut *self.arrivals.write(), arrivals);
        drop(before); // The lock is not held here, because the kernel may take long.
    }

    /// Takes a read or a flush, or any request of a tree, whose bytes are not in the engine's memory. `power` is the number that
    /// `open` returned. The calling thread or the timer's thread sends `answer` when the request is completed.
    pub fn submit(&self, power: u64, op: Op, offset: u64, length: u64, answer: A) {
        self.arrive(power, op, offset, length, answer, |_, undo| if op == Op::Flush { undo.map(Undo::close) } else { None });
    }

    /// Takes a write, which must lie within the disk. The bytes change at once, and `answer` is sent when the request is
    /// completed.
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

    /// Takes a discard. The bytes become zeroes at once, and `answer` is sent when the request is completed.
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
        let on = volatile.map(|volatile| volatile.power.read());
        if on.as_ref().is_some_and(|on| **on != power) {
            return self.fail(answer);
        }
        let closed = if op == Op::Read {
            None
        } else {
            let mut undo = volatile.map(|volatile| volatile.undo.lock());
            change(&self.memory, undo.as_deref_mut())
        };
        let inflight = self.counters.inflight.fetch_add(1, Ordering::Relaxed) + 1;
        self.counters.max_inflight.fetch_max(inflight, Ordering::Relaxed);
        self.counters.requests[op as usize].fetch_add(1, Ordering::Relaxed);
        self.counters.bytes[op as usize].fetch_add(length, Ordering::Relaxed);
        let issued_ns = self.arrivals.read().as_ref().and_then(|arrivals| arrivals.issued_ns(op, offset));
        self.counters.stamped.fetch_add(u64::from(issued_ns.is_some()), Ordering::Relaxed);
        let Taken { record, deadline_ns, burn_ns, waits } = self.state.lock().take(op, offset, length, issued_ns, inflight);
        let pending = Pending { record, burn_ns, power, closed, answer };
        if waits {
            self.timer.schedule(deadline_ns, pending.record.seq, pending);
        } else {
            self.reply(pending);
        }
    }

    fn reply_at_deadline(&self, pending: Pending<A>) {
        let on = self.volatile.as_ref().map(|volatile| volatile.power.read());
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
            volatile.undo.lock().make_durable(number);
        }
        // The count falls before the answer is sent, because the program that gets the answer may submit its next request at
        // once.
        self.counters.inflight.fetch_sub(1, Ordering::Relaxed);
        pending.answer.send(&self.memory);
        let replied_ns = now_ns();
        self.softirqs.run();
        self.log.append(Record { replied_ns, ..pending.record });
        self.burner.owe(pending.burn_ns);
        if let Some((volatile, _)) = closed {
            let released = volatile.undo.lock().release();
            drop(released); // The lock is not held while memory is freed.
        }
    }

    fn fail(&self, answer: A) {
        self.counters.failed.fetch_add(1, Ordering::Relaxed);
        answer.fail();
    }

    /// Puts a device at rest, with `parameters` and `setting`, in force for requests that arrive from now on. Returns the
    /// setting's number and the time from which it holds, in ns.
    pub fn set(&self, parameters: Parameters, setting: Setting) -> (u32, u64) {
        let model = Model::new(parameters.clone());
        let mut state = self.state.lock();
        state.parameters = parameters;
        state.model = model;
        state.setting = setting;
        state.begin()
    }

    /// Cuts the power. Returns `None` if the device is not volatile.
    ///
    /// Pending requests are answered with an error and have no record in the log. Later requests of programs that opened the disk
    /// before the cut are answered with an error, too. Unflushed data is lost, except for versions of pages, of which each
    /// survives with probability `keep_share`, drawn with `seed`. Until `power_on` the device answers at once, because the kernel
    /// holds locks that others need while it attaches to the device.
    pub fn cut(&self, keep_share: f64, seed: u64) -> Option<Cut> {
        let volatile = self.volatile.as_ref()?;
        self.watch(None); // The old block device is gone, and its successor is not known yet.
        let mut power = volatile.power.write();
        // The data of every flush that was answered before this time is durable.
        let at_ns = now_ns();
        *power += 1;
        let requests_failed = self.fail_all();
        let versions = volatile.undo.lock().roll_back(&self.memory, keep_share, seed);
        self.rest();
        Some(Cut { versions, requests_failed, at_ns })
    }

    /// Answers all pending requests with an error, and returns their number.
    fn fail_all(&self) -> u64 {
        // This number includes requests that the timer has just handed over. They have no answer yet and will get an error.
        let failed = u64::from(self.counters.inflight.load(Ordering::Relaxed));
        for pending in self.timer.take_all() {
            self.counters.inflight.fetch_sub(1, Ordering::Relaxed);
            self.fail(pending.answer);
        }
        failed
    }

    /// Lets the device answer at once until `power_on`.
    fn rest(&self) {
        let mut state = self.state.lock();
        state.model = Model::new(Parameters::default());
        state.begin();
    }

    /// Writes into an empty `file` what a `cut` now would leave, while the device goes on. Returns `None` if the device is not
    /// volatile. Fails if the file cannot be written, or if `stop` is called meanwhile.
    ///
    /// Every change of the disk, and every step that makes changes durable, holds the lock of the undo log, so the instant needs
    /// no other lock. A flush that was answered before the instant had made its data durable before its answer.
    pub fn image(&self, file: &File, keep_share: f64, seed: u64) -> Option<io::Result<Image>> {
        let volatile = self.volatile.as_ref()?;
        let _only_image = self.imaging.lock();
        let snapshot = Snapshot::new(self.memory.size());
        let count = realtime::with(|| volatile.undo.lock().unflushed_pages());
        let mut unflushed = Unflushed::with_room(2 * count);
        let (at_ns, held_ns) = realtime::with(|| {
            let mut undo = volatile.undo.lock();
            let at_ns = now_ns();
            undo.begin_image(snapshot, &mut unflushed);
            (at_ns, now_ns() - at_ns)
        });
        let effects = unflushed.effects(keep_share, seed);
        let written = image::write(file, &self.memory, &volatile.undo, &effects, || self.is_over.load(Ordering::Relaxed));
        let kept = realtime::with(|| volatile.undo.lock().end_image());
        drop(kept); // The lock is not held while memory is freed.
        Some(written.map(|()| Image { versions: effects.versions, at_ns, held_ns }))
    }

    /// Replaces the content of a disk that nobody uses by the image in `file`, all of which is durable. Until `power_on` the
    /// device answers at once, and requests of programs that had opened a volatile disk are answered with an error. Fails if the
    /// file cannot be read or has another size. The content of the disk is then undefined.
    pub fn load(&self, file: &File) -> io::Result<()> {
        let _no_image = self.imaging.lock();
        self.watch(None);
        let mut power = self.volatile.as_ref().map(|volatile| volatile.power.write());
        if let Some(power) = &mut power {
            **power += 1;
        }
        self.fail_all();
        let mut undo = self.volatile.as_ref().map(|volatile| volatile.undo.lock());
        image::load(file, &self.memory, undo.as_deref_mut())?;
        self.rest();
        Ok(())
    }

    /// Puts the device that was last `set` in force again, at rest. Returns the setting's number and the time from which it
    /// holds, in ns.
    pub fn power_on(&self) -> (u32, u64) {
        let mut state = self.state.lock();
        state.model = Model::new(state.parameters.clone());
        state.begin()
    }

    /// Lets the next request begin a stall. The device starts neither that request nor any later one until `duration_ns` after
    /// its arrival. Requests that were taken before go on, whether they are queued or in service. `set` ends a stall. Returns the
    /// time from which the stall is armed, in ns.
    pub fn stall_next(&self, duration_ns: u64) -> u64 {
        let mut state = self.state.lock();
        state.model.stall_next(duration_ns);
        state.latest_ns = now_ns();
        state.latest_ns
    }

    pub fn status(&self) -> Status {
        let (setting, number, stalls) = {
            let state = self.state.lock();
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
            unflushed_pages: self.volatile.as_ref().map(|volatile| volatile.undo.lock().unflushed_pages()),
        }
    }

    /// Completes the log. Requests that are answered from now on are counted as lost.
    pub fn close_log(&self) {
        self.log.close();
    }

    /// Ends the engine's threads, and an image that is not whole. Pending requests are dropped, which answers them with an error.
    pub fn stop(&self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.timer.stop();
        self.burner.stop();
    }
}

#[cfg(test)]
mod tests;
