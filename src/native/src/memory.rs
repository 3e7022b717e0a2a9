//! The bytes of the emulated disk, in anonymous memory. The kernel provides each page when it is first written.
//!
//! Two requests may read and write the same place at the same time. A disk promises nothing about the result, but this program
//! must stay sound, so all copies go through atomics. Requests of a block device are whole sectors, so that all of them are
//! copied in words of eight bytes.

use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const PAGE: usize = 4096;
const WORD: usize = size_of::<u64>();

/// The bytes of a disk of fixed size. A new disk reads as zeroes.
pub struct Memory {
    start: *mut u8,
    size: usize,
}

// SAFETY: all access is by atomics within the mapping, which lives as long as this value.
unsafe impl Send for Memory {}
// SAFETY: the same holds here.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(size: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the call makes a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A fork would copy the page tables, which takes tens of milliseconds for a gibibyte.
        // SAFETY: the range is the mapping that was just made.
        unsafe { libc::madvise(start, size, libc::MADV_DONTFORK) };
        Ok(Self { start: start.cast(), size })
    }

    /// Returns the size of the disk, in bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns the part of a range of `length` bytes at `offset` that lies within the disk, as start and length in bytes.
    pub fn clip(&self, offset: u64, length: u64) -> (usize, usize) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.size);
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.size - start);
        (start, length)
    }

    /// Returns a copy of the bytes in a range. Bytes beyond the end of the disk are left out.
    pub fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let (start, length) = self.clip(offset, length);
        let mut bytes = Vec::with_capacity(length);
        let (head, words, tail) = self.cells(start, length);
        bytes.extend(head.iter().map(|cell| cell.load(Ordering::Relaxed)));
        for word in words {
            bytes.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
        }
        bytes.extend(tail.iter().map(|cell| cell.load(Ordering::Relaxed)));
        bytes
    }

    /// Writes `data` at `offset` and returns true. If `data` does not fit within the disk, writes nothing and returns false.
    pub fn write(&self, offset: u64, data: &[u8]) -> bool {
        let (start, length) = self.clip(offset, data.len() as u64);
        if length < data.len() {
            return false;
        }
        let (head, words, tail) = self.cells(start, length);
        let (first, rest) = data.split_at(head.len());
        let (middle, last) = rest.split_at(WORD * words.len());
        head.iter().zip(first).for_each(|(cell, byte)| cell.store(*byte, Ordering::Relaxed));
        for (word, bytes) in words.iter().zip(middle.chunks_exact(WORD)) {
            word.store(u64::from_ne_bytes(bytes.try_into().expect("a word")), Ordering::Relaxed);
        }
        tail.iter().zip(last).for_each(|(cell, byte)| cell.store(*byte, Ordering::Relaxed));
        true
    }

    /// Returns a range of the disk as the bytes before its first whole word, its whole words, and the bytes after them. The
    /// caller must have clipped the range to the disk.
    fn cells(&self, start: usize, length: usize) -> (&[AtomicU8], &[AtomicU64], &[AtomicU8]) {
        // SAFETY: the range is within the mapping, which lives as long as `self`, and any bytes are valid atomics of either size.
        unsafe { std::slice::from_raw_parts(self.start.add(start).cast::<AtomicU8>(), length).align_to() }
    }

    /// Makes a range read as zeroes. Its whole pages are given back to the kernel.
    pub fn discard(&self, offset: u64, length: u64) {
        let (start, length) = self.clip(offset, length);
        let end = start + length;
        let (first_page, last_page) = (start.next_multiple_of(PAGE).min(end), end - end % PAGE);
        if last_page <= first_page {
            self.zero(start, end);
            return;
        }
        self.zero(start, first_page);
        // SAFETY: the range has only whole pages within the mapping. A private anonymous page that was given back reads as
        // zeroes.
        unsafe { libc::madvise(self.start.add(first_page).cast(), last_page - first_page, libc::MADV_DONTNEED) };
        self.zero(last_page, end);
    }

    fn zero(&self, start: usize, end: usize) {
        let (head, words, tail) = self.cells(start, end - start);
        head.iter().chain(tail).for_each(|cell| cell.store(0, Ordering::Relaxed));
        for word in words {
            word.store(0, Ordering::Relaxed);
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `new` made the mapping, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_and_zeroes_elsewhere() {
        let memory = Memory::new(1 << 20).unwrap();
        assert!(memory.write(5000, b"tick"));
        assert_eq!(memory.read(4999, 6), b"\0tick\0");
    }

    #[test]
    fn places_between_words_are_read_and_written_as_any() {
        let memory = Memory::new(4096).unwrap();
        let noise: Vec<u8> = (0..100u8).map(|byte| byte.wrapping_mul(7) | 1).collect();
        for start in 0..20 {
            for length in 0..40 {
                assert!(memory.write(0, &[0; 100]));
                assert!(memory.write(start as u64, &noise[..length]));
                let mut expected = vec![0; 100];
                expected[start..start + length].copy_from_slice(&noise[..length]);
                assert_eq!(memory.read(0, 100), expected);
                assert_eq!(memory.read(start as u64, length as u64), noise[..length]);
            }
        }
    }

    #[test]
    fn nothing_is_written_beyond_the_end() {
        let memory = Memory::new(8192).unwrap();
        assert!(!memory.write(8190, b"tick"));
        assert_eq!(memory.read(8190, 100), b"\0\0");
        assert!(memory.read(u64::MAX, 1).is_empty());
    }

    #[test]
    fn discard_zeroes_exactly_its_range() {
        let memory = Memory::new(8 * 4096).unwrap();
        for (start, length) in [(100, 50), (4000, 200), (4096, 8192), (5000, 12_000), (0, 32_768)] {
            assert!(memory.write(0, &vec![7; 8 * 4096]));
            memory.discard(start, length);
            let bytes = memory.read(0, 8 * 4096);
            let wrong = (0u64..).zip(bytes).filter(|(at, byte)| (*byte == 0) != (start..start + length).contains(at));
            assert_eq!(wrong.count(), 0, "{start}+{length}");
        }
    }
}
