//! The recovery of a state from a store's folder. It takes the newest whole checkpoint, and plays the ticks since then again from
//! the log of actions, up to the last committed tick.
//!
//! Damaged data is reported and not used. A crash can leave an incomplete end of the log, which is only reported. If a record is
//! missing before other records, the folder is refused, because no state is better than a wrong state.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::super::algorithm::Layout;
use super::actions;
use super::arena::{Arena, Digest, OBJECT_BYTES, OBJECT_CELLS, fresh, updated};
use super::board::Stopwatch;
use super::folder::{head_path, image_path, log_path};
use super::format::{HEAD_BYTES, Head, SLOT_BYTES, read_slot, share};

/// Number of slots that are read with one call.
const READ: usize = 1024;

/// The result of a recovery.
#[derive(Debug)]
pub struct Recovered {
    pub state: Arena,
    /// The last tick in the state, or 0 for a new state.
    pub tick: u64,
    /// Number of the checkpoint that the recovery began from, or 0 if there was none.
    pub number: u64,
    /// Tick of that checkpoint, or 0 if there was none.
    pub image_tick: u64,
    /// The checkpoints in the layout of a log that exist and have a whole head, each as its number, its tick, and whether it is
    /// full.
    pub logs: Vec<(u64, u64, bool)>,
    /// Whether the server stopped, and did not crash.
    pub was_stopped: bool,
    /// Sentences about damaged or incomplete data.
    pub findings: Vec<String>,
    pub restore_ns: u64,
    pub replay_ns: u64,
}

/// The result of a look at a folder's names and heads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The folder has no file of a store.
    NoStore,
    /// The folder has files of a store, but no whole head says how large the state is.
    SizeUnknown,
    /// The state has this number of objects, as the head of its newest checkpoint says.
    Objects(u64),
}

