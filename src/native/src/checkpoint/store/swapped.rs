//! Algorithms that keep two or three copies of every cell and swap their roles, so that the game never writes what the writer
//! reads. Zigzag and Ping-Pong are by T. Cao et al., "Fast Checkpoint Recovery Algorithms for Frequently Consistent
//! Applications", SIGMOD 2011. Hourglass and Piggyback are by L. Li et al., "A Comparative Study of Consistent Snapshot
//! Algorithms for Main-Memory Database Systems", arXiv 1810.04915. They combine the bits of Zigzag and Ping-Pong with swapped
//! pointers.
//!
//! All of them distinguish single cells, as the papers do, except Piggyback. In Piggyback the writer brings the game's copy up to
//! date and must lock the objects that it changes, so Piggyback distinguishes objects.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::super::bits::Bits;
use super::arena::{Arena, OBJECT_BYTES, OBJECT_CELLS, Object, objects_of, updated};
use super::keeper::{Begin, Job, Keeper, Sink};
use super::marks::{Found, Marks};

type Pair = Arc<[Arena; 2]>;

fn pair(objects: usize) -> io::Result<Pair> {
    Ok(Arc::new([Arena::new(objects)?, Arena::new(objects)?]))
}

fn bit(words: u64, cell: u32) -> usize {
    (words >> (cell % 64) & 1) as usize
}

/// Zigzag. There are two copies of the state. For each cell, one bit says which copy is read, and another bit says which copy is
/// written. From the beginning of a checkpoint on, every cell is written to the copy that is not read at that moment, and the
/// writer reads the other copy.
#[derive(Debug)]
pub struct Zigzag {
    copies: Pair,
    read: Vec<u64>,
    written: Arc<Vec<AtomicU64>>,
}

#[derive(Debug)]
pub struct ZigzagJob {
    copies: Pair,
    written: Arc<Vec<AtomicU64>>,
}

impl Zigzag {
    pub fn new(objects: usize) -> io::Result<Self> {
        let words = objects * OBJECT_CELLS / 64;
        let written = Arc::new((0..words).map(|_| AtomicU64::new(0)).collect());
        Ok(Self { copies: pair(objects)?, read: vec![0; words], written })
    }
}

impl Keeper for Zigzag {
    type Job = ZigzagJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.copies[0].write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        self.copies[bit(self.read[cell as usize / 64], cell)].cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        let (copies, all_written) = (&*self.copies, self.written.as_slice());
        for &cell in cells {
            let word = cell as usize / 64;
            let (read, written) = (&mut self.read[word], all_written[word].load(Relaxed));
            let value = copies[bit(*read, cell)].cell(cell);
            copies[bit(written, cell)].set(cell, updated(value, cell, tick));
            let own = 1 << (cell % 64);
            *read = *read & !own | written & own;
        }
    }

    fn begin(&mut self, _: Begin, _: Option<ZigzagJob>) -> io::Result<ZigzagJob> {
        for (read, written) in self.read.iter().zip(self.written.iter()) {
            written.store(!read, Relaxed);
        }
        Ok(ZigzagJob { copies: Arc::clone(&self.copies), written: Arc::clone(&self.written) })
    }

    fn copied(&self) -> u64 {
        0
    }
}

impl Job for ZigzagJob {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let (mut data, mut other) = ([0; OBJECT_BYTES], [0; OBJECT_BYTES]);
        for object in 0..self.copies[0].objects() {
            let words = [0, 1].map(|half| self.written[2 * object + half].load(Relaxed));
            // The copy that the game does not write has the cell as the checkpoint needs it. The writer copies whole objects, so
            // it also reads cells that the game is writing, but it does not use them.
            self.copies[1].read(object, &mut data);
            if words != [0, 0] {
                self.copies[0].read(object, &mut other);
                overlay(&mut data, words, &other);
            }
            sink.put(object, &data)?;
        }
        Ok(())
    }
}

