//! The interface through which the game and the writer use an algorithm.

use std::io;

use super::arena::{Arena, Object};

/// The place to which a job writes the objects of a checkpoint, in ascending order.
pub trait Sink {
    /// Writes an object.
    fn put(&mut self, object: usize, data: &Object) -> io::Result<()>;

    /// Writes an object with the values that it has in the previous checkpoint, except for the cells whose bits are set in
    /// `mask`. These cells come from `values`.
    fn merge(&mut self, object: usize, mask: [u64; 2], values: &Arena) -> io::Result<()>;

    /// Takes over a checkpoint that another process has written into the file of this one. `wrote` says what that process wrote.
    fn adopt(&mut self, wrote: Wrote) -> io::Result<()>;
}

/// The content that a process wrote into the file of a checkpoint.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wrote {
    /// Number of slots.
    pub slots: u64,
    /// Sum of the shares of all slots.
    pub sum: u64,
}

/// A checkpoint that has begun, with the work that the writer does for it.
pub trait Job: Send {
    /// Writes the checkpoint into `sink`.
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()>;
}

/// The identity of a checkpoint that begins.
#[derive(Clone, Copy, Debug)]
pub struct Begin {
    /// Number of the checkpoint, from 1 on.
    pub number: u64,
    /// The tick at whose end the checkpoint begins.
    pub tick: u64,
    /// Whether the checkpoint must be full. An algorithm with a partial log makes only some full checkpoints.
    pub is_full: bool,
}

/// The state in memory under one algorithm, as the game's thread uses it.
pub trait Keeper: Send {
    type Job: Job;

    /// Sets an object of the state. This is done before the first tick.
    fn load(&mut self, object: usize, data: &Object);

    /// Returns the value of a cell.
    fn value(&self, cell: u32) -> u32;

    /// Plays all or some updates of a tick, in their order.
    fn update(&mut self, cells: &[u32], tick: u64);

    /// Begins a checkpoint at the end of a tick, when the last checkpoint is written. The game waits for this. `spare` is the job
    /// of the last checkpoint, whose memory can be used again.
    fn begin(&mut self, begin: Begin, spare: Option<Self::Job>) -> io::Result<Self::Job>;

    /// Returns the number of objects that were copied in memory for the running checkpoint, since it began.
    fn copied(&self) -> u64;
}
