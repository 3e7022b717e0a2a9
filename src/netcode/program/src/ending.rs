//! The end of a server or a link by a signal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use netcode::Control;

/// Whether a signal came.
pub static IS_ENDING: AtomicBool = AtomicBool::new(false);
/// Time between two looks at whether a signal came.
const LOOK: Duration = Duration::from_millis(20);

extern "C" fn end(_: libc::c_int) {
    IS_ENDING.store(true, Ordering::Relaxed);
}

/// Lets SIGTERM and SIGINT set `IS_ENDING`.
pub fn on_signals() -> io::Result<()> {
    for signal in [libc::SIGTERM, libc::SIGINT] {
        // SAFETY: the handler only sets an atomic.
        if unsafe { libc::signal(signal, end as *const () as libc::sighandler_t) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Lets SIGTERM and SIGINT tell a server to end.
pub fn server_on_signals(control: &Arc<Control>) -> io::Result<()> {
    on_signals()?;
    let control = Arc::clone(control);
    thread::Builder::new().name("signals".into()).spawn(move || {
        while !IS_ENDING.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
        }
        control.end();
    })?;
    Ok(())
}
