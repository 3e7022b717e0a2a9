//! Images of a disk as files. An image is what a power cut at one instant would leave. It is written while the disk goes on, and
//! another disk can be made of it.
//!
//! A page of zeroes is a hole in the file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use parking_lot::Mutex;

use crate::memory::Memory;
use crate::realtime;
use crate::undo::{Effects, PAGE, Undo};

/// Number of pages that are copied at once while changes of the disk wait, which takes some us.
const PAGES: usize = 16;
const READ: usize = 1 << 20;
const ZEROES: [u8; PAGE] = [0; PAGE];

/// Writes the image that `undo` has begun into an empty `file`, with the `effects` of a power cut. Fails if the file cannot be
/// written, or if `is_over` returns true before the end.
pub fn write(file: &File, memory: &Memory, undo: &Mutex<Undo>, effects: &Effects, is_over: impl Fn() -> bool) -> io::Result<()> {
    file.set_len(memory.size() as u64)?;
    let mut buffer = vec![0; PAGES * PAGE];
    for start in (0..memory.size()).step_by(buffer.len()) {
        if is_over() {
            return Err(io::Error::other("the device ended before the image was whole"));
        }
        let bytes = &mut buffer[..(PAGES * PAGE).min(memory.size() - start).next_multiple_of(PAGE)];
        let written = realtime::with(|| undo.lock().next_of_image(memory, effects, bytes));
        for ((number, page), _) in
            bytes.chunks(PAGE).enumerate().zip(written).filter(|((_, page), written)| *written && *page != ZEROES)
        {
            let offset = (start + number * PAGE) as u64;
            let (_, length) = memory.clip(offset, PAGE as u64);
            file.write_all_at(&page[..length], offset)?;
        }
    }
    Ok(())
}

/// Replaces the content of a disk, all of which is durable afterwards, by the image in `file`. Nobody may use the disk. Fails if
/// the file cannot be read or has another size than the disk.
pub fn load(file: &File, memory: &Memory, mut undo: Option<&mut Undo>) -> io::Result<()> {
    if file.metadata()?.len() != memory.size() as u64 {
        return Err(io::Error::other("the image has another size than the disk"));
    }
    memory.discard(0, memory.size() as u64);
    if let Some(undo) = &mut undo {
        undo.forget_all();
    }
    let (mut buffer, mut start) = (vec![0; READ], 0);
    while let Some(data) = next_data(file, start, memory.size())? {
        let bytes = &mut buffer[..READ.min(memory.size() - data)];
        file.read_exact_at(bytes, data as u64)?;
        for (number, page) in bytes.chunks(PAGE).enumerate().filter(|(_, page)| **page != ZEROES[..page.len()]) {
            let offset = data + number * PAGE;
            if let Some(undo) = &mut undo {
                undo.note_durable(offset / PAGE);
            }
            assert!(memory.write(offset as u64, page), "the image is as long as the disk");
        }
        start = data + bytes.len();
    }
    Ok(())
}

/// Returns the first page of a file from `start` on that is not in a hole, or `None` if there is none before `size`.
fn next_data(file: &File, start: usize, size: usize) -> io::Result<Option<usize>> {
    if start >= size {
        return Ok(None);
    }
    let offset = libc::off_t::try_from(start).map_err(io::Error::other)?;
    // SAFETY: lseek takes any descriptor and any numbers, and tells what does not fit.
    let found = unsafe { libc::lseek(file.as_raw_fd(), offset, libc::SEEK_DATA) };
    match usize::try_from(found) {
        Ok(data) => Ok(Some(data / PAGE * PAGE)),
        Err(_) => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;
    use crate::undo::{Snapshot, Unflushed};

    /// A size that neither the copies nor the reads of the file divide, and that ends within a page.
    const SIZE: usize = 3 * READ + 5 * PAGE + 512;

    fn image(memory: &Memory, undo: &Mutex<Undo>, is_over: bool) -> io::Result<File> {
        let path = std::env::temp_dir().join(format!("tickdisk-image-{}-{is_over}", std::process::id()));
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        std::fs::remove_file(path)?;
        let mut unflushed = Unflushed::with_room(0);
        undo.lock().begin_image(Snapshot::new(SIZE), &mut unflushed);
        let effects = unflushed.effects(0.0, 0);
        let written = write(&file, memory, undo, &effects, || is_over);
        undo.lock().end_image();
        written.map(|()| file)
    }

    #[test]
    fn an_image_has_only_pages_that_were_written_and_makes_another_disk() {
        let (memory, undo) = (Memory::new(SIZE).unwrap(), Mutex::new(Undo::new(SIZE)));
        let places = [0, 7 * PAGE + 10, READ, 2 * READ - 3, SIZE - 300];
        for (byte, place) in (1..).zip(places) {
            undo.lock().keep_for_write(&memory, place as u64, 300);
            assert!(memory.write(place as u64, &[byte; 300]));
        }
        let flushed = undo.lock().close();
        undo.lock().make_durable(flushed);
        undo.lock().keep_for_write(&memory, 20 * PAGE as u64, PAGE as u64);
        assert!(memory.write(20 * PAGE as u64, &[77; PAGE]), "it is not flushed and not in the image");
        let file = image(&memory, &undo, false).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), SIZE as u64);
        assert!(about.blocks() * 512 <= 6 * PAGE as u64, "a write of 300 bytes takes a page or two: {}", about.blocks());

        let (other, other_undo) = (Memory::new(SIZE).unwrap(), Mutex::new(Undo::new(SIZE)));
        other_undo.lock().keep_for_write(&other, 40 * PAGE as u64, 1);
        assert!(other.write(40 * PAGE as u64, &[9]));
        load(&file, &other, Some(&mut other_undo.lock())).unwrap();
        let mut expected = vec![0; SIZE];
        for (byte, place) in (1..).zip(places) {
            expected[place..place + 300].fill(byte);
        }
        assert!(other.read(0, SIZE as u64) == expected);
        assert_eq!(other_undo.lock().unflushed_pages(), 0, "all of it is durable");
        other_undo.lock().keep_for_write(&other, 0, 1 << 20);
        assert!(other.write(0, &vec![5; 1 << 20]));
        other_undo.lock().roll_back(&other, 0.0, 0);
        assert!(other.read(0, SIZE as u64) == expected);
    }

    #[test]
    fn an_image_of_a_device_that_ends_and_a_load_of_another_size_are_errors() {
        let (memory, undo) = (Memory::new(SIZE).unwrap(), Mutex::new(Undo::new(SIZE)));
        assert!(image(&memory, &undo, true).unwrap_err().to_string().contains("ended"));
        let file = image(&memory, &undo, false).unwrap();
        let other = Memory::new(SIZE + PAGE).unwrap();
        assert!(other.write(0, b"tick"));
        assert!(load(&file, &other, None).unwrap_err().to_string().contains("another size"));
        assert_eq!(other.read(0, 4), b"tick");
    }
}
