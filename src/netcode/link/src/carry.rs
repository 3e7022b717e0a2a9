//! Carries packets between two ends, with a thread for each direction.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use netcode::now_ns;

use crate::line::{Conditions, Counts, Line};

/// Longest time until the end is noticed, in ns.
const LOOK_NS: u64 = 50_000_000;
/// Longest packet. The devices have the largest packets of an Ethernet.
const LONGEST: usize = 1 << 16;
/// Number of packets that are read before those that have arrived are written.
const AT_ONCE: usize = 32;

/// The packets of both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    pub to_clients: Counts,
    pub to_server: Counts,
}

/// Carries packets in both directions until `is_ending`. The conditions hold for each direction.
///
/// # Errors
///
/// If a device fails.
pub fn carry(server: &File, clients: &File, conditions: Conditions, seed: u64, is_ending: &AtomicBool) -> io::Result<Carried> {
    // SAFETY: the call has no memory. Timers then have a slack of 1 ns, for this thread and those that it starts.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    thread::scope(|scope| {
        let to_clients = scope.spawn(|| one_way(server, clients, Line::new(conditions, 2 * seed), is_ending));
        let to_server = one_way(clients, server, Line::new(conditions, 2 * seed + 1), is_ending)?;
        let to_clients = to_clients.join().map_err(|_| io::Error::other("the thread to the clients panicked"))??;
        Ok(Carried { to_clients, to_server })
    })
}

fn one_way(mut from: &File, mut to: &File, mut line: Line, is_ending: &AtomicBool) -> io::Result<Counts> {
    let mut buffer = vec![0; LONGEST];
    let ended = loop {
        if is_ending.load(Ordering::Relaxed) {
            break Ok(());
        }
        while let Some(packet) = line.arrived(now_ns()) {
            // The kernel throws away packets for which it has no room, as a network would.
            if let Err(error) = to.write(&packet)
                && !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory)
                && error.raw_os_error() != Some(libc::ENOBUFS)
            {
                is_ending.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        let mut is_empty = false;
        for _ in 0..AT_ONCE {
            match from.read(&mut buffer) {
                Ok(length) => line.take(now_ns(), &buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    is_empty = true;
                    break;
                }
                Err(error) => {
                    is_ending.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        if is_empty {
            wait(from, line.next_ns());
        }
    };
    ended.map(|()| line.counts())
}

/// Waits until a packet can be read, or one arrives.
fn wait(from: &File, next_ns: Option<u64>) {
    let wait_ns = next_ns.map_or(LOOK_NS, |next_ns| next_ns.saturating_sub(now_ns()).min(LOOK_NS));
    let time = libc::timespec { tv_sec: 0, tv_nsec: wait_ns.cast_signed() };
    let mut polled = libc::pollfd { fd: from.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: both structures outlive the call. After an interruption the caller looks again.
    unsafe { libc::ppoll(&raw mut polled, 1, &raw const time, std::ptr::null()) };
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::time::Duration;

    use super::*;

    fn pair() -> (File, UnixDatagram) {
        let (inner, outer) = UnixDatagram::pair().unwrap();
        inner.set_nonblocking(true).unwrap();
        outer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        (File::from(OwnedFd::from(inner)), outer)
    }

    #[test]
    fn packets_go_both_ways_after_their_delay() {
        const DELAY_NS: u64 = 20_000_000;
        let ((server, server_end), (clients, clients_end)) = (pair(), pair());
        let is_ending = AtomicBool::new(false);
        let conditions = Conditions { delay_ns: DELAY_NS, ..Conditions::default() };
        thread::scope(|scope| {
            let carried = scope.spawn(|| carry(&server, &clients, conditions, 1, &is_ending).unwrap());
            let mut buffer = [0; 100];
            for (from, to) in [(&server_end, &clients_end), (&clients_end, &server_end), (&server_end, &clients_end)] {
                let sent_ns = now_ns();
                from.send(b"packet").unwrap();
                assert_eq!(to.recv(&mut buffer).unwrap(), 6);
                assert!(now_ns() - sent_ns >= DELAY_NS);
            }
            is_ending.store(true, Ordering::Relaxed);
            let Carried { to_clients, to_server } = carried.join().unwrap();
            assert_eq!((to_clients.packets, to_clients.bytes, to_server.packets), (2, 12, 1));
        });
    }
}
