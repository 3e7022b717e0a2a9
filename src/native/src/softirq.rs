//! Lets the kernel complete a request at once when its reply has been sent.
//!
//! A reply to FUSE ends in a softirq that completes the block device's request. If the softirq is raised outside an interrupt,
//! the kernel leaves it to ksoftirqd, which is an ordinary thread. On the core of a real-time thread, ksoftirqd waits until that
//! thread sleeps, in the worst case until the kernel's next timer tick. A kernel from 6.5 on runs the pending softirqs in the
//! calling thread as soon as a socket's lock is released (`local_bh_enable`). This module therefore sets an option of a socket
//! that is used for nothing else.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Runs the softirqs that the calling thread has raised. If no socket can be opened, ksoftirqd runs them, as it would without
/// this type.
pub struct Softirqs {
    socket: Option<OwnedFd>,
}

impl Softirqs {
    pub fn new() -> Self {
        // SAFETY: the call takes numbers only.
        let descriptor = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        // SAFETY: the kernel has just opened the descriptor, and nobody else has it.
        Self { socket: (descriptor >= 0).then(|| OwnedFd::from(unsafe { File::from_raw_fd(descriptor) })) }
    }

    /// Runs the pending softirqs of the calling thread.
    pub fn run(&self) {
        let Some(socket) = &self.socket else { return };
        let any: libc::c_int = 1;
        let length = libc::socklen_t::try_from(size_of_val(&any)).expect("4 bytes");
        // SAFETY: the kernel reads the number, which outlives the call. The option has no effect, because the socket is not
        // connected.
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const any).cast(), length) };
    }
}
