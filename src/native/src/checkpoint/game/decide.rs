//! The decisions of active units in a tick, and the changes that each decision makes in the table.

use super::grid::square_of_distance;
use super::units::{Attribute, HEALTHY, Kind, Unit};
use super::{Game, SQUAD};

/// Distance from its squad's middle, in fields, within which a unit counts as being with its squad. An archer shoots only there.
const TOGETHER: i32 = 6;
/// Edge, in fields, of the square around a base in which each unit has a place where it begins again.
const CAMP: u32 = 32;

fn is_within(place: (i32, i32), other: (i32, i32), fields: i32) -> bool {
    square_of_distance(place, other) <= fields * fields
}

impl Game {
    /// Lets an active unit do what its kind does, unless it still rests after its last strike or healing.
    pub(super) fn decide(&mut self, unit: Unit) {
        if self.tick < self.table.get(unit, Attribute::ReadyAt) {
            return;
        }
        match self.table.kind(unit) {
            Kind::Knight => self.decide_knight(unit),
            Kind::Archer => self.decide_archer(unit),
            Kind::Healer => self.decide_healer(unit),
        }
    }

    fn decide_knight(&mut self, unit: Unit) {
        match self.enemy(unit) {
            Some((enemy, place)) if self.reaches(unit, place) => self.strike(unit, enemy),
            Some((enemy, place)) => self.pursue(unit, enemy, place),
            None => self.follow(unit),
        }
    }

    fn decide_archer(&mut self, unit: Unit) {
        match self.enemy(unit) {
            Some(_) if !self.is_with_squad(unit) => self.follow(unit),
            Some((enemy, place)) if self.reaches(unit, place) => self.strike(unit, enemy),
            Some((enemy, place)) => self.pursue(unit, enemy, place),
            None => self.follow(unit),
        }
    }

    fn decide_healer(&mut self, unit: Unit) {
        match self.weakest(unit) {
            Some(ally) if self.reaches(unit, self.table.place(ally)) => self.heal(unit, ally),
            Some(ally) => self.pursue(unit, ally, self.table.place(ally)),
            None => self.follow(unit),
        }
    }

    /// Returns the nearest enemy in sight, and its place.
    fn enemy(&self, unit: Unit) -> Option<(Unit, (i32, i32))> {
        self.grids[1 - self.table.team(unit)].nearest(self.table.place(unit))
    }

    /// Returns the weakest other unit of the same squad that needs healing. Among equals, it is the first in the table.
    fn weakest(&self, unit: Unit) -> Option<Unit> {
        if self.squads[(unit / SQUAD) as usize].wounded == 0 {
            return None;
        }
        let first = unit / SQUAD * SQUAD;
        let weak = |ally: &Unit| self.table.get(*ally, Attribute::Health);
        (first..first + SQUAD).filter(|ally| *ally != unit).min_by_key(weak).filter(|ally| weak(ally) < HEALTHY)
    }

    fn reaches(&self, unit: Unit, place: (i32, i32)) -> bool {
        is_within(self.table.place(unit), place, self.table.get(unit, Attribute::Reach))
    }

    #[allow(clippy::cast_possible_truncation, reason = "the mean of 32-bit numbers has 32 bits")]
    fn middle(&self, unit: Unit) -> (i32, i32) {
        let gathering = self.squads[(unit / SQUAD) as usize];
        ((gathering.x / i64::from(SQUAD)) as i32, (gathering.y / i64::from(SQUAD)) as i32)
    }

    fn is_with_squad(&self, unit: Unit) -> bool {
        is_within(self.table.place(unit), self.middle(unit), TOGETHER)
    }

    /// Moves a unit that has no target, or an archer that has left its squad. With its squad, a unit goes against the other base.
    /// Otherwise, it waits if it is ahead of its squad, and else goes to its squad.
    fn follow(&mut self, unit: Unit) {
        let (place, middle) = (self.table.place(unit), self.middle(unit));
        let base = self.bases[1 - self.table.team(unit)];
        if is_within(place, middle, TOGETHER) {
            self.go(unit, base);
        } else if square_of_distance(place, base) > square_of_distance(middle, base) {
            self.go(unit, middle);
        }
    }

    fn pursue(&mut self, unit: Unit, other: Unit, place: (i32, i32)) {
        self.table.set(unit, Attribute::Target, other.cast_signed());
        self.go(unit, place);
    }

    fn strike(&mut self, unit: Unit, enemy: Unit) {
        self.table.set(unit, Attribute::Target, enemy.cast_signed());
        self.rest(unit);
        let health = self.table.get(enemy, Attribute::Health) - self.table.get(unit, Attribute::Strength);
        if health > 0 {
            self.set_health(enemy, health);
        } else {
            self.table.add(unit, Attribute::Kills, 1);
            self.die(enemy);
        }
    }

    fn heal(&mut self, unit: Unit, ally: Unit) {
        self.table.set(unit, Attribute::Target, ally.cast_signed());
        self.rest(unit);
        let health = self.table.get(ally, Attribute::Health) + self.table.get(unit, Attribute::Strength);
        self.set_health(ally, health.min(HEALTHY));
    }

    fn set_health(&mut self, unit: Unit, health: i32) {
        let wounded = &mut self.squads[(unit / SQUAD) as usize].wounded;
        *wounded -= u32::from(self.table.get(unit, Attribute::Health) < HEALTHY);
        *wounded += u32::from(health < HEALTHY);
        self.table.set(unit, Attribute::Health, health);
    }

    fn rest(&mut self, unit: Unit) {
        let rest = self.table.get(unit, Attribute::Rest);
        self.table.set(unit, Attribute::ReadyAt, self.tick + rest);
    }

    fn die(&mut self, unit: Unit) {
        self.table.add(unit, Attribute::Deaths, 1);
        self.set_health(unit, HEALTHY);
        let (base_x, base_y) = self.bases[self.table.team(unit)];
        let bed = ((unit % CAMP).cast_signed(), (unit / CAMP % CAMP).cast_signed());
        let around = |middle: i32, bed: i32, most: i32| (middle + bed - CAMP.cast_signed() / 2).clamp(0, most - 1);
        self.put(unit, (around(base_x, bed.0, self.ground.0), around(base_y, bed.1, self.ground.1)));
    }

    /// Moves a unit by one field towards `goal` on either axis.
    fn go(&mut self, unit: Unit, goal: (i32, i32)) {
        let (x, y) = self.table.place(unit);
        self.put(unit, (x + (goal.0 - x).signum(), y + (goal.1 - y).signum()));
    }

    fn put(&mut self, unit: Unit, place: (i32, i32)) {
        let (old, team) = (self.table.place(unit), self.table.team(unit));
        if old == place {
            return;
        }
        self.grids[team].shift(unit, old, place);
        let gathering = &mut self.squads[(unit / SQUAD) as usize];
        gathering.x += i64::from(place.0 - old.0);
        gathering.y += i64::from(place.1 - old.1);
        self.table.set(unit, Attribute::X, place.0);
        self.table.set(unit, Attribute::Y, place.1);
    }
}
