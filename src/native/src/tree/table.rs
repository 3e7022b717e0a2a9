//! The files that the kernel remembers, by inode number, and the files and folders that are open.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{FileAttr, FileHandle, FileType, INodeNo};
use parking_lot::{Mutex, MutexGuard};

use super::calls;

/// A file that the kernel knows. Its descriptor keeps the inode's number from being given to another file.
struct Known {
    file: Arc<OwnedFd>,
    lookups: u64,
}

/// An entry of a folder, with inode number, kind and name.
pub type Entry = (u64, FileType, OsString);

#[derive(Clone)]
pub enum Handle {
    File(Arc<File>),
    /// The entries of the folder as they were when it was read from its beginning.
    Folder(Arc<Vec<Entry>>),
}

#[derive(Default)]
struct State {
    known: HashMap<u64, Known>,
    handles: HashMap<u64, Handle>,
    next_handle: u64,
}

/// The files of one tree. Inode numbers are those of the backing file system, of which there is one, but the root has the number
/// that FUSE gives to a root.
pub struct Table {
    root: Arc<OwnedFd>,
    device: u64,
    root_number: u64,
    state: Mutex<State>,
}

impl Table {
    pub fn new(folder: &Path) -> io::Result<Self> {
        let root = calls::look_at(folder)?;
        let status = calls::stat(&root)?;
        Ok(Self { root: Arc::new(root), device: status.st_dev, root_number: status.st_ino, state: Mutex::default() })
    }

    /// Returns the descriptor of a file that the kernel remembers. Fails with `ESTALE` if the kernel has forgotten the file.
    pub fn file(&self, number: INodeNo) -> io::Result<Arc<OwnedFd>> {
        if number == INodeNo::ROOT {
            return Ok(Arc::clone(&self.root));
        }
        let state = self.lock();
        state.known.get(&number.0).map(|known| Arc::clone(&known.file)).ok_or_else(|| io::Error::from_raw_os_error(libc::ESTALE))
    }

    /// Returns the attributes of the entry `name` in a folder. The kernel remembers the entry from now on.
    pub fn enter(&self, folder: &OwnedFd, name: &OsStr) -> io::Result<FileAttr> {
        let file = calls::look(folder, name)?;
        let attributes = self.attributes(&file)?;
        if attributes.ino != INodeNo::ROOT {
            let mut state = self.lock();
            let known = state.known.entry(attributes.ino.0).or_insert_with(|| Known { file: Arc::new(file), lookups: 0 });
            known.lookups += 1;
        }
        Ok(attributes)
    }

    /// Takes back `lookups` of a file's lookups, and forgets the file after its last one.
    pub fn forget(&self, number: INodeNo, lookups: u64) {
        let mut state = self.lock();
        if let Some(known) = state.known.get_mut(&number.0) {
            known.lookups = known.lookups.saturating_sub(lookups);
            if known.lookups == 0 {
                state.known.remove(&number.0);
            }
        }
    }

    /// Returns the numbers of all files of which the kernel may have pages.
    pub fn numbers(&self) -> Vec<u64> {
        self.lock().known.keys().copied().collect()
    }

    /// Returns the attributes of a file of the tree. Fails with `EXDEV` for a file of another file system below the folder, which
    /// is not part of the tree.
    pub fn attributes(&self, file: &OwnedFd) -> io::Result<FileAttr> {
        let status = calls::stat(file)?;
        let foreign = status.st_dev != self.device || (status.st_ino == INodeNo::ROOT.0 && self.root_number != INodeNo::ROOT.0);
        let kind = kind(status.st_mode).filter(|_| !foreign).ok_or_else(|| io::Error::from_raw_os_error(libc::EXDEV))?;
        let number = if status.st_ino == self.root_number { INodeNo::ROOT } else { INodeNo(status.st_ino) };
        Ok(FileAttr {
            ino: number,
            size: status.st_size.cast_unsigned(),
            blocks: status.st_blocks.cast_unsigned(),
            atime: time(status.st_atime, status.st_atime_nsec),
            mtime: time(status.st_mtime, status.st_mtime_nsec),
            ctime: time(status.st_ctime, status.st_ctime_nsec),
            crtime: SystemTime::UNIX_EPOCH,
            kind,
            perm: u16::try_from(status.st_mode & 0o7777).unwrap_or_default(),
            nlink: u32::try_from(status.st_nlink).unwrap_or(u32::MAX),
            uid: status.st_uid,
            gid: status.st_gid,
            rdev: u32::try_from(status.st_rdev).unwrap_or_default(),
            blksize: u32::try_from(status.st_blksize).unwrap_or(4096),
            flags: 0,
        })
    }

