//! The stack `kcp`: changes of the world over KCP, a protocol on UDP that repeats lost segments early.

use std::io;
use std::net::SocketAddr;

use netcode::sync::{Link, Synchronised, Transport};
use tokio::io::split;
use tokio_kcp::{KcpConfig, KcpListener, KcpNoDelayConfig, KcpStream};

/// The stack.
pub const STACK: Synchronised<Kcp> = Synchronised(Kcp);

#[derive(Clone, Copy, Debug)]
pub struct Kcp;

/// The settings that KCP's documentation recommends for games: no delay, a step of 10 ms, a repeat after two later
/// acknowledgements, and no congestion control. The window has room for the world that a new player gets.
fn config() -> KcpConfig {
    KcpConfig {
        nodelay: KcpNoDelayConfig::fastest(),
        wnd_size: (1024, 1024),
        flush_write: true,
        flush_acks_input: true,
        stream: true,
        ..KcpConfig::default()
    }
}

impl Transport for Kcp {
    const NAME: &'static str = "kcp";
    const ABOUT: &'static str = "state synchronisation over reliable UDP (KCP, by tokio_kcp 0.9.8)";
    type Listener = KcpListener;

    async fn bind(&self, address: SocketAddr) -> io::Result<KcpListener> {
        KcpListener::bind(config(), address).await.map_err(io::Error::other)
    }

    async fn accept(&self, listener: &mut KcpListener) -> io::Result<Link> {
        Ok(link(listener.accept().await.map_err(io::Error::other)?.0))
    }

    async fn connect(&self, server: SocketAddr) -> io::Result<Link> {
        Ok(link(KcpStream::connect(&config(), server).await.map_err(io::Error::other)?))
    }
}

/// The library does not tell its round-trip time.
fn link(stream: KcpStream) -> Link {
    let (read, write) = split(stream);
    Link { read: Box::new(read), write: Box::new(write), rtt_ns: Box::new(|| None), keep: Box::new(()) }
}
