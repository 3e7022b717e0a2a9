//! A mounted device: its engine, its threads and its FUSE session, whichever file system it serves.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use fuser::{BackgroundSession, Config, Filesystem, MountOption, Session, SessionACL};

use crate::attention::Attention;
use crate::disk::{Disk, Pending};
use crate::engine::Engine;
use crate::occupant::Occupant;
use crate::realtime;
use crate::tree::{Known, Tree};

/// The bytes of a tree are in its backing folder; the engine's own memory is never touched.
const NO_BYTES: usize = 4096;

pub struct Mounted {
    pub engine: Arc<Engine<Pending>>,
    /// Whether its threads run before all ordinary ones.
    pub is_real_time: bool,
    occupant: Arc<Occupant>,
    threads: Vec<JoinHandle<()>>,
    session: Option<BackgroundSession>,
    known: Option<Known>,
}

impl Mounted {
    /// Mounts a file system whose one file, `disk`, has `size` zero bytes; a `volatile` one loses at a power cut what was not flushed.
    pub fn disk(mount_point: &Path, source: &str, size: usize, log: Option<&Path>, volatile: bool) -> io::Result<Self> {
        in_real_time(|is_real_time| {
            let (engine, mut threads) = Engine::start(size, log, volatile)?;
            let occupant = Arc::new(Occupant::default());
            let (occupying, serving) = (Arc::clone(&occupant), Arc::clone(&engine));
            let occupy = move || occupying.run(&*serving);
            threads.push(thread::Builder::new().name("device-occupant".into()).spawn(occupy)?);
            let attention = Arc::new(Attention::default());
            let disk = Disk { engine: Arc::clone(&engine), attention: Arc::clone(&attention) };
            let session = mount(disk, mount_point, source)?;
            attention.pay_to(&session)?;
            Ok(Self { engine, is_real_time, occupant, threads, session: Some(session.spawn()?), known: None })
        })
    }

    /// Mounts a file system that passes everything on to `folder`.
    pub fn tree(mount_point: &Path, source: &str, folder: &Path, log: Option<&Path>) -> io::Result<Self> {
        in_real_time(|is_real_time| {
            let (engine, threads) = Engine::start(NO_BYTES, log, false)?;
            let tree = Tree::new(Arc::clone(&engine), folder)?;
            let known = Some(tree.known());
            let session = mount(tree, mount_point, source)?;
            Ok(Self { engine, is_real_time, occupant: Arc::default(), threads, session: Some(session.spawn()?), known })
        })
    }

    /// Whether the file system was unmounted or its connection aborted.
    pub fn has_ended(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Lets the kernel forget the pages of every file, so that the next reads reach the device; what is not yet written stays.
    pub fn cool(&self) -> io::Result<()> {
        let (Some(session), Some(known)) = (&self.session, &self.known) else { return Ok(()) };
        let notifier = session.notifier();
        for number in known.numbers() {
            match notifier.inval_inode(number, 0, 0) {
                // The kernel has forgotten the file meanwhile, or somebody has changed a page that is being written.
                Err(error) if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EBUSY)) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Unmounts if still mounted, answers what is pending with errors, and completes the log.
    pub fn close(&mut self) -> io::Result<()> {
        let ended = self.session.take().map_or(Ok(()), BackgroundSession::umount_and_join);
        self.engine.stop();
        self.occupant.stop();
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| io::Error::other("a thread of the device panicked"))?;
        }
        self.engine.close_log();
        ended
    }
}

/// The threads that are started meanwhile take the priority over. On a core that players or a file system's threads share with them
/// they would else wait for milliseconds, now and then.
fn in_real_time<T>(start: impl FnOnce(bool) -> io::Result<T>) -> io::Result<T> {
    let started = start(realtime::take());
    realtime::give_up();
    started
}

/// Only root may open its mounts to others.
fn mount<F: Filesystem + 'static>(file_system: F, mount_point: &Path, source: &str) -> io::Result<Session<F>> {
    let mut config = Config::default();
    // SAFETY: asks for a number.
    config.acl = if unsafe { libc::geteuid() } == 0 { SessionACL::All } else { SessionACL::Owner };
    config.mount_options =
        vec![MountOption::FSName(source.into()), MountOption::Subtype("tickdisk".into()), MountOption::DefaultPermissions];
    // One reader keeps the order of arrivals that the model is promised.
    config.n_threads = Some(1);
    Session::new(file_system, mount_point, &config)
}
