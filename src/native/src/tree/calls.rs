//! System calls relative to open folders. A rename that happens at the same time cannot lead a call to another file, and every
//! error number is the kernel's own.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::SystemTime;

use fuser::TimeOrNow;

const HERE: &CStr = c"";
const LONGEST_LINK: usize = libc::PATH_MAX as usize;

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn c_string(bytes: &[u8]) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Returns a path to the file on which a descriptor is open, whatever the file's name is by now.
pub fn magic_path(descriptor: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", descriptor.as_raw_fd())
}

fn magic(descriptor: &OwnedFd) -> io::Result<CString> {
    c_string(magic_path(descriptor).as_bytes())
}

fn owned(descriptor: libc::c_int) -> io::Result<OwnedFd> {
    check(descriptor)?;
    // SAFETY: the kernel has just opened the descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Returns a descriptor that stands for a file without opening it.
pub fn look(folder: &OwnedFd, name: &OsStr) -> io::Result<OwnedFd> {
    let (name, flags) = (c_string(name.as_bytes())?, libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC);
    // SAFETY: the name is a C string that outlives the call.
    owned(unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags) })
}

/// Returns a descriptor that stands for the folder at `path` without opening it.
pub fn look_at(path: &Path) -> io::Result<OwnedFd> {
    let path = c_string(path.as_os_str().as_bytes())?;
    // SAFETY: the path is a C string that outlives the call.
    owned(unsafe { libc::open(path.as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) })
}

pub fn create(folder: &OwnedFd, name: &OsStr, flags: i32, mode: u32) -> io::Result<File> {
    let name = c_string(name.as_bytes())?;
    let flags = flags | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: the name is a C string that outlives the call.
    owned(unsafe { libc::openat(folder.as_raw_fd(), name.as_ptr(), flags, mode) }).map(File::from)
}

pub fn open(file: &OwnedFd, flags: i32) -> io::Result<File> {
    let path = magic(file)?;
    // SAFETY: the path is a C string that outlives the call.
    owned(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) }).map(File::from)
}

pub fn stat(file: &OwnedFd) -> io::Result<libc::stat> {
    let mut status = MaybeUninit::uninit();
    // SAFETY: the kernel fills `status` if the call succeeds.
    check(unsafe { libc::fstatat(file.as_raw_fd(), HERE.as_ptr(), status.as_mut_ptr(), libc::AT_EMPTY_PATH) })?;
    // SAFETY: `status` is filled, because the call succeeded.
    Ok(unsafe { status.assume_init() })
}

pub fn statvfs(file: &OwnedFd) -> io::Result<libc::statvfs> {
    let mut status = MaybeUninit::uninit();
    // SAFETY: the same holds as in `stat`.
    check(unsafe { libc::fstatvfs(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: `status` is filled, because the call succeeded.
    Ok(unsafe { status.assume_init() })
}

pub fn chmod(file: &OwnedFd, mode: u32) -> io::Result<()> {
    let path = magic(file)?;
    // SAFETY: the path is a C string that outlives the call.
    check(unsafe { libc::chmod(path.as_ptr(), mode) })
}

/// Changes the owner of a file. `None` leaves the user or the group as it is.
pub fn chown(file: &OwnedFd, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    let (user, group) = (user.unwrap_or(u32::MAX), group.unwrap_or(u32::MAX));
    // SAFETY: the name is a constant C string.
    check(unsafe { libc::fchownat(file.as_raw_fd(), HERE.as_ptr(), user, group, libc::AT_EMPTY_PATH) })
}

pub fn truncate(file: &OwnedFd, size: u64) -> io::Result<()> {
    let path = magic(file)?;
    let size = i64::try_from(size).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))?;
    // SAFETY: the path is a C string that outlives the call.
    check(unsafe { libc::truncate(path.as_ptr(), size) })
}

pub fn set_times(file: &OwnedFd, accessed: Option<TimeOrNow>, modified: Option<TimeOrNow>) -> io::Result<()> {
    let times = [timespec(accessed), timespec(modified)];
    // SAFETY: the array has two times, as the call expects, and the name is a constant C string.
    check(unsafe { libc::utimensat(file.as_raw_fd(), HERE.as_ptr(), times.as_ptr(), libc::AT_EMPTY_PATH) })
}

fn timespec(time: Option<TimeOrNow>) -> libc::timespec {
    match time {
        None => libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_OMIT },
        Some(TimeOrNow::Now) => libc::timespec { tv_sec: 0, tv_nsec: libc::UTIME_NOW },
        Some(TimeOrNow::SpecificTime(time)) => match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => libc::timespec { tv_sec: after.as_secs().cast_signed(), tv_nsec: after.subsec_nanos().into() },
            Err(before) => {
                let before = before.duration();
                let nanoseconds = i64::from(before.subsec_nanos());
                let borrow = i64::from(nanoseconds > 0);
                libc::timespec { tv_sec: -before.as_secs().cast_signed() - borrow, tv_nsec: borrow * 1_000_000_000 - nanoseconds }
            }
        },
    }
}

