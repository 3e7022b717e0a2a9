//! The six algorithms of the paper on real memory. They share the paper's framework of four subroutines, and the simulator's
//! table of algorithms says what each algorithm does in it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Release},
};

use super::super::algorithm::{Algorithm, DRIBBLE_AND_COPY_ON_UPDATE, Layout, Part};
use super::super::bits::Bits;
use super::arena::{Arena, OBJECT_BYTES, Object, objects_of};
use super::keeper::{Begin, Job, Keeper, Sink};
use super::marks::{Found, Marks};

/// The data that the game's thread and the writer share.
///
/// The following holds while a checkpoint saves old values on update. The writer reads an object of `state` only while it has the
/// object's mark. The game writes an object only after its mark is settled, and it settles the marks of all objects of some
/// updates before it plays the first of these updates. An object's saved value belongs to the game until the mark says that it is
/// saved.
#[derive(Debug)]
struct Shared {
    state: Arena,
    saved: Arena,
    marks: Marks,
    /// Number of the last checkpoint whose objects have all been read. No value needs to be saved for it any more.
    captured: AtomicU64,
}

/// The state in memory under one of the six algorithms.
#[derive(Debug)]
pub struct Framework {
    algorithm: &'static Algorithm,
    shared: Arc<Shared>,
    /// For each image, the objects that changed since they were last written to that image. A log counts as one image.
    dirty: Vec<Bits>,
    /// Number and objects of the running checkpoint, if updates save old values for it.
    saving: Option<(u64, Arc<Bits>)>,
    copied: u64,
}

/// A checkpoint of one of the six algorithms.
#[derive(Debug)]
pub struct FrameworkJob {
    number: u64,
    written: Arc<Bits>,
    /// Memory for the objects that are copied at once. A job that copies nothing can still have it, and keeps it for a later job.
    copies: Option<Arena>,
    /// Whether the objects of this job are in `copies`.
    is_copied: bool,
    shared: Arc<Shared>,
}

impl Framework {
    pub fn new(algorithm: &'static Algorithm, objects: usize) -> io::Result<Self> {
        let images = match (algorithm.written, algorithm.layout) {
            (Part::Dirty, Layout::DoubleBackup) => 2,
            (Part::Dirty, Layout::Log) => 1,
            _ => 0,
        };
        let saves = algorithm.handle_update != Part::Nothing || algorithm.is_partial_log();
        let shared = Shared {
            state: Arena::new(objects)?,
            saved: Arena::new(if saves { objects } else { 0 })?,
            marks: Marks::new(if saves { objects } else { 0 }),
            captured: AtomicU64::new(0),
        };
        let dirty = vec![Bits::new(objects, true); images];
        Ok(Self { algorithm, shared: Arc::new(shared), dirty, saving: None, copied: 0 })
    }

    /// Handle-Update: saves the old value of each object that the running checkpoint writes, at the object's first update.
    fn save(&mut self, cells: &[u32]) {
        let shared = &*self.shared;
        let Some((number, written)) = &self.saving else { return };
        let number = *number;
        if shared.captured.load(Acquire) == number {
            self.saving = None;
            return;
        }
        for object in objects_of(cells) {
            if shared.marks.is_settled(object, number) {
                continue;
            }
            if !written.contains(object) {
                shared.marks.done(object, number);
            } else if shared.marks.take(object, number) == Found::Mine {
                shared.saved.copy(object, &shared.state, object, 1);
                shared.marks.saved(object, number);
                self.copied += 1;
            }
        }
    }
}

impl Keeper for Framework {
    type Job = FrameworkJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.shared.state.write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        self.shared.state.cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        self.save(cells);
        for image in &mut self.dirty {
            for object in objects_of(cells) {
                image.set(object);
            }
        }
        self.shared.state.update(cells, tick);
    }

    fn begin(&mut self, begin: Begin, spare: Option<FrameworkJob>) -> io::Result<FrameworkJob> {
        let own = if begin.is_full && self.algorithm.is_partial_log() { &DRIBBLE_AND_COPY_ON_UPDATE } else { self.algorithm };
        let objects = self.shared.state.objects();
        let image = if self.dirty.len() == 2 { usize::from(begin.number % 2 == 1) } else { 0 };
        let dirty = self.dirty.get_mut(image).map(|bits| std::mem::replace(bits, Bits::new(objects, false)));
        let written = Arc::new(dirty.filter(|_| own.written == Part::Dirty).unwrap_or_else(|| Bits::new(objects, true)));
        let mut copies = spare.and_then(|job| job.copies);
        self.copied = 0;
        let is_copied = own.copy_to_memory != Part::Nothing;
        if is_copied {
            let kept = match copies.take() {
                Some(kept) => kept,
                None => Arena::new(objects)?,
            };
            for (first, count) in written.runs() {
                kept.copy(first, &self.shared.state, first, count);
            }
            self.copied = written.count();
            copies = Some(kept);
        }
        self.saving = (own.handle_update != Part::Nothing).then(|| (begin.number, Arc::clone(&written)));
        Ok(FrameworkJob { number: begin.number, written, copies, is_copied, shared: Arc::clone(&self.shared) })
    }

    fn copied(&self) -> u64 {
        self.copied
    }
}

impl Job for FrameworkJob {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let mut data = [0; OBJECT_BYTES];
        for object in self.written.iter() {
            match &self.copies {
                Some(copies) if self.is_copied => copies.read(object, &mut data),
                _ => self.read(object, &mut data),
            }
            sink.put(object, &data)?;
        }
        self.shared.captured.store(self.number, Release);
        Ok(())
    }
}

impl FrameworkJob {
    /// Write-Objects-To-Stable-Storage: reads an object, or its saved value if an update came first.
    fn read(&self, object: usize, into: &mut Object) {
        match self.shared.marks.take(object, self.number) {
            Found::Mine => {
                self.shared.state.read(object, into);
                self.shared.marks.done(object, self.number);
            }
            Found::Saved => self.shared.saved.read(object, into),
            Found::Done => unreachable!("only the writer marks an object that it writes as done, and only once"),
        }
    }
}
