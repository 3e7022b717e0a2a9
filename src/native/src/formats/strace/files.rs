//! The files that processes have open, and the positions at which they read and write.
//!
//! strace reports one event after another, so that the state after all lines up to one is the state in which the next call is made.

use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::calls::{O_APPEND, O_DIRECT, O_DSYNC, O_SYNC, RWF_DSYNC, RWF_SYNC};
use super::sizes::Contents;

/// Bytes of a file's path. A path whose folder is not known is relative to the folder in which its process began.
pub type Path = Arc<[u8]>;
const UNKNOWN: i64 = -1;

/// A file that was opened, which several descriptors can share.
#[derive(Debug)]
pub struct OpenFile {
    path: OnceLock<Path>,
    /// The file itself, when it is known. It keeps its size under any name.
    pub contents: OnceLock<Arc<Contents>>,
    appends: AtomicBool,
    /// Whether it may be another file than the one whose flags are known.
    is_doubtful: bool,
    /// Flags that say how data are stored, or `UNKNOWN`.
    storing: AtomicI64,
    position: AtomicI64,
    /// Number of calls that have begun and not ended, and that read or move the position.
    under_way: AtomicUsize,
    /// Whether such calls were made at the same time. The trace does not tell their order.
    is_mixed: AtomicBool,
}

impl OpenFile {
    /// `path` is `None` if the trace does not tell it, and `flags` and `position` are if the file was opened before the trace began.
    pub fn new(path: Option<Path>, flags: Option<i64>, position: Option<i64>) -> Arc<Self> {
        Arc::new(Self::of(path, flags, position))
    }

    /// Makes an open file in place of another one, because the trace does not tell when the descriptor became this file's.
    pub fn instead(path: Path) -> Arc<Self> {
        Arc::new(Self { is_doubtful: true, ..Self::of(Some(path), None, None) })
    }

    fn of(path: Option<Path>, flags: Option<i64>, position: Option<i64>) -> Self {
        let appends = AtomicBool::new(flags.unwrap_or(0) & O_APPEND != 0);
        let storing = AtomicI64::new(flags.map_or(UNKNOWN, |flags| flags & (O_DIRECT | O_SYNC)));
        let position = AtomicI64::new(position.unwrap_or(UNKNOWN));
        let path = path.map_or_else(OnceLock::new, OnceLock::from);
        let (under_way, is_mixed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { path, contents: OnceLock::new(), appends, is_doubtful: false, storing, position, under_way, is_mixed }
    }

    /// Takes in that a call on the position begins, whose end is on another line.
    pub fn begin(&self) {
        if self.under_way.fetch_add(1, Ordering::Relaxed) > 0 {
            self.is_mixed.store(true, Ordering::Relaxed);
        }
    }

    /// Takes in that such a call ends. Returns whether others were made in its time.
    pub fn finish(&self) -> bool {
        let is_mixed = self.is_mixed.load(Ordering::Relaxed);
        if self.under_way.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.is_mixed.store(false, Ordering::Relaxed);
        }
        is_mixed
    }

    /// Takes in a call on the position that begins and ends on one line. Returns whether it was made in the time of another one.
    pub fn pass(&self) -> bool {
        let is_mixed = self.under_way.load(Ordering::Relaxed) > 0;
        if is_mixed {
            self.is_mixed.store(true, Ordering::Relaxed);
        }
        is_mixed
    }

    /// Returns the path, unless the trace does not tell it.
    pub fn path(&self) -> Option<&Path> {
        self.path.get()
    }

    /// Returns whether the file has a path, which a file without one then gets.
    pub fn is_named(&self, path: &Path) -> bool {
        self.path.get_or_init(|| Arc::clone(path)) == path
    }

