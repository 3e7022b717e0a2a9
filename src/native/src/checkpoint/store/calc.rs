//! CALC (K. Ren et al., "Low-Overhead Asynchronous Checkpointing in Main-Memory Database Systems", SIGMOD 2016). It keeps a live
//! version of every object, and a stable version of each object that is updated before the writer comes to it. The memory for
//! stable versions is taken and given back as needed.
//!
//! CALC's phases that wait for running transactions are empty here, because no transaction runs at the end of a tick. The rest of
//! CALC is here: the rule that says when a stable version is made, the writer that releases it, and a beginning of a checkpoint
//! that costs nothing.

use std::io;
use std::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Release},
};
use std::sync::{Arc, Mutex, PoisonError};

use super::arena::{Arena, OBJECT_BYTES, Object, objects_of};
use super::keeper::{Begin, Job, Keeper, Sink};
use super::marks::{Found, Marks};

/// The data that the game's thread and the writer share. As in `framework`, a thread touches an object and its stable version
/// only while it has the object's mark.
#[derive(Debug)]
struct Shared {
    live: Arena,
    stable: Arena,
    /// For each object, the place of its stable version.
    places: Vec<AtomicU32>,
    /// Places that the writer has released.
    free: Mutex<Vec<u32>>,
    marks: Marks,
    captured: AtomicU64,
}

#[derive(Debug)]
pub struct Calc {
    shared: Arc<Shared>,
    running: u64,
    free: Vec<u32>,
    /// The first place that was never used. All later places were not used either.
    unused: u32,
    copied: u64,
}

#[derive(Debug)]
pub struct CalcJob {
    number: u64,
    shared: Arc<Shared>,
}

impl Calc {
    pub fn new(objects: usize) -> io::Result<Self> {
        let shared = Shared {
            live: Arena::new(objects)?,
            stable: Arena::new(objects)?,
            places: (0..objects).map(|_| AtomicU32::new(0)).collect(),
            free: Mutex::default(),
            marks: Marks::new(objects),
            captured: AtomicU64::new(0),
        };
        Ok(Self { shared: Arc::new(shared), running: 0, free: Vec::new(), unused: 0, copied: 0 })
    }

    /// Takes a place for a stable version.
    fn place(&mut self) -> u32 {
        if self.free.is_empty() {
            std::mem::swap(&mut self.free, &mut self.shared.free.lock().unwrap_or_else(PoisonError::into_inner));
        }
        self.free.pop().unwrap_or_else(|| {
            self.unused += 1;
            self.unused - 1
        })
    }

    /// Makes a stable version of an object, unless there is one or the writer has read the object already.
    #[inline]
    fn save(&mut self, object: usize) {
        let number = self.running;
        if !self.shared.marks.is_settled(object, number) && self.shared.marks.take(object, number) == Found::Mine {
            let place = self.place();
            let shared = &*self.shared;
            shared.stable.copy(place as usize, &shared.live, object, 1);
            shared.places[object].store(place, Release);
            shared.marks.saved(object, number);
            self.copied += 1;
        }
    }
}

impl Keeper for Calc {
    type Job = CalcJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.shared.live.write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        self.shared.live.cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        if self.shared.captured.load(Acquire) == self.running {
            self.running = 0;
        }
        if self.running != 0 {
            for object in objects_of(cells) {
                self.save(object);
            }
        }
        self.shared.live.update(cells, tick);
    }

    fn begin(&mut self, begin: Begin, _: Option<CalcJob>) -> io::Result<CalcJob> {
        (self.running, self.copied) = (begin.number, 0);
        Ok(CalcJob { number: begin.number, shared: Arc::clone(&self.shared) })
    }

    fn copied(&self) -> u64 {
        self.copied
    }
}

impl Job for CalcJob {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let (shared, mut data) = (&*self.shared, [0; OBJECT_BYTES]);
        for object in 0..shared.live.objects() {
            match shared.marks.take(object, self.number) {
                Found::Mine => {
                    shared.live.read(object, &mut data);
                    shared.marks.done(object, self.number);
                }
                Found::Saved => {
                    let place = shared.places[object].load(Acquire);
                    shared.stable.read(place as usize, &mut data);
                    shared.free.lock().unwrap_or_else(PoisonError::into_inner).push(place);
                }
                Found::Done => unreachable!("only the writer marks an object as done, and only once"),
            }
            sink.put(object, &data)?;
        }
        shared.captured.store(self.number, Release);
        Ok(())
    }
}
