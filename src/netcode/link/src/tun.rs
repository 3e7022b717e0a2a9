//! The ends of a link, which are TUN devices in network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::thread;

/// Opens a TUN device that is there already in a network namespace, such as `/proc/123/ns/net`. Reads and writes do not block, and
/// each takes one packet.
///
/// # Errors
///
/// If the namespace or the device cannot be opened.
pub fn open(namespace: &Path, device: &str) -> io::Result<File> {
    let failed = |error: io::Error| io::Error::other(format!("{device} in {} cannot be opened: {error}", namespace.display()));
    // A thread of its own enters the namespace, so that this one stays where it is.
    thread::scope(|scope| scope.spawn(|| opened(namespace, device)).join())
        .unwrap_or_else(|_| Err(io::Error::other("the thread panicked")))
        .map_err(failed)
}

fn opened(namespace: &Path, device: &str) -> io::Result<File> {
    let place = File::open(namespace)?;
    // SAFETY: the descriptor is open.
    checked(unsafe { libc::setns(place.as_raw_fd(), libc::CLONE_NEWNET) })?;
    // SAFETY: the path ends with a zero.
    let number = checked(unsafe { libc::open(c"/dev/net/tun".as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC) })?;
    // SAFETY: nobody else owns the descriptor that was just opened.
    let tun = File::from(unsafe { OwnedFd::from_raw_fd(number) });
    // SAFETY: zeros are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if device.len() >= request.ifr_name.len() {
        return Err(io::Error::other("its name is too long"));
    }
    for (to, from) in request.ifr_name.iter_mut().zip(device.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_TUN | libc::IFF_NO_PI).map_err(io::Error::other)?;
    // SAFETY: the request outlives the call.
    checked(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut request) })?;
    Ok(tun)
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
