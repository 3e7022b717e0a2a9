//! Compares network stacks of games under the same prototype of a game.
//!
//! A prototype is a small game: a `World` whose state is a set of numbered records. A stack carries the state from a server to its
//! clients, and the inputs of players to the server. Both are folders beside this one, and neither knows the other. The server
//! (`Game`) steps 60 times a second on absolute times. A client (`Session`) acts out the trace of a player, keeps a replica of the
//! state, and measures.

mod clock;
mod game;
mod message;
mod prototype;
mod records;
mod session;
mod stack;
pub mod sync;
mod trace;

pub use clock::{UPDATE_NS, UPDATES_PER_S, now_ns, sleep_until};
pub use game::{Game, Step, UpdateLog};
pub use message::{Change, Request, Update};
pub use prototype::{Prototype, World};
pub use records::{Record, Records};
pub use session::{Act, Pong, Session};
pub use stack::{Control, Stack};
pub use trace::{Action, actions_of, read_trace};