/// Replaces the cells of `data` whose bits are set in `mask` by those of `other`.
pub fn overlay(data: &mut Object, mask: [u64; 2], other: &Object) {
    for (half, mut left) in mask.into_iter().enumerate() {
        if left == u64::MAX {
            data[256 * half..256 * (half + 1)].copy_from_slice(&other[256 * half..256 * (half + 1)]);
            continue;
        }
        while left != 0 {
            let at = 4 * (64 * half + left.trailing_zeros() as usize);
            data[at..at + 4].copy_from_slice(&other[at..at + 4]);
            left &= left - 1;
        }
    }
}

/// A checkpoint of Ping-Pong or Hourglass. It has the cells that were updated since the previous checkpoint, in the copy that
/// took these updates. The writer merges them with the previous checkpoint, which is on the disk.
#[derive(Debug)]
pub struct DeltaJob {
    copies: Pair,
    /// Index of the copy that took the updates.
    which: usize,
    cells: Bits,
    /// Objects that the previous checkpoint changed. The image that is now overwritten is older than that checkpoint, so it lacks
    /// these changes.
    before: Bits,
    changed: Bits,
}

impl DeltaJob {
    fn begin(copies: &Pair, which: usize, cells: &mut Bits, spare: Option<Self>) -> Self {
        let objects = copies[0].objects();
        let (mut empty, before, mut changed) = match spare {
            Some(spare) => (spare.cells, spare.changed, spare.before),
            None => (Bits::new(objects * OBJECT_CELLS, false), Bits::new(objects, true), Bits::new(objects, false)),
        };
        // The writer has cleared the bits of the cells already. The bits of the objects are few, so they can be cleared here,
        // while the game waits.
        changed.clear();
        std::mem::swap(cells, &mut empty);
        Self { copies: Arc::clone(copies), which, cells: empty, before, changed }
    }
}

impl Job for DeltaJob {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        for object in 0..self.copies[0].objects() {
            let mask = [0, 1].map(|half| self.cells.word(2 * object + half));
            if mask != [0, 0] {
                self.changed.set(object);
            }
            if mask != [0, 0] || self.before.contains(object) {
                sink.merge(object, mask, &self.copies[self.which])?;
            }
        }
        self.cells.clear();
        Ok(())
    }
}

/// Ping-Pong. There is the state, and there are two copies that take the updates in turn. The game writes every update twice, and
/// never copies an object.
#[derive(Debug)]
pub struct PingPong {
    state: Arena,
    copies: Pair,
    current: usize,
    cells: Bits,
}

impl PingPong {
    pub fn new(objects: usize) -> io::Result<Self> {
        let cells = Bits::new(objects * OBJECT_CELLS, true);
        Ok(Self { state: Arena::new(objects)?, copies: pair(objects)?, current: 0, cells })
    }
}

impl Keeper for PingPong {
    type Job = DeltaJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.state.write(object, data);
        self.copies[0].write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        self.state.cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        let taking = &self.copies[self.current];
        for &cell in cells {
            let value = updated(self.state.cell(cell), cell, tick);
            self.state.set(cell, value);
            taking.set(cell, value);
            self.cells.set(cell as usize);
        }
    }

    fn begin(&mut self, _: Begin, spare: Option<DeltaJob>) -> io::Result<DeltaJob> {
        let job = DeltaJob::begin(&self.copies, self.current, &mut self.cells, spare);
        self.current = 1 - self.current;
        Ok(job)
    }

    fn copied(&self) -> u64 {
        0
    }
}

/// Hourglass. There are two copies of the state. Updates go to one of them, and for each cell a bit says which copy has its
/// value. The two copies swap their roles with each checkpoint, so that the writer reads the copy that took the updates before.
#[derive(Debug)]
pub struct Hourglass {
    copies: Pair,
    up: usize,
    latest: Vec<u64>,
    cells: Bits,
}

impl Hourglass {
    pub fn new(objects: usize) -> io::Result<Self> {
        let cells = objects * OBJECT_CELLS;
        Ok(Self { copies: pair(objects)?, up: 0, latest: vec![0; cells / 64], cells: Bits::new(cells, true) })
    }
}

