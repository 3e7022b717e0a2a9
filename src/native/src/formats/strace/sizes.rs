//! The sizes of files, as far as they are known, from which the places of appends follow.

use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::calls::{COLLAPSE_RANGE, INSERT_RANGE, KEEP_SIZE};
use super::files::Path;

/// Number of appends to one file that wait for its size to become known. Most of them have been written out by then.
const MOST_WAITING: usize = 1 << 20;

/// A file, which several names and open files can share.
#[derive(Debug, Default)]
pub struct Contents(Mutex<Size>);

#[derive(Debug)]
enum Size {
    Known(i64),
    Unknown(Appends),
}

impl Default for Size {
    fn default() -> Self {
        Self::Unknown(Appends::default())
    }
}

/// Appends to a file whose size is not known.
#[derive(Debug, Default)]
struct Appends {
    bytes: i64,
    /// Each request, and the number of bytes that were appended before it.
    requests: Vec<(usize, i64)>,
}

impl Contents {
    fn lock(&self) -> MutexGuard<'_, Size> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in an append. Returns the place of it if the file's size is known, and otherwise the number of bytes that were
    /// appended since the size was not known.
    pub fn append(&self, bytes: i64) -> Result<i64, i64> {
        match &mut *self.lock() {
            Size::Known(size) => {
                *size += bytes;
                Ok(*size - bytes)
            }
            Size::Unknown(appends) => {
                appends.bytes += bytes;
                Err(appends.bytes - bytes)
            }
        }
    }

    /// Remembers a request whose place becomes known with the size of its file.
    pub fn wait(&self, request: usize, before: i64) {
        if let Size::Unknown(appends) = &mut *self.lock() {
            if appends.requests.len() >= MOST_WAITING {
                appends.requests.drain(..MOST_WAITING / 2);
            }
            appends.requests.push((request, before));
        }
    }

    /// Takes in the present size of a file. Returns the places of earlier appends, by request.
    pub fn know(&self, size: i64) -> Vec<(usize, i64)> {
        match std::mem::replace(&mut *self.lock(), Size::Known(size)) {
            Size::Known(_) => Vec::new(),
            Size::Unknown(appends) => {
                appends.requests.into_iter().map(|(request, before)| (request, size - appends.bytes + before)).collect()
            }
        }
    }

    /// Takes in a write that ends at byte `end` and may have made the file longer. If the end or the size is not known, the new
    /// size is not known either.
    pub fn extend(&self, end: Option<i64>) {
        let mut size = self.lock();
        match (&mut *size, end) {
            (Size::Known(size), Some(end)) => *size = end.max(*size),
            _ => *size = Size::default(),
        }
    }

    /// Takes in that a file has got a new size, or one that is not known.
    pub fn set(&self, size: Option<i64>) {
        *self.lock() = size.map_or_else(Size::default, Size::Known);
    }

    /// Takes in a call of fallocate.
    pub fn allocate(&self, mode: i64, offset: i64, length: i64) {
        let mut size = self.lock();
        match &mut *size {
            Size::Known(size) if mode & COLLAPSE_RANGE != 0 => *size -= length,
            Size::Known(size) if mode & INSERT_RANGE != 0 => *size += length,
            _ if mode & KEEP_SIZE != 0 => {}
            Size::Known(size) => *size = offset.saturating_add(length).max(*size),
            Size::Unknown(_) => *size = Size::default(),
        }
    }
}

/// The files that have names, by path, as far as the trace has told of them.
#[derive(Default)]
pub struct Names(FxHashMap<Path, Arc<Contents>>);

impl Names {
    /// Returns the file with a name, of which the trace may not have told anything yet.
    pub fn at(&mut self, path: &Path) -> Arc<Contents> {
        Arc::clone(self.0.entry(Arc::clone(path)).or_default())
    }

    /// Gives a name to a new, empty file.
    pub fn create(&mut self, path: &Path) -> Arc<Contents> {
        self.remove(path);
        let contents = self.at(path);
        contents.set(Some(0));
        contents
    }

