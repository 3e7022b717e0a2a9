//! Messages between a client and the server, whatever stack carries them.

use serde::{Deserialize, Serialize};

use crate::records::Record;

/// A record that has changed, or was removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub id: u32,
    pub record: Option<Record>,
}

/// A message of a client to the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// The player begins to play.
    Join { player: u32 },
    /// An input in the form of the prototype.
    Input(Vec<u8>),
    /// A question, which the server answers in its next update.
    Ping { number: u32 },
    /// The player ends.
    Leave,
}

/// A message of the server to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Update {
    /// Number of the update, from 1 on.
    pub number: u32,
    /// Time at which the server began the update, in ns of `now_ns`.
    pub started_ns: u64,
    pub changes: Vec<Change>,
    /// Numbers of the questions that it answers.
    pub pongs: Vec<u32>,
}
