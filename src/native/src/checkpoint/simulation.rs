//! The simulation of one algorithm under the cost model, tick after tick.
//!
//! Times are whole numbers of a unit that the caller chooses, so that a write that ends exactly at the end of a tick is
//! recognised. A tick takes its own length and the overhead that falls into it. The asynchronous write progresses meanwhile. At
//! the end of a tick, if the last checkpoint is written, the next one begins. The copy at its beginning lengthens that tick.

use super::algorithm::{Algorithm, DRIBBLE_AND_COPY_ON_UPDATE, Layout, Part};
use super::bits::Bits;
use super::tick::Tick;

/// The parameters of the cost model: the time of each piece of work for a checkpoint, in units of time that the caller chooses.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// Length of a tick without any work for checkpoints.
    pub tick: u64,
    /// Time before the copy of each contiguous group of objects.
    pub group: u64,
    pub copy_object: u64,
    /// Time to take a lock that no other thread wants.
    pub lock: u64,
    /// Time to test a dirty bit, which says whether an object has changed.
    pub bit: u64,
    /// Time to write an object to the disk.
    pub write_object: u64,
    /// Time until the writer has read an object and passed it. It is as long as `write_object`, or shorter if a cache takes the
    /// writes.
    pub pass_object: u64,
    /// Time from the last object of a checkpoint until the whole checkpoint is durable.
    pub sync: u64,
    /// Time to write a page of a double backup, if the write does not sweep over the whole image. A system writes a page if one
    /// of its objects has changed.
    pub write_page: u64,
}

/// The times of the updates within a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All updates happen at the beginning of the tick.
    Start,
    /// The updates are spread evenly over the length of the tick.
    Spread,
}

/// The first updates of an object in a checkpoint that take the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locks {
    /// Only those of objects that this checkpoint writes.
    Written,
    /// All first updates.
    Touched,
}

/// The first updates of an object that save the old value, if the checkpoint writes the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// Only those before the writer has passed the object.
    Unwritten,
    /// All first updates.
    Touched,
}

/// The times in which the write of a checkpoint, which runs beside the game, progresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// At all times, including the overhead that is added to a tick.
    Always,
    /// Only in a tick's own length.
    Ticks,
}

/// The readings of the paper, which are choices that its text leaves open.
#[derive(Clone, Copy, Debug)]
pub struct Readings {
    pub phase: Phase,
    pub locks: Locks,
    pub copies: Copies,
    pub progress: Progress,
    /// Number of checkpoints per full one, for the algorithms with a partial log.
    pub full_every: u64,
    /// Whether the disk has no object at the beginning. If not, it has the whole state.
    pub starts_dirty: bool,
    /// Whether the write to a double backup takes as long as the whole image, no matter how much of it is written.
    pub sweeps: bool,
}

/// Number of objects of a page.
const PAGE_OBJECTS: usize = 8;

/// The work of a tick for checkpoints, as counts. The overhead follows from them and from the time that each kind of work takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Checkpoints that began.
    pub begun: u64,
    /// Objects that were copied when a checkpoint began, and the contiguous groups of these objects.
    pub copied: u64,
    pub groups: u64,
    /// Updates that tested a dirty bit. The bit says whether an old value must be saved, or whether the object is already known
    /// to be dirty.
    pub tested: u64,
    /// Objects with at least one update that tested a dirty bit.
    pub touched: u64,
    /// First updates of an object in a checkpoint that took the lock.
    pub locked: u64,
    /// First updates that took the lock and saved the old value.
    pub saved: u64,
    /// Updates in a tick that began while a checkpoint was being written, and the objects that they changed.
    pub beside: u64,
    pub changed_beside: u64,
}

/// The record of a tick, in units of time. `start` counts from the beginning of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TickRecord {
    pub start: u64,
    pub overhead: u64,
    pub length: u64,
    pub work: Work,
}

/// The record of a checkpoint, in units of time. Moments count from the beginning of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointRecord {
    /// The tick at whose end the checkpoint begins.
    pub tick: u64,
    pub begin: u64,
    /// Time of the copy at its beginning, for which the game waits.
    pub pause: u64,
    /// Time at which the whole checkpoint is on the disk, if the write progresses at all times.
    pub written: u64,
    /// Number of objects written.
    pub objects: u64,
    /// Number of objects copied in memory, at the beginning or at an update.
    pub copied: u64,
    pub is_full: bool,
}

/// The checkpoint that is being written.
#[derive(Debug)]
struct Running {
    record: CheckpointRecord,
    /// Whether updates save old values for it.
    saves: bool,
    /// Times on the writer's clock at which the writing begins, and at which the whole checkpoint is written.
    writes_from: u64,
    written: u64,
    /// Time on the writer's clock at which the writer has passed the last object. No value is saved from then on.
    captured: u64,
}

/// The simulation of one algorithm, which `tick` feeds with one tick after another. It has the records of ticks and of finished
/// checkpoints.
#[derive(Debug)]
pub struct Simulation {
    algorithm: &'static Algorithm,
    objects: usize,
    costs: Costs,
    readings: Readings,
    now: u64,
    /// The writer's clock, which stands still while the write does not progress.
    writer_now: u64,
    /// For each image, the objects that changed since they were last written to that image. A log counts as one image.
    dirty: Vec<Bits>,
    /// For each object, the number of the last checkpoint that writes it, and the object's place in the order in which that
    /// checkpoint is written.
    place: Vec<(u32, u32)>,
    /// For each object, the number of the last checkpoint in which an update touched it.
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

    /// Returns the part of an overhead in which the writer progresses.
    fn seen_by_writer(&self, overhead: u64) -> u64 {
        if self.readings.progress == Progress::Always { overhead } else { 0 }
    }

    /// Ends the running checkpoint, if there is one, and keeps its record.
    pub fn finish(&mut self) {
        self.checkpoints.extend(self.running.take().map(|running| running.record));
    }

    /// Begins a checkpoint at the time `now`. Returns how long the game waits for it.
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

    /// Chooses the objects that a checkpoint writes, and clears their dirty bits. If updates save old values, it also stores the
    /// order in which the objects are written. Returns the number of objects, of contiguous groups, and of pages with at least
    /// one of the objects.
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

    /// Handle-Update for all updates of a tick. Returns the time that bit tests, locks and copies take.
    fn handle_updates(&mut self, tick: &Tick, work: &mut Work) -> u64 {
        let taken = self.save_values(tick, work);
        if self.algorithm.tests_every_update() {
            (work.tested, work.touched) = (tick.updates, tick.first.len() as u64);
        }
        taken + work.tested * self.costs.bit
    }

    /// Saves old values until the writer has passed all objects. Returns the time that locks and copies take, and counts the
    /// updates that test whether to save.
    fn save_values(&mut self, tick: &Tick, work: &mut Work) -> u64 {
        let Some(running) = self.running.as_mut().filter(|running| running.saves) else { return 0 };
        let (costs, readings, start) = (self.costs, self.readings, self.writer_now);
        let updates = tick.updates.max(1);
        // Returns the time of an update on the writer's clock, before the update tests its bit. `taken` is the time that locks
        // and copies have taken in this tick so far.
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
        // Later updates of the same objects test their bit until the writer has passed all objects. A bisection counts the
        // updates up to then.
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
