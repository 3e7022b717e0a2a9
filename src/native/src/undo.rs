//! The undo log of a device with a volatile cache. It keeps, by epoch, the old content of all that was changed and not yet
//! flushed, so that a power cut can take the changes back.
//!
//! A flush that arrives closes the current epoch. At the answer to the flush, that epoch and those before it become durable. The
//! first change of a page in an epoch keeps the page's old content, so that a page is copied at most once per epoch, and not at
//! all if it was never written.

mod snapshot;

use std::collections::VecDeque;

use rustc_hash::{FxHashMap, FxHashSet};

pub use self::snapshot::{Snapshot, Unflushed};
use crate::memory::Memory;
use crate::model::Draws;

pub const PAGE: usize = 4096;
const SLAB_PAGES: usize = 256;
/// Number of slabs that are kept for the next epochs (64 MiB), so that a device that is flushed now and then asks the kernel for
/// no memory.
const SPARE_SLABS: usize = 64;

type Slab = Box<[u8]>;

/// The number of a page that was changed, and the slot that has its old content. `None` stands for zeroes.
type Change = (u32, Option<u32>);

/// The pages that were changed between two flushes, with the content that each page held before.
#[derive(Default)]
pub struct Epoch {
    number: u64,
    pages: Vec<Change>,
    slabs: Vec<Slab>,
    /// Number of slots in use.
    slots: usize,
}

impl Epoch {
    fn keep(&mut self, page: u32, old: Option<&[u8]>, spare: &mut Vec<Slab>) {
        let slot = old.map(|old| {
            let slot = self.slots;
            if slot.is_multiple_of(SLAB_PAGES) {
                self.slabs.push(spare.pop().unwrap_or_else(|| vec![0; SLAB_PAGES * PAGE].into()));
            }
            let start = slot % SLAB_PAGES * PAGE;
            self.slabs[slot / SLAB_PAGES][start..start + old.len()].copy_from_slice(old);
            self.slots += 1;
            u32::try_from(slot).expect("an epoch has no more slots than the disk has pages")
        });
        self.pages.push((page, slot));
    }

    fn old(&self, slot: u32) -> &[u8] {
        let (slab, start) = (slot as usize / SLAB_PAGES, slot as usize % SLAB_PAGES * PAGE);
        &self.slabs[slab][start..start + PAGE]
    }
}

/// Numbers of the versions of pages that a power cut found unflushed. If a version of a page survived, older versions of that
/// page are not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Versions {
    pub dropped: u64,
    pub kept: u64,
}

/// The effects of a power cut on the unflushed versions of pages.
#[derive(Default)]
pub struct Effects {
    pub versions: Versions,
    /// For each page of which a version is dropped, the epoch and the slot that have the page's content after the cut. `None`
    /// stands for zeroes.
    restored: FxHashMap<u32, Option<(u64, u32)>>,
}

impl Effects {
    /// Draws the effects of a power cut on the changes in unflushed `epochs`, newest epoch first. Each version of a page survives
    /// with probability `keep_share`, drawn with `seed`, because a cache writes pages out in any order.
    fn draw<'a>(epochs: impl Iterator<Item = (u64, &'a [Change])>, keep_share: f64, seed: u64) -> Self {
        let (draws, mut survivors, mut effects) = (Draws::new(seed, 0), FxHashSet::default(), Self::default());
        for (number, changes) in epochs {
            for (page, slot) in changes {
                if survivors.contains(page) {
                    continue;
                }
                if draws.share(effects.versions.dropped + effects.versions.kept) < keep_share {
                    survivors.insert(*page);
                    effects.versions.kept += 1;
                } else {
                    effects.versions.dropped += 1;
                    effects.restored.insert(*page, slot.map(|slot| (number, slot)));
                }
            }
        }
        effects
    }
}

/// The undo log of one disk.
pub struct Undo {
    /// For each page, the number of the epoch that changed it last. It is 0 if the page was never written and reads as zeroes.
    touched: Vec<u64>,
    /// Epochs that have not been released, oldest first. The last epoch is open.
    epochs: VecDeque<Epoch>,
    /// Number of the last durable epoch. Changes in epochs up to this one can no longer be lost.
    durable: u64,
    spare: Vec<Slab>,
    /// The content of the disk at an earlier instant, while an image of that instant is being written.
    snapshot: Option<Snapshot>,
}

impl Undo {
    pub fn new(size: usize) -> Self {
        let open = Epoch { number: 1, ..Epoch::default() };
        Self { touched: vec![0; size.div_ceil(PAGE)], epochs: [open].into(), durable: 0, spare: Vec::new(), snapshot: None }
    }

    /// Keeps the old content of the pages that a write changes. It must be called before the write.
    pub fn keep_for_write(&mut self, memory: &Memory, offset: u64, length: u64) {
        self.keep(memory, offset, length, true);
    }

