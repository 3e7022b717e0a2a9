//! The server's game, which steps the world and writes down when.

use std::collections::BTreeMap;

use crate::clock::now_ns;
use crate::message::{Change, Request};
use crate::prototype::World;

/// An update that the world has made.
#[derive(Debug)]
pub struct Step {
    pub number: u32,
    pub started_ns: u64,
    pub changes: Vec<Change>,
    /// Questions that are answered, as pairs of a player and a number.
    pub pongs: Vec<(u32, u32)>,
}

/// A line of the server's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpdateLog {
    pub number: u32,
    /// Time at which the update was due, in ns of `now_ns`. A library that counts the updates itself does not tell it, and the
    /// time at which the server looked for it stands for it.
    pub due_ns: u64,
    pub started_ns: u64,
    /// Time at which all messages of the update were handed over, to the thread of the network or to the library.
    pub ended_ns: u64,
    pub players: u32,
    /// Digest of the world after the update.
    pub digest: u64,
}

/// The game on a server.
pub struct Game {
    world: Box<dyn World>,
    /// Number of inputs that were taken from each player who plays.
    players: BTreeMap<u32, u64>,
    pings: Vec<(u32, u32)>,
    number: u32,
    log: Vec<UpdateLog>,
}

impl Game {
    #[must_use]
    pub fn new(world: Box<dyn World>) -> Self {
        Self { world, players: BTreeMap::new(), pings: Vec::new(), number: 0, log: Vec::new() }
    }

    /// Takes in a request of a player. Returns whether the player plays now and did not before.
    pub fn request(&mut self, player: u32, request: Request) -> bool {
        match request {
            Request::Join { .. } if self.players.contains_key(&player) => false,
            Request::Join { .. } => {
                self.players.insert(player, 0);
                self.world.join(player);
                true
            }
            Request::Input(input) => {
                if let Some(inputs) = self.players.get_mut(&player) {
                    *inputs += 1;
                    self.world.act(player, &input);
                }
                false
            }
            Request::Ping { number } => {
                self.pings.push((player, number));
                false
            }
            Request::Leave => {
                if self.players.remove(&player).is_some() {
                    self.world.leave(player);
                }
                false
            }
        }
    }

    /// Makes an update that was due at a time of `now_ns`. `ended` must follow when its messages are on their way.
    pub fn update(&mut self, due_ns: u64) -> Step {
        let started_ns = now_ns();
        self.number += 1;
        self.world.update();
        let changes = self.world.records().take_changes();
        self.log.push(UpdateLog {
            number: self.number,
            due_ns,
            started_ns,
            ended_ns: started_ns,
            players: u32::try_from(self.players.len()).unwrap_or(u32::MAX),
            digest: self.world.records().digest(),
        });
        Step { number: self.number, started_ns, changes, pongs: std::mem::take(&mut self.pings) }
    }

    /// Notes that all messages of the last update were given to the stack.
    pub fn ended(&mut self) {
        if let Some(last) = self.log.last_mut() {
            last.ended_ns = now_ns();
        }
    }

    /// Returns the whole state, which a new player needs.
    pub fn all(&mut self) -> Vec<Change> {
        self.world.records().all()
    }

    #[must_use]
    pub fn log(&self) -> &[UpdateLog] {
        &self.log
    }
}
