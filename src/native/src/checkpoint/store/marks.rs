//! Who has an object in the running checkpoint: one word an object, which also locks it.
//!
//! A mark carries the number of its checkpoint, so that beginning one costs nothing: marks of an earlier one mean that nobody has
//! had the object yet. Their meaning is turned around, as the paper has it, not cleared.

use std::hint;
use std::sync::atomic::{
    AtomicU32,
    Ordering::{Acquire, Relaxed, Release},
};

const LOCKED: u32 = 1;
const SAVED: u32 = 2;
const DONE: u32 = 3;

#[derive(Debug)]
pub struct Marks(Vec<AtomicU32>);

/// What the one who asks finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// It is his now: the object is locked, until he says what he did.
    Mine,
    /// The old value was saved by the game.
    Saved,
    /// The writer has it, or nobody needs it.
    Done,
}

#[allow(clippy::cast_possible_truncation, reason = "that two checkpoints are alike that are 2^30 apart harms nobody")]
fn mark(number: u64, what: u32) -> u32 {
    (number as u32) << 2 | what
}

impl Marks {
    pub fn new(objects: usize) -> Self {
        Self((0..objects).map(|_| AtomicU32::new(0)).collect())
    }

    /// Whether nothing is to be done for the object any more in this checkpoint.
    #[inline]
    pub fn is_settled(&self, object: usize, number: u64) -> bool {
        let seen = self.0[object].load(Acquire);
        seen == mark(number, SAVED) || seen == mark(number, DONE)
    }

    /// Takes the object, or says who has had it; waits while somebody has it locked, which is for one copy.
    #[inline]
    pub fn take(&self, object: usize, number: u64) -> Found {
        let own = &self.0[object];
        loop {
            let seen = own.load(Acquire);
            if seen == mark(number, DONE) {
                return Found::Done;
            }
            if seen == mark(number, SAVED) {
                return Found::Saved;
            }
            if seen == mark(number, LOCKED) {
                hint::spin_loop();
            } else if own.compare_exchange_weak(seen, mark(number, LOCKED), Acquire, Relaxed).is_ok() {
                return Found::Mine;
            }
        }
    }

    /// Gives the object back: its old value is saved.
    #[inline]
    pub fn saved(&self, object: usize, number: u64) {
        self.0[object].store(mark(number, SAVED), Release);
    }

    /// Gives the object back, or says that nobody needs it.
    #[inline]
    pub fn done(&self, object: usize, number: u64) {
        self.0[object].store(mark(number, DONE), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_good_for_its_checkpoint_alone() {
        let marks = Marks::new(2);
        assert_eq!(marks.take(0, 1), Found::Mine);
        marks.saved(0, 1);
        assert_eq!((marks.take(0, 1), marks.is_settled(0, 1), marks.is_settled(1, 1)), (Found::Saved, true, false));
        assert_eq!(marks.take(0, 2), Found::Mine);
        marks.done(0, 2);
        assert_eq!((marks.take(0, 2), marks.take(0, 3)), (Found::Done, Found::Mine));
    }
}
