//! The format of checkpoints in files. A file has slots of one object each, and its head says to which checkpoint the slots
//! belong.
//!
//! The checksum of a slot covers its content, its object's number and the number of its checkpoint. The sum in a head covers the
//! checksums of all slots. A file is therefore refused if a slot is torn, changed, in the wrong place, left over from another
//! checkpoint, or missing.

use super::arena::{OBJECT_BYTES, Object};

pub const SLOT_BYTES: usize = 16 + OBJECT_BYTES;
pub const HEAD_BYTES: usize = 64;
const MAGIC: u64 = u64::from_le_bytes(*b"tickdisk");
const VERSION: u32 = 1;

/// Fills `slot` with an object. Returns the slot's checksum.
pub fn fill_slot(slot: &mut [u8], object: u32, number: u64, data: &Object) -> u32 {
    slot[..4].copy_from_slice(&object.to_le_bytes());
    slot[8..16].copy_from_slice(&number.to_le_bytes());
    slot[16..SLOT_BYTES].copy_from_slice(data);
    let crc = slot_crc(slot);
    slot[4..8].copy_from_slice(&crc.to_le_bytes());
    crc
}

fn slot_crc(slot: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&slot[..4]);
    hasher.update(&slot[8..SLOT_BYTES]);
    hasher.finalize()
}

/// A slot that was read.
#[derive(Clone, Copy, Debug)]
pub struct Slot<'a> {
    pub object: u32,
    pub crc: u32,
    pub number: u64,
    pub data: &'a Object,
}

/// Reads a slot. Returns `None` if the checksum does not match the content.
pub fn read_slot(slot: &[u8]) -> Option<Slot<'_>> {
    let word = |at: usize| u32::from_le_bytes(slot[at..at + 4].try_into().expect("4 bytes"));
    let crc = word(4);
    (slot_crc(slot) == crc).then(|| Slot {
        object: word(0),
        crc,
        number: u64::from_le_bytes(slot[8..16].try_into().expect("8 bytes")),
        data: slot[16..SLOT_BYTES].try_into().expect("an object"),
    })
}

/// Returns the share of a slot, which is the number that it adds to the sum of its file.
pub fn share(object: u32, crc: u32) -> u64 {
    let mut mixed = (u64::from(object) << 32 | u64::from(crc)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// The head of a file, which says which checkpoint the file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub number: u64,
    /// The tick at whose end the state was as the checkpoint has it.
    pub tick: u64,
    /// Number of objects of the state.
    pub objects: u64,
    /// Number of slots in the file.
    pub slots: u64,
    pub is_full: bool,
    /// Sum of the shares of all slots.
    pub sum: u64,
}

impl Head {
    pub fn to_bytes(self) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        let words = [MAGIC, u64::from(VERSION), self.number, self.tick, self.objects, self.slots, self.sum];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes[56..60].copy_from_slice(&u32::from(self.is_full).to_le_bytes());
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Returns the head in these bytes, or `None` if they are not a whole head.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEAD_BYTES] = bytes.try_into().ok()?;
        let word = |index: usize| u64::from_le_bytes(bytes[8 * index..8 * index + 8].try_into().expect("8 bytes"));
        let half = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
        let is_whole = half(60) == crc32fast::hash(&bytes[..60]) && word(0) == MAGIC && word(1) == u64::from(VERSION);
        is_whole.then(|| Self {
            number: word(2),
            tick: word(3),
            objects: word(4),
            slots: word(5),
            sum: word(6),
            is_full: half(56) == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bit_of_a_slot_and_of_a_head_counts() {
        let data = std::array::from_fn(|index| u8::try_from(index % 251).expect("below 251"));
        let mut slot = vec![0; SLOT_BYTES];
        let crc = fill_slot(&mut slot, 7, 9, &data);
        let read = read_slot(&slot).expect("whole");
        assert_eq!((read.object, read.crc, read.number, read.data), (7, crc, 9, &data));
        let head = Head { number: 3, tick: 4, objects: 5, slots: 6, is_full: true, sum: 7 };
        let bytes = head.to_bytes();
        assert_eq!(Head::from_bytes(&bytes), Some(head));
        for bit in 0..8 * SLOT_BYTES {
            slot[bit / 8] ^= 1 << (bit % 8);
            assert!(read_slot(&slot).is_none(), "bit {bit}");
            slot[bit / 8] ^= 1 << (bit % 8);
        }
        for bit in 0..8 * HEAD_BYTES {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Head::from_bytes(&flipped), None, "bit {bit}");
        }
    }
}
