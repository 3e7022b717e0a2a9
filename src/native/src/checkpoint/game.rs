//! Knights and Archers: two armies, each with a base, that march against each other. The table of its units is the state
//! whose updates a checkpoint must save.
//!
//! From the paper: 400,128 units of 13 attributes; knights attack and pursue who is near, archers attack and stay near
//! allies, healers heal the weakest; units cluster into squads; a tenth is active at a time, renewed within 100 ticks with
//! high probability. The paper does not say, and these rules do:
//! - squads are of 64 (32 knights, 24 archers, 8 healers) and begin anywhere on the ground of their team, which reaches a
//!   little beyond the middle of the field;
//! - a unit that sees nobody marches with its squad to the other base, and waits where it is ahead of it;
//! - a step is one field on either axis, so it updates one attribute or two;
//! - who strikes or heals rests; who dies begins again at its base; resting units keep their place and can be struck;
//! - an active unit comes to rest with such a probability, tick by tick, that after 100 ticks all have been relieved at
//!   least once with probability 0.99.
//!
//! How near a unit keeps to its squad and how far the grounds overlap were chosen with an eye on the published mean of
//! 35,590 updates a tick; what a game updates is what its decisions change, and is 34,753 over 1,000 ticks of seed 42.

mod decide;
mod grid;
mod units;

use self::grid::Grid;
use self::units::{Kind, Table, Unit};
use super::random::Random;

pub const ATTRIBUTES: u32 = units::ATTRIBUTES;
/// Units of a squad, and so the least step of their number: a squad a team.
pub const SQUAD: u32 = 64;
/// A kind for each unit of a squad, in turn: 32 knights, 24 archers, 8 healers.
const MUSTER: [Kind; 8] =
    [Kind::Knight, Kind::Archer, Kind::Knight, Kind::Archer, Kind::Knight, Kind::Archer, Kind::Knight, Kind::Healer];
/// Edge of the square that there is for each squad when the game begins, in fields.
const GROUND: u32 = 24;
/// A team's ground reaches beyond the middle by one in so many of its half: there both teams have squads.
const CONTESTED_ONE_IN: u32 = 5;
/// A squad begins within so many fields of its middle.
const SPREAD: u32 = 6;
/// One in so many units is active.
const ACTIVE_ONE_IN: u32 = 10;
/// All active units are relieved within so many ticks with probability `RELIEVED`.
const RENEWED_TICKS: f64 = 100.0;
const RELIEVED: f64 = 0.99;

/// Where the units of a squad are, summed, so that their middle is known at any time, and how many need healing.
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
    relief: f64,
    tick: i32,
    random: Random,
}

impl Game {
    /// A new game of so many units, a multiple of 2 squads.
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

    /// The table of units, row by row.
    pub fn values(&self) -> &[i32] {
        self.table.values()
    }

    /// Who is active in the next tick.
    pub fn active(&self) -> &[Unit] {
        &self.active
    }

    /// Plays a tick: active units decide in the order of the table, then some are relieved. Appends the updated cells.
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

    /// Draws a resting unit and marks it active.
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
