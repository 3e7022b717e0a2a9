//! The log of actions, which has the updates that the players' actions made in each tick. A recovery plays the ticks since a
//! checkpoint again from this log.
//!
//! Each tick is one record. A thread of its own, the committer, appends the records that have come since it last looked, and
//! makes them durable together (group commit). A tick is committed once its record is durable. The file `actions-T.log` begins
//! with tick T.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::board::{Board, Phase, Role};
use super::folder::{replace, sync_folder};

const MAGIC: u32 = u32::from_le_bytes(*b"tick");
/// Size of a record without its cells.
pub const RECORD_BYTES: usize = 32;
/// Kind of a record that stands for no tick. It says that the server stopped after the tick before it.
const STOPPED: u32 = 1;

/// Returns the path of the file that begins with `first_tick`.
pub fn actions_path(folder: &Path, first_tick: u64) -> PathBuf {
    folder.join(format!("actions-{first_tick:012}.log"))
}

/// Returns the files of the log in a folder, each with its first tick, in order.
pub fn list(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let tick = name.strip_prefix("actions-").and_then(|rest| rest.strip_suffix(".log")).and_then(|tick| tick.parse().ok());
        if let Some(tick) = tick {
            found.push((tick, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Appends a record to `bytes`. Its checksum, and the last tick that was committed before it, are filled in by `seal`.
fn append(bytes: &mut Vec<u8>, kind: u32, tick: u64, cells: &[u32]) {
    let count = u32::try_from(cells.len()).expect("a tick has fewer updates");
    bytes.extend(MAGIC.to_le_bytes());
    bytes.extend([0; 4]);
    bytes.extend(tick.to_le_bytes());
    bytes.extend(kind.to_le_bytes());
    bytes.extend(count.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(cells.iter().flat_map(|cell| cell.to_le_bytes()));
}

/// Fills in the last tick that was committed before these records, and the checksum of each record.
fn seal(mut bytes: &mut [u8], committed: u64) {
    while let Some(length) = length(bytes) {
        let (record, rest) = bytes.split_at_mut(length);
        record[24..32].copy_from_slice(&committed.to_le_bytes());
        let crc = crc32fast::hash(&record[8..]);
        record[4..8].copy_from_slice(&crc.to_le_bytes());
        bytes = rest;
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

/// Returns the length of the record with which these bytes begin, or `None` if they do not begin with the whole length of a
/// record.
fn length(bytes: &[u8]) -> Option<usize> {
    let cells = (bytes.len() >= RECORD_BYTES && word(bytes, 0) == MAGIC).then(|| word(bytes, 20) as usize)?;
    let length = RECORD_BYTES + 4 * cells;
    (length <= bytes.len()).then_some(length)
}

/// A record that was read.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    pub tick: u64,
    pub has_stopped: bool,
    /// The last tick that was committed when this record was written.
    pub committed: u64,
    cells: &'a [u8],
}

impl Record<'_> {
    pub fn cells(&self) -> impl Iterator<Item = u32> {
        self.cells.chunks_exact(4).map(|cell| word(cell, 0))
    }
}

/// Takes the first record off `bytes`. Returns `None` if there is no record, or if it is not whole.
pub fn take<'a>(bytes: &mut &'a [u8]) -> Option<Record<'a>> {
    let (record, rest) = bytes.split_at(length(bytes)?);
    if crc32fast::hash(&record[8..]) != word(record, 4) {
        return None;
    }
    *bytes = rest;
    let long = |at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"));
    let has_stopped = word(record, 16) == STOPPED;
    Some(Record { tick: long(8), has_stopped, committed: long(24), cells: &record[RECORD_BYTES..] })
}

/// Returns the last tick that was committed, as far as any whole record in `bytes` says it. Bytes that a crash left unwritten say
/// nothing of commits.
pub fn committed_after(bytes: &[u8]) -> Option<u64> {
    let starts = bytes.windows(4).enumerate().filter(|(_, start)| *start == MAGIC.to_le_bytes()).map(|(at, _)| at);
    starts.filter_map(|at| take(&mut &bytes[at..])).map(|record| record.committed).max()
}

/// The records that wait for the committer, and the state of the log.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    /// Places in `bytes` at which a new file begins, each with the first tick of that file.
    files: VecDeque<(usize, u64)>,
    last_tick: u64,
    committed: u64,
    /// Whether the committer has ended, so that no later tick is committed.
    has_ended: bool,
    is_closing: bool,
    /// Whether the log ends because the server stops. The log then says so.
    is_stopping: bool,
    failed: Option<String>,
}

#[derive(Debug, Default)]
struct Shared {
    pending: Mutex<Pending>,
    wake: Condvar,
    said: Condvar,
}

/// Says which ticks are committed.
#[derive(Clone, Debug)]
pub struct Commits(Arc<Shared>);

impl Commits {
    /// Waits until a tick is committed. A checkpoint must not count before its tick is committed. Otherwise, ticks between an
    /// older checkpoint and this one could be missing from the log for good.
    pub fn wait(&self, tick: u64) -> io::Result<()> {
        let mut pending = self.0.pending.lock().unwrap_or_else(PoisonError::into_inner);
        while pending.committed < tick {
            if pending.has_ended {
                let why = pending.failed.clone().unwrap_or_else(|| format!("it ended before tick {tick} was committed"));
                return Err(io::Error::other(format!("the log of actions failed: {why}")));
            }
            pending = self.0.said.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    }
}

/// The log of actions, as the game's thread uses it.
#[derive(Debug)]
pub struct ActionLog {
    shared: Arc<Shared>,
    committer: Option<JoinHandle<()>>,
}

impl ActionLog {
    /// Starts the log in `folder` and the committer's thread. The first record must be that of `first_tick`.
    pub fn start(folder: &Path, first_tick: u64, board: Arc<Board>) -> Self {
        let shared = Arc::new(Shared::default());
        let (folder, own) = (folder.to_owned(), Arc::clone(&shared));
        shared.pending.lock().unwrap_or_else(PoisonError::into_inner).files.push_back((0, first_tick));
        let committer = std::thread::spawn(move || {
            let result = catch_unwind(AssertUnwindSafe(|| commit(&folder, &own, &board)));
            let result = result.unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
            let mut pending = own.pending.lock().unwrap_or_else(PoisonError::into_inner);
            pending.failed = result.err().map(|error| error.to_string());
            pending.has_ended = true;
            drop(pending);
            own.said.notify_all();
        });
        Self { shared, committer: Some(committer) }
    }

    /// Hands over the updates of a tick. Returns an error if an earlier tick could not be committed. No tick is committed any
    /// more then.
    pub fn push(&self, tick: u64, cells: &[u32]) -> io::Result<()> {
        let mut pending = self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &pending.failed {
            return Err(io::Error::other(format!("the log of actions failed: {error}")));
        }
        append(&mut pending.bytes, 0, tick, cells);
        pending.last_tick = tick;
        self.shared.wake.notify_one();
        Ok(())
    }

    pub fn commits(&self) -> Commits {
        Commits(Arc::clone(&self.shared))
    }

    /// Begins a new file for the records that come next, the first of which must be that of `first_tick`.
    pub fn begin_file(&self, first_tick: u64) {
        let mut pending = self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
        let at = pending.bytes.len();
        pending.files.push_back((at, first_tick));
    }

    /// Commits all records, writes that the server stopped, and ends the thread.
    pub fn close(mut self) -> io::Result<()> {
        let mut pending = self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
        pending.is_stopping = true;
        drop(pending);
        self.join();
        match self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner).failed.take() {
            Some(error) => Err(io::Error::other(format!("the log of actions failed: {error}"))),
            None => Ok(()),
        }
    }

    fn join(&mut self) {
        self.shared.pending.lock().unwrap_or_else(PoisonError::into_inner).is_closing = true;
        self.shared.wake.notify_one();
        if let Some(committer) = self.committer.take() {
            let _ = committer.join();
        }
    }
}

impl Drop for ActionLog {
    fn drop(&mut self) {
        self.join();
    }
}

/// Runs the committer. Returns when the log is closed and all records are durable.
fn commit(folder: &Path, shared: &Shared, board: &Board) -> io::Result<()> {
    let (mut file, mut group, mut committed): (Option<File>, Vec<u8>, u64) = (None, Vec::new(), 0);
    loop {
        let mut pending = shared.pending.lock().unwrap_or_else(PoisonError::into_inner);
        while pending.bytes.is_empty() && !pending.is_closing {
            pending = shared.wake.wait(pending).unwrap_or_else(PoisonError::into_inner);
        }
        if pending.bytes.is_empty() {
            return match (&mut file, pending.is_stopping) {
                (Some(file), true) => {
                    append(&mut pending.bytes, STOPPED, committed, &[]);
                    seal(&mut pending.bytes, committed);
                    file.write_all(&pending.bytes)?;
                    file.sync_data()
                }
                _ => Ok(()),
            };
        }
        group.clear();
        std::mem::swap(&mut group, &mut pending.bytes);
        let (files, last_tick) = (std::mem::take(&mut pending.files), pending.last_tick);
        drop(pending);
        board.enter(Role::Committer, Phase::Commit);
        seal(&mut group, committed);
        let mut written = 0;
        for (at, first_tick) in files {
            if let Some(old) = &mut file {
                old.write_all(&group[written..at])?;
                old.sync_data()?;
            }
            written = at;
            file = Some(OpenOptions::new().append(true).create_new(true).open(actions_path(folder, first_tick))?);
            sync_folder(folder)?;
        }
        let own = file.as_mut().expect("the first group begins a file");
        own.write_all(&group[written..])?;
        own.sync_data()?;
        committed = last_tick;
        board.committed(committed);
        shared.pending.lock().unwrap_or_else(PoisonError::into_inner).committed = committed;
        shared.said.notify_all();
        board.enter(Role::Committer, Phase::Idle);
    }
}

/// Prepares the log for tick `last` + 1. Removes files that begin after `last`, and the incomplete end that a crash left after
/// the last whole record.
pub fn trim(folder: &Path, last: u64) -> io::Result<()> {
    let (empty, mut kept): (Vec<_>, Vec<_>) = list(folder)?.into_iter().partition(|(first, _)| *first > last);
    for (_, path) in empty {
        fs::remove_file(path)?;
    }
    sync_folder(folder)?;
    let Some((_, path)) = kept.pop() else { return Ok(()) };
    let bytes = fs::read(&path)?;
    let mut left = bytes.as_slice();
    while take(&mut left).is_some() {}
    // The file is written anew, because it is not known whether the data that was read is on the disk or only in memory, and
    // later records rely on that data.
    replace(&path, &bytes[..bytes.len() - left.len()])?;
    sync_folder(folder)
}

/// Removes the files in which no tick is later than `tick`. The last file stays.
pub fn forget(folder: &Path, tick: u64) -> io::Result<()> {
    for pair in list(folder)?.windows(2) {
        if pair[1].0 <= tick + 1 {
            fs::remove_file(&pair[0].1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_until_one_is_not_whole() {
        let mut bytes = Vec::new();
        append(&mut bytes, 0, 7, &[1, 2, 3]);
        append(&mut bytes, 0, 8, &[]);
        append(&mut bytes, STOPPED, 8, &[]);
        seal(&mut bytes, 6);
        let whole = bytes.clone();
        let mut left = whole.as_slice();
        let first = take(&mut left).expect("whole");
        assert_eq!(
            (first.tick, first.has_stopped, first.committed, first.cells().collect::<Vec<_>>()),
            (7, false, 6, vec![1, 2, 3])
        );
        assert!(take(&mut left).is_some_and(|record| record.tick == 8 && !record.has_stopped));
        assert!(take(&mut left).is_some_and(|record| record.has_stopped) && left.is_empty());
        for bit in 0..8 * (RECORD_BYTES + 12) {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(take(&mut bytes.as_slice()).is_none(), "bit {bit}");
            assert_eq!(committed_after(&bytes), Some(6));
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        assert!(take(&mut &whole[..RECORD_BYTES + 11]).is_none());
    }
}
