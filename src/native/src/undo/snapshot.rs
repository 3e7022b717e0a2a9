//! The content of the disk at one instant, kept while the disk goes on, so that an image of a power cut at that instant can be
//! written.
//!
//! At the instant only the list of the unflushed changes is copied. Afterwards a page is copied before its first change, unless
//! the image has it already.

use super::{Change, Effects, Epoch, PAGE, Slab, Undo};
use crate::memory::Memory;

const UNCHANGED: u32 = 0;
const ZEROES: u32 = u32::MAX;

/// The changes that a power cut at the instant could have taken, newest epoch first.
pub struct Unflushed {
    changes: Vec<Change>,
    /// Number of each epoch, and how many of the changes are its own.
    epochs: Vec<(u64, usize)>,
}

impl Unflushed {
    /// Returns an empty list with room for `count` changes. The kernel provides its memory now, and not when the list is filled.
    pub fn with_room(count: usize) -> Self {
        let mut changes = vec![(u32::MAX, Some(u32::MAX)); count];
        changes.clear();
        Self { changes, epochs: Vec::new() }
    }

    /// Draws the effects of a power cut at the instant, which are those that `Undo::roll_back` would have had.
    pub fn effects(&self, keep_share: f64, seed: u64) -> Effects {
        let mut rest = self.changes.as_slice();
        let epochs = self.epochs.iter().map(|(number, count)| {
            let (changes, older) = rest.split_at(*count);
            rest = older;
            (*number, changes)
        });
        Effects::draw(epochs, keep_share, seed)
    }
}

/// The pages that were changed after the instant, with their content at the instant.
pub struct Snapshot {
    /// Number of the epoch that was open at the instant. Later epochs have nothing that the image needs.
    open: u64,
    /// Number of the first page that the image does not have yet.
    next: usize,
    /// For each page, 0 if it was not changed after the instant, or the number of its slot in `copies`, counted from 1.
    places: Vec<u32>,
    copies: Epoch,
    /// Epochs that became durable after the instant.
    retained: Vec<Epoch>,
}

impl Snapshot {
    /// Returns an empty snapshot for a disk of `size` bytes.
    pub fn new(size: usize) -> Self {
        let places = vec![UNCHANGED; size.div_ceil(PAGE)];
        Self { open: 0, next: 0, places, copies: Epoch::default(), retained: Vec::new() }
    }

    /// Keeps the content of a page that is about to change. `touched` is the number of the epoch that changed it last.
    pub fn keep(&mut self, memory: &Memory, page: usize, touched: u64, spare: &mut Vec<Slab>) {
        if page < self.next || self.places[page] != UNCHANGED {
            return;
        }
        self.places[page] = if touched == 0 {
            ZEROES
        } else {
            let number = u32::try_from(page).expect("a disk in memory has fewer pages");
            self.copies.keep(number, Some(&memory.read((page * PAGE) as u64, PAGE as u64)), spare);
            u32::try_from(self.copies.slots).expect("there are no more copies than pages")
        };
    }
}

/// Keeps an epoch that is released, if an image needs its old content. Otherwise returns the epoch.
pub fn retain(snapshot: &mut Option<Snapshot>, epoch: Epoch) -> Option<Epoch> {
    match snapshot {
        Some(snapshot) if epoch.number <= snapshot.open => {
            snapshot.retained.push(epoch);
            None
        }
        _ => Some(epoch),
    }
}

impl Undo {
    /// Keeps the disk as it is now for an image, from now to `end_image`. Fills the list of the changes that a power cut could take
    /// now. Only one image may be in the making.
    pub fn begin_image(&mut self, mut snapshot: Snapshot, unflushed: &mut Unflushed) {
        snapshot.open = self.epochs.back().expect("an epoch is open").number;
        self.snapshot = Some(snapshot);
        for (number, changes) in self.unflushed() {
            unflushed.changes.extend_from_slice(changes);
            unflushed.epochs.push((number, changes.len()));
        }
    }

    /// Copies the next pages of the image into `into`, which is as long as some whole pages, and returns for each of these pages
    /// whether it can have other bytes than zeroes. The bytes of the other pages are not set. The image has the `effects` of a
    /// power cut.
    pub fn next_of_image(&mut self, memory: &Memory, effects: &Effects, into: &mut [u8]) -> Vec<bool> {
        let count = into.len() / PAGE;
        let snapshot = self.snapshot.as_mut().expect("an image is in the making");
        let first = snapshot.next;
        snapshot.next += count;
        let snapshot = &*snapshot;
        let mut copy = |(page, into): (usize, &mut [u8])| {
            let mut fill = |bytes: &[u8]| into[..bytes.len()].copy_from_slice(bytes);
            match (effects.restored.get(&u32::try_from(page).unwrap_or(u32::MAX)), snapshot.places[page]) {
                (Some(None), _) | (None, ZEROES) => return false,
                (Some(Some((number, slot))), _) => {
                    let mut epochs = self.epochs.iter().chain(&snapshot.retained);
                    fill(epochs.find(|epoch| epoch.number == *number).expect("the epoch is retained").old(*slot));
                }
                (None, UNCHANGED) if self.touched[page] == 0 => return false,
                (None, UNCHANGED) => fill(&memory.read((page * PAGE) as u64, PAGE as u64)),
                (None, place) => fill(snapshot.copies.old(place - 1)),
            }
            true
        };
        (first..first + count).zip(into.chunks_mut(PAGE)).map(&mut copy).collect()
    }

    /// Ends the image. Returns what was kept for it, whose memory is still to be freed.
    pub fn end_image(&mut self) -> Option<Snapshot> {
        self.snapshot.take()
    }
}