/// Looks at the files of a folder without reading the state.
pub fn look(folder: &Path) -> io::Result<Look> {
    let mut heads = Vec::new();
    let logs = log_numbers(folder)?;
    let paths = [0, 1].map(|number| head_path(folder, number)).into_iter();
    for path in paths.chain(logs.iter().map(|number| log_path(folder, *number))) {
        match read_head(&path) {
            Ok(head) => heads.extend(head),
            Err(error) if error.kind() == ErrorKind::InvalidData => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(newest) = heads.iter().max_by_key(|head| head.number) {
        return Ok(Look::Objects(newest.objects));
    }
    let has_images = [0, 1].iter().any(|number| head_path(folder, *number).exists() || image_path(folder, *number).exists());
    let is_store = has_images || !logs.is_empty() || !actions::list(folder)?.is_empty();
    Ok(if is_store { Look::SizeUnknown } else { Look::NoStore })
}

/// Returns a digest of a state.
pub fn digest(state: &Arena) -> u64 {
    let (mut digest, mut data) = (Digest::default(), [0; OBJECT_BYTES]);
    for object in 0..state.objects() {
        state.read(object, &mut data);
        digest.add(&data);
    }
    digest.0
}

/// Returns a state as it is before the first tick.
pub fn new_world(objects: usize) -> io::Result<Arena> {
    let state = Arena::new(objects)?;
    #[allow(clippy::cast_possible_truncation, reason = "cells are numbered by 32 bits")]
    (0..(objects * OBJECT_CELLS) as u32).for_each(|cell| state.set(cell, fresh(cell)));
    Ok(state)
}

/// A checkpoint that may be restored, and the files that hold it, of which the first is full.
#[derive(Debug)]
struct Candidate {
    head: Head,
    files: Vec<(PathBuf, Head)>,
    layout: Layout,
}

/// Recovers the state of `objects` objects from `folder`. An error of kind `InvalidData` is a refusal, and its text says why.
pub fn recover(folder: &Path, objects: usize) -> io::Result<Recovered> {
    let (mut clock, mut findings) = (Stopwatch::start(), Vec::new());
    let (candidates, mut logs) = candidates(folder, objects, &mut findings)?;
    let state = Arena::new(objects)?;
    let mut found = None;
    for candidate in &candidates {
        match restore(candidate, &state) {
            Ok(()) => {
                found = Some(candidate);
                break;
            }
            Err(error) if error.kind() == ErrorKind::InvalidData => findings.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    if found.is_none() {
        let fresh = new_world(objects)?;
        state.copy(0, &fresh, 0, objects);
    }
    let (number, image_tick) = found.map_or((0, 0), |candidate| (candidate.head.number, candidate.head.tick));
    let restore_ns = clock.lap();
    let (tick, was_stopped) = replay(folder, &state, image_tick, &mut findings)?;
    if tick == 0 && [0, 1].iter().any(|number| head_path(folder, *number).exists()) {
        return Err(refused(format!("{}: the checkpoint is gone, and no state can be made from the rest", folder.display())));
    }
    let replay_ns = clock.lap();
    logs.retain(|(own, ..)| *own <= number);
    Ok(Recovered { state, tick, number, image_tick, logs, was_stopped, findings, restore_ns, replay_ns })
}

fn refused(words: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, words)
}

/// Reads the head of a file. Returns `None` if the file does not exist. An error of kind `InvalidData` says that the head is
/// damaged.
pub fn read_head(path: &Path) -> io::Result<Option<Head>> {
    let mut bytes = [0; HEAD_BYTES];
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    match file.read_exact_at(&mut bytes, 0) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Err(refused(format!("{} is cut off", path.display()))),
        other => other?,
    }
    Head::from_bytes(&bytes).map(Some).ok_or_else(|| refused(format!("{}: its head is damaged", path.display())))
}

/// The checkpoints in the layout of a log, each as its number, its tick, and whether it is full.
type Logs = Vec<(u64, u64, bool)>;

/// Returns the checkpoints that may be restored, the newest first, and the checkpoints in the layout of a log.
fn candidates(folder: &Path, objects: usize, findings: &mut Vec<String>) -> io::Result<(Vec<Candidate>, Logs)> {
    let (mut found, mut heads) = (Vec::new(), Vec::new());
    for number in [0, 1] {
        let (path, data) = (head_path(folder, number), image_path(folder, number));
        match read_head(&path) {
            Ok(None) if data.exists() => findings.push(format!("{} has no head: it was not finished", data.display())),
            Ok(None) => {}
            Ok(Some(head)) => found.push(Candidate { head, files: vec![(data, head)], layout: Layout::DoubleBackup }),
            Err(error) if error.kind() == ErrorKind::InvalidData => findings.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let number = name.strip_prefix("checkpoint-").and_then(|rest| rest.strip_suffix(".log"));
        let Some(number) = number.and_then(|number| number.parse::<u64>().ok()) else { continue };
        match read_head(&path) {
            Ok(Some(head)) if head.number == number => heads.push((path, head)),
            Ok(_) => findings.push(format!("{} does not hold the checkpoint that its name says", path.display())),
            Err(error) if error.kind() == ErrorKind::InvalidData => findings.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    heads.sort_by_key(|(_, head)| head.number);
    let logs = heads.iter().map(|(_, head)| (head.number, head.tick, head.is_full)).collect();
    for end in 0..heads.len() {
        let Some(start) = (0..=end).rev().find(|start| heads[*start].1.is_full) else { continue };
        let chain = &heads[start..=end];
        if chain.windows(2).all(|pair| pair[0].1.number + 1 == pair[1].1.number) {
            found.push(Candidate { head: heads[end].1, files: chain.to_vec(), layout: Layout::Log });
        }
    }
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.head.number));
    if let Some(other) = found.iter().find(|candidate| candidate.head.objects != objects as u64) {
        let (theirs, path) = (other.head.objects, other.files[0].0.display());
        return Err(refused(format!(
            "{path} has a state of {theirs} objects, not of {objects}; give the size that it was made with"
        )));
    }
    Ok((found, logs))
}

/// Reads a checkpoint into `state`.
fn restore(candidate: &Candidate, state: &Arena) -> io::Result<()> {
    for (path, head) in &candidate.files {
        read_slots(path, head, candidate.layout, state)?;
    }
    Ok(())
}

/// Reads the slots of a file into `state`. An error of kind `InvalidData` says that the file does not match its head.
fn read_slots(path: &Path, head: &Head, layout: Layout, state: &Arena) -> io::Result<()> {
    let damaged = |words: &str| refused(format!("{}, checkpoint {}: {words}", path.display(), head.number));
    let skipped = if layout == Layout::Log { HEAD_BYTES as u64 } else { 0 };
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Err(damaged("the file is missing")),
        other => other?,
    };
    if head.is_full && head.slots != state.objects() as u64 {
        return Err(damaged("it should be full, but objects are missing"));
    }
    if file.metadata()?.len() != skipped + head.slots * SLOT_BYTES as u64 {
        return Err(damaged("the length of the file does not match its number of slots"));
    }
    let (mut sum, mut at, mut left, mut next) = (0_u64, skipped, head.slots, 0);
    let mut bytes = vec![0; READ * SLOT_BYTES];
    while left > 0 {
        let some = usize::try_from(left).unwrap_or(READ).min(READ);
        let bytes = &mut bytes[..some * SLOT_BYTES];
        file.read_exact_at(bytes, at)?;
        for slot in bytes.chunks_exact(SLOT_BYTES) {
            let slot = read_slot(slot).ok_or_else(|| damaged("a slot is damaged"))?;
            if slot.object as usize >= state.objects() || slot.number > head.number {
                return Err(damaged("a slot belongs to another checkpoint"));
            }
            if slot.object < next || (layout == Layout::DoubleBackup && slot.object > next) {
                return Err(damaged("a slot is not in its place"));
            }
            next = slot.object + 1;
            sum = sum.wrapping_add(share(slot.object, slot.crc));
            state.write(slot.object as usize, slot.data);
        }
        at += bytes.len() as u64;
        left -= some as u64;
    }
    if sum != head.sum {
        return Err(damaged("the slots do not match the sum in the head"));
    }
    Ok(())
}

/// Plays the ticks after `tick` again. Returns the last tick, and whether the server was stopped after it.
fn replay(folder: &Path, state: &Arena, tick: u64, findings: &mut Vec<String>) -> io::Result<(u64, bool)> {
    let logs = actions::list(folder)?;
    let (mut last, mut was_stopped) = (tick, false);
    for (index, (first, path)) in logs.iter().enumerate() {
        let next = logs.get(index + 1).map(|(next, _)| *next);
        if next.is_some_and(|next| next <= tick + 1) {
            continue;
        }
        // A file is begun only after all files before it are durable. If a file is missing before others, this is damage and not
        // the work of a crash.
        if *first > tick + 1 && *first != last + 1 {
            let words = format!("{} begins with tick {first}, but the last tick before it is {last}", path.display());
            return Err(refused(format!("{words}; the state cannot be recovered from the checkpoint of tick {tick}")));
        }
        let bytes = fs::read(path)?;
        let mut left = bytes.as_slice();
        while let Some(record) = actions::take(&mut left) {
            was_stopped = record.has_stopped;
            if record.has_stopped || record.tick <= last {
                continue;
            }
            if record.tick != last + 1 {
                let words = format!("{}: ticks {} to {} are missing", path.display(), last + 1, record.tick - 1);
                return Err(refused(format!("{words}; the state cannot be recovered from the checkpoint of tick {tick}")));
            }
            last = record.tick;
            for cell in record.cells() {
                if cell as usize >= state.objects() * OBJECT_CELLS {
                    return Err(refused(format!("{}, tick {last}: a cell lies outside of the state", path.display())));
                }
                state.set(cell, updated(state.cell(cell), cell, last));
            }
        }
        if !left.is_empty() {
            let at = bytes.len() - left.len();
            if let Some(committed) = actions::committed_after(left).filter(|committed| *committed > last) {
                let words = format!("{}, byte {at}: tick {} is damaged, but {committed} was committed", path.display(), last + 1);
                return Err(refused(format!("{words}; the state cannot be recovered beyond tick {last}")));
            }
            let (own, words) = (path.display(), "the rest is incomplete, because of a crash or of damage");
            findings.push(format!("{own}, from byte {at} of {} (after tick {last}): {words}", bytes.len()));
            was_stopped = false;
        }
    }
    Ok((last, was_stopped))
}

/// Reads every file, including files that a recovery would not need. Returns sentences about damaged or incomplete data. After a
/// server was stopped, there should be none.
pub fn verify(folder: &Path, objects: usize) -> io::Result<Vec<String>> {
    let mut findings = Vec::new();
    let scratch = Arena::new(objects)?;
    let mut collect = |result: io::Result<()>| match result {
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            findings.push(error.to_string());
            Ok(())
        }
        other => other,
    };
    for number in [0, 1] {
        match read_head(&head_path(folder, number)) {
            Ok(Some(head)) => collect(read_slots(&image_path(folder, number), &head, Layout::DoubleBackup, &scratch))?,
            Ok(None) => {}
            Err(error) => collect(Err(error))?,
        }
    }
    for number in log_numbers(folder)? {
        let path = log_path(folder, number);
        match read_head(&path) {
            Ok(Some(head)) => collect(read_slots(&path, &head, Layout::Log, &scratch))?,
            Ok(None) => {}
            Err(error) => collect(Err(error))?,
        }
    }
    match recover(folder, objects) {
        Ok(found) => {
            findings.extend(found.findings);
            if !found.was_stopped {
                findings.push(format!("the log of actions does not end with a stop, but with tick {}", found.tick));
            }
        }
        Err(error) if error.kind() == ErrorKind::InvalidData => findings.push(error.to_string()),
        Err(error) => return Err(error),
    }
    findings.extend(older_actions(folder)?);
    findings.sort();
    findings.dedup();
    Ok(findings)
}

/// Returns the numbers of the checkpoints in the layout of a log, in order.
pub fn log_numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("checkpoint-")?.strip_suffix(".log")?.parse::<u64>().ok());
        numbers.extend(number);
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns sentences about damage in the files of the log of actions, whether a recovery needs them or not. A file must have
/// whole records of consecutive ticks, up to the tick with which the next file begins.
fn older_actions(folder: &Path) -> io::Result<Vec<String>> {
    let (logs, mut findings) = (actions::list(folder)?, Vec::new());
    for (index, (first, path)) in logs.iter().enumerate() {
        let bytes = fs::read(path)?;
        let (mut left, mut expected) = (bytes.as_slice(), *first);
        while let Some(record) = actions::take(&mut left) {
            if !record.has_stopped && record.tick != expected {
                findings.push(format!("{}: tick {} stands in the place of tick {expected}", path.display(), record.tick));
            }
            expected = record.tick + 1;
        }
        let next = logs.get(index + 1).map_or(expected, |(next, _)| *next);
        if !left.is_empty() || next != expected {
            findings.push(format!(
                "{}: the records end with tick {}, {} bytes before the end of the file",
                path.display(),
                expected - 1,
                left.len()
            ));
        }
    }
    Ok(findings)
}
