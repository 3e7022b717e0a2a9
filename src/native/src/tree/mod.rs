//! A FUSE file system that passes everything on to a backing folder, below the kernel's write-back cache. The cache's own
//! requests (reads, writes, syncs and punched holes) go through the engine and are answered when the model says so. Requests for
//! names, sizes and modes are answered at once.
//!
//! Bytes move when a request arrives, so that effects have the order of arrivals. A sync is not passed on, because the backing
//! folder's own disk is not the one that is emulated.

mod calls;
mod table;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs,
    ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use self::table::{Handle, Table};
use crate::disk::{Pending, set_transfers};
use crate::engine::Engine;
use crate::model::Op;

/// Number of power cuts that requests of a tree give to the engine, because the power of a tree is never cut.
const NO_POWER: u64 = 0;
/// Time for which the kernel may keep what it knows of files. Nobody but the kernel changes the tree, so that this knowledge
/// stays up to date.
const FOREVER: Duration = Duration::from_secs(1 << 30);
/// Flags that the kernel carries out itself. Its cache is above this file system, so the backing file is read and written at
/// offsets only.
const ABOVE: i32 = libc::O_APPEND
    | libc::O_DIRECT
    | libc::O_SYNC
    | libc::O_DSYNC
    | libc::O_TRUNC
    | libc::O_NOFOLLOW
    | libc::O_CREAT
    | libc::O_EXCL;
const MODE_BITS: u32 = 0o7777;

pub struct Tree {
    engine: Arc<Engine<Pending>>,
    table: Arc<Table>,
}

/// The files of a mounted tree of which the kernel may have pages.
#[derive(Clone)]
pub struct Known(Arc<Table>);

impl Known {
    pub fn numbers(&self) -> Vec<INodeNo> {
        self.0.numbers().into_iter().map(INodeNo).collect()
    }
}

impl Tree {
    pub fn new(engine: Arc<Engine<Pending>>, folder: &Path) -> io::Result<Self> {
        calls::raise_open_files();
        Ok(Self { engine, table: Arc::new(Table::new(folder)?) })
    }

    pub fn known(&self) -> Known {
        Known(Arc::clone(&self.table))
    }

    /// Opens a file. The cache reads what surrounds a write, so a file that is opened for writing is opened for reading, too, if
    /// that is allowed.
    fn open_file(&self, number: INodeNo, flags: i32) -> io::Result<FileHandle> {
        let (file, flags) = (self.table.file(number)?, flags & !ABOVE);
        let opened = if flags & libc::O_ACCMODE == libc::O_WRONLY {
            calls::open(&file, flags & !libc::O_ACCMODE | libc::O_RDWR).or_else(|_| calls::open(&file, flags))
        } else {
            calls::open(&file, flags)
        };
        Ok(self.table.open(Handle::File(Arc::new(opened?))))
    }

    /// Calls `make` to create an entry in a folder, gives the entry to the program that asked for it, and remembers it.
    fn make(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: Option<u32>,
        make: impl FnOnce(&OwnedFd) -> io::Result<()>,
    ) -> io::Result<FileAttr> {
        let folder = self.table.file(parent)?;
        make(&folder)?;
        settle(request, &folder, name, mode)?;
        self.table.enter(&folder, name)
    }

    fn create_file(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        flags: i32,
    ) -> io::Result<(FileAttr, FileHandle)> {
        let folder = self.table.file(parent)?;
        let is_new = calls::look(&folder, name).is_err();
        let file = calls::create(&folder, name, libc::O_RDWR | flags & libc::O_EXCL, mode & MODE_BITS)?;
        if is_new {
            settle(request, &folder, name, Some(mode))?;
        }
        let attributes = self.table.enter(&folder, name)?;
        Ok((attributes, self.table.open(Handle::File(Arc::new(file)))))
    }
}

/// Gives a new file to the user and the group of the program that asked for it, with the mode that it asked for, because the mask
/// and the groups of this process are not the program's.
fn settle(request: &Request, folder: &OwnedFd, name: &OsStr, mode: Option<u32>) -> io::Result<()> {
    let file = calls::look(folder, name)?;
    let (status, above) = (calls::stat(&file)?, calls::stat(folder)?);
    let group = if above.st_mode & libc::S_ISGID == 0 { request.gid() } else { above.st_gid };
    if (status.st_uid, status.st_gid) != (request.uid(), group) {
        calls::chown(&file, Some(request.uid()), Some(group))?;
    }
    let Some(mode) = mode else { return Ok(()) };
    let is_folder = status.st_mode & libc::S_IFMT == libc::S_IFDIR;
    let inherited = if is_folder { status.st_mode & libc::S_ISGID } else { 0 };
    calls::chmod(&file, mode & MODE_BITS | inherited)
}

fn read(file: &File, offset: u64, size: u32) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size as usize];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

fn answer_entry(reply: ReplyEntry, entered: io::Result<FileAttr>) {
    match entered {
        Ok(attributes) => reply.entry(&FOREVER, &attributes, Generation(0)),
        Err(error) => reply.error(error.into()),
    }
}

fn answer(reply: ReplyEmpty, done: io::Result<()>) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error.into()),
    }
}

impl Filesystem for Tree {
    fn init(&mut self, _: &Request, kernel: &mut KernelConfig) -> io::Result<()> {
        kernel
            .add_capabilities(InitFlags::FUSE_WRITEBACK_CACHE)
            .map_err(|_| io::Error::other("this kernel's FUSE has no write-back cache"))?;
        set_transfers(kernel)
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        answer_entry(reply, self.table.file(parent).and_then(|folder| self.table.enter(&folder, name)));
    }

