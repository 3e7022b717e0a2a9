//! A mounted device, with its engine, its threads and its connection to FUSE. The device serves either one file in memory
//! (`disk`) or a tree of files (`tree`).

use std::io;
use std::panic;
use std::path::Path;
use std::process;
use std::sync::{Arc, Once};
use std::thread::JoinHandle;

use fuser::{BackgroundSession, Config, Filesystem, MountOption, Session, SessionACL};

use crate::disk::{Disk, Pending};
use crate::engine::Engine;
use crate::realtime;
use crate::tree::{Known, Tree};

/// Size of the engine's memory under a tree, in bytes. This memory is never touched, because the bytes of a tree are in its
/// backing folder.
const NO_BYTES: usize = 4096;

pub struct Mounted {
    pub engine: Arc<Engine<Pending>>,
    /// Whether the device's threads have real-time priority, so that they run before all ordinary threads.
    pub is_real_time: bool,
    threads: Vec<JoinHandle<()>>,
    session: Option<BackgroundSession>,
    known: Option<Known>,
}

impl Mounted {
    /// Mounts a file system whose one file, `disk`, has `size` zero bytes. A `volatile` device loses unflushed data at a power
    /// cut.
    pub fn disk(mount_point: &Path, source: &str, size: usize, log: Option<&Path>, volatile: bool) -> io::Result<Self> {
        in_real_time(|is_real_time| {
            let (engine, threads) = Engine::start(size, log, volatile)?;
            let session = mount(Disk { engine: Arc::clone(&engine) }, mount_point, source)?;
            Ok(Self { engine, is_real_time, threads, session: Some(session.spawn()?), known: None })
        })
    }

    /// Mounts a file system that passes everything on to `folder`.
    pub fn tree(mount_point: &Path, source: &str, folder: &Path, log: Option<&Path>) -> io::Result<Self> {
        in_real_time(|is_real_time| {
            let (engine, threads) = Engine::start(NO_BYTES, log, false)?;
            let tree = Tree::new(Arc::clone(&engine), folder)?;
            let known = Some(tree.known());
            let session = mount(tree, mount_point, source)?;
            Ok(Self { engine, is_real_time, threads, session: Some(session.spawn()?), known })
        })
    }

    /// Returns whether the file system was unmounted or its connection aborted.
    pub fn has_ended(&self) -> bool {
        self.session.as_ref().is_none_or(|session| session.guard.is_finished())
    }

    /// Lets the kernel forget the pages of every file of a tree, so that the next reads reach the device. Data that is not yet
    /// written stays. On a device without a tree, nothing happens.
    pub fn cool(&self) -> io::Result<()> {
        let (Some(session), Some(known)) = (&self.session, &self.known) else { return Ok(()) };
        let notifier = session.notifier();
        for number in known.numbers() {
            match notifier.inval_inode(number, 0, 0) {
                // ENOENT says that the kernel has forgotten the file meanwhile, and EBUSY that a page was changed while it was
                // being written. Neither is a failure.
                Err(error) if !matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EBUSY)) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Unmounts the file system if it is still mounted, answers pending requests with errors, and completes the log.
    pub fn close(&mut self) -> io::Result<()> {
        let ended = self.session.take().map_or(Ok(()), BackgroundSession::umount_and_join);
        self.engine.stop();
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| io::Error::other("a thread of the device panicked"))?;
        }
        self.engine.close_log();
        ended
    }
}

/// Makes a panic of any thread end the process from now on. The kernel then aborts the connection, and programs that wait for
/// requests get errors. Without the thread that panicked they would otherwise wait for ever.
fn abort_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |about| {
            report(about);
            process::abort();
        }));
    });
}

/// Calls `start` with real-time priority, if that is allowed, and tells it whether it is. Threads that `start` creates inherit
/// the priority. Without it the emulator's threads sometimes wait for milliseconds for a core that players or a file system's
/// threads use.
fn in_real_time<T>(start: impl FnOnce(bool) -> io::Result<T>) -> io::Result<T> {
    abort_on_panic();
    let started = start(realtime::take());
    realtime::give_up();
    started
}

/// Mounts a file system. If this process runs as root, other users may use the mount, which only root may allow.
fn mount<F: Filesystem + 'static>(file_system: F, mount_point: &Path, source: &str) -> io::Result<Session<F>> {
    let mut config = Config::default();
    // SAFETY: the call only returns a number.
    config.acl = if unsafe { libc::geteuid() } == 0 { SessionACL::All } else { SessionACL::Owner };
    config.mount_options =
        vec![MountOption::FSName(source.into()), MountOption::Subtype("tickdisk".into()), MountOption::DefaultPermissions];
    // A single reader keeps requests in the order of their arrival, in which the model must be given them.
    config.n_threads = Some(1);
    Session::new(file_system, mount_point, &config)
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::thread;
    use std::time::Duration;

    use super::*;

    const ASKED: &str = "TICKDISK_PANICS";

    #[test]
    fn a_panic_of_one_thread_ends_the_process() {
        if std::env::var_os(ASKED).is_some() {
            abort_on_panic();
            let _ = thread::spawn(|| panic!("as in a model")).join();
            thread::sleep(Duration::from_secs(60));
        }
        let name = "mounted::tests::a_panic_of_one_thread_ends_the_process";
        let own = std::env::current_exe().unwrap();
        let ended = Command::new(own).args(["--exact", name, "--nocapture"]).env(ASKED, "").output().unwrap();
        assert_eq!(ended.status.signal(), Some(libc::SIGABRT), "{ended:?}");
    }
}
