//! State synchronisation over a reliable stream of bytes: the server sends each change of the world to each player, and a stack is
//! only the library that carries the bytes.

mod alarm;
mod client;
mod frames;
mod server;

use std::any::Any;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};

use crate::game::Game;
use crate::session::Session;
use crate::stack::{Control, Stack};

/// A connection between a client and the server.
pub struct Link {
    pub read: Box<dyn AsyncRead + Send + Unpin>,
    pub write: Box<dyn AsyncWrite + Send + Unpin>,
    /// Returns the round-trip time in ns as the library knows it, or `None` if it does not tell.
    pub rtt_ns: Box<dyn Fn() -> Option<u64> + Send + Sync>,
    /// Whatever must live as long as the connection.
    pub keep: Box<dyn Any + Send>,
}

/// A library that carries bytes reliably and in order.
pub trait Transport: Send + Sync + Clone + 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    type Listener: Send;

    /// Opens an address for clients.
    fn bind(&self, address: SocketAddr) -> impl Future<Output = io::Result<Self::Listener>> + Send;

    /// Waits for the next client.
    fn accept(&self, listener: &mut Self::Listener) -> impl Future<Output = io::Result<Link>> + Send;

    /// Connects to a server.
    fn connect(&self, server: SocketAddr) -> impl Future<Output = io::Result<Link>> + Send;
}

/// A stack that sends the changes of the world over a transport.
#[derive(Clone, Copy, Debug, Default)]
pub struct Synchronised<T>(pub T);

impl<T: Transport> Stack for Synchronised<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn about(&self) -> &'static str {
        T::ABOUT
    }

    fn serve(&self, address: SocketAddr, game: Game, control: &Arc<Control>, ready: &dyn Fn()) -> io::Result<Game> {
        server::serve(&self.0, address, game, control, ready)
    }

    fn play(&self, server: SocketAddr, sessions: Vec<Session>) -> io::Result<Vec<Session>> {
        client::play(&self.0, server, sessions)
    }
}