    pub fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    /// Takes in that a file, or a folder, has got another name.
    pub fn rename(&mut self, path: &Path, renamed: &Path) {
        // If both are names of one file, the call does nothing.
        let is_one = |moved: &Arc<Contents>| self.0.get(renamed).is_some_and(|old| Arc::ptr_eq(old, moved));
        if self.0.get(path).is_some_and(is_one) {
            return;
        }
        self.remove(renamed);
        let mut pairs = vec![(Arc::clone(path), Arc::clone(renamed))];
        if !self.0.contains_key(path) {
            pairs.extend(self.below(path, renamed));
        }
        self.move_all(pairs);
    }

    /// Takes in that two files, or folders, have exchanged their names.
    pub fn exchange(&mut self, path: &Path, other: &Path) {
        let mut pairs = vec![(Arc::clone(path), Arc::clone(other)), (Arc::clone(other), Arc::clone(path))];
        pairs.extend(self.below(path, other));
        pairs.extend(self.below(other, path));
        self.move_all(pairs);
    }

    fn move_all(&mut self, pairs: Vec<(Path, Path)>) {
        let moved: Vec<_> = pairs.into_iter().filter_map(|(old, new)| Some((new, self.0.remove(&old)?))).collect();
        self.0.extend(moved);
    }

    pub fn link(&mut self, path: &Path, linked: &Path) {
        let contents = self.at(path);
        self.0.insert(Arc::clone(linked), contents);
    }

    /// Returns the paths below a folder, and their forms below another one.
    fn below(&self, folder: &[u8], renamed: &[u8]) -> Vec<(Path, Path)> {
        let rest = |path: &Path| path.strip_prefix(folder).filter(|rest| rest.first() == Some(&b'/')).map(<[u8]>::to_vec);
        self.0.keys().filter_map(|path| Some((Arc::clone(path), [renamed, &rest(path)?].concat().into()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appends_get_their_places_when_the_size_becomes_known() {
        let file = Contents::default();
        for (request, bytes) in [(7, 10), (8, 5)] {
            let before = file.append(bytes).unwrap_err();
            file.wait(request, before);
        }
        assert_eq!(file.know(100), [(7, 85), (8, 95)]);
        assert_eq!(file.append(3), Ok(100));
        file.extend(Some(50));
        assert_eq!(file.append(1), Ok(103));
        file.extend(None);
        assert_eq!(file.append(1), Err(0));
    }

    #[test]
    fn each_mode_of_fallocate_changes_the_size_in_its_way() {
        let grown = |mode| {
            let file = Contents::default();
            file.set(Some(10_000));
            file.allocate(mode, 8192, 4096);
            file.append(1).unwrap()
        };
        assert_eq!([0, KEEP_SIZE, KEEP_SIZE | 2, 0x10].map(grown), [12_288, 10_000, 10_000, 12_288]);
        assert_eq!([COLLAPSE_RANGE, INSERT_RANGE].map(grown), [5904, 14_096]);
        let file = Contents::default();
        file.allocate(0, 8192, 4096);
        assert_eq!(file.append(1), Err(0));
    }

    #[test]
    fn a_file_keeps_its_size_under_other_names() {
        let path = |text: &str| Path::from(text.as_bytes());
        let mut names = Names::default();
        names.create(&path("/w/a")).set(Some(7));
        names.link(&path("/w/a"), &path("/w/b"));
        names.rename(&path("/w/b"), &path("/w/a"));
        names.rename(&path("/w/a"), &path("/w/c"));
        assert_eq!(names.at(&path("/w/a")).append(0), Err(0));
        names.exchange(&path("/w/a"), &path("/w/c"));
        names.rename(&path("/w"), &path("/v"));
        assert_eq!(["/v/a", "/v/b", "/v/c"].map(|name| names.at(&path(name)).append(0)), [Ok(7), Ok(7), Err(0)]);
        names.remove(&path("/v/a"));
        assert_eq!(["/v/a", "/v/b"].map(|name| names.at(&path(name)).append(0)), [Err(0), Ok(7)]);
        assert_eq!(names.create(&path("/v/b")).append(0), Ok(0));
    }
}
