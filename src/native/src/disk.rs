//! A FUSE file system with one file, `disk`, on which a loop device is put. The file's bytes are in memory, and the engine
//! decides when a request is answered.

use std::ffi::OsStr;
use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite,
    Request, TimeOrNow, WriteFlags,
};

use crate::engine::{Answer, Engine, MAX_TRANSFER};
use crate::memory::Memory;
use crate::model::Op;

/// Time for which the kernel may keep the attributes, which never change. A loop device asks for them even when this process is
/// dead, and it must not wait then.
const FOREVER: Duration = Duration::from_secs(1 << 30);
const DISK: INodeNo = INodeNo(2);
const NAME: &str = "disk";
const BLOCK: u32 = 4096;
const BACKGROUND_REQUESTS: u16 = 1024;
const MODE_PUNCH_HOLE: i32 = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
const MODE_ZERO_RANGE: i32 = libc::FALLOC_FL_ZERO_RANGE;

/// The reply that the kernel waits for, with all that is needed to send it.
pub enum Pending {
    /// A read of `disk` at an offset, of a length in bytes. The bytes are copied when the reply is sent.
    Read(ReplyData, u64, u64),
    /// A write of a length in bytes.
    Written(ReplyWrite, u32),
    Done(ReplyEmpty),
    /// A read of a tree's file, whose bytes were copied when the request arrived.
    Bytes(ReplyData, Vec<u8>),
}

impl Answer for Pending {
    fn send(self, memory: &Memory) {
        match self {
            Self::Read(reply, offset, length) => reply.data(&memory.read(offset, length)),
            Self::Written(reply, length) => reply.written(length),
            Self::Done(reply) => reply.ok(),
            Self::Bytes(reply, bytes) => reply.data(&bytes),
        }
    }

    fn fail(self) {
        match self {
            Self::Read(reply, ..) | Self::Bytes(reply, _) => reply.error(Errno::EIO),
            Self::Written(reply, _) => reply.error(Errno::EIO),
            Self::Done(reply) => reply.error(Errno::EIO),
        }
    }
}

/// Lets the kernel send as many requests at once, and requests as large, as programs ask of a device. Fails if the kernel
/// refuses.
pub fn set_transfers(kernel: &mut KernelConfig) -> io::Result<()> {
    kernel
        .add_capabilities(InitFlags::FUSE_ASYNC_DIO)
        .map_err(|_| io::Error::other("this kernel's FUSE has no asynchronous direct I/O"))?;
    for refused in [kernel.set_max_background(BACKGROUND_REQUESTS), kernel.set_congestion_threshold(BACKGROUND_REQUESTS)] {
        refused.map_err(|_| io::Error::other("this kernel's FUSE refuses 1,024 requests in flight"))?;
    }
    let most = u32::try_from(MAX_TRANSFER).map_err(io::Error::other)?;
    kernel.set_max_write(most).map_err(|_| io::Error::other("this kernel's FUSE refuses requests of 1 MiB"))?;
    Ok(())
}

pub struct Disk {
    pub engine: Arc<Engine<Pending>>,
}

impl Disk {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let is_disk = inode == DISK;
        let size = if is_disk { self.engine.memory.size() as u64 } else { 0 };
        FileAttr {
            ino: inode,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if is_disk { FileType::RegularFile } else { FileType::Directory },
            perm: if is_disk { 0o600 } else { 0o700 },
            nlink: if is_disk { 1 } else { 2 },
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        }
    }
}

impl Filesystem for Disk {
    fn init(&mut self, _: &Request, kernel: &mut KernelConfig) -> io::Result<()> {
        set_transfers(kernel)
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if parent == INodeNo::ROOT && name == NAME {
            reply.entry(&FOREVER, &self.attributes(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    /// Times and owners are not kept, and the size cannot be changed.
    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if size.is_some_and(|size| size != self.attributes(inode).size) {
            reply.error(Errno::EPERM);
        } else {
            reply.attr(&FOREVER, &self.attributes(inode));
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        if offset == 0 {
            let _buffer_is_full = reply.add(DISK, 1, FileType::RegularFile, NAME);
        }
        reply.ok();
    }

    /// The loop device takes the block size for its discards from here.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let blocks = self.engine.memory.size() as u64 / u64::from(BLOCK);
        reply.statfs(blocks, 0, 0, 2, 0, BLOCK, 255, BLOCK);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES | FopenFlags::FOPEN_NOFLUSH;
        reply.opened(FileHandle(self.engine.open()), flags);
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
        let (_, length) = self.engine.memory.clip(offset, size.into());
        self.engine.submit(handle.0, Op::Read, offset, length as u64, Pending::Read(reply, offset, length as u64));
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
        if self.engine.memory.clip(offset, data.len() as u64).1 < data.len() {
            return reply.error(Errno::ENOSPC);
        }
        let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
        self.engine.write(handle.0, offset, data, Pending::Written(reply, length));
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        self.engine.submit(handle.0, Op::Flush, 0, 0, Pending::Done(reply));
    }

    fn fallocate(&self, _: &Request, _: INodeNo, handle: FileHandle, offset: u64, length: u64, mode: i32, reply: ReplyEmpty) {
        if mode & (MODE_PUNCH_HOLE | MODE_ZERO_RANGE) & !libc::FALLOC_FL_KEEP_SIZE == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        self.engine.discard(handle.0, offset, length, Pending::Done(reply));
    }
}
