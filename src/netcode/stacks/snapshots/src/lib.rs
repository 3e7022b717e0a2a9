//! The stack `snapshots`: the library replicates the state itself, as differences of fields over UDP, and repeats what was lost in its
//! newest form. Nothing waits for what was lost before it.

mod client;
mod protocol;
mod server;
mod socket;
mod store;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use netcode::{Control, Game, Session, Stack};

/// The stack.
pub const STACK: Snapshots = Snapshots;

#[derive(Clone, Copy, Debug)]
pub struct Snapshots;

impl Stack for Snapshots {
    fn name(&self) -> &'static str {
        "snapshots"
    }

    fn about(&self) -> &'static str {
        "replication of fields that have changed over UDP (naia 0.25.0)"
    }

    fn serve(&self, address: SocketAddr, game: Game, control: &Arc<Control>, ready: &dyn Fn()) -> io::Result<Game> {
        server::serve(address, game, control, ready)
    }

    fn play(&self, server: SocketAddr, sessions: Vec<Session>) -> io::Result<Vec<Session>> {
        client::play(server, sessions)
    }
}
