//! Lets the kernel complete at once what a reply has answered.
//!
//! A reply to FUSE ends in a softirq that completes the block device's request. Raised outside an interrupt it is left to ksoftirqd,
//! an ordinary thread: on the core of a real-time one it waits until that sleeps, at worst for the next tick. When a socket's lock is
//! released the kernel (6.5 or later) runs what softirqs there are, here and now (`local_bh_enable`).

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// What runs the softirqs that the calling thread has raised; where it cannot, ksoftirqd does, as without it.
pub struct Softirqs {
    socket: Option<OwnedFd>,
}

impl Softirqs {
    pub fn new() -> Self {
        // SAFETY: takes numbers only.
        let descriptor = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        // SAFETY: the kernel has just opened it for us alone.
        Self { socket: (descriptor >= 0).then(|| OwnedFd::from(unsafe { File::from_raw_fd(descriptor) })) }
    }

    pub fn run(&self) {
        let Some(socket) = &self.socket else { return };
        let any: libc::c_int = 1;
        let length = libc::socklen_t::try_from(size_of_val(&any)).expect("4 bytes");
        // SAFETY: the kernel reads the number, which outlives the call. It changes nothing: the socket is connected to nobody.
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVLOWAT, (&raw const any).cast(), length) };
    }
}
