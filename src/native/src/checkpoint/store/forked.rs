//! The algorithm that uses fork(2). A child process has the state as it was at the fork and writes it out, while the kernel
//! copies the pages that the game writes.

use std::io;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::arena::{Arena, OBJECT_BYTES, Object};
use super::files::LogFile;
use super::keeper::{Begin, Job, Keeper, Sink, Wrote};

/// The state in memory under the algorithm that uses fork(2).
#[derive(Debug)]
pub struct Forked {
    state: Arena,
    folder: PathBuf,
}

/// A checkpoint that a child process writes.
#[derive(Debug)]
pub struct ForkedJob {
    /// Number of the child process, or 0 after it has been waited for.
    child: libc::pid_t,
    said: Said,
}

/// The child's result, in memory that both processes share.
#[derive(Debug)]
struct Said(NonNull<[AtomicU64; 3]>);

// SAFETY: The pointer points to atomics that live as long as this value.
unsafe impl Send for Said {}

impl Said {
    fn new() -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: An anonymous map at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(NonNull::new(start.cast()).expect("a map is not at address 0")))
    }

    /// Returns three words: the number of slots, the sum of their shares, and the number of the error or 0.
    fn words(&self) -> &[AtomicU64; 3] {
        // SAFETY: The memory is mapped until this value is dropped, and zeroes are valid atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        // SAFETY: The memory was mapped with this length.
        unsafe { libc::munmap(self.0.as_ptr().cast(), 4096) };
    }
}

impl Forked {
    pub fn new(objects: usize, folder: PathBuf) -> io::Result<Self> {
        Ok(Self { state: Arena::new(objects)?, folder })
    }

    /// Writes the slots of the checkpoint. This runs in the child.
    fn write(&self, number: u64) -> io::Result<Wrote> {
        let mut file = LogFile::create(&self.folder, number)?;
        let mut data = [0; OBJECT_BYTES];
        for object in 0..self.state.objects() {
            self.state.read(object, &mut data);
            file.put(object, &data)?;
        }
        file.flush()
    }
}

impl Keeper for Forked {
    type Job = ForkedJob;

    fn load(&mut self, object: usize, data: &Object) {
        self.state.write(object, data);
    }

    fn value(&self, cell: u32) -> u32 {
        self.state.cell(cell)
    }

    fn update(&mut self, cells: &[u32], tick: u64) {
        self.state.update(cells, tick);
    }

    fn begin(&mut self, begin: Begin, _: Option<ForkedJob>) -> io::Result<ForkedJob> {
        let said = Said::new()?;
        let parent = std::process::id();
        // SAFETY: The child touches only the state, one file and `said`, and ends without returning. It allocates memory, which
        // the C library allows after its own fork, and takes no lock that another thread of this process could have held.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: The call concerns this process alone. If the parent dies, the child dies too. Otherwise, a later life would
            // find two writers on one file.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let mut code = 1;
            // SAFETY: The call only returns the parent's number.
            if unsafe { libc::getppid() }.cast_unsigned() == parent {
                code = 0;
                let [slots, sum, error] = said.words();
                match self.write(begin.number) {
                    Ok(wrote) => {
                        slots.store(wrote.slots, SeqCst);
                        sum.store(wrote.sum, SeqCst);
                    }
                    Err(found) => error.store(found.raw_os_error().unwrap_or(libc::EIO).unsigned_abs().into(), SeqCst),
                }
            }
            // SAFETY: The call ends this process, without what the parent registered for its own end.
            unsafe { libc::_exit(code) };
        }
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(ForkedJob { child, said })
    }

    fn copied(&self) -> u64 {
        0
    }
}

impl Drop for ForkedJob {
    fn drop(&mut self) {
        if self.child != 0 {
            // SAFETY: The calls end a child of this process that nobody has waited for.
            unsafe {
                libc::kill(self.child, libc::SIGKILL);
                libc::waitpid(self.child, std::ptr::null_mut(), 0);
            }
        }
    }
}

impl Job for ForkedJob {
    fn write(&mut self, sink: &mut dyn Sink) -> io::Result<()> {
        let mut status = 0;
        let child = std::mem::take(&mut self.child);
        // SAFETY: The call waits for a child of this process, once.
        while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let [slots, sum, error] = self.said.words().each_ref().map(|word| word.load(SeqCst));
        if error != 0 {
            return Err(io::Error::from_raw_os_error(i32::try_from(error).unwrap_or(libc::EIO)));
        }
        if status != 0 {
            return Err(io::Error::other("the child process that wrote the checkpoint failed"));
        }
        sink.adopt(Wrote { slots, sum })
    }
}