pub fn unlink(folder: &OwnedFd, name: &OsStr, flags: i32) -> io::Result<()> {
    let name = c_string(name.as_bytes())?;
    // SAFETY: the name is a C string that outlives the call.
    check(unsafe { libc::unlinkat(folder.as_raw_fd(), name.as_ptr(), flags) })
}

pub fn make_folder(folder: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<()> {
    let name = c_string(name.as_bytes())?;
    // SAFETY: the name is a C string that outlives the call.
    check(unsafe { libc::mkdirat(folder.as_raw_fd(), name.as_ptr(), mode) })
}

pub fn make_node(folder: &OwnedFd, name: &OsStr, mode: u32, device: u32) -> io::Result<()> {
    let name = c_string(name.as_bytes())?;
    // SAFETY: the name is a C string that outlives the call.
    check(unsafe { libc::mknodat(folder.as_raw_fd(), name.as_ptr(), mode, device.into()) })
}

pub fn make_symlink(folder: &OwnedFd, name: &OsStr, target: &Path) -> io::Result<()> {
    let (name, target) = (c_string(name.as_bytes())?, c_string(target.as_os_str().as_bytes())?);
    // SAFETY: both are C strings that outlive the call.
    check(unsafe { libc::symlinkat(target.as_ptr(), folder.as_raw_fd(), name.as_ptr()) })
}

pub fn read_symlink(file: &OwnedFd) -> io::Result<OsString> {
    let mut target = vec![0_u8; LONGEST_LINK];
    // SAFETY: the kernel writes at most the length that it is told.
    let length = unsafe { libc::readlinkat(file.as_raw_fd(), HERE.as_ptr(), target.as_mut_ptr().cast(), target.len()) };
    target.truncate(usize::try_from(length).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(target))
}

/// Gives a file another name.
pub fn link(file: &OwnedFd, folder: &OwnedFd, name: &OsStr) -> io::Result<()> {
    let (path, name) = (magic(file)?, c_string(name.as_bytes())?);
    // SAFETY: both are C strings that outlive the call.
    check(unsafe { libc::linkat(libc::AT_FDCWD, path.as_ptr(), folder.as_raw_fd(), name.as_ptr(), libc::AT_SYMLINK_FOLLOW) })
}

pub fn rename(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new_name: &OsStr, flags: u32) -> io::Result<()> {
    let (name, new_name) = (c_string(name.as_bytes())?, c_string(new_name.as_bytes())?);
    // SAFETY: both are C strings that outlive the call.
    check(unsafe { libc::renameat2(from.as_raw_fd(), name.as_ptr(), to.as_raw_fd(), new_name.as_ptr(), flags) })
}

pub fn allocate(file: &File, mode: i32, offset: u64, length: u64) -> io::Result<()> {
    let too_large = |_| io::Error::from_raw_os_error(libc::EFBIG);
    let (offset, length) = (i64::try_from(offset).map_err(too_large)?, i64::try_from(length).map_err(too_large)?);
    // SAFETY: the call takes plain numbers and a descriptor that is open.
    check(unsafe { libc::fallocate(file.as_raw_fd(), mode, offset, length) })
}

/// Raises the limit on open files as far as this process may, for root as far as the kernel allows. Every file that the kernel
/// remembers costs a descriptor.
pub fn raise_open_files() {
    let allowed = std::fs::read_to_string("/proc/sys/fs/nr_open").ok().and_then(|text| text.trim().parse().ok());
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel first fills and then reads structs that outlive the calls. If no call succeeds, the limit stays as it
    // is.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) != 0 {
            return;
        }
        let most = allowed.map_or(limit.rlim_max, |allowed: u64| allowed.max(limit.rlim_max));
        for most in [most, limit.rlim_max] {
            if libc::setrlimit(libc::RLIMIT_NOFILE, &libc::rlimit { rlim_cur: most, rlim_max: most }) == 0 {
                return;
            }
        }
    }
}
