//! fork(2): the kernel copies the pages that the game writes while a child process, which has the state as it was, writes it out.

use std::io;
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use super::arena::{Arena, OBJECT_BYTES, Object};
use super::files::LogFile;
use super::keeper::{Begin, Job, Keeper, Sink, Wrote};

#[derive(Debug)]
pub struct Forked {
    state: Arena,
    folder: PathBuf,
}

#[derive(Debug)]
pub struct ForkedJob {
    /// 0 when it has been waited for.
    child: libc::pid_t,
    said: Said,
}

/// What the child says: memory that both processes have.
#[derive(Debug)]
struct Said(NonNull<[AtomicU64; 3]>);

// SAFETY: it points to atomics that live as long as it does.
unsafe impl Send for Said {}

impl Said {
    fn new() -> io::Result<Self> {
        let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: an anonymous map at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self(NonNull::new(start.cast()).expect("a map is not at address 0")))
    }

    /// Slots, their sum, the error's number.
    fn words(&self) -> &[AtomicU64; 3] {
        // SAFETY: mapped until this is dropped; zeroes are atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Said {
    fn drop(&mut self) {
        // SAFETY: mapped with this length.
        unsafe { libc::munmap(self.0.as_ptr().cast(), 4096) };
    }
}

impl Forked {
    pub fn new(objects: usize, folder: PathBuf) -> io::Result<Self> {
        Ok(Self { state: Arena::new(objects)?, folder })
    }

    /// In the child: writes the slots of the checkpoint.
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
        // SAFETY: the child touches the state, one file and `said`, and ends without returning. It allocates, which the C library allows
        // after its own fork, and takes no lock that another thread of ours could have had.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: calls of the system that touch this process alone. Who dies takes the child along, or a later life would find two
            // writers on one file.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            let mut code = 1;
            // SAFETY: as above.
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
            // SAFETY: ends this process, without what the parent registered for its own end.
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
            // SAFETY: ends a child of ours that nobody has waited for.
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
        // SAFETY: waits for a child of ours, once.
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
            return Err(io::Error::other("the process that wrote the checkpoint did not end well"));
        }
        sink.adopt(Wrote { slots, sum })
    }
}