    /// Returns how a read or a write asks to be stored, whose own flags are `flags`. `None` if the trace does not tell.
    pub fn storing(&self, is_write: bool, flags: i64) -> Option<Cow<'static, [u8]>> {
        let of_file = Some(self.storing.load(Ordering::Relaxed)).filter(|flags| *flags != UNKNOWN)?;
        let is_whole = of_file & O_SYNC == O_SYNC;
        let words = [
            (of_file & O_DIRECT != 0, &b"O_DIRECT"[..]),
            (is_write && is_whole, b"O_SYNC"),
            (is_write && !is_whole && of_file & O_DSYNC != 0, b"O_DSYNC"),
            (is_write && flags & RWF_DSYNC != 0, b"RWF_DSYNC"),
            (is_write && flags & RWF_SYNC != 0, b"RWF_SYNC"),
        ];
        let asked: Vec<_> = words.into_iter().filter_map(|(is_asked, word)| is_asked.then_some(word)).collect();
        Some(match asked[..] {
            [] => Cow::Borrowed(&b"buffered"[..]),
            [word] => Cow::Borrowed(word),
            _ => Cow::Owned(asked.join(&b'|')),
        })
    }

    pub fn position(&self) -> Option<i64> {
        Some(self.position.load(Ordering::Relaxed)).filter(|position| *position != UNKNOWN)
    }

    pub fn move_to(&self, position: Option<i64>) {
        self.position.store(position.unwrap_or(UNKNOWN), Ordering::Relaxed);
    }

    /// Returns whether writes go to the end, or `None` if the trace does not tell. A file that was opened before the trace is taken for
    /// one whose writes do not.
    pub fn appends(&self) -> Option<bool> {
        (!self.is_doubtful).then(|| self.appends.load(Ordering::Relaxed))
    }

    /// Takes in the flags that `F_SETFL` sets. Linux leaves `O_DSYNC` and `O_SYNC` as they were.
    pub fn set_flags(&self, flags: i64) {
        self.appends.store(flags & O_APPEND != 0, Ordering::Relaxed);
        let before = self.storing.load(Ordering::Relaxed);
        if before != UNKNOWN {
            self.storing.store(before & !O_DIRECT | flags & O_DIRECT, Ordering::Relaxed);
        }
    }
}

/// The meaning of a descriptor.
#[derive(Clone, Debug)]
pub enum Target {
    File(Arc<OpenFile>),
    NotAFile,
    /// The trace does not tell.
    Unknown,
}

#[derive(Clone, Debug)]
struct Entry {
    target: Target,
    /// Whether a new program closes the descriptor.
    closes: bool,
}

/// A part of the address space into which a file is mapped.
#[derive(Clone, Debug)]
pub struct Mapping {
    pub start: i64,
    pub length: i64,
    pub offset: i64,
    pub path: Path,
}

/// The descriptors, folder and mappings of one process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Whether all its descriptors are known, so that an unknown one is not a file's.
    is_known: bool,
    /// Whether it is one of those that the trace is about.
    pub is_counted: bool,
    /// Whether calls tell better than the names after descriptors which files these stand for.
    pub trusts_calls: bool,
    pub folder: Path,
    root: Path,
    descriptors: FxHashMap<i64, Entry>,
    mappings: Vec<Mapping>,
}

impl Process {
    /// Makes a process of which nothing is known.
    pub fn unknown(is_counted: bool) -> Self {
        let (folder, root) = (Path::from(&b""[..]), Path::from(&b"/"[..]));
        let (descriptors, mappings) = (FxHashMap::default(), Vec::new());
        Self { is_known: false, is_counted, trusts_calls: false, folder, root, descriptors, mappings }
    }

    /// Makes a process that ran when the trace began, and whose descriptors are known.
    pub fn running(folder: &[u8], root: &[u8]) -> Self {
        Self { is_known: true, folder: folder.into(), root: root.into(), ..Self::unknown(true) }
    }

    /// Returns the copy that a new process gets.
    pub fn copy(&self) -> Self {
        Self { mappings: Vec::new(), ..self.clone() }
    }

    /// Takes in what a process or thread did before it was known that it is a copy or a part of this one.
    pub fn take_in(&mut self, early: Self) {
        self.descriptors.extend(early.descriptors);
        self.mappings.extend(early.mappings);
        if !early.folder.is_empty() {
            self.folder = early.folder;
        }
    }

    pub fn target(&self, descriptor: i64) -> Target {
        match self.descriptors.get(&descriptor) {
            Some(entry) => entry.target.clone(),
            None if self.is_known => Target::NotAFile,
            None => Target::Unknown,
        }
    }

    /// Takes in that the positions of all open files are not known any more.
    pub fn lose(&self) {
        for entry in self.descriptors.values() {
            if let Target::File(open) = &entry.target {
                open.move_to(None);
            }
        }
    }

    pub fn set(&mut self, descriptor: i64, target: Target, closes: bool) {
        self.descriptors.insert(descriptor, Entry { target, closes });
    }

    /// Takes a descriptor away. Until it is opened again, it is not a file's.
    pub fn close(&mut self, descriptor: i64) {
        if self.is_known {
            self.descriptors.remove(&descriptor);
        } else {
            self.set(descriptor, Target::NotAFile, false);
        }
    }

    pub fn close_range(&mut self, first: i64, last: i64) {
        let inside: Vec<_> = self.descriptors.keys().copied().filter(|descriptor| (first..=last).contains(descriptor)).collect();
        for descriptor in inside {
            self.close(descriptor);
        }
    }

    pub fn close_range_at_exec(&mut self, first: i64, last: i64) {
        for (descriptor, entry) in &mut self.descriptors {
            entry.closes |= (first..=last).contains(descriptor);
        }
    }

