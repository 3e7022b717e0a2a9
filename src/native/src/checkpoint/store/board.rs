//! The phases in which the threads of a life are, for other processes to read. They can be read even after this process was
//! killed.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Release};

use crate::clock::now_ns;

/// The threads of a life. The game plays ticks, the writer writes checkpoints, and the committer writes the log of actions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Game,
    Writer,
    Committer,
}

/// The work that a thread of a life does at a moment, at which a crash test can aim a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Idle,
    /// The game plays updates of a tick.
    Update,
    /// The game waits while a checkpoint begins, for Copy-To-Memory or other work.
    Copy,
    Write,
    Sync,
    /// The writer makes a checkpoint count, with a new head or a rename.
    Switch,
    /// The committer makes records of the log of actions durable, or the writer waits for this.
    Commit,
}

const WORDS: usize = 8;
const TICK: usize = 3;
const COMMITTED: usize = 4;

/// The board of a life: the phases of its three threads, the tick that runs, and the last tick that is committed. These are
/// 64-bit words in a file that other processes may map.
#[derive(Debug)]
pub struct Board(NonNull<[AtomicU64; WORDS]>);

// SAFETY: The pointer points to atomics that live as long as this value.
unsafe impl Send for Board {}
// SAFETY: The pointer points to atomics that live as long as this value.
unsafe impl Sync for Board {}

impl Board {
    /// Makes a board in the file at `path`, or in memory of this process if `path` is `None`.
    pub fn new(path: Option<&Path>) -> io::Result<Self> {
        let file = match path {
            Some(path) => Some(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?),
            None => None,
        };
        if let Some(file) = &file {
            file.set_len(4096)?;
        }
        let (flags, fd) =
            file.as_ref().map_or((libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1), |file| (libc::MAP_SHARED, file.as_raw_fd()));
        // SAFETY: A map at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(NonNull::new(start.cast()).expect("a map is not at address 0")))
    }

    fn set(&self, word: usize, value: u64) {
        // SAFETY: The memory is mapped until this value is dropped, and any bytes are valid atomics.
        let words = unsafe { self.0.as_ref() };
        words[word].store(value, Release);
    }

    pub fn enter(&self, role: Role, phase: Phase) {
        self.set(role as usize, phase as u64);
    }

    pub fn tick(&self, tick: u64) {
        self.set(TICK, tick);
    }

    pub fn committed(&self, tick: u64) {
        self.set(COMMITTED, tick);
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: The memory was mapped with this length.
        unsafe { libc::munmap(self.0.as_ptr().cast(), 4096) };
    }
}

/// Measures the times of steps that follow each other.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(u64);

impl Stopwatch {
    pub fn start() -> Self {
        Self(now_ns())
    }

    /// Returns the ns since the start or the last lap, and begins the next lap.
    pub fn lap(&mut self) -> u64 {
        let now = now_ns();
        now - std::mem::replace(&mut self.0, now)
    }
}