    /// Keeps the old content of the pages that a discard changes. It must be called before the discard. A page that was never
    /// written stays as it is, and nothing is kept for it.
    pub fn keep_for_discard(&mut self, memory: &Memory, offset: u64, length: u64) {
        self.keep(memory, offset, length, false);
    }

    fn keep(&mut self, memory: &Memory, offset: u64, length: u64, never_written_too: bool) {
        let (start, length) = memory.clip(offset, length);
        let open = self.epochs.back_mut().expect("an epoch is open");
        for page in start / PAGE..(start + length).div_ceil(PAGE) {
            let before = self.touched[page];
            if let Some(snapshot) = &mut self.snapshot {
                snapshot.keep(memory, page, before, &mut self.spare);
            }
            if before == open.number || (before == 0 && !never_written_too) {
                continue;
            }
            self.touched[page] = open.number;
            let old = (before != 0).then(|| memory.read((page * PAGE) as u64, PAGE as u64));
            open.keep(u32::try_from(page).expect("a disk in memory has fewer pages"), old.as_deref(), &mut self.spare);
        }
    }

    /// Closes the current epoch for a flush that arrives. Returns the number of the last epoch that is durable once the flush is
    /// answered.
    pub fn close(&mut self) -> u64 {
        let open = self.epochs.back().expect("an epoch is open");
        if open.pages.is_empty() {
            return open.number - 1;
        }
        let number = open.number;
        self.epochs.push_back(Epoch { number: number + 1, ..Epoch::default() });
        number
    }

    /// Makes the epochs up to `number` durable. It must be called before the flush is answered.
    pub fn make_durable(&mut self, number: u64) {
        self.durable = self.durable.max(number);
    }

    /// Forgets the old content of durable epochs, which need not happen before the answer. Returns the epochs whose memory is
    /// still to be freed.
    pub fn release(&mut self) -> Vec<Epoch> {
        let mut released = Vec::new();
        while self.epochs.front().is_some_and(|epoch| epoch.number <= self.durable) {
            let Some(epoch) = self.epochs.pop_front() else { break };
            let Some(mut epoch) = snapshot::retain(&mut self.snapshot, epoch) else { continue };
            let room = SPARE_SLABS - self.spare.len();
            let spared = epoch.slabs.len().min(room);
            self.spare.extend(epoch.slabs.drain(..spared));
            released.push(epoch);
        }
        released
    }

    /// Returns the number of versions of pages that a power cut could take now.
    pub fn unflushed_pages(&self) -> usize {
        self.epochs.iter().filter(|epoch| epoch.number > self.durable).map(|epoch| epoch.pages.len()).sum()
    }

    /// Restores the durable content of the memory, except for versions of pages that survive (see [`Effects::draw`]). All content
    /// is durable afterwards. Returns how many versions were dropped and kept.
    pub fn roll_back(&mut self, memory: &Memory, keep_share: f64, seed: u64) -> Versions {
        let effects = Effects::draw(self.unflushed(), keep_share, seed);
        for (page, place) in &effects.restored {
            let (number, offset) = (*page as usize, u64::from(*page) * PAGE as u64);
            if let Some(snapshot) = &mut self.snapshot {
                snapshot.keep(memory, number, self.touched[number], &mut self.spare);
            }
            if let Some((epoch, slot)) = place {
                let epoch = self.epochs.iter().find(|kept| kept.number == *epoch).expect("an unflushed epoch is not released");
                let (_, length) = memory.clip(offset, PAGE as u64);
                assert!(memory.write(offset, &epoch.old(*slot)[..length]), "the page is clipped to the disk");
            } else {
                memory.discard(offset, PAGE as u64);
                self.touched[number] = 0;
            }
        }
        self.begin_anew();
        effects.versions
    }

    /// Returns the changes that a power cut could take now, by epoch, newest epoch first.
    fn unflushed(&self) -> impl Iterator<Item = (u64, &[Change])> {
        let unflushed = self.epochs.iter().rev().filter(|epoch| epoch.number > self.durable);
        unflushed.map(|epoch| (epoch.number, epoch.pages.as_slice()))
    }

    /// Makes all content durable.
    fn begin_anew(&mut self) {
        let next = self.epochs.back().expect("an epoch is open").number + 1;
        for epoch in self.epochs.drain(..) {
            snapshot::retain(&mut self.snapshot, epoch);
        }
        self.durable = next - 1;
        self.epochs.push_back(Epoch { number: next, ..Epoch::default() });
    }

    /// Makes the whole disk one that was never written. The memory must be all zeroes, and no image may be in the making.
    pub fn forget_all(&mut self) {
        self.begin_anew();
        self.touched.fill(0);
    }

    /// Keeps nothing of the old content of a page, which holds durable content from now on.
    pub fn note_durable(&mut self, page: usize) {
        self.touched[page] = self.durable;
    }
}

#[cfg(test)]
mod tests;
