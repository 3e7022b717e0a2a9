//! Memory for the cells of a state, by objects, which the game's thread and the writer share.
//!
//! Only the game's thread reads and writes single cells. An object is copied by the thread that owns it at that moment, as the
//! algorithm says. Each algorithm must ensure that a thread never uses the copy of a cell that another thread was writing.

use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Size of an object, which is copied and written as a whole. It is the size in the paper.
pub const OBJECT_BYTES: usize = 512;
pub const OBJECT_CELLS: usize = OBJECT_BYTES / 4;

/// The bytes of one object.
pub type Object = [u8; OBJECT_BYTES];

/// A range of memory for objects. A page takes memory only after its first touch, so objects that an algorithm never touches cost
/// nothing.
#[derive(Debug)]
pub struct Arena {
    start: NonNull<u8>,
    objects: usize,
}

// SAFETY: An arena is only memory. Each algorithm states the protocol that says which thread touches which object.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Maps memory for `objects` objects, all zeroes.
    pub fn new(objects: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: an anonymous map at an address of the kernel's choice touches nothing that exists.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), Self::bytes(objects), libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // Updates are spread over the whole state. With pages of 4 KiB, most of them would also miss the TLB. A kernel without
        // large pages refuses this advice, and nothing else changes.
        // SAFETY: The call gives advice about the map that was just made.
        unsafe { libc::madvise(start, Self::bytes(objects), libc::MADV_HUGEPAGE) };
        let start = NonNull::new(start.cast()).expect("a map is not at address 0");
        Ok(Self { start, objects })
    }

    /// Keeps the memory from child processes: a child of fork(2) does not get it.
    pub fn keep_from_children(&self) -> io::Result<()> {
        // SAFETY: The call gives advice about the whole map.
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
    #[allow(clippy::cast_ptr_alignment, reason = "a map begins at the start of a page")]
    fn atomic(&self, cell: u32) -> &AtomicU32 {
        assert!((cell as usize) < self.objects * OBJECT_CELLS, "the cell must be in the state");
        // SAFETY: The cell is within the map, which is aligned to a page. Cells are touched only as atomics, or by the thread
        // that owns their object.
        unsafe { &*self.start.as_ptr().cast::<AtomicU32>().add(cell as usize) }
    }

    /// Plays updates of a tick. All algorithms in which the game has one whole copy of the state run this same loop. The work
    /// that an algorithm does beside it is the algorithm's cost.
    pub fn update(&self, cells: &[u32], tick: u64) {
        for &cell in cells {
            self.set(cell, updated(self.cell(cell), cell, tick));
        }
    }

    /// Copies an object into `into`. No thread may write the object meanwhile.
    #[inline]
    pub fn read(&self, object: usize, into: &mut Object) {
        assert!(object < self.objects, "the object must be in the state");
        // SAFETY: The object is within the map. `into` is elsewhere, because it is borrowed.
        unsafe { ptr::copy_nonoverlapping(self.at(object), into.as_mut_ptr(), OBJECT_BYTES) }
    }

    /// Sets an object. No other thread may touch it meanwhile.
    #[inline]
    pub fn write(&self, object: usize, from: &Object) {
        assert!(object < self.objects, "the object must be in the state");
        // SAFETY: The object is within the map, and `from` is elsewhere, as in `read`.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), self.at(object), OBJECT_BYTES) }
    }

    /// Copies `count` neighbouring objects of `from`, from its object `first` on, to the objects from `place` on. Meanwhile, no
    /// other thread may write the former or touch the latter.
    #[inline]
    pub fn copy(&self, place: usize, from: &Self, first: usize, count: usize) {
        assert!(place + count <= self.objects && first + count <= from.objects, "the objects must be in both arenas");
        assert!(self.start != from.start, "the two arenas must differ");
        // SAFETY: Both ranges are within their maps, which do not overlap.
        unsafe { ptr::copy_nonoverlapping(from.at(first), self.at(place), count * OBJECT_BYTES) }
    }

    fn at(&self, object: usize) -> *mut u8 {
        // SAFETY: All callers ask for objects of the map.
        unsafe { self.start.as_ptr().add(object * OBJECT_BYTES) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: The map was made with this length, and no thread uses it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), Self::bytes(self.objects)) };
    }
}

/// Yields the object of each cell.
pub fn objects_of(cells: &[u32]) -> impl Iterator<Item = usize> {
    cells.iter().map(|cell| *cell as usize / OBJECT_CELLS)
}

/// Returns the value of a cell in a new state.
#[inline]
pub fn fresh(cell: u32) -> u32 {
    cell.wrapping_mul(0x9E37_79B9) ^ 0x5bd1_e995
}

/// Returns the value of a cell after an update in a tick. A second update changes the value again, and another order of ticks
/// gives another value.
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
    /// Adds the next object to the hash.
    pub fn add(&mut self, object: &Object) {
        for word in object.chunks_exact(8) {
            let word = u64::from_le_bytes(word.try_into().expect("chunks of 8"));
            self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }
}
