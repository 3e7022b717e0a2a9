//! The interface of a network stack.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::game::Game;
use crate::session::Session;

/// Tells a server to end.
#[derive(Debug, Default)]
pub struct Control {
    is_ending: AtomicBool,
}

impl Control {
    /// Tells the server to end after its present update.
    pub fn end(&self) {
        self.is_ending.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Relaxed)
    }
}

/// A network stack: a library that carries messages, or a world, and the way in which a game uses it.
pub trait Stack: Send + Sync {
    /// Name for the command line.
    fn name(&self) -> &'static str;

    /// Description in one sentence, with the library and its version.
    fn about(&self) -> &'static str;

    /// Serves a game on an address, and returns it after `control` told the server to end. `ready` is called when clients can
    /// connect.
    ///
    /// # Errors
    ///
    /// If the address cannot be had.
    fn serve(&self, address: SocketAddr, game: Game, control: &Arc<Control>, ready: &dyn Fn()) -> io::Result<Game>;

    /// Lets players play on a server, and returns them when all have finished.
    ///
    /// # Errors
    ///
    /// If a player cannot connect, or is thrown out.
    fn play(&self, server: SocketAddr, sessions: Vec<Session>) -> io::Result<Vec<Session>>;
}
