//! The game Knights and Archers, which serves as a source of updates. Two armies, each with a base, march against each other. The
//! table of their units is the state whose updates a checkpoint must save.
//!
//! The paper gives these rules. There are 400,128 units of 13 attributes. Knights attack and pursue enemies that are near,
//! archers attack and stay near allies, and healers heal the weakest ally. Units cluster into squads. A tenth of the units is
//! active at a time, and all active units are replaced within 100 ticks with high probability. The paper leaves other rules open,
//! and this module adds these:
//! - A squad has 64 units (32 knights, 24 archers, 8 healers). It begins anywhere on the ground of its team, which reaches a
//!   little beyond the middle of the field.
//! - A unit that sees no target marches with its squad to the other base. If it is ahead of its squad, it waits where it is.
//! - A step is one field on either axis, so it updates one attribute or two.
//! - A unit that strikes or heals rests afterwards. A unit that dies begins again at its base. Inactive units keep their places
//!   and can be struck.
//! - In each tick, an active unit is replaced with such a probability that all active units have been replaced at least once
//!   after 100 ticks with probability 0.99.
//!
//! An update is a cell that a decision changes, so the number of updates follows from the rules. The distance that a unit keeps
//! from its squad and the overlap of the grounds were chosen to come near the published mean of 35,590 updates per tick. The mean
//! over 1,000 ticks with seed 42 is 34,753.

mod decide;
mod grid;
mod units;

use self::grid::Grid;
use self::units::{Kind, Table, Unit};
use super::random::Random;

pub const ATTRIBUTES: u32 = units::ATTRIBUTES;
/// Number of units of a squad. Both teams have the same number of squads, so the number of units is a multiple of two squads.
pub const SQUAD: u32 = 64;
/// Kinds of the units of a squad, which are repeated in turn: 32 knights, 24 archers, 8 healers.
const MUSTER: [Kind; 8] =
    [Kind::Knight, Kind::Archer, Kind::Knight, Kind::Archer, Kind::Knight, Kind::Archer, Kind::Knight, Kind::Healer];
/// Edge, in fields, of the square of ground that there is for each squad when the game begins.
const GROUND: u32 = 24;
/// A team's ground reaches beyond the middle of the field by its half's width, divided by this number. Both teams have squads in
/// that part.
const CONTESTED_ONE_IN: u32 = 5;
/// Largest distance on either axis, in fields, of a unit from the middle of its squad when the game begins.
const SPREAD: u32 = 6;
/// One unit in this many is active.
const ACTIVE_ONE_IN: u32 = 10;
/// Number of ticks within which all active units are replaced with probability `RELIEVED`.
const RENEWED_TICKS: f64 = 100.0;
const RELIEVED: f64 = 0.99;

/// Sums over the units of a squad. Its middle follows from the sums of the coordinates at any time, and `wounded` is the number
/// of units that need healing.
#[derive(Clone, Copy, Debug, Default)]
struct Gathering {
    x: i64,
    y: i64,
    wounded: u32,
}

#[derive(Debug)]
pub struct Game {
    table: Table,
    grids: [Grid; 2],
    bases: [(i32, i32); 2],
    ground: (i32, i32),
    squads: Vec<Gathering>,
    active: Vec<Unit>,
    is_active: Vec<bool>,
    /// Probability that an active unit is replaced in a tick.
    relief: f64,
    tick: i32,
    random: Random,
}

