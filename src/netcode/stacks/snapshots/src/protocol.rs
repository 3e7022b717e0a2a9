//! The messages and the component that client and server share.

use std::time::Duration;

use naia_shared::{Message, Property, Protocol, Replicate};
use netcode::Record;

/// A record of the world. The library sends only the numbers that have changed.
#[derive(Replicate)]
pub struct Thing {
    pub id: Property<u32>,
    pub a: Property<i32>,
    pub b: Property<i32>,
    pub c: Property<i32>,
    pub d: Property<i32>,
}

impl Thing {
    pub fn of(id: u32, [a, b, c, d]: Record) -> Self {
        Self::new_complete(id, a, b, c, d)
    }

    pub fn record(&self) -> (u32, Record) {
        (*self.id, [*self.a, *self.b, *self.c, *self.d])
    }

    /// Takes the numbers of a record. A number that is the same counts as unchanged.
    pub fn take(&mut self, [a, b, c, d]: Record) {
        for (property, value) in [(&mut self.a, a), (&mut self.b, b), (&mut self.c, c), (&mut self.d, d)] {
            if **property != value {
                **property = value;
            }
        }
    }
}

/// The wish of a client to play as a player.
#[derive(Message)]
pub struct Join {
    pub player: u32,
}

#[derive(Message)]
pub struct Act {
    pub input: Vec<u8>,
}

#[derive(Message)]
pub struct Ask {
    pub number: u32,
}

/// The answers to questions.
#[derive(Message)]
pub struct Answer {
    pub numbers: Vec<u32>,
}

/// The number and the begin of an update, which comes with its changes.
#[derive(Message)]
pub struct Mark {
    pub number: u32,
    pub started_ns: u64,
}

/// Time from an update to the next, in ms. The library's clients reckon in whole milliseconds: with 16.67 ms, as on other stacks, they
/// fall behind by a part of a millisecond in each update, and take in updates 60 ms late.
pub const UPDATE_MS: u64 = 17;

/// Returns the protocol. Its tick is an update.
pub fn protocol() -> Protocol {
    Protocol::builder()
        .tick_interval(Duration::from_millis(UPDATE_MS))
        .add_default_channels()
        .add_message::<Join>()
        .add_message::<Act>()
        .add_message::<Ask>()
        .add_message::<Answer>()
        .add_message::<Mark>()
        .add_component::<Thing>()
        .build()
}
