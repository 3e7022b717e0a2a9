//! The system calls that the reader follows, with the positions of their arguments.

use rustc_hash::FxHashMap;

/// The effect that a call has on the reader, beside the request that it makes of it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// It makes a request of it, and follows the position in the file.
    Request,
    Open,
    Close,
    CloseRange,
    Duplicate,
    Fcntl,
    Seek,
    /// A seek of a 32-bit process, which has the new position in its third argument.
    LongSeek,
    Map,
    /// A mapping of a 32-bit process, whose offset counts pages.
    MapPages,
    SyncMap,
    Truncate,
    Rename,
    Unlink,
    Link,
    Allocate,
    /// It makes a symbolic link, whose target is relative to the folder of the link.
    Symlink,
    ChangeFolder,
    Fork,
    Execute,
    Prctl,
    /// It opens a descriptor that is not a file's.
    OpenOther,
    /// It copies bytes between two descriptors, and is a read of the one and a write of the other.
    Copy,
    /// It may read or write a file, but makes no request.
    NotFollowed,
    /// It changes a file in a way that no request has.
    Change,
    /// It makes one file share the data of another, if its command is one of those that do.
    Clone,
}

/// A system call. Positions of arguments count from 0.
#[derive(Debug)]
pub struct Call {
    pub name: &'static str,
    /// Kind of the request, or an empty text if the call makes none.
    pub op: &'static str,
    pub role: Role,
    /// Position of the descriptor, which for a call with a `path` is the folder that the path is relative to.
    pub fd: Option<usize>,
    pub length: Option<usize>,
    pub offset: Option<usize>,
    pub path: Option<usize>,
    /// Position of the second path: the new name of a rename or a link, or the target of a symbolic link.
    pub renamed: Option<usize>,
    pub flags: Option<usize>,
    /// Position of an array of buffers, whose lengths are added up.
    pub buffers: Option<usize>,
    /// Whether the call reads or writes at the position of the open file, and moves this position.
    pub moves: bool,
    /// Whether the call fails on everything but files.
    pub is_only_of_files: bool,
}

const fn call(name: &'static str, op: &'static str, role: Role) -> Call {
    Call {
        name,
        op,
        role,
        fd: None,
        length: None,
        offset: None,
        path: None,
        renamed: None,
        flags: None,
        buffers: None,
        moves: false,
        is_only_of_files: false,
    }
}

/// Defines functions that set the positions of arguments.
macro_rules! positions {
    ($($name:ident),*) => {
        $(const fn $name(mut self, at: usize) -> Self {
            self.$name = Some(at);
            self
        })*
    };
}

impl Call {
    positions!(fd, length, offset, path, renamed, flags, buffers);

    const fn moves(mut self) -> Self {
        self.moves = true;
        self
    }
    const fn of_files(mut self) -> Self {
        self.is_only_of_files = true;
        self
    }

    /// Returns whether the call reads or moves the position of its open file, or may do so.
    pub fn is_on_position(&self) -> bool {
        let has_flags = matches!(self.op, "read" | "write") && self.flags.is_some();
        self.moves || has_flags || matches!(self.role, Role::Seek | Role::LongSeek)
    }

    /// For each descriptor of a call that copies bytes: its position, that of its offset, and whether the bytes are written to it.
    pub fn copies(&self) -> [(usize, usize, bool); 2] {
        // sendfile names the target first, and gives no offset for it.
        if self.offset == Some(2) { [(0, usize::MAX, true), (1, 2, false)] } else { [(0, 1, false), (2, 3, true)] }
    }
}

