//! Sources of updates. A source gives the cells that one tick after another updates, in the order in which they are updated.

use super::game::Game;
use super::random::Random;
use super::zipf::Zipf;

pub trait Source: Send + Sync {
    /// Returns the number of cells of the state. Every updated cell is below this number.
    fn cells(&self) -> u32;

    /// Replaces `cells` by the cells that the next tick updates. Returns false if there is no further tick.
    fn next_tick(&mut self, cells: &mut Vec<u32>) -> bool;
}

/// A source that draws row and column of every update independently, from Zipf distributions with the same skew.
#[derive(Debug)]
pub struct ZipfSource {
    rows: Zipf,
    columns: Zipf,
    row_count: u32,
    column_count: u32,
    /// A rank times this number, modulo the number of rows, is the index of a row. If it is 1, the index is the rank.
    stride: u32,
    /// Distance in cells between neighbouring rows, and between neighbouring columns.
    steps: (u32, u32),
    updates: usize,
    random: Random,
}

/// The places of a Zipf trace's rows and columns in the state.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Whether rows of neighbouring ranks lie far from each other. If not, a row's index is its rank.
    pub is_scrambled: bool,
    /// Whether the cells of a column lie together. If not, the cells of a row do.
    pub by_column: bool,
}

impl ZipfSource {
    pub fn new(row_count: u32, column_count: u32, skew: f64, updates: usize, places: Places, seed: u64) -> Self {
        let (rows, columns) = (Zipf::new(row_count, skew), Zipf::new(column_count, skew));
        let steps = if places.by_column { (1, row_count) } else { (column_count, 1) };
        let stride = if places.is_scrambled { scrambling_stride(row_count) } else { 1 };
        Self { rows, columns, row_count, column_count, stride, steps, updates, random: Random::new(seed) }
    }

    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the remainder of a division by a 32-bit number has 32 bits")]
    fn draw(&mut self) -> u32 {
        let rank = self.rows.draw(&mut self.random);
        let row = match self.stride {
            1 => rank,
            stride => (u64::from(rank) * u64::from(stride) % u64::from(self.row_count)) as u32,
        };
        row * self.steps.0 + self.columns.draw(&mut self.random) * self.steps.1
    }
}

/// Returns a factor that scrambles rows: its multiples, modulo `rows`, are a permutation. It is the first number from 5/8 of
/// `rows` on that has no common divisor with `rows`, or 1 if there is none. 5/8 is close to the golden section.
fn scrambling_stride(rows: u32) -> u32 {
    let divisor = |mut a: u32, mut b: u32| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (rows / 2 + rows / 8..rows).find(|stride| divisor(*stride, rows) == 1).unwrap_or(1)
}

impl Source for ZipfSource {
    fn cells(&self) -> u32 {
        self.row_count * self.column_count
    }

    fn next_tick(&mut self, cells: &mut Vec<u32>) -> bool {
        cells.clear();
        cells.reserve(self.updates);
        for _ in 0..self.updates {
            let cell = self.draw();
            cells.push(cell);
        }
        true
    }
}

/// A source of updates that were recorded.
#[derive(Debug)]
pub struct Recorded {
    cells: u32,
    counts: std::vec::IntoIter<u32>,
    updates: std::vec::IntoIter<u32>,
}

impl Recorded {
    /// Makes a source. `counts` has the number of updates of each tick, and `updates` has their cells. Returns `None` if the two
    /// do not match, or if a cell lies outside of the state.
    pub fn new(cells: u32, counts: Vec<u32>, updates: Vec<u32>) -> Option<Self> {
        let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let fits = total == updates.len() as u64 && updates.iter().all(|cell| *cell < cells);
        fits.then(|| Self { cells, counts: counts.into_iter(), updates: updates.into_iter() })
    }
}

impl Source for Recorded {
    fn cells(&self) -> u32 {
        self.cells
    }

    fn next_tick(&mut self, cells: &mut Vec<u32>) -> bool {
        cells.clear();
        let Some(count) = self.counts.next() else { return false };
        cells.extend(self.updates.by_ref().take(count as usize));
        true
    }
}

impl Source for Game {
    fn cells(&self) -> u32 {
        self.cells()
    }

    fn next_tick(&mut self, cells: &mut Vec<u32>) -> bool {
        cells.clear();
        self.step(cells);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrambled_rows_are_the_same_rows_elsewhere() {
        for rows in [1, 2, 3, 10, 1000, 1 << 16] {
            let stride = u64::from(scrambling_stride(rows));
            let mut places: Vec<_> = (0..u64::from(rows)).map(|rank| rank * stride % u64::from(rows)).collect();
            places.sort_unstable();
            assert!(places.into_iter().eq(0..u64::from(rows)));
        }
        assert!(scrambling_stride(1000) > 1);
    }

    #[test]
    fn recorded_updates_fit_or_are_refused() {
        assert!(Recorded::new(4, vec![1, 1], vec![3]).is_none());
        assert!(Recorded::new(4, vec![1], vec![4]).is_none());
        let mut recorded = Recorded::new(4, vec![2, 0], vec![3, 1]).expect("fits");
        let mut cells = vec![9];
        assert!(recorded.next_tick(&mut cells) && cells == [3, 1]);
        assert!(recorded.next_tick(&mut cells) && cells.is_empty());
        assert!(!recorded.next_tick(&mut cells));
    }
}