    fn forget(&self, _: &Request, inode: INodeNo, lookups: u64) {
        self.table.forget(inode, lookups);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.table.file(inode).and_then(|file| self.table.attributes(&file)) {
            Ok(attributes) => reply.attr(&FOREVER, &attributes),
            Err(error) => reply.error(error.into()),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let set = || {
            let file = self.table.file(inode)?;
            if user.is_some() || group.is_some() {
                calls::chown(&file, user, group)?;
            }
            if let Some(mode) = mode {
                calls::chmod(&file, mode & MODE_BITS)?;
            }
            if let Some(size) = size {
                match handle.map(|handle| self.table.opened(handle)) {
                    Some(Ok(opened)) => opened.set_len(size)?,
                    _ => calls::truncate(&file, size)?,
                }
            }
            if accessed.is_some() || modified.is_some() {
                calls::set_times(&file, accessed, modified)?;
            }
            self.table.attributes(&file)
        };
        match set() {
            Ok(attributes) => reply.attr(&FOREVER, &attributes),
            Err(error) => reply.error(error.into()),
        }
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.table.file(inode).and_then(|file| calls::read_symlink(&file)) {
            Ok(target) => reply.data(target.as_encoded_bytes()),
            Err(error) => reply.error(error.into()),
        }
    }

    fn mknod(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, device: u32, reply: ReplyEntry) {
        let make = |folder: &OwnedFd| calls::make_node(folder, name, mode, device);
        answer_entry(reply, self.make(request, parent, name, Some(mode), make));
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, reply: ReplyEntry) {
        let make = |folder: &OwnedFd| calls::make_folder(folder, name, mode & MODE_BITS);
        answer_entry(reply, self.make(request, parent, name, Some(mode), make));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        answer_entry(reply, self.make(request, parent, name, None, |folder| calls::make_symlink(folder, name, target)));
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.table.file(parent).and_then(|folder| calls::unlink(&folder, name, 0)));
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.table.file(parent).and_then(|folder| calls::unlink(&folder, name, libc::AT_REMOVEDIR)));
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = || {
            let (from, to) = (self.table.file(parent)?, self.table.file(new_parent)?);
            calls::rename(&from, name, &to, new_name, flags.bits())
        };
        answer(reply, rename());
    }

    fn link(&self, _: &Request, inode: INodeNo, new_parent: INodeNo, new_name: &OsStr, reply: ReplyEntry) {
        let link = || {
            let (file, folder) = (self.table.file(inode)?, self.table.file(new_parent)?);
            calls::link(&file, &folder, new_name)?;
            self.table.enter(&folder, new_name)
        };
        answer_entry(reply, link());
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.open_file(inode, flags.0) {
            Ok(handle) => reply.opened(handle, FopenFlags::FOPEN_KEEP_CACHE),
            Err(error) => reply.error(error.into()),
        }
    }

    fn create(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, _: u32, flags: i32, reply: ReplyCreate) {
        match self.create_file(request, parent, name, mode, flags) {
            Ok((attributes, handle)) => {
                reply.created(&FOREVER, &attributes, Generation(0), handle, FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        match self.table.opened(handle).and_then(|file| read(&file, offset, size)) {
            Ok(bytes) => self.engine.submit(NO_POWER, Op::Read, offset, bytes.len() as u64, Pending::Bytes(reply, bytes)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.table.opened(handle).and_then(|file| file.write_all_at(data, offset)) {
            Ok(()) => {
                let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
                self.engine.submit(NO_POWER, Op::Write, offset, length.into(), Pending::Written(reply, length));
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.engine.submit(NO_POWER, Op::Flush, 0, 0, Pending::Done(reply));
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.engine.submit(NO_POWER, Op::Flush, 0, 0, Pending::Done(reply));
    }

    fn fallocate(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, length: u64, mode: i32, reply: ReplyEmpty) {
        match self.table.opened(handle).and_then(|file| calls::allocate(&file, mode, offset, length)) {
            Ok(()) if mode & libc::FALLOC_FL_PUNCH_HOLE != 0 => {
                self.engine.submit(NO_POWER, Op::Discard, offset, length, Pending::Done(reply));
            }
            done => answer(reply, done),
        }
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.table.close(handle);
        reply.ok();
    }

    fn opendir(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.table.entries(inode) {
            Ok(entries) => reply.opened(self.table.open(Handle::Folder(Arc::new(entries))), FopenFlags::empty()),
            Err(error) => reply.error(error.into()),
        }
    }

    fn readdir(&self, _: &Request, inode: INodeNo, handle: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if offset == 0 {
            match self.table.entries(inode) {
                Ok(entries) => self.table.replace(handle, Handle::Folder(Arc::new(entries))),
                Err(error) => return reply.error(error.into()),
            }
        }
        match self.table.listed(handle) {
            Ok(entries) => {
                for (position, (number, kind, name)) in
                    (1..).zip(entries.iter()).skip(usize::try_from(offset).unwrap_or(usize::MAX))
                {
                    if reply.add(INodeNo(*number), position, *kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn releasedir(&self, _: &Request, _: INodeNo, handle: FileHandle, _: OpenFlags, reply: ReplyEmpty) {
        self.table.close(handle);
        reply.ok();
    }

    fn statfs(&self, _: &Request, inode: INodeNo, reply: ReplyStatfs) {
        match self.table.file(inode).and_then(|file| calls::statvfs(&file)) {
            Ok(status) => {
                let narrow = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
                reply.statfs(
                    status.f_blocks,
                    status.f_bfree,
                    status.f_bavail,
                    status.f_files,
                    status.f_ffree,
                    narrow(status.f_bsize),
                    narrow(status.f_namemax),
                    narrow(status.f_frsize),
                );
            }
            Err(_) => reply.error(Errno::EIO),
        }
    }
}
