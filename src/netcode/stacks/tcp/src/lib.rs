//! The stack `tcp`: changes of the world over TCP, each message with its length before it.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};

use netcode::sync::{Link, Synchronised, Transport};
use tokio::net::{TcpListener, TcpStream};

/// The stack.
pub const STACK: Synchronised<Tcp> = Synchronised(Tcp);

#[derive(Clone, Copy, Debug)]
pub struct Tcp;

impl Transport for Tcp {
    const NAME: &'static str = "tcp";
    const ABOUT: &'static str = "state synchronisation over TCP with length prefixes (the kernel's, by tokio)";
    type Listener = TcpListener;

    async fn bind(&self, address: SocketAddr) -> io::Result<TcpListener> {
        TcpListener::bind(address).await
    }

    async fn accept(&self, listener: &mut TcpListener) -> io::Result<Link> {
        link(listener.accept().await?.0)
    }

    async fn connect(&self, server: SocketAddr) -> io::Result<Link> {
        link(TcpStream::connect(server).await?)
    }
}

fn link(stream: TcpStream) -> io::Result<Link> {
    // A game does not wait until a packet is full.
    stream.set_nodelay(true)?;
    let descriptor = stream.as_raw_fd();
    let (read, write) = stream.into_split();
    Ok(Link { read: Box::new(read), write: Box::new(write), rtt_ns: Box::new(move || rtt_ns(descriptor)), keep: Box::new(()) })
}

/// Returns the least round-trip time that the kernel has seen on the connection, or `None` if the connection is closed. Its smoothed
/// time is no property of the network here, because an acknowledgement waits for the next message in the other direction.
fn rtt_ns(descriptor: RawFd) -> Option<u64> {
    // SAFETY: an all-zero `tcp_info` is one.
    let mut info: libc::tcp_info = unsafe { mem::zeroed() };
    let mut length = libc::socklen_t::try_from(mem::size_of_val(&info)).ok()?;
    // SAFETY: `info` has `length` bytes. The descriptor is that of the stream whose halves the caller holds.
    let failed =
        unsafe { libc::getsockopt(descriptor, libc::IPPROTO_TCP, libc::TCP_INFO, (&raw mut info).cast(), &raw mut length) };
    (failed == 0 && info.tcpi_min_rtt < u32::MAX).then(|| u64::from(info.tcpi_min_rtt) * 1000)
}
