//! A player: acts out a trace, keeps a replica of the world, and measures.

use std::collections::{BTreeMap, VecDeque};

use crate::message::{Request, Update};
use crate::records::Records;

/// Number of updates without a change after which the world counts as quiet.
const QUIET: u32 = 30;
/// Longest time that a player waits for a quiet world, in ns.
const PATIENCE_NS: u64 = 5_000_000_000;

/// A question and its answer. Times are in ns of `now_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pong {
    /// Time at which the question was due.
    pub due_ns: u64,
    pub sent_ns: u64,
    /// Time at which the answer was there, or `None` if none came.
    pub received_ns: Option<u64>,
}

/// An act of a player that is due at some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// An input in the form of the prototype.
    Input(Vec<u8>),
    /// A question, which the server answers in its next update.
    Ping,
}

/// A player of a client process.
pub struct Session {
    pub player: u32,
    pub name: String,
    /// Acts and the times at which they are due.
    acts: VecDeque<(u64, Act)>,
    /// Time at which the player joins, and time from which it does nothing more.
    begin_ns: u64,
    end_ns: u64,
    is_joined: bool,
    is_finished: bool,
    /// Whether the player ended because it had waited long enough, and not because all was well.
    has_given_up: bool,
    replica: Records,
    /// Questions in their order. The number of a question is its place.
    pings: Vec<Pong>,
    /// Number of questions that were answered.
    answered: usize,
    /// Number of each update that came, and its age in ns when it came.
    ages_ns: Vec<(u32, u64)>,
    /// Updates between the first and the last that did not come.
    missing: u64,
    last_number: u32,
    /// Number of the last update with a change.
    last_change: u32,
    /// Round-trip times that the stack itself tells, by the time at which it was asked.
    transport_rtt_ns: BTreeMap<u64, u64>,
}

impl Session {
    /// Describes a player who joins at the first of `times_ns` and does nothing more from the second on. `acts` are in the order
    /// of their times.
    #[must_use]
    pub fn new(player: u32, name: String, acts: Vec<(u64, Act)>, times_ns: (u64, u64)) -> Self {
        Self {
            player,
            name,
            acts: acts.into(),
            begin_ns: times_ns.0,
            end_ns: times_ns.1,
            is_joined: false,
            is_finished: false,
            has_given_up: false,
            replica: Records::default(),
            pings: Vec::new(),
            answered: 0,
            ages_ns: Vec::new(),
            missing: 0,
            last_number: 0,
            last_change: 0,
            transport_rtt_ns: BTreeMap::new(),
        }
    }

    #[must_use]
    pub fn begin_ns(&self) -> u64 {
        self.begin_ns
    }

    /// Returns the time at which something is due next.
    #[must_use]
    pub fn next_ns(&self) -> u64 {
        if !self.is_joined {
            return self.begin_ns;
        }
        let next_ns = self.acts.front().map_or(u64::MAX, |(due_ns, _)| *due_ns);
        if next_ns < self.end_ns { next_ns } else { self.end_ns + PATIENCE_NS }
    }

    /// Takes the requests that are due.
    pub fn due(&mut self, now_ns: u64) -> Vec<Request> {
        let mut requests = Vec::new();
        if !self.is_joined && now_ns >= self.begin_ns {
            self.is_joined = true;
            requests.push(Request::Join { player: self.player });
        }
        while self.is_joined && self.next_ns() <= now_ns && self.next_ns() < self.end_ns {
            let Some((due_ns, act)) = self.acts.pop_front() else { break };
            requests.push(match act {
                Act::Input(input) => Request::Input(input),
                Act::Ping => {
                    self.pings.push(Pong { due_ns, sent_ns: now_ns, received_ns: None });
                    Request::Ping { number: u32::try_from(self.pings.len() - 1).unwrap_or(u32::MAX) }
                }
            });
        }
        if !self.is_finished && now_ns >= self.end_ns + PATIENCE_NS {
            (self.is_finished, self.has_given_up) = (true, true);
        }
        requests
    }

    /// Takes in updates that came together, in the order of their numbers, and then finishes if all is done. A player who has
    /// finished takes none, because changes that come after the quiet time, such as the leave of others, may be incomplete when
    /// the process ends.
    pub fn take(&mut self, updates: &[Update], now_ns: u64) {
        if self.is_finished {
            return;
        }
        for update in updates {
            self.take_one(update, now_ns);
        }
        let is_answered = self.answered == self.pings.len();
        let is_quiet = !self.replica.is_empty() && self.last_number >= self.last_change + QUIET;
        // A request that was due just before the end may not have been sent yet.
        let is_done = now_ns >= self.end_ns && self.next_ns() >= self.end_ns;
        self.is_finished = is_done && is_answered && is_quiet;
    }

    fn take_one(&mut self, update: &Update, now_ns: u64) {
        if self.last_number > 0 && update.number > self.last_number {
            self.missing += u64::from(update.number - self.last_number - 1);
        }
        if update.number > self.last_number {
            self.ages_ns.push((update.number, now_ns.saturating_sub(update.started_ns)));
        }
        self.last_number = self.last_number.max(update.number);
        let before = self.replica.digest();
        for change in &update.changes {
            self.replica.set(change.id, change.record);
        }
        self.replica.take_changes();
        if self.replica.digest() != before {
            self.last_change = self.last_number;
        }
        for number in &update.pongs {
            if let Some(pong) = self.pings.get_mut(*number as usize)
                && pong.received_ns.is_none()
            {
                pong.received_ns = Some(now_ns);
                self.answered += 1;
            }
        }
    }

