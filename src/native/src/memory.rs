//! The bytes of the emulated disk: anonymous memory that the kernel gives page by page as it is written.

use std::io;
use std::ptr;

const PAGE: usize = 4096;

pub struct Memory {
    start: *mut u8,
    size: usize,
}

// SAFETY: the mapping is shared plain bytes; who reads and writes the same range at the same time is the disk's user,
// to whom a disk promises nothing in that case either. All access is bounds-checked and by raw copies.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

impl Memory {
    pub fn new(size: usize) -> io::Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at an address that the kernel chooses.
        let start = unsafe { libc::mmap(ptr::null_mut(), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // A fork would copy the page tables, tens of milliseconds for a gibibyte.
        // SAFETY: the range is the mapping just made.
        unsafe { libc::madvise(start, size, libc::MADV_DONTFORK) };
        Ok(Self { start: start.cast(), size })
    }

    pub const fn size(&self) -> usize {
        self.size
    }

    /// The part of `length` bytes at `offset` that lies within the disk, as start and length.
    pub fn clip(&self, offset: u64, length: u64) -> (usize, usize) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.size);
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(self.size - start);
        (start, length)
    }

    pub fn read(&self, offset: u64, length: u64) -> &[u8] {
        let (start, length) = self.clip(offset, length);
        // SAFETY: clipped to the mapping, which lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.add(start), length) }
    }

    /// Writes `data` at `offset`; false, and nothing written, when it does not fit.
    pub fn write(&self, offset: u64, data: &[u8]) -> bool {
        let (start, length) = self.clip(offset, data.len() as u64);
        if length < data.len() {
            return false;
        }
        // SAFETY: clipped to the mapping; `data` is the caller's own buffer.
        unsafe { ptr::copy_nonoverlapping(data.as_ptr(), self.start.add(start), length) };
        true
    }

    /// Makes a range read as zeroes; whole pages go back to the kernel.
    pub fn discard(&self, offset: u64, length: u64) {
        let (start, length) = self.clip(offset, length);
        let end = start + length;
        let (first_page, last_page) = (start.next_multiple_of(PAGE).min(end), end - end % PAGE);
        if last_page <= first_page {
            self.zero(start, end);
            return;
        }
        self.zero(start, first_page);
        // SAFETY: whole pages within the mapping; a private anonymous page that was given back reads as zeroes.
        unsafe { libc::madvise(self.start.add(first_page).cast(), last_page - first_page, libc::MADV_DONTNEED) };
        self.zero(last_page, end);
    }

    fn zero(&self, start: usize, end: usize) {
        // SAFETY: `discard` clipped both to the mapping.
        unsafe { ptr::write_bytes(self.start.add(start), 0, end - start) };
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `new`, of which nothing is borrowed any more.
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
            let wrong = (0u64..).zip(bytes).filter(|(at, byte)| (**byte == 0) != (start..start + length).contains(at));
            assert_eq!(wrong.count(), 0, "{start}+{length}");
        }
    }
}