const CALLS: &[Call] = &[
    call("read", "read", Role::Request).fd(0).length(2).moves(),
    call("write", "write", Role::Request).fd(0).length(2).moves(),
    call("readv", "read", Role::Request).fd(0).buffers(1).moves(),
    call("writev", "write", Role::Request).fd(0).buffers(1).moves(),
    call("pread64", "read", Role::Request).fd(0).length(2).offset(3).of_files(),
    call("pwrite64", "write", Role::Request).fd(0).length(2).offset(3).of_files(),
    call("preadv", "read", Role::Request).fd(0).buffers(1).offset(3).of_files(),
    call("pwritev", "write", Role::Request).fd(0).buffers(1).offset(3).of_files(),
    call("preadv2", "read", Role::Request).fd(0).buffers(1).offset(3).flags(4).of_files(),
    call("pwritev2", "write", Role::Request).fd(0).buffers(1).offset(3).flags(4).of_files(),
    call("open", "open", Role::Open).path(0).flags(1),
    call("openat", "open", Role::Open).fd(0).path(1).flags(2),
    call("openat2", "open", Role::Open).fd(0).path(1).flags(2),
    call("creat", "open", Role::Open).path(0),
    call("close", "close", Role::Close).fd(0),
    call("close_range", "", Role::CloseRange).fd(0).length(1).flags(2),
    call("dup", "dup", Role::Duplicate).fd(0),
    call("dup2", "dup", Role::Duplicate).fd(0),
    call("dup3", "dup", Role::Duplicate).fd(0).flags(2),
    call("fcntl", "dup", Role::Fcntl).fd(0).length(1).flags(2),
    call("fcntl64", "dup", Role::Fcntl).fd(0).length(1).flags(2),
    call("lseek", "seek", Role::Seek).fd(0).offset(1).flags(2),
    call("_llseek", "seek", Role::LongSeek).fd(0).offset(1).flags(3),
    call("fsync", "sync", Role::Request).fd(0).of_files(),
    call("fdatasync", "sync", Role::Request).fd(0).of_files(),
    call("sync_file_range", "sync", Role::Request).fd(0).offset(1).length(2).of_files(),
    call("sync_file_range2", "sync", Role::Request).fd(0).offset(2).length(3).of_files(),
    call("syncfs", "sync", Role::Request).fd(0),
    call("sync", "sync", Role::Request),
    call("msync", "sync", Role::SyncMap).offset(0).length(1),
    call("truncate", "truncate", Role::Truncate).path(0).length(1),
    call("truncate64", "truncate", Role::Truncate).path(0).length(1),
    call("ftruncate", "truncate", Role::Truncate).fd(0).length(1).of_files(),
    call("ftruncate64", "truncate", Role::Truncate).fd(0).length(1).of_files(),
    call("rename", "rename", Role::Rename).path(0).renamed(1),
    call("renameat", "rename", Role::Rename).fd(0).path(1).renamed(3),
    call("renameat2", "rename", Role::Rename).fd(0).path(1).renamed(3).flags(4),
    call("unlink", "unlink", Role::Unlink).path(0),
    call("unlinkat", "unlink", Role::Unlink).fd(0).path(1).flags(2),
    call("link", "link", Role::Link).path(0).renamed(1),
    call("linkat", "link", Role::Link).fd(0).path(1).renamed(3).flags(4),
    call("symlink", "symlink", Role::Symlink).path(1).renamed(0),
    call("symlinkat", "symlink", Role::Symlink).fd(1).path(2).renamed(0),
    call("mkdir", "mkdir", Role::Request).path(0),
    call("mkdirat", "mkdir", Role::Request).fd(0).path(1),
    call("rmdir", "rmdir", Role::Request).path(0),
    call("fallocate", "fallocate", Role::Allocate).fd(0).offset(2).length(3).flags(1).of_files(),
    call("mmap", "mmap", Role::Map).length(1).flags(3).fd(4).offset(5),
    call("mmap2", "mmap", Role::MapPages).length(1).flags(3).fd(4).offset(5),
    call("chdir", "", Role::ChangeFolder).path(0),
    call("fchdir", "", Role::ChangeFolder).fd(0),
    call("clone", "", Role::Fork).flags(1),
    call("clone3", "", Role::Fork).flags(0),
    call("fork", "", Role::Fork),
    call("vfork", "", Role::Fork),
    call("execve", "", Role::Execute).path(0),
    call("execveat", "", Role::Execute).path(1),
    call("prctl", "", Role::Prctl),
    call("socket", "", Role::OpenOther),
    call("accept", "", Role::OpenOther),
    call("accept4", "", Role::OpenOther),
    call("eventfd", "", Role::OpenOther),
    call("eventfd2", "", Role::OpenOther),
    call("epoll_create", "", Role::OpenOther),
    call("epoll_create1", "", Role::OpenOther),
    call("timerfd_create", "", Role::OpenOther),
    call("signalfd4", "", Role::OpenOther),
    call("inotify_init", "", Role::OpenOther),
    call("inotify_init1", "", Role::OpenOther),
    call("pidfd_open", "", Role::OpenOther),
    call("memfd_create", "", Role::OpenOther),
    call("io_uring_setup", "", Role::OpenOther),
    call("pipe", "", Role::OpenOther).buffers(0),
    call("pipe2", "", Role::OpenOther).buffers(0),
    call("socketpair", "", Role::OpenOther).buffers(3),
    call("sendfile", "", Role::Copy).fd(0).offset(2),
    call("sendfile64", "", Role::Copy).fd(0).offset(2),
    call("splice", "", Role::Copy).fd(0).offset(1),
    call("copy_file_range", "", Role::Copy).fd(0).offset(1),
    call("io_uring_enter", "", Role::NotFollowed),
    call("io_submit", "", Role::NotFollowed),
    call("ioctl", "", Role::Clone),
    call("chmod", "", Role::Change),
    call("fchmod", "", Role::Change),
    call("fchmodat", "", Role::Change),
    call("fchmodat2", "", Role::Change),
    call("chown", "", Role::Change),
    call("lchown", "", Role::Change),
    call("fchown", "", Role::Change),
    call("fchownat", "", Role::Change),
    call("utime", "", Role::Change),
    call("utimes", "", Role::Change),
    call("futimesat", "", Role::Change),
    call("utimensat", "", Role::Change),
    call("setxattr", "", Role::Change),
    call("lsetxattr", "", Role::Change),
    call("fsetxattr", "", Role::Change),
    call("removexattr", "", Role::Change),
    call("lremovexattr", "", Role::Change),
    call("fremovexattr", "", Role::Change),
    call("mknod", "", Role::Change),
    call("mknodat", "", Role::Change),
];