    pub fn set_closes(&mut self, descriptor: i64, closes: bool) {
        if let Some(entry) = self.descriptors.get_mut(&descriptor) {
            entry.closes = closes;
        }
    }

    /// Takes in a new program, which closes some descriptors and has no mappings of the old one.
    pub fn execute(&mut self) {
        let closed: Vec<_> =
            self.descriptors.iter().filter(|(_, entry)| entry.closes).map(|(descriptor, _)| *descriptor).collect();
        for descriptor in closed {
            self.close(descriptor);
        }
        self.mappings.clear();
    }

    /// Returns the path of a file from the text of a path and the folder that it is relative to.
    pub fn path(&self, folder: Option<&[u8]>, text: &[u8]) -> Option<Path> {
        if text.is_empty() {
            return None;
        }
        let folder = if text[0] == b'/' { &self.root } else { folder? };
        Some(normal(folder, text).into())
    }

    pub fn map(&mut self, mapping: Mapping) {
        let end = mapping.start.saturating_add(mapping.length);
        self.mappings.retain(|old| old.start < mapping.start || old.start.saturating_add(old.length) > end);
        self.mappings.push(mapping);
    }

    /// Returns the file that is mapped at an address, and the place in it.
    pub fn mapped(&self, address: i64) -> Option<(Path, i64)> {
        let covers = |one: &&Mapping| one.start <= address && address < one.start.saturating_add(one.length);
        let mapping = self.mappings.iter().rev().find(covers)?;
        Some((Arc::clone(&mapping.path), mapping.offset.saturating_add(address - mapping.start)))
    }
}

/// Joins a folder and a path, and takes `.` and `..` out, as Python's `posixpath.normpath` does.
pub fn normal(folder: &[u8], path: &[u8]) -> Vec<u8> {
    let is_absolute = folder.first().or(path.first()) == Some(&b'/');
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in folder.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." if parts.last().is_some_and(|last| *last != b"..") => _ = parts.pop(),
            b".." if is_absolute => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join(&b'/');
    match (is_absolute, joined.is_empty()) {
        (true, _) => [&b"/"[..], &joined].concat(),
        (false, true) => b".".to_vec(),
        (false, false) => joined,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_and_made_normal() {
        let cases: [(&[u8], &[u8], &[u8]); 8] = [
            (b"/srv", b"a/./b//c", b"/srv/a/b/c"),
            (b"/srv/x", b"../a", b"/srv/a"),
            (b"/", b"../../a", b"/a"),
            (b"", b"a/../b", b"b"),
            (b"", b"../a", b"../a"),
            (b"x", b"../../a", b"../a"),
            (b"", b"a/..", b"."),
            (b"/", b"/", b"/"),
        ];
        for (folder, path, joined) in cases {
            assert_eq!(normal(folder, path), joined, "{}", String::from_utf8_lossy(path));
        }
    }

    #[test]
    fn a_file_that_is_opened_for_direct_or_synchronous_writes_says_so() {
        let told = |flags: Option<i64>, is_write, of_call| {
            let file = OpenFile::new(Some(Path::from(&b"/a"[..])), flags, None);
            file.storing(is_write, of_call).map(|word| String::from_utf8(word.into_owned()).unwrap())
        };
        assert_eq!(told(None, true, RWF_SYNC), None);
        assert_eq!(told(Some(O_APPEND), true, 0).unwrap(), "buffered");
        assert_eq!(told(Some(O_DSYNC), true, 0).unwrap(), "O_DSYNC");
        assert_eq!(told(Some(O_SYNC | O_DIRECT), true, RWF_DSYNC).unwrap(), "O_DIRECT|O_SYNC|RWF_DSYNC");
        assert_eq!(told(Some(O_SYNC), false, 0).unwrap(), "buffered");
        let file = OpenFile::new(Some(Path::from(&b"/a"[..])), Some(0), None);
        file.set_flags(O_DIRECT | O_SYNC);
        assert_eq!(*file.storing(true, 0).unwrap(), b"O_DIRECT"[..]);
    }

    #[test]
    fn a_new_process_shares_open_files_and_a_new_program_closes_some() {
        let mut parent = Process::running(b"/srv", b"/");
        let file = OpenFile::new(Some(Path::from(&b"/srv/a"[..])), Some(0), Some(0));
        parent.set(3, Target::File(Arc::clone(&file)), true);
        parent.set(4, Target::File(Arc::clone(&file)), false);
        let mut child = parent.copy();
        file.move_to(Some(10));
        child.execute();
        assert!(matches!(child.target(3), Target::NotAFile));
        assert!(matches!(child.target(4), Target::File(file) if file.position() == Some(10)));
        assert!(matches!(parent.target(3), Target::File(_)));
        assert!(matches!(Process::unknown(true).target(3), Target::Unknown));
    }
}
