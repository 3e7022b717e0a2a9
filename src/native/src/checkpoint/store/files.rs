//! The files of checkpoints in a store's folder, and the data that the writer needs about them.
//!
//! In the layout of a double backup, `image-0.data` and `image-1.data` take the checkpoints in turn. An image has a slot for each
//! object, in the object's place. The file `image-N.head` says which checkpoint the image holds, and is replaced when the whole
//! image is on the disk. In the layout of a log, each checkpoint is a file of its own, `checkpoint-N.log`, which gets this name
//! when it is whole.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::super::algorithm::Layout;
use super::actions::Commits;
use super::arena::{Arena, OBJECT_BYTES, Object};
use super::board::{Board, Phase, Role, Stopwatch};
use super::folder::{head_path, image_path, log_path, open, replace, sync_folder, unfinished};
use super::format::{HEAD_BYTES, Head, SLOT_BYTES, fill_slot, read_slot, share};
use super::keeper::{Begin, Job, Sink, Wrote};
use super::recover::Recovered;
use super::swapped::overlay;

/// Number of slots that are written or read with one call.
const STAGED: usize = 1024;

/// A checkpoint in a file of its own.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    file: File,
    number: u64,
    staged: Vec<u8>,
    at: u64,
    wrote: Wrote,
}

impl LogFile {
    /// Opens the file under a name that says that it is not whole. Data that another process has written there is kept.
    pub fn create(folder: &Path, number: u64) -> io::Result<Self> {
        let path = log_path(folder, number);
        let file = open(&unfinished(&path))?;
        let staged = Vec::with_capacity(STAGED * SLOT_BYTES);
        Ok(Self { path, file, number, staged, at: HEAD_BYTES as u64, wrote: Wrote::default() })
    }

    /// Writes the slots that are staged. Returns what has been written in total.
    pub fn flush(&mut self) -> io::Result<Wrote> {
        self.file.write_all_at(&self.staged, self.at)?;
        self.at += self.staged.len() as u64;
        self.staged.clear();
        Ok(self.wrote)
    }
}

impl Sink for LogFile {
    fn put(&mut self, object: usize, data: &Object) -> io::Result<()> {
        if self.staged.len() == STAGED * SLOT_BYTES {
            self.flush()?;
        }
        let start = self.staged.len();
        self.staged.resize(start + SLOT_BYTES, 0);
        let object = u32::try_from(object).map_err(io::Error::other)?;
        let crc = fill_slot(&mut self.staged[start..], object, self.number, data);
        self.wrote.slots += 1;
        self.wrote.sum = self.wrote.sum.wrapping_add(share(object, crc));
        Ok(())
    }

    fn merge(&mut self, _: usize, _: [u64; 2], _: &Arena) -> io::Result<()> {
        Err(io::Error::other("a log has no image to merge with"))
    }

    fn adopt(&mut self, wrote: Wrote) -> io::Result<()> {
        self.wrote = wrote;
        Ok(())
    }
}

/// The content of one image of a double backup, as far as this process knows it.
#[derive(Debug, Default)]
struct Image {
    /// Checksum of each slot, if this process has written the slot.
    crcs: Vec<Option<u32>>,
    /// Number of known checksums.
    known: usize,
    /// Sum of the shares of the slots with a known checksum.
    sum: u64,
    tick: Option<u64>,
}

/// The image of the previous checkpoint, with the checksums that its slots must have, and the slots that were read last.
#[derive(Debug)]
struct Other<'a> {
    file: File,
    crcs: &'a [Option<u32>],
    first: usize,
    read: Vec<u8>,
}

/// A checkpoint that is being written into an image.
#[derive(Debug)]
struct ImageFile<'a> {
    file: File,
    image: &'a mut Image,
    number: u64,
    slots: u64,
    staged: Vec<u8>,
    first: usize,
    other: Option<Other<'a>>,
}

