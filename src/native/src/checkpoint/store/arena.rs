//! Memory of a state: cells in objects, shared by the thread of the game and the writer.
//!
//! Cells are read and written one by one by the thread of the game alone. Objects are copied by whoever the algorithm says owns
//! them at that moment; that no one writes an object which another copies is what each algorithm has to prove.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What is copied and written as one, as in the paper.
pub const OBJECT_BYTES: usize = 512;
pub const OBJECT_CELLS: usize = OBJECT_BYTES / 4;

/// Bytes of one object.
pub type Object = [u8; OBJECT_BYTES];

/// Pages come with the first touch, so that memory that an algorithm never needs costs nothing.
#[derive(Debug)]
pub struct Arena {
    start: NonNull<u8>,
    objects: usize,
}

// SAFETY: it is memory; who touches what is the protocol of each algorithm, stated there.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// So many objects, all zeroes.
    pub fn new(objects: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous map at an address of the kernel's choice touches nothing that exists.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), Self::bytes(objects), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Updates are all over the state: with pages of 4 KiB most would miss the TLB, too. A kernel without large ones says so, and
        // nothing else changes.
        // SAFETY: advice about the map that was just made.
        unsafe { libc::madvise(start, Self::bytes(objects), libc::MADV_HUGEPAGE) };
        let start = NonNull::new(start.cast()).expect("a map is not at address 0");
        Ok(Self { start, objects })
    }

    /// Leaves the memory to this process: a child of fork(2) does not have it.
    pub fn keep_from_children(&self) -> io::Result<()> {
        // SAFETY: advice about the whole map.
        let refused = unsafe { libc::madvise(self.start.as_ptr().cast(), Self::bytes(self.objects), libc::MADV_DONTFORK) };
        if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn bytes(objects: usize) -> usize {
        (objects * OBJECT_BYTES).max(1)
    }

    pub fn objects(&self) -> usize {
        self.objects
    }

    #[inline]
    pub fn cell(&self, cell: u32) -> u32 {
        self.atomic(cell).load(Relaxed)
    }

    #[inline]
    pub fn set(&self, cell: u32, value: u32) {
        self.atomic(cell).store(value, Relaxed);
    }

    #[inline]
    #[allow(clippy::cast_ptr_alignment, reason = "a map begins with a page")]
    fn atomic(&self, cell: u32) -> &AtomicU32 {
        assert!((cell as usize) < self.objects * OBJECT_CELLS, "a cell of the state");
        // SAFETY: within the map, aligned to its page; cells are touched as atomics only, or by who owns their object.
        unsafe { &*self.start.as_ptr().cast::<AtomicU32>().add(cell as usize) }
    }

    /// Plays updates of a tick. A loop of its own, which every algorithm runs whose game has one whole copy: what it does beside that is
    /// what it costs.
    pub fn update(&self, cells: &[u32], tick: u64) {
        for &cell in cells {
            self.set(cell, updated(self.cell(cell), cell, tick));
        }
    }

    /// Copies an object out. Nobody may write it meanwhile.
    #[inline]
    pub fn read(&self, object: usize, into: &mut Object) {
        assert!(object < self.objects, "an object of the state");
        // SAFETY: within the map; `into` is elsewhere, as it is borrowed.
        unsafe { ptr::copy_nonoverlapping(self.at(object), into.as_mut_ptr(), OBJECT_BYTES) }
    }

    /// Sets an object. Nobody may touch it meanwhile.
    #[inline]
    pub fn write(&self, object: usize, from: &Object) {
        assert!(object < self.objects, "an object of the state");
        // SAFETY: as `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.at(object), OBJECT_BYTES) }
    }

    /// Copies `count` neighbours from `first` on out of another arena, to `place` on. Nobody may write the ones or touch the others.
    #[inline]
    pub fn copy(&self, place: usize, from: &Self, first: usize, count: usize) {
        assert!(place + count <= self.objects && first + count <= from.objects, "objects of both");
        assert!(self.start != from.start, "two arenas");
        // SAFETY: within both maps, which are apart.
        unsafe { ptr::copy_nonoverlapping(from.at(first), self.at(place), count * OBJECT_BYTES) }
    }

    fn at(&self, object: usize) -> *mut u8 {
        // SAFETY: callers ask for objects of the map.
        unsafe { self.start.as_ptr().add(object * OBJECT_BYTES) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), Self::bytes(self.objects)) };
    }
}

/// The object of each cell.
pub fn objects_of(cells: &[u32]) -> impl Iterator<Item = usize> {
    cells.iter().map(|cell| *cell as usize / OBJECT_CELLS)
}

/// What a new world holds.
#[inline]
pub fn fresh(cell: u32) -> u32 {
    cell.wrapping_mul(0x9E37_79B9) ^ 0x5bd1_e995
}

/// What an update in a tick makes of a value: a second one makes something else of it, and so does another order of ticks.
#[inline]
pub fn updated(value: u32, cell: u32, tick: u64) -> u32 {
    #[allow(clippy::cast_possible_truncation, reason = "the low half tells ticks apart")]
    let tick = (tick as u32).wrapping_mul(0x85eb_ca6b);
    value.rotate_left(5).wrapping_add(tick ^ cell)
}

/// A hash of a whole state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest(pub u64);

impl Digest {
    /// Takes in the next object.
    pub fn add(&mut self, object: &Object) {
        for word in object.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("chunks of 8"));
            self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }
}
