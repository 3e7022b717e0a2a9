//! The state of a world as numbered records, with a digest of the whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::message::Change;

/// One thing in the world, such as a player or a block. The prototype says what its numbers mean.
pub type Record = [i32; 4];

/// The records of a world, or of a client's replica of it.
#[derive(Clone, Debug, Default)]
pub struct Records {
    by_id: BTreeMap<u32, Record>,
    changed: BTreeSet<u32>,
    digest: u64,
}

impl Records {
    /// Sets a record, or removes it.
    pub fn set(&mut self, id: u32, record: Option<Record>) {
        let before = match record {
            Some(record) => self.by_id.insert(id, record),
            None => self.by_id.remove(&id),
        };
        if before != record {
            self.digest ^= before.map_or(0, |record| hash(id, record)) ^ record.map_or(0, |record| hash(id, record));
            self.changed.insert(id);
        }
    }

    #[must_use]
    pub fn get(&self, id: u32) -> Option<&Record> {
        self.by_id.get(&id)
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Returns a number that two worlds with the same records have in common, and other worlds do not.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// Returns all records, as the changes that make them of nothing.
    #[must_use]
    pub fn all(&self) -> Vec<Change> {
        self.by_id.iter().map(|(&id, &record)| Change { id, record: Some(record) }).collect()
    }

    /// Takes the records that have changed since they were taken last.
    pub fn take_changes(&mut self) -> Vec<Change> {
        let changed = std::mem::take(&mut self.changed);
        changed.into_iter().map(|id| Change { id, record: self.by_id.get(&id).copied() }).collect()
    }
}

/// Spreads a record over 64 bits (the last steps of Steele's `SplitMix`, over each of its numbers).
fn hash(id: u32, record: Record) -> u64 {
    record.iter().fold(u64::from(id), |state, &number| {
        let mixed = state.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(number.cast_unsigned());
        let first = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let second = (first ^ (first >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        second ^ (second >> 31)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_that_takes_all_changes_has_the_same_digest() {
        let (mut world, mut replica) = (Records::default(), Records::default());
        let steps = [(1, Some([1, 2, 3, 4])), (2, Some([0; 4])), (1, Some([1, 2, 3, 5])), (2, None), (3, None)];
        for (id, record) in steps {
            world.set(id, record);
            for change in world.take_changes() {
                replica.set(change.id, change.record);
            }
            assert_eq!((world.digest(), world.len()), (replica.digest(), replica.len()));
        }
        assert_eq!(world.all(), [Change { id: 1, record: Some([1, 2, 3, 5]) }]);
        world.set(1, None);
        assert_eq!((world.digest(), world.is_empty()), (0, true));
    }

    #[test]
    fn worlds_with_other_records_have_other_digests() {
        let digest = |id, record| {
            let mut records = Records::default();
            records.set(id, Some(record));
            records.digest()
        };
        let different = [digest(1, [0; 4]), digest(2, [0; 4]), digest(1, [0, 0, 0, 1]), digest(1, [1, 0, 0, 0])];
        assert!((0..4).all(|one| (0..one).all(|other| different[one] != different[other])));
    }

    #[test]
    fn a_record_that_is_set_to_itself_has_not_changed() {
        let mut world = Records::default();
        world.set(1, Some([1; 4]));
        assert_eq!(world.take_changes().len(), 1);
        world.set(1, Some([1; 4]));
        assert!(world.take_changes().is_empty());
    }
}
