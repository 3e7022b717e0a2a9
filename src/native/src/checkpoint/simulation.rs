//! One algorithm under the cost model, tick after tick.
//!
//! Times are whole units, whatever a unit is, so that what ends exactly at the end of a tick is seen to. A tick takes its
//! length and the overhead that falls into it; the asynchronous write progresses meanwhile. At the end of a tick, when
//! the last checkpoint is written, the next one begins: the part that is copied at once stretches that tick.

use super::algorithm::{Algorithm, DRIBBLE_AND_COPY_ON_UPDATE, Layout, Part};
use super::bits::Bits;
use super::tick::Tick;

/// What things take, in units of time.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    pub tick: u64,
    /// Of every contiguous group of objects that is copied, before the copy itself.
    pub group: u64,
    pub copy_object: u64,
    pub lock: u64,
    pub bit: u64,
    /// Of an object on its way to the disk.
    pub write_object: u64,
    /// Of an object until the writer has read it and is past it: as long as `write_object`, or shorter where a cache takes the writes.
    pub pass_object: u64,
    /// Of every checkpoint, after its objects: until all of it is durable.
    pub sync: u64,
    /// Of a page of a double backup that is not swept over: what a system writes where one object of it changed.
    pub write_page: u64,
}

/// Where the updates of a tick fall in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All at its beginning.
    Start,
    /// Evenly over its length.
    Spread,
}

/// Which first updates of an object in a checkpoint take the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// Those of objects that this checkpoint writes.
    Written,
    /// All.
    Touched,
}

/// Which first updates of an object that the checkpoint writes save the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Those before the writer has passed the object.
    Unwritten,
    /// All.
    Touched,
}

/// When the asynchronous write progresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Always: in the time that overhead adds to a tick, too.
    Always,
    /// Only in a tick's own length.
    Ticks,
}

/// What the paper leaves open.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    pub phase: Phase,
    pub locks: Locks,
    pub copies: Copies,
    pub progress: Progress,
    /// Of a partial log every so many checkpoints is a full one.
    pub full_every: u64,
    /// Whether at the beginning nothing is on the disk yet.
    pub starts_dirty: bool,
    /// Whether a double backup takes as long as the whole image, whatever of it is written.
    pub sweeps: bool,
}

/// Objects of a page.
const PAGE_OBJECTS: usize = 8;

