//! What an algorithm is to the game and to the writer.

use std::io;

use super::arena::{Arena, Object};

/// Takes the objects of a checkpoint, in ascending order.
pub trait Sink {
    fn put(&mut self, object: usize, data: &Object) -> io::Result<()>;

    /// Puts an object as the checkpoint before has it, but for the cells whose bits are set in `mask`, which are `values`'.
    fn merge(&mut self, object: usize, mask: [u64; 2], values: &Arena) -> io::Result<()>;

    /// For a checkpoint that another process wrote: `take` says, in that process, what it holds.
    fn adopt(&mut self, wrote: Wrote) -> io::Result<()>;
}

/// What a process wrote into the file of a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrote {
    pub slots: u64,
    pub sum: u64,
}

/// A checkpoint that has begun: what the writer does of it.
pub trait Job: Send {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()>;
}

/// Which checkpoint begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// From 1 on.
    pub number: u64,
    pub tick: u64,
    /// Of a partial log this one is a full one.
    pub is_full: bool,
}

/// The state in memory under one algorithm, in the hands of the game's thread.
pub trait Keeper: Send {
    type Job: Job;

    /// Sets an object of the state, before the first tick.
    fn load(&mut self, object: usize, data: &Object);

    fn value(&self, cell: u32) -> u32;

    /// Plays updates of a tick, all or some, in their order.
    fn update(&mut self, cells: &[u32], tick: u64);

    /// At the end of a tick, when the last checkpoint is written; `spare` is that one's job, whose memory is used again. The game
    /// waits for this.
    fn begin(&mut self, begin: Begin, spare: Option<Self::Job>) -> io::Result<Self::Job>;

    /// Objects copied in memory since the beginning of the running checkpoint, and for it.
    fn copied(&self) -> u64;
}