    /// Returns the entries that a folder has now, with itself and the folder above it.
    pub fn entries(&self, number: INodeNo) -> io::Result<Vec<Entry>> {
        let folder = self.file(number)?;
        let mut entries: Vec<Entry> = [".", ".."].map(|name| (number.0, FileType::Directory, name.into())).to_vec();
        for entry in std::fs::read_dir(calls::magic_path(&folder))? {
            let entry = entry?;
            if let Some(kind) = entry.file_type().ok().and_then(FileType::from_std) {
                entries.push((std::os::unix::fs::DirEntryExt::ino(&entry), kind, entry.file_name()));
            }
        }
        Ok(entries)
    }

    pub fn open(&self, handle: Handle) -> FileHandle {
        let mut state = self.lock();
        state.next_handle += 1;
        let number = state.next_handle;
        state.handles.insert(number, handle);
        FileHandle(number)
    }

    pub fn replace(&self, number: FileHandle, handle: Handle) {
        self.lock().handles.insert(number.0, handle);
    }

    pub fn close(&self, number: FileHandle) {
        self.lock().handles.remove(&number.0);
    }

    pub fn opened(&self, number: FileHandle) -> io::Result<Arc<File>> {
        match self.lock().handles.get(&number.0) {
            Some(Handle::File(file)) => Ok(Arc::clone(file)),
            _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }

    pub fn listed(&self, number: FileHandle) -> io::Result<Arc<Vec<Entry>>> {
        match self.lock().handles.get(&number.0) {
            Some(Handle::Folder(entries)) => Ok(Arc::clone(entries)),
            _ => Err(io::Error::from_raw_os_error(libc::EBADF)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

fn kind(mode: u32) -> Option<FileType> {
    match mode & libc::S_IFMT {
        libc::S_IFREG => Some(FileType::RegularFile),
        libc::S_IFDIR => Some(FileType::Directory),
        libc::S_IFLNK => Some(FileType::Symlink),
        libc::S_IFIFO => Some(FileType::NamedPipe),
        libc::S_IFSOCK => Some(FileType::Socket),
        libc::S_IFCHR => Some(FileType::CharDevice),
        libc::S_IFBLK => Some(FileType::BlockDevice),
        _ => None,
    }
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let time = if seconds < 0 { epoch.checked_sub(whole) } else { epoch.checked_add(whole) };
    time.and_then(|time| time.checked_add(Duration::from_nanos(nanoseconds.unsigned_abs()))).unwrap_or(epoch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_the_epoch_are_times_too() {
        let epoch = SystemTime::UNIX_EPOCH;
        assert_eq!(time(2, 5), epoch + Duration::new(2, 5));
        assert_eq!(time(-2, 500_000_000), epoch - Duration::from_millis(1500));
        assert_eq!(time(i64::MIN, 0).duration_since(epoch).unwrap_or_default(), Duration::ZERO);
    }

    #[test]
    fn a_file_is_known_until_its_last_lookup_is_forgotten() {
        let folder = std::env::temp_dir().join(format!("tickdisk-table-{}", std::process::id()));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("file"), b"tick").unwrap();
        let table = Table::new(&folder).unwrap();
        let root = table.file(INodeNo::ROOT).unwrap();
        let number = table.enter(&root, OsStr::new("file")).unwrap().ino;
        assert_eq!(table.enter(&root, OsStr::new("file")).unwrap().ino, number);
        std::fs::remove_file(folder.join("file")).unwrap();
        table.forget(number, 1);
        assert_eq!(table.attributes(&table.file(number).unwrap()).unwrap().nlink, 0);
        table.forget(number, 1);
        assert_eq!(table.file(number).unwrap_err().raw_os_error(), Some(libc::ESTALE));
        assert_eq!(table.enter(&root, OsStr::new("file")).unwrap_err().raw_os_error(), Some(libc::ENOENT));
        assert_eq!(table.entries(INodeNo::ROOT).unwrap().len(), 2);
        std::fs::remove_dir(&folder).unwrap();
    }
}
