//! Marks of the objects in the running checkpoint, one word for each object. A mark says whether the game or the writer has dealt
//! with the object, and also locks the object.
//!
//! A mark carries the number of its checkpoint, so that beginning a checkpoint costs nothing. A mark of an earlier checkpoint
//! means that no thread has dealt with the object yet. Marks are thus not cleared. Instead their meaning changes, as in the
//! paper.

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

/// The answer to a thread that asks for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The object is now locked for this thread, until the thread says what it did.
    Mine,
    /// The game has saved the old value.
    Saved,
    /// The writer has read the object, or no thread needs it.
    Done,
}

#[allow(clippy::cast_possible_truncation, reason = "two checkpoints that are 2^30 apart may have the same marks")]
fn mark(number: u64, what: u32) -> u32 {
    (number as u32) << 2 | what
}

impl Marks {
    pub fn new(objects: usize) -> Self {
        Self((0..objects).map(|_| AtomicU32::new(0)).collect())
    }

    /// Returns whether nothing has to be done for the object any more in this checkpoint.
    #[inline]
    pub fn is_settled(&self, object: usize, number: u64) -> bool {
        let seen = self.0[object].load(Acquire);
        seen == mark(number, SAVED) || seen == mark(number, DONE)
    }

    /// Locks the object for this thread, or says who has dealt with it. Waits while another thread has locked the object, which
    /// is for the time of one copy.
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

    /// Unlocks the object, and says that its old value is saved.
    #[inline]
    pub fn saved(&self, object: usize, number: u64) {
        self.0[object].store(mark(number, SAVED), Release);
    }

    /// Unlocks the object if it was locked, and says that no thread needs it any more.
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
