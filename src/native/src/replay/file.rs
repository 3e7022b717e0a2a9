//! Files below the target folder, and the handles that are open on them. Each operation returns the result of its system call, or
//! the negative errno.

use std::ffi::{CStr, CString, c_int};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

pub struct File {
    path: CString,
    flags: c_int,
    /// Open handles, in the order in which they were opened. A handle that another stream still uses outlives its close, so that
    /// its number is not given to another file meanwhile.
    handles: Mutex<Vec<Arc<OwnedFd>>>,
    /// A handle and another one on the same file that passes by the page cache, once a request has asked for it.
    direct: Mutex<Option<(Arc<OwnedFd>, Arc<OwnedFd>)>>,
}

impl File {
    /// Names a file and opens `handles` handles on it, which stand for handles that were open before the capture began.
    pub fn new(path: CString, is_folder: bool, handles: usize) -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | if is_folder { libc::O_RDONLY | libc::O_DIRECTORY } else { libc::O_RDWR };
        let file = Self { path, flags, handles: Mutex::default(), direct: Mutex::default() };
        for _ in 0..handles {
            let handle = file.descriptor(0)?;
            file.lock().push(handle);
        }
        Ok(file)
    }

    /// Opens the file, and creates it if it does not exist. Returns 0, or the negative errno.
    pub fn open(&self) -> i64 {
        self.hold(self.create())
    }

    /// Opens the file and truncates it to 0 bytes, or creates it if it does not exist.
    pub fn open_empty(&self) -> i64 {
        self.hold(self.create() | libc::O_TRUNC)
    }

    /// Opens the file only for the result. It creates no file and keeps no handle.
    pub fn try_open(&self) -> i64 {
        self.descriptor(0).map_or_else(|error| negative(&error), |_| 0)
    }

    pub fn close(&self) -> i64 {
        let handle = self.lock().pop();
        handle.map_or(-i64::from(libc::EBADF), |_| 0)
    }

    /// Opens a file without a name, in the folder that the file's path has.
    pub fn open_unnamed(&self) -> i64 {
        let path = self.path.as_bytes();
        let folder = CString::new(&path[..memchr::memrchr(b'/', path).unwrap_or(0)]);
        let opened = folder.map_err(io::Error::from).and_then(|folder| opened(&folder, self.flags | libc::O_TMPFILE));
        self.keep(opened)
    }

    pub fn rename(&self, new: &Self, flags: u32) -> i64 {
        // SAFETY: both paths end with a zero byte.
        checked(unsafe { libc::renameat2(libc::AT_FDCWD, self.path.as_ptr(), libc::AT_FDCWD, new.path.as_ptr(), flags) })
    }

    /// Gives the file another name. A file that has no name is named by its handle.
    pub fn link(&self, new: &Self) -> i64 {
        // SAFETY: both paths end with a zero byte.
        let linked = checked(unsafe { libc::link(self.path.as_ptr(), new.path.as_ptr()) });
        let handle = self.lock().last().cloned();
        let Some(handle) = handle.filter(|_| linked == -i64::from(libc::ENOENT)) else { return linked };
        let Ok(path) = CString::new(format!("/proc/self/fd/{}", handle.as_raw_fd())) else { return linked };
        let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
        // SAFETY: both paths end with a zero byte, and the handle is open.
        checked(unsafe { libc::linkat(here, path.as_ptr(), here, new.path.as_ptr(), follow) })
    }

    /// Makes a symbolic link at this path that leads to `target`.
    pub fn make_symlink(&self, target: &Self) -> i64 {
        // SAFETY: both paths end with a zero byte.
        checked(unsafe { libc::symlink(target.path.as_ptr(), self.path.as_ptr()) })
    }

    pub fn make_folder(&self) -> i64 {
        // SAFETY: the path ends with a zero byte.
        checked(unsafe { libc::mkdir(self.path.as_ptr(), 0o755) })
    }

    pub fn remove_folder(&self) -> i64 {
        // SAFETY: the path ends with a zero byte.
        checked(unsafe { libc::rmdir(self.path.as_ptr()) })
    }

    pub fn unlink(&self) -> i64 {
        // SAFETY: the path ends with a zero byte.
        checked(unsafe { libc::unlink(self.path.as_ptr()) })
    }

    /// Calls `call` with the handle that was opened last. If no handle is open, because this stream is ahead of the stream that
    /// opens the file, a handle is opened first.
    pub fn with_handle<T: Into<i64>>(&self, call: impl FnOnce(c_int) -> T) -> i64 {
        self.handle().map_or_else(|error| negative(&error), |handle| checked(call(handle.as_raw_fd())))
    }

    /// Calls `call` with a handle that passes by the page cache, which the file keeps from then on.
    pub fn with_direct_handle<T: Into<i64>>(&self, call: impl FnOnce(c_int) -> T) -> i64 {
        let handle = self.handle().and_then(|handle| {
            let mut direct = self.direct.lock();
            // The same file may have another name by now, or none, or the name another file.
            if direct.as_ref().is_none_or(|(of, _)| !Arc::ptr_eq(of, &handle)) {
                let path = CString::new(format!("/proc/self/fd/{}", handle.as_raw_fd()))?;
                *direct = Some((Arc::clone(&handle), opened(&path, libc::O_RDWR | libc::O_CLOEXEC | libc::O_DIRECT)?));
            }
            direct.as_ref().map(|(_, handle)| Arc::clone(handle)).ok_or_else(|| io::ErrorKind::NotFound.into())
        });
        handle.map_or_else(|error| negative(&error), |handle| checked(call(handle.as_raw_fd())))
    }

    fn handle(&self) -> io::Result<Arc<OwnedFd>> {
        let last = self.lock().last().cloned();
        last.map_or_else(|| self.descriptor(self.create()).inspect(|new| self.lock().push(Arc::clone(new))), Ok)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<OwnedFd>>> {
        self.handles.lock()
    }

    fn create(&self) -> c_int {
        if self.flags & libc::O_DIRECTORY == 0 { libc::O_CREAT } else { 0 }
    }

    fn hold(&self, how: c_int) -> i64 {
        self.keep(self.descriptor(how))
    }

    fn keep(&self, opened: io::Result<Arc<OwnedFd>>) -> i64 {
        opened.map_or_else(
            |error| negative(&error),
            |handle| {
                self.lock().push(handle);
                0
            },
        )
    }

    fn descriptor(&self, how: c_int) -> io::Result<Arc<OwnedFd>> {
        opened(&self.path, self.flags | how)
    }
}

fn opened(path: &CStr, flags: c_int) -> io::Result<Arc<OwnedFd>> {
    // SAFETY: the path ends with a zero byte.
    let descriptor = unsafe { libc::open(path.as_ptr(), flags, 0o644) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, and belongs to nobody else.
    Ok(Arc::new(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

fn negative(error: &io::Error) -> i64 {
    -i64::from(error.raw_os_error().unwrap_or(libc::EIO))
}

fn checked(result: impl Into<i64>) -> i64 {
    match result.into() {
        result if result < 0 => negative(&io::Error::last_os_error()),
        result => result,
    }
}