impl ImageFile<'_> {
    fn flush(&mut self) -> io::Result<()> {
        self.file.write_all_at(&self.staged, (self.first * SLOT_BYTES) as u64)?;
        self.slots += (self.staged.len() / SLOT_BYTES) as u64;
        self.staged.clear();
        Ok(())
    }

    /// Reads an object of the previous checkpoint from the other image.
    fn before(&mut self, object: usize, into: &mut Object) -> io::Result<()> {
        let other = self.other.as_mut().ok_or_else(|| io::Error::other("there is no checkpoint to merge with"))?;
        if !(other.first..other.first + other.read.len() / SLOT_BYTES).contains(&object) {
            let slots = STAGED.min(other.crcs.len() - object);
            other.read.resize(slots * SLOT_BYTES, 0);
            other.first = object;
            other.file.read_exact_at(&mut other.read, (object * SLOT_BYTES) as u64)?;
        }
        let slot = read_slot(&other.read[(object - other.first) * SLOT_BYTES..][..SLOT_BYTES]);
        // A slot that is older than that checkpoint can be whole, too. The slot must therefore have the checksum with which it
        // was written.
        let slot = slot.filter(|slot| slot.object as usize == object && Some(slot.crc) == other.crcs[object]);
        let slot = slot.ok_or_else(|| io::Error::other(format!("object {object} of the last checkpoint is damaged")))?;
        *into = *slot.data;
        Ok(())
    }
}

impl Sink for ImageFile<'_> {
    fn put(&mut self, object: usize, data: &Object) -> io::Result<()> {
        if self.staged.len() == STAGED * SLOT_BYTES || self.first + self.staged.len() / SLOT_BYTES != object {
            self.flush()?;
            self.first = object;
        }
        let start = self.staged.len();
        self.staged.resize(start + SLOT_BYTES, 0);
        let id = u32::try_from(object).map_err(io::Error::other)?;
        let crc = fill_slot(&mut self.staged[start..], id, self.number, data);
        match self.image.crcs[object].replace(crc) {
            Some(old) => self.image.sum = self.image.sum.wrapping_sub(share(id, old)),
            None => self.image.known += 1,
        }
        self.image.sum = self.image.sum.wrapping_add(share(id, crc));
        Ok(())
    }

    fn merge(&mut self, object: usize, mask: [u64; 2], values: &Arena) -> io::Result<()> {
        let mut data = [0; OBJECT_BYTES];
        if mask != [u64::MAX, u64::MAX] {
            self.before(object, &mut data)?;
        }
        if mask != [0, 0] {
            let mut own = [0; OBJECT_BYTES];
            values.read(object, &mut own);
            overlay(&mut data, mask, &own);
        }
        self.put(object, &data)
    }

    fn adopt(&mut self, _: Wrote) -> io::Result<()> {
        Err(io::Error::other("a checkpoint that another process wrote must be a log"))
    }
}

/// The size of a checkpoint that was written, and the times that this took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    pub objects: u64,
    pub write_ns: u64,
    pub sync_ns: u64,
    pub switch_ns: u64,
    /// Recoveries need no ticks up to this one from the log of actions, but all later ticks.
    pub kept_tick: u64,
}

/// The files in a store's folder, as the writer uses them.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    layout: Layout,
    objects: usize,
    images: [Image; 2],
    /// The checkpoints that are kept in the layout of a log, each as its number, its tick, and whether it is full.
    logs: Vec<(u64, u64, bool)>,
    /// Tick of the checkpoint that the life began with, which the second checkpoint of the life overwrites.
    restored_tick: u64,
}

impl Files {
    /// Takes over a folder in which a recovery found checkpoints.
    pub fn new(folder: &Path, layout: Layout, objects: usize, found: &Recovered) -> Self {
        let image = || Image { crcs: vec![None; objects], ..Image::default() };
        let (logs, restored_tick) = (found.logs.clone(), found.image_tick);
        Self { folder: folder.to_owned(), layout, objects, images: [image(), image()], logs, restored_tick }
    }

    /// Writes a checkpoint. After this function has returned, the checkpoint counts, and the checkpoints that it replaces are
    /// gone. A checkpoint counts only after its tick is committed.
    pub fn write<J: Job>(&mut self, begin: Begin, job: &mut J, board: &Board, commits: &Commits) -> io::Result<Written> {
        match self.layout {
            Layout::DoubleBackup => self.write_image(begin, job, board, commits),
            Layout::Log => self.write_log(begin, job, board, commits),
        }
    }