    /// Notes a round-trip time that the stack itself tells.
    pub fn note_transport_rtt(&mut self, now_ns: u64, rtt_ns: u64) {
        self.transport_rtt_ns.insert(now_ns, rtt_ns);
    }

    /// Returns whether the player has done all that it was to do, and the world has been quiet since.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns whether the player ended without all answers or without a quiet world, after it had waited long enough.
    #[must_use]
    pub fn has_given_up(&self) -> bool {
        self.has_given_up
    }

    #[must_use]
    pub fn replica(&self) -> &Records {
        &self.replica
    }

    #[must_use]
    pub fn last_number(&self) -> u32 {
        self.last_number
    }

    #[must_use]
    pub fn pings(&self) -> &[Pong] {
        &self.pings
    }

    #[must_use]
    pub fn ages_ns(&self) -> &[(u32, u64)] {
        &self.ages_ns
    }

    #[must_use]
    pub fn missing(&self) -> u64 {
        self.missing
    }

    #[must_use]
    pub fn transport_rtt_ns(&self) -> &BTreeMap<u64, u64> {
        &self.transport_rtt_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::UPDATE_NS;
    use crate::message::Change;

    const S: u64 = 1_000_000_000;

    fn session(acts: Vec<(u64, Act)>) -> Session {
        Session::new(1, "a".into(), acts, (S, 10 * S))
    }

    fn update(number: u32, record: i32, pongs: Vec<u32>) -> Update {
        let changes = vec![Change { id: 1, record: Some([record, 0, 0, 0]) }];
        Update { number, started_ns: u64::from(number) * UPDATE_NS, changes, pongs }
    }

    #[test]
    fn inputs_and_questions_come_when_they_are_due() {
        let input = |number| Act::Input(vec![number]);
        let acts = vec![(2 * S, input(1)), (2 * S, Act::Ping), (3 * S, input(2)), (5 * S, Act::Ping), (11 * S, input(3))];
        let mut session = session(acts);
        assert_eq!(session.next_ns(), S);
        assert_eq!(session.due(S), [Request::Join { player: 1 }]);
        assert_eq!(session.due(2 * S - 1), []);
        assert_eq!(session.due(2 * S + 5), [Request::Input(vec![1]), Request::Ping { number: 0 }]);
        assert_eq!(session.due(6 * S), [Request::Input(vec![2]), Request::Ping { number: 1 }]);
        assert_eq!(session.due(11 * S), []);
        let times: Vec<_> = session.pings().iter().map(|pong| (pong.due_ns, pong.sent_ns)).collect();
        assert_eq!(times, [(2 * S, 2 * S + 5), (5 * S, 6 * S)]);
    }

    #[test]
    fn updates_have_ages_and_those_that_are_missing_are_counted() {
        let mut session = session(Vec::new());
        session.due(S);
        session.take(&[update(60, 5, vec![])], 60 * UPDATE_NS + 7);
        session.take(&[update(63, 6, vec![])], 66 * UPDATE_NS);
        session.take(&[update(62, 6, vec![])], 66 * UPDATE_NS);
        assert_eq!(session.ages_ns(), [(60, 7), (63, 3 * UPDATE_NS)]);
        assert_eq!((session.missing(), session.last_number()), (2, 63));
        assert_eq!(session.replica().get(1), Some(&[6, 0, 0, 0]));
    }

    #[test]
    fn a_player_ends_when_its_questions_are_answered_and_the_world_is_quiet() {
        let mut session = session(vec![(5 * S, Act::Ping), (6 * S, Act::Ping)]);
        session.due(S);
        session.due(9 * S);
        session.take(&[update(700, 5, vec![])], 11 * S);
        session.take(&[update(729, 5, vec![])], 11 * S + 1);
        session.take(&[update(730, 5, vec![])], 11 * S + 2);
        assert!(!session.is_finished());
        session.take(&[update(731, 5, vec![0, 1])], 11 * S + 3);
        assert!(session.is_finished() && !session.has_given_up());
        session.take(&[update(732, 6, vec![])], 11 * S + 4);
        assert_eq!((session.last_number(), session.replica().get(1)), (731, Some(&[5, 0, 0, 0])));
        assert!(session.pings().iter().all(|pong| pong.received_ns == Some(11 * S + 3)));
    }

    #[test]
    fn a_player_takes_in_all_updates_that_came_together_before_it_ends() {
        let mut session = session(Vec::new());
        session.due(S);
        session.take(&[update(700, 5, vec![])], 11 * S);
        session.take(&[update(730, 5, vec![]), update(731, 6, vec![])], 11 * S + 1);
        assert!(!session.is_finished());
        session.take(&[update(760, 6, vec![]), update(761, 6, vec![])], 11 * S + 2);
        assert!(session.is_finished());
        assert_eq!((session.last_number(), session.replica().get(1)), (761, Some(&[6, 0, 0, 0])));
    }

    #[test]
    fn a_player_does_not_wait_for_ever() {
        let mut session = session(Vec::new());
        session.due(S);
        session.due(10 * S);
        assert_eq!(session.next_ns(), 10 * S + PATIENCE_NS);
        session.due(10 * S + PATIENCE_NS);
        assert!(session.is_finished() && session.has_given_up());
    }
}