/// Returns the calls by name.
pub fn by_name() -> FxHashMap<&'static [u8], &'static Call> {
    CALLS.iter().map(|call| (call.name.as_bytes(), call)).collect()
}

/// Returns the value of the names of flags and commands that matter. All other names count as 0.
pub fn value_of(name: &[u8]) -> i64 {
    match name {
        b"O_RDWR" | b"RENAME_EXCHANGE" | b"FALLOC_FL_PUNCH_HOLE" => 2,
        b"O_CREAT" | b"FALLOC_FL_UNSHARE_RANGE" => 0o100,
        b"O_EXCL" => O_EXCL,
        b"O_TRUNC" => O_TRUNC,
        b"O_APPEND" => O_APPEND,
        b"O_DSYNC" => O_DSYNC,
        b"O_DIRECT" => O_DIRECT,
        b"O_CLOEXEC" => O_CLOEXEC,
        b"O_SYNC" => O_SYNC,
        b"O_DIRECTORY" => 0o200_000,
        b"O_TMPFILE" => O_TMPFILE,
        b"O_WRONLY" | b"FD_CLOEXEC" | b"F_GETFD" | b"SEEK_CUR" | b"MAP_SHARED" | b"RENAME_NOREPLACE" | b"FALLOC_FL_KEEP_SIZE" => {
            1
        }
        b"MAP_ANONYMOUS" => MAP_ANONYMOUS,
        b"PROT_WRITE" => PROT_WRITE,
        b"RENAME_WHITEOUT" => 4,
        b"FALLOC_FL_COLLAPSE_RANGE" => COLLAPSE_RANGE,
        b"FALLOC_FL_ZERO_RANGE" => 0x10,
        b"FALLOC_FL_INSERT_RANGE" => INSERT_RANGE,
        b"AT_REMOVEDIR" => AT_REMOVEDIR,
        b"AT_SYMLINK_FOLLOW" => 0x400,
        b"AT_EMPTY_PATH" => 0x1000,
        b"CLONE_THREAD" => CLONE_THREAD,
        b"PR_SET_NAME" => PR_SET_NAME,
        b"F_SETFD" => F_SETFD,
        b"F_GETFL" | b"MAP_SHARED_VALIDATE" => 3,
        b"F_SETFL" => F_SETFL,
        b"F_DUPFD_CLOEXEC" => F_DUPFD_CLOEXEC,
        b"SEEK_END" => SEEK_END,
        b"RWF_DSYNC" => RWF_DSYNC,
        b"RWF_SYNC" => RWF_SYNC,
        b"RWF_APPEND" => RWF_APPEND,
        b"RWF_NOAPPEND" => RWF_NOAPPEND,
        b"AT_FDCWD" => AT_FDCWD,
        b"CLOSE_RANGE_CLOEXEC" => CLOSE_RANGE_CLOEXEC,
        name if name.starts_with(b"F_") && name != b"F_DUPFD" => OTHER_COMMAND,
        _ => 0,
    }
}

pub const O_ACCMODE: i64 = 3;
pub const O_CREAT: i64 = 0o100;
pub const O_EXCL: i64 = 0o200;
pub const O_TRUNC: i64 = 0o1000;
pub const O_APPEND: i64 = 0o2000;
pub const O_DSYNC: i64 = 0o10_000;
pub const O_DIRECT: i64 = 0o40_000;
pub const O_SYNC: i64 = 0o4_010_000;
pub const O_CLOEXEC: i64 = 0o2_000_000;
pub const O_TMPFILE: i64 = 0o20_200_000;
pub const F_DUPFD: i64 = 0;
pub const F_SETFD: i64 = 2;
pub const F_SETFL: i64 = 4;
pub const F_DUPFD_CLOEXEC: i64 = 1030;
pub const RWF_DSYNC: i64 = 2;
pub const RWF_SYNC: i64 = 4;
pub const RWF_APPEND: i64 = 0x10;
pub const RWF_NOAPPEND: i64 = 0x20;
pub const KEEP_SIZE: i64 = 1;
pub const COLLAPSE_RANGE: i64 = 8;
pub const INSERT_RANGE: i64 = 0x20;
pub const SEEK_END: i64 = 2;
pub const AT_FDCWD: i64 = -100;
pub const CLOSE_RANGE_CLOEXEC: i64 = 4;
pub const MAP_SHARED: i64 = 1;
pub const MAP_ANONYMOUS: i64 = 0x20;
pub const PROT_WRITE: i64 = 2;
pub const RENAME_EXCHANGE: i64 = 2;
pub const AT_REMOVEDIR: i64 = 0x200;
pub const CLONE_THREAD: i64 = 0x10000;
pub const PR_SET_NAME: i64 = 15;
/// Stands for all other commands of fcntl.
const OTHER_COMMAND: i64 = 1 << 20;