    fn write_image<J: Job>(&mut self, begin: Begin, job: &mut J, board: &Board, commits: &Commits) -> io::Result<Written> {
        let (mut clock, mut written) = (Stopwatch::start(), Written::default());
        board.enter(Role::Writer, Phase::Write);
        let [even, odd] = &mut self.images;
        let (image, before) = if begin.number.is_multiple_of(2) { (even, odd) } else { (odd, even) };
        let other = match before.tick {
            Some(_) => {
                let file = File::open(image_path(&self.folder, begin.number - 1))?;
                Some(Other { file, crcs: &before.crcs, first: 0, read: Vec::new() })
            }
            None => None,
        };
        let file = open(&image_path(&self.folder, begin.number))?;
        file.set_len((self.objects * SLOT_BYTES) as u64)?;
        let staged = Vec::with_capacity(STAGED * SLOT_BYTES);
        let mut sink = ImageFile { file, image, number: begin.number, slots: 0, staged, first: 0, other };
        job.write(&mut sink)?;
        sink.flush()?;
        written.write_ns = clock.lap();
        board.enter(Role::Writer, Phase::Sync);
        sink.file.sync_all()?;
        written.objects = sink.slots;
        written.sync_ns = clock.lap();
        board.enter(Role::Writer, Phase::Commit);
        commits.wait(begin.tick)?;
        clock.lap();
        board.enter(Role::Writer, Phase::Switch);
        if image.known != self.objects {
            return Err(io::Error::other("the first checkpoint of an image must have every object"));
        }
        let objects = self.objects as u64;
        let head = Head { number: begin.number, tick: begin.tick, objects, slots: objects, is_full: true, sum: image.sum };
        replace(&head_path(&self.folder, begin.number), &head.to_bytes())?;
        sync_folder(&self.folder)?;
        image.tick = Some(begin.tick);
        // The other image is older and stays usable until the next checkpoint overwrites it. From then on, this image is the
        // oldest.
        written.kept_tick = before.tick.unwrap_or(self.restored_tick);
        written.switch_ns = clock.lap();
        Ok(written)
    }

    fn write_log<J: Job>(&mut self, begin: Begin, job: &mut J, board: &Board, commits: &Commits) -> io::Result<Written> {
        let (mut clock, mut written) = (Stopwatch::start(), Written::default());
        board.enter(Role::Writer, Phase::Write);
        let mut sink = LogFile::create(&self.folder, begin.number)?;
        job.write(&mut sink)?;
        let wrote = sink.flush()?;
        let objects = self.objects as u64;
        if begin.is_full && wrote.slots != objects {
            return Err(io::Error::other(format!("a full checkpoint has {} of {objects} objects", wrote.slots)));
        }
        let head =
            Head { number: begin.number, tick: begin.tick, objects, slots: wrote.slots, is_full: begin.is_full, sum: wrote.sum };
        sink.file.write_all_at(&head.to_bytes(), 0)?;
        written.objects = wrote.slots;
        written.write_ns = clock.lap();
        board.enter(Role::Writer, Phase::Sync);
        sink.file.sync_all()?;
        written.sync_ns = clock.lap();
        board.enter(Role::Writer, Phase::Commit);
        commits.wait(begin.tick)?;
        clock.lap();
        board.enter(Role::Writer, Phase::Switch);
        fs::rename(unfinished(&sink.path), &sink.path)?;
        sync_folder(&self.folder)?;
        self.logs.push((begin.number, begin.tick, begin.is_full));
        written.kept_tick = self.forget()?;
        written.switch_ns = clock.lap();
        Ok(written)
    }

    /// Removes the checkpoints before the last but one full checkpoint. Returns the tick of the first checkpoint that is kept, or
    /// 0 if there are fewer than two full ones.
    fn forget(&mut self) -> io::Result<u64> {
        let full: Vec<_> = self.logs.iter().filter(|(_, _, is_full)| *is_full).collect();
        let [.., (first, tick, _), _] = full.as_slice() else { return Ok(0) };
        let (first, tick) = (*first, *tick);
        for (number, ..) in self.logs.extract_if(.., |(number, ..)| *number < first) {
            fs::remove_file(log_path(&self.folder, number))?;
        }
        Ok(tick)
    }
}
