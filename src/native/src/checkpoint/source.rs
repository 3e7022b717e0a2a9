//! Where updates come from: each source gives the cells of tick after tick, in the order in which they are updated.

use super::game::Game;
use super::random::Random;
use super::zipf::Zipf;

pub trait Source: Send + Sync {
    /// Cells of the state; every update is of one below it.
    fn cells(&self) -> u32;

    /// Replaces `cells` by those that the next tick updates; false when there is no further tick.
    fn next_tick(&mut self, cells: &mut Vec<u32>) -> bool;
}

/// Row and column of every update are drawn independently, with the same skew.
#[derive(Debug)]
pub struct ZipfSource {
    rows: Zipf,
    columns: Zipf,
    row_count: u32,
    column_count: u32,
    /// A row's place is its rank times this, modulo the rows; 1: the rank itself.
    stride: u32,
    /// How far the cells of neighbouring rows, and of neighbouring columns, are from each other.
    steps: (u32, u32),
    updates: usize,
    random: Random,
}

/// How the rows and columns of a Zipf trace lie in the state.
#[derive(Clone, Copy, Debug)]
pub struct Places {
    /// Rows of neighbouring ranks lie far from each other; else the rank is the index.
    pub is_scrambled: bool,
    /// The cells of a column lie together; else those of a row.
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
    #[allow(clippy::cast_possible_truncation, reason = "a remainder of a 32-bit number")]
    fn draw(&mut self) -> u32 {
        let rank = self.rows.draw(&mut self.random);
        let row = match self.stride {
            1 => rank,
            stride => (u64::from(rank) * u64::from(stride) % u64::from(self.row_count)) as u32,
        };
        row * self.steps.0 + self.columns.draw(&mut self.random) * self.steps.1
    }
}

/// The first number from the golden section of the rows on that has no divisor with them: its multiples are a permutation.
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

/// Updates that were recorded.
#[derive(Debug)]
pub struct Recorded {
    cells: u32,
    counts: std::vec::IntoIter<u32>,
    updates: std::vec::IntoIter<u32>,
}

impl Recorded {
    /// `counts` are the updates of each tick, `updates` their cells; `None` where they do not fit each other or the state.
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
