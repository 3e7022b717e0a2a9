//! The algorithms that keep every cell twice or three times and swap roles, so that the game never writes what the writer reads:
//! Zigzag and Ping-Pong (T. Cao et al., "Fast Checkpoint Recovery Algorithms for Frequently Consistent Applications", SIGMOD 2011),
//! Hourglass and Piggyback (L. Li et al., "A Comparative Study of Consistent Snapshot Algorithms for Main-Memory Database
//! Systems", arXiv 1810.04915: Zigzag's and Ping-Pong's bits with swapped pointers).
//!
//! Cells are told apart one by one, as there, but in Piggyback, where the writer brings the other copy up to date and so must lock: there,
//! objects are.

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

/// Two copies; of each cell one bit says which copy is read, another which is written. When a checkpoint begins every cell is from then on
/// written to the copy that is not read, and the writer reads the other.
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
            // The copy that is not written holds the checkpoint. Cells that are being written are read, too, and not used.
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

/// Takes the cells whose bits are set from `other`.
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

/// The cells that were updated between two checkpoints, in the copy that took those updates. The writer lays them over the checkpoint
/// before, which is on the disk.
#[derive(Debug)]
pub struct DeltaJob {
    copies: Pair,
    which: usize,
    cells: Bits,
    /// Objects that the last checkpoint changed: this one's image has them as they were before.
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
        // The writer has cleared the cells' bits; those of objects are few.
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

/// The state, and two copies that take the updates in turn: the game writes every update twice, and never copies.
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

/// Two copies: updates go to the one whose turn it is, of each cell a bit says which holds its value. The turn changes with each
/// checkpoint, so that the writer reads what took the updates before.
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

/// Two whole copies: the game has one, the writer the other. What was updated before the swap is stale in the game's; whoever comes to
/// such an object first, the game to update it or the writer on its way, brings it up to date. An object of the game's copy that is
/// stale is touched by who has its mark.
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

/// Brings an object of copy `up` up to date, unless that was done; returns whether it was not.
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
