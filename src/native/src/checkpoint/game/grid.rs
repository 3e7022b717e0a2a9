//! The places of a team's units, as a grid of squares with the units in each. It finds the nearest unit quickly.

use super::units::Unit;

/// Distance that a unit sees, in fields. It is also the edge of a square, so that nine squares hold all units in sight.
pub const SIGHT: i32 = 12;

#[derive(Debug)]
pub struct Grid {
    columns: i32,
    rows: i32,
    /// Number and place of the units in each square.
    squares: Vec<Vec<(Unit, i32, i32)>>,
    /// Number of units in each square. Most searches find no unit, and they need to read only these numbers.
    counts: Vec<u32>,
    /// Position of each unit in the list of its square.
    slots: Vec<u32>,
}

pub fn square_of_distance((x, y): (i32, i32), (other_x, other_y): (i32, i32)) -> i32 {
    (x - other_x).pow(2) + (y - other_y).pow(2)
}

impl Grid {
    /// Makes an empty grid for the units 0..count, on a field of `width` times `height`.
    pub fn new(width: u32, height: u32, count: u32) -> Self {
        let (columns, rows) = (width.cast_signed() / SIGHT + 1, height.cast_signed() / SIGHT + 1);
        let squares = (columns * rows).cast_unsigned() as usize;
        Self { columns, rows, squares: vec![Vec::new(); squares], counts: vec![0; squares], slots: vec![0; count as usize] }
    }

    pub fn add(&mut self, unit: Unit, place: (i32, i32)) {
        let square = self.square(place);
        self.squares[square].push((unit, place.0, place.1));
        self.slots[unit as usize] = self.counts[square];
        self.counts[square] += 1;
    }

    fn remove(&mut self, unit: Unit, place: (i32, i32)) {
        let square = self.square(place);
        let units = &mut self.squares[square];
        let slot = self.slots[unit as usize];
        units.swap_remove(slot as usize);
        if let Some((moved, _, _)) = units.get(slot as usize) {
            self.slots[*moved as usize] = slot;
        }
        self.counts[square] -= 1;
    }

    pub fn shift(&mut self, unit: Unit, old: (i32, i32), place: (i32, i32)) {
        let square = self.square(old);
        if self.square(place) == square {
            self.squares[square][self.slots[unit as usize] as usize] = (unit, place.0, place.1);
        } else {
            self.remove(unit, old);
            self.add(unit, place);
        }
    }

    /// Returns the unit in sight that is nearest to `place`, and its place. Among equals, it is the first in the table.
    pub fn nearest(&self, place: (i32, i32)) -> Option<(Unit, (i32, i32))> {
        let mut best = (SIGHT * SIGHT, Unit::MAX, place);
        let (column, row) = (place.0 / SIGHT, place.1 / SIGHT);
        for near_row in (row - 1).max(0)..=(row + 1).min(self.rows - 1) {
            for near_column in (column - 1).max(0)..=(column + 1).min(self.columns - 1) {
                let square = (near_row * self.columns + near_column).cast_unsigned() as usize;
                if self.counts[square] == 0 {
                    continue;
                }
                for (unit, x, y) in &self.squares[square] {
                    let far = square_of_distance(place, (*x, *y));
                    if (far, *unit) < (best.0, best.1) {
                        best = (far, *unit, (*x, *y));
                    }
                }
            }
        }
        (best.1 != Unit::MAX).then_some((best.1, best.2))
    }

    fn square(&self, (x, y): (i32, i32)) -> usize {
        (y / SIGHT * self.columns + x / SIGHT).cast_unsigned() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::random::Random;
    use super::*;

    #[test]
    fn the_nearest_in_sight_is_the_one_that_a_look_at_all_finds() {
        let (mut grid, mut random) = (Grid::new(60, 40, 60), Random::new(3));
        let mut draw = || (random.below(60).cast_signed(), random.below(40).cast_signed());
        let mut units: Vec<_> = (0..60).map(|unit| (unit, draw())).collect();
        for (unit, place) in &units {
            grid.add(*unit, *place);
        }
        for (unit, place) in &mut units {
            let other = draw();
            grid.shift(*unit, *place, other);
            *place = other;
        }
        for _ in 0..200 {
            let from = draw();
            let far = |at: &(i32, i32)| square_of_distance(from, *at);
            let found = units.iter().filter(|(_, at)| far(at) <= SIGHT * SIGHT).min_by_key(|(unit, at)| (far(at), *unit));
            assert_eq!(grid.nearest(from), found.copied());
        }
    }
}