impl Keeper for Hourglass {
    type Job = DeltaJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.copies[0].write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        self.copies[bit(self.latest[cell as usize / 64], cell)].cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        let (copies, taking) = (&*self.copies, &self.copies[self.up]);
        for &cell in cells {
            let latest = &mut self.latest[cell as usize / 64];
            let value = copies[bit(*latest, cell)].cell(cell);
            taking.set(cell, updated(value, cell, tick));
            let own = 1 << (cell % 64);
            *latest = if self.up == 1 { *latest | own } else { *latest & !own };
            self.cells.set(cell as usize);
        }
    }

    fn begin(&mut self, _: Begin, spare: Option<DeltaJob>) -> io::Result<DeltaJob> {
        let job = DeltaJob::begin(&self.copies, self.up, &mut self.cells, spare);
        self.up = 1 - self.up;
        Ok(job)
    }

    fn copied(&self) -> u64 {
        0
    }
}

/// Piggyback. There are two whole copies of the state, one for the game and one for the writer. After a swap, the game's copy is
/// stale in the objects that were updated before the swap. Either the game brings such an object up to date before it updates it,
/// or the writer does so on its way. A thread touches a stale object of the game's copy only while it has the object's mark.
#[derive(Debug)]
pub struct Piggyback {
    copies: Pair,
    up: usize,
    marks: Arc<Marks>,
    running: u64,
    stale: Arc<Bits>,
    changed: Bits,
    copied: u64,
}

#[derive(Debug)]
pub struct PiggybackJob {
    copies: Pair,
    down: usize,
    marks: Arc<Marks>,
    number: u64,
    stale: Arc<Bits>,
}

impl Piggyback {
    pub fn new(objects: usize) -> io::Result<Self> {
        Ok(Self {
            copies: pair(objects)?,
            up: 0,
            marks: Arc::new(Marks::new(objects)),
            running: 0,
            stale: Arc::new(Bits::new(objects, false)),
            changed: Bits::new(objects, false),
            copied: 0,
        })
    }
}

/// Brings an object of copy `up` up to date, unless this was done already. Returns whether this call did it.
#[inline]
fn refresh(copies: &[Arena; 2], up: usize, marks: &Marks, object: usize, number: u64) -> bool {
    let is_mine = marks.take(object, number) == Found::Mine;
    if is_mine {
        copies[up].copy(object, &copies[1 - up], object, 1);
        marks.done(object, number);
    }
    is_mine
}

impl Keeper for Piggyback {
    type Job = PiggybackJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.copies[0].write(object, data);
        self.copies[1].write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        let object = cell as usize / OBJECT_CELLS;
        let is_stale = self.stale.contains(object) && !self.marks.is_settled(object, self.running);
        self.copies[if is_stale { 1 - self.up } else { self.up }].cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        for object in objects_of(cells) {
            if self.stale.contains(object) && !self.marks.is_settled(object, self.running) {
                self.copied += u64::from(refresh(&self.copies, self.up, &self.marks, object, self.running));
            }
            self.changed.set(object);
        }
        self.copies[self.up].update(cells, tick);
    }

    fn begin(&mut self, begin: Begin, _: Option<PiggybackJob>) -> io::Result<PiggybackJob> {
        let objects = self.copies[0].objects();
        (self.up, self.running, self.copied) = (1 - self.up, begin.number, 0);
        self.stale = Arc::new(std::mem::replace(&mut self.changed, Bits::new(objects, false)));
        Ok(PiggybackJob {
            copies: Arc::clone(&self.copies),
            down: 1 - self.up,
            marks: Arc::clone(&self.marks),
            number: begin.number,
            stale: Arc::clone(&self.stale),
        })
    }

    fn copied(&self) -> u64 {
        self.copied
    }
}

impl Job for PiggybackJob {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let mut data = [0; OBJECT_BYTES];
        for object in 0..self.copies[0].objects() {
            if self.stale.contains(object) {
                refresh(&self.copies, 1 - self.down, &self.marks, object, self.number);
            }
            self.copies[self.down].read(object, &mut data);
            sink.put(object, &data)?;
        }
        Ok(())
    }
}
