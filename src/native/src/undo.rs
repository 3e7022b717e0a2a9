//! The undo log of a device with a volatile cache. It keeps, by epoch, the old content of all that was changed and not yet
//! flushed, so that a power cut can take the changes back.
//!
//! A flush that arrives closes the current epoch. At the answer to the flush, that epoch and those before it become durable. The
//! first change of a page in an epoch keeps the page's old content, so that a page is copied at most once per epoch, and not at
//! all if it was never written.

use std::collections::{HashSet, VecDeque};

use crate::memory::Memory;
use crate::model::Draws;

const PAGE: usize = 4096;
const SLAB_PAGES: usize = 256;
/// Number of slabs that are kept for the next epochs (64 MiB), so that a device that is flushed now and then asks the kernel for
/// no memory.
const SPARE_SLABS: usize = 64;

type Slab = Box<[u8]>;

/// The pages that were changed between two flushes, with the content that each page held before.
#[derive(Default)]
pub struct Epoch {
    number: u64,
    /// Number of each page, and the slot that has its old content. `None` stands for zeroes.
    pages: Vec<(u32, Option<u32>)>,
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

/// The undo log of one disk.
pub struct Undo {
    /// For each page, the number of the epoch that changed it last. It is 0 if the page was never written and reads as zeroes.
    touched: Vec<u64>,
    /// Epochs that have not been released, oldest first. The last epoch is open.
    epochs: VecDeque<Epoch>,
    /// Number of the last durable epoch. Changes in epochs up to this one can no longer be lost.
    durable: u64,
    spare: Vec<Slab>,
}

impl Undo {
    pub fn new(size: usize) -> Self {
        let open = Epoch { number: 1, ..Epoch::default() };
        Self { touched: vec![0; size.div_ceil(PAGE)], epochs: [open].into(), durable: 0, spare: Vec::new() }
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
            let Some(mut epoch) = self.epochs.pop_front() else { break };
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

    /// Restores the durable content of the memory, newest epoch first. Each version of a page survives with probability
    /// `keep_share`, drawn with `seed`, because a cache writes pages out in any order. All content is durable afterwards. Returns
    /// how many versions were dropped and kept.
    pub fn roll_back(&mut self, memory: &Memory, keep_share: f64, seed: u64) -> Versions {
        let mut versions = Versions::default();
        let (draws, mut survivors) = (Draws::new(seed, 0), HashSet::new());
        let next = self.epochs.back().expect("an epoch is open").number + 1;
        for epoch in self.epochs.drain(..).rev().filter(|epoch| epoch.number > self.durable) {
            for (page, slot) in &epoch.pages {
                if survivors.contains(page) {
                    continue;
                }
                if draws.share(versions.dropped + versions.kept) < keep_share {
                    survivors.insert(*page);
                    versions.kept += 1;
                    continue;
                }
                versions.dropped += 1;
                let offset = u64::from(*page) * PAGE as u64;
                if let Some(slot) = slot {
                    let (_, length) = memory.clip(offset, PAGE as u64);
                    assert!(memory.write(offset, &epoch.old(*slot)[..length]), "the page is clipped to the disk");
                } else {
                    memory.discard(offset, PAGE as u64);
                    self.touched[*page as usize] = 0;
                }
            }
        }
        self.durable = next - 1;
        self.epochs.push_back(Epoch { number: next, ..Epoch::default() });
        versions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGES: usize = 64;
    const SIZE: usize = PAGES * PAGE;

    struct Disk {
        memory: Memory,
        undo: Undo,
    }

    impl Disk {
        fn new() -> Self {
            Self { memory: Memory::new(SIZE).unwrap(), undo: Undo::new(SIZE) }
        }
        fn write(&mut self, offset: usize, data: &[u8]) {
            self.undo.keep_for_write(&self.memory, offset as u64, data.len() as u64);
            assert!(self.memory.write(offset as u64, data));
        }
        fn discard(&mut self, offset: usize, length: usize) {
            self.undo.keep_for_discard(&self.memory, offset as u64, length as u64);
            self.memory.discard(offset as u64, length as u64);
        }
        fn answer(&mut self, number: u64) {
            self.undo.make_durable(number);
            self.undo.release();
        }
        fn content(&self) -> Vec<u8> {
            self.memory.read(0, SIZE as u64)
        }
    }

    /// Makes random writes and discards of any length, flushes that are answered late and out of order, and cuts. The oracle
    /// keeps a copy of the whole disk for each epoch.
    #[test]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss, reason = "small numbers")]
    fn a_cut_gives_back_the_last_flushed_disk() {
        for seed in 0..40 {
            let draws = Draws::new(seed, 1);
            let mut n = 0;
            let mut below = |limit: usize| {
                n += 1;
                (draws.share(n) * limit as f64) as usize
            };
            let (mut disk, mut durable, mut flushes) = (Disk::new(), vec![0; SIZE], Vec::new());
            for step in 0..600u32 {
                let offset = below(SIZE);
                let length = (1 << below(15)).min(SIZE - offset);
                match below(20) {
                    0..12 => disk.write(offset, &vec![(step % 255) as u8 + 1; length]),
                    12..15 => disk.discard(offset, length),
                    15..17 => flushes.push((disk.undo.close(), disk.content())),
                    17..19 if !flushes.is_empty() => {
                        let (number, then) = flushes.remove(below(flushes.len()));
                        if number > disk.undo.durable {
                            durable = then;
                        }
                        disk.answer(number);
                    }
                    19 => {
                        disk.undo.roll_back(&disk.memory, 0.0, 0);
                        flushes.clear();
                        assert!(disk.content() == durable, "seed {seed}, step {step}");
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_page_is_kept_once_an_epoch_and_zeroes_are_not_copied() {
        let mut disk = Disk::new();
        disk.write(0, &[1; 3 * PAGE]);
        disk.write(PAGE, &[2; PAGE]);
        disk.discard(10 * PAGE, 20 * PAGE);
        assert_eq!((disk.undo.unflushed_pages(), disk.undo.epochs[0].slots), (3, 0));
        let first = disk.undo.close();
        disk.write(PAGE + 7, &[3]);
        disk.write(PAGE + 8, &[3]);
        assert_eq!((disk.undo.unflushed_pages(), disk.undo.epochs[1].slots), (4, 1));
        assert_eq!(disk.undo.close(), first + 1);
        assert_eq!(disk.undo.close(), first + 1, "nothing was written in between");
        disk.answer(first);
        assert_eq!(disk.undo.unflushed_pages(), 1);
        disk.answer(first + 1);
        assert_eq!((disk.undo.unflushed_pages(), disk.undo.epochs.len(), disk.undo.spare.len()), (0, 1, 1));
    }

    #[test]
    fn a_survivor_is_the_newest_version_or_an_older_one() {
        let mut seen = [0; 3];
        let mut counted = Versions::default();
        for seed in 0..100 {
            let mut disk = Disk::new();
            disk.write(0, &vec![1; SIZE]);
            let flushed = disk.undo.close();
            disk.answer(flushed);
            disk.write(0, &vec![2; SIZE]);
            disk.undo.close();
            disk.write(0, &vec![3; SIZE]);
            let versions = disk.undo.roll_back(&disk.memory, 0.5, seed);
            counted.dropped += versions.dropped;
            counted.kept += versions.kept;
            for page in disk.content().chunks(PAGE) {
                assert!(page.iter().all(|byte| byte == &page[0]), "a page survives whole");
                seen[page[0] as usize - 1] += 1;
            }
            assert_eq!(disk.undo.roll_back(&disk.memory, 0.0, 0), Versions::default(), "what survived is durable");
        }
        // The expected shares of the 6,400 pages are a quarter, a quarter and a half, within five standard deviations.
        let [oldest, older, newest] = seen;
        assert!((1427..1773).contains(&oldest) && (1427..1773).contains(&older) && (3000..3400).contains(&newest), "{seen:?}");
        assert_eq!(counted, Versions { dropped: 2 * oldest + older, kept: older + newest });
    }

    #[test]
    fn a_share_of_one_keeps_all() {
        let mut disk = Disk::new();
        disk.write(5000, &[1; 10_000]);
        let before = disk.content();
        assert_eq!(disk.undo.roll_back(&disk.memory, 1.0, 3), Versions { dropped: 0, kept: 3 });
        assert!(disk.content() == before);
    }
}