impl Game {
    /// Begins a game of `count` units, a multiple of two squads. The same `seed` gives the same game.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the edge of the ground is small and positive")]
    pub fn new(count: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let edge = (f64::from(count / SQUAD / 2).sqrt() * f64::from(GROUND)).ceil() as u32;
        let (width, height, own) = (2 * edge, edge, edge + edge / CONTESTED_ONE_IN);
        let at = |x: u32, y: u32| (x.cast_signed(), y.cast_signed());
        let active_count = count / ACTIVE_ONE_IN;
        let mut game = Self {
            table: Table::new(count),
            grids: [Grid::new(width, height, count), Grid::new(width, height, count)],
            bases: [at(edge / 8, edge / 2), at(width - edge / 8, edge / 2)],
            ground: at(width, height),
            squads: vec![Gathering::default(); (count / SQUAD) as usize],
            active: Vec::new(),
            is_active: vec![false; count as usize],
            relief: 1.0 - ((1.0 - RELIEVED) / f64::from(active_count.max(1))).powf(1.0 / RENEWED_TICKS),
            tick: 0,
            random: random.clone(),
        };
        for squad in 0..count / SQUAD {
            let team = squad % 2;
            let middle = (random.below(own) + team * (width - own), random.below(height));
            for member in 0..SQUAD {
                let around = |middle: u32, most: u32, random: &mut Random| {
                    (middle + random.below(2 * SPREAD + 1)).saturating_sub(SPREAD).min(most - 1)
                };
                let place = at(around(middle.0, width, &mut random), around(middle.1, height, &mut random));
                game.muster(squad * SQUAD + member, squad, team, MUSTER[(member % 8) as usize], place);
            }
        }
        while game.active.len() < active_count as usize {
            let unit = game.resting(&mut random);
            game.active.push(unit);
        }
        game.random = random;
        game
    }

    fn muster(&mut self, unit: Unit, squad: u32, team: u32, kind: Kind, (x, y): (i32, i32)) {
        self.table.muster(unit, squad, team, kind, (x, y));
        self.grids[team as usize].add(unit, (x, y));
        let gathering = &mut self.squads[squad as usize];
        gathering.x += i64::from(x);
        gathering.y += i64::from(y);
    }

    pub fn cells(&self) -> u32 {
        self.table.count() * ATTRIBUTES
    }

    /// Returns the table of units, row by row.
    pub fn values(&self) -> &[i32] {
        self.table.values()
    }

    /// Returns the units that are active in the next tick.
    pub fn active(&self) -> &[Unit] {
        &self.active
    }

    /// Plays a tick, and appends the updated cells to `cells`. Active units decide in the order of the table, and then some of
    /// them are replaced.
    pub fn step(&mut self, cells: &mut Vec<u32>) {
        self.table.record(std::mem::take(cells));
        for unit in 0..self.table.count() {
            if self.is_active[unit as usize] {
                self.decide(unit);
            }
        }
        *cells = self.table.recorded();
        self.tick += 1;
        self.relieve();
    }

    /// Replaces each active unit, with probability `relief`, by an inactive unit.
    fn relieve(&mut self) {
        let mut random = self.random.clone();
        for place in 0..self.active.len() {
            if random.unit() < self.relief {
                let fresh = self.resting(&mut random);
                let tired = std::mem::replace(&mut self.active[place], fresh);
                self.is_active[tired as usize] = false;
            }
        }
        self.random = random;
    }

    /// Draws an inactive unit and marks it active.
    fn resting(&mut self, random: &mut Random) -> Unit {
        loop {
            let unit = random.below(self.table.count());
            if !std::mem::replace(&mut self.is_active[unit as usize], true) {
                return unit;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_is_a_function_of_its_seed() {
        let play = |seed| {
            let (mut game, mut cells) = (Game::new(40 * SQUAD, seed), Vec::new());
            (0..50).for_each(|_| game.step(&mut cells));
            (cells, game.values().to_vec())
        };
        assert_eq!(play(7), play(7));
        assert_ne!(play(7), play(8));
    }

    #[test]
    fn every_changed_cell_is_an_update_and_squads_know_their_middle() {
        let mut game = Game::new(40 * SQUAD, 1);
        for _ in 0..200 {
            let before = game.values().to_vec();
            let mut cells = Vec::new();
            game.step(&mut cells);
            let changed = (0..).zip(before.iter().zip(game.values())).filter(|(_, (old, new))| old != new);
            assert!(changed.map(|(cell, _)| cell).all(|cell: u32| cells.contains(&cell)));
        }
        for (squad, gathering) in (0..).zip(&game.squads) {
            let units = || squad * SQUAD..(squad + 1) * SQUAD;
            assert_eq!(gathering.x, units().map(|unit| i64::from(game.table.place(unit).0)).sum::<i64>());
            assert_eq!(gathering.y, units().map(|unit| i64::from(game.table.place(unit).1)).sum::<i64>());
            let health = |unit: &Unit| game.table.get(*unit, units::Attribute::Health);
            assert_eq!(gathering.wounded as usize, units().filter(|unit| health(unit) < units::HEALTHY).count());
        }
    }
}
