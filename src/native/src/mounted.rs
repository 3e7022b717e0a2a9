//! A mounted device: its engine, its threads and its FUSE session, whichever file system it serves.

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

/// The bytes of a tree are in its backing folder; the engine's own memory is never touched.
const NO_BYTES: usize = 4096;

pub struct Mounted {
    pub engine: Arc<Engine<Pending>>,
    /// Whether its threads run before all ordinary ones.
    pub is_real_time: bool,
    threads: Vec<JoinHandle<()>>,
    session: Option<BackgroundSession>,
    known: Option<Known>,
}

impl Mounted {
    /// Mounts a file system whose one file, `disk`, has `size` zero bytes; a `volatile` one loses at a power cut what was not flushed.
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
        for thread in self.threads.drain(..) {
            thread.join().map_err(|_| io::Error::other("a thread of the device panicked"))?;
        }
        self.engine.close_log();
        ended
    }
}

/// From now on a panic of any thread ends the process. The kernel then aborts the connection, and programs that wait for requests get
/// errors; without the thread that panicked they would wait for ever.
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

/// Threads that `start` creates inherit the real-time priority. Without it the emulator's threads sometimes wait for milliseconds for a
/// core that players or a file system's threads use.
fn in_real_time<T>(start: impl FnOnce(bool) -> io::Result<T>) -> io::Result<T> {
    abort_on_panic();
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