/// What a tick had to do for checkpoints, as numbers of things: whoever knows what each takes knows the overhead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Checkpoints begun.
    pub begun: u64,
    /// Objects copied at once, and contiguous groups of them.
    pub copied: u64,
    pub groups: u64,
    /// Updates that tested a dirty bit: whether there is something to save, or whether the object is known to be dirty.
    pub tested: u64,
    /// Objects of which at least one update did.
    pub touched: u64,
    /// First touches that took the lock.
    pub locked: u64,
    /// Those of them that saved the old value.
    pub saved: u64,
    /// Updates in a tick at whose beginning a checkpoint was being written, and the objects that they changed.
    pub beside: u64,
    pub changed_beside: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickRecord {
    pub start: u64,
    pub overhead: u64,
    pub length: u64,
    pub work: Work,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointRecord {
    /// The tick at whose end it begins.
    pub tick: u64,
    pub begin: u64,
    /// The copy at its beginning.
    pub pause: u64,
    /// When everything is on the disk, if the write progresses always.
    pub written: u64,
    /// Objects written.
    pub objects: u64,
    /// Objects copied in memory, at the beginning or on update.
    pub copied: u64,
    pub is_full: bool,
}

#[derive(Debug)]
struct Running {
    record: CheckpointRecord,
    saves: bool,
    /// On the writer's clock: when the writing begins and when all is written.
    writes_from: u64,
    written: u64,
    /// When the writer is past the last object, and nothing is saved any more.
    captured: u64,
}

#[derive(Debug)]
pub struct Simulation {
    algorithm: &'static Algorithm,
    objects: usize,
    costs: Costs,
    readings: Readings,
    now: u64,
    /// The writer's clock: stands still where the write does not progress.
    writer_now: u64,
    /// For each image (a log is one) one bit an object, set where it changed since it was last written there.
    dirty: Vec<Bits>,
    /// Per object the number of the last checkpoint that writes it, and its place in that one's order of writing.
    place: Vec<(u32, u32)>,
    /// Per object the number of the last checkpoint in which an update touched it.
    touched: Vec<u32>,
    number: u32,
    running: Option<Running>,
    pub ticks: Vec<TickRecord>,
    pub checkpoints: Vec<CheckpointRecord>,
}

impl Simulation {
    pub fn new(algorithm: &'static Algorithm, objects: usize, costs: Costs, readings: Readings) -> Self {
        let images = match (algorithm.written, algorithm.layout) {
            (Part::Dirty, Layout::DoubleBackup) => 2,
            (Part::Dirty, Layout::Log) => 1,
            _ => 0,
        };
        Self {
            algorithm,
            objects,
            costs,
            readings,
            now: 0,
            writer_now: 0,
            dirty: vec![Bits::new(objects, readings.starts_dirty); images],
            place: vec![(0, 0); objects],
            touched: vec![0; objects],
            number: 0,
            running: None,
            ticks: Vec::new(),
            checkpoints: Vec::new(),
        }
    }

    /// Simulates the next tick.
    pub fn tick(&mut self, tick: &Tick) {
        let mut work = Work::default();
        if self.running.as_ref().is_some_and(|running| running.written > self.writer_now) {
            (work.beside, work.changed_beside) = (tick.updates, tick.first.len() as u64);
        }
        let mut overhead = self.handle_updates(tick, &mut work);
        for image in &mut self.dirty {
            tick.first.iter().for_each(|(object, _)| image.set(*object as usize));
        }
        self.writer_now += self.costs.tick + self.seen_by_writer(overhead);
        if self.running.as_ref().is_none_or(|running| running.written <= self.writer_now) {
            self.finish();
            let pause = self.begin(self.now + self.costs.tick + overhead, &mut work);
            overhead += pause;
            self.writer_now += self.seen_by_writer(pause);
        }
        let length = self.costs.tick + overhead;
        self.ticks.push(TickRecord { start: self.now, overhead, length, work });
        self.now += length;
    }

    fn seen_by_writer(&self, overhead: u64) -> u64 {
        if self.readings.progress == Progress::Always { overhead } else { 0 }
    }

    /// Ends the running checkpoint, if there is one, and keeps its record.
    pub fn finish(&mut self) {
        self.checkpoints.extend(self.running.take().map(|running| running.record));
    }

    /// Begins a checkpoint; returns how long the game waits for it.
    fn begin(&mut self, now: u64, work: &mut Work) -> u64 {
        let is_due = (u64::from(self.number) + 1).is_multiple_of(self.readings.full_every);
        let own = if self.algorithm.is_partial_log() && is_due { &DRIBBLE_AND_COPY_ON_UPDATE } else { self.algorithm };
        let saves = own.handle_update != Part::Nothing;
        let image = self.number as usize % self.dirty.len().max(1);
        self.number += 1;
        let (objects, groups, pages) = self.choose(own, image);

        let pause = match own.copy_to_memory {
            Part::Nothing => 0,
            Part::Dirty | Part::All => {
                (work.copied, work.groups) = (objects, groups);
                groups * self.costs.group + objects * self.costs.copy_object
            }
        };
        work.begun = 1;
        let (places, takes) = match own.layout {
            Layout::DoubleBackup if self.readings.sweeps => (self.objects as u64, self.objects as u64 * self.costs.write_object),
            Layout::DoubleBackup => (objects, objects * self.costs.pass_object + pages * self.costs.write_page),
            Layout::Log => (objects, objects * self.costs.write_object),
        };
        let takes = takes + self.costs.sync;
        let copied = if own.copy_to_memory == Part::Nothing { 0 } else { objects };
        let tick = self.ticks.len() as u64;
        let is_full = own.written == Part::All;
        let record = CheckpointRecord { tick, begin: now, pause, written: now + pause + takes, objects, copied, is_full };
        let writes_from = self.writer_now + self.seen_by_writer(pause);
        let captured = writes_from + places * self.costs.pass_object;
        self.running = Some(Running { record, saves, writes_from, written: writes_from + takes, captured });
        pause
    }

    /// Chooses what a checkpoint writes, clears its dirty bits, and where updates will ask notes the order of writing;
    /// returns how many objects, how many contiguous groups, and of how many pages.
    #[allow(clippy::cast_possible_truncation, reason = "cells, and so objects, are numbered by 32 bits")]
    fn choose(&mut self, own: &Algorithm, image: usize) -> (u64, u64, u64) {
        let empty = Bits::new(self.objects, false);
        let dirty = self.dirty.get_mut(image).map(|bits| std::mem::replace(bits, empty));
        let written = match dirty {
            Some(bits) if own.written == Part::Dirty => bits,
            _ => Bits::new(self.objects, true),
        };
        let sweeps = own.layout == Layout::DoubleBackup && self.readings.sweeps;
        if own.handle_update != Part::Nothing {
            for (rank, object) in (0..).zip(written.iter()) {
                let place = if sweeps { object as u32 } else { rank };
                self.place[object] = (self.number, place);
            }
        }
        (written.count(), written.groups(), written.blocks(PAGE_OBJECTS))
    }

    /// Handle-Update for all updates of a tick: returns what they take, of bits, locks and copies.
    fn handle_updates(&mut self, tick: &Tick, work: &mut Work) -> u64 {
        let taken = self.save_values(tick, work);
        if self.algorithm.tests_every_update() {
            (work.tested, work.touched) = (tick.updates, tick.first.len() as u64);
        }
        taken + work.tested * self.costs.bit
    }

    /// Saves old values until the writer is past all objects: returns what that takes, of locks and copies, and counts the updates that
    /// test whether to save.
    fn save_values(&mut self, tick: &Tick, work: &mut Work) -> u64 {
        let Some(running) = self.running.as_mut().filter(|running| running.saves) else { return 0 };
        let (costs, readings, start) = (self.costs, self.readings, self.writer_now);
        let updates = tick.updates.max(1);
        // When an update is on the writer's clock, its bit not yet tested, where locks and copies have taken so much in this tick.
        let at = |update: u64, taken: u64| {
            let phase = if readings.phase == Phase::Start { 0 } else { update * costs.tick / updates };
            let overhead = if readings.progress == Progress::Always { update * costs.bit + taken } else { 0 };
            start + phase + overhead
        };
        let (mut taken, mut next) = (0, 0);
        for (object, update) in &tick.first {
            let (object, update) = (*object as usize, u64::from(*update));
            let now = at(update, taken);
            if now >= running.captured {
                break;
            }
            next = update + 1;
            work.touched += 1;
            if self.touched[object] == self.number {
                continue;
            }
            self.touched[object] = self.number;
            let (number, place) = self.place[object];
            if number != self.number {
                if readings.locks == Locks::Touched {
                    taken += costs.lock;
                    work.locked += 1;
                }
                continue;
            }
            taken += costs.lock;
            work.locked += 1;
            let passed = running.writes_from + (u64::from(place) + 1) * costs.pass_object;
            if readings.copies == Copies::Touched || now < passed {
                taken += costs.group + costs.copy_object;
                running.record.copied += 1;
                work.saved += 1;
            }
        }
        // Later updates of the same objects test their bit until the writer is past all.
        let (mut tested, mut end) = (next, tick.updates);
        while tested < end {
            let middle = tested.midpoint(end);
            if at(middle, taken) < running.captured {
                tested = middle + 1;
            } else {
                end = middle;
            }
        }
        work.tested = tested;
        taken
    }
}
