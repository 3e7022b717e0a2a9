//! The updates of a tick, in the form in which the algorithms need them.

/// The updates of one tick, by object.
#[derive(Debug, Default)]
pub struct Tick {
    /// Number of updates. Repeated updates of a cell count each time.
    pub updates: u64,
    /// Each updated object once, with the number of its first update in the tick, in the order of these numbers.
    pub first: Vec<(u32, u32)>,
}

/// Makes ticks from updated cells, and uses the same memory for each tick.
#[derive(Debug, Default)]
pub struct Collector {
    object_cells: u32,
    seen: Vec<u32>,
    round: u32,
}

impl Collector {
    pub fn new(objects: usize, object_cells: u32) -> Self {
        Self { object_cells, seen: vec![0; objects], round: 0 }
    }

    /// Replaces `tick` by the updates of `cells`, which stand in the order in which they happen.
    pub fn collect(&mut self, cells: &[u32], tick: &mut Tick) {
        self.round += 1;
        tick.updates = cells.len() as u64;
        tick.first.clear();
        if self.object_cells.is_power_of_two() {
            let shift = self.object_cells.trailing_zeros();
            self.push_first(cells, |cell| cell >> shift, tick);
        } else {
            let object_cells = self.object_cells;
            self.push_first(cells, |cell| cell / object_cells, tick);
        }
    }

    fn push_first(&mut self, cells: &[u32], object_of: impl Fn(u32) -> u32, tick: &mut Tick) {
        for (number, cell) in (0..).zip(cells) {
            let object = object_of(*cell);
            let seen = &mut self.seen[object as usize];
            if *seen != self.round {
                *seen = self.round;
                tick.first.push((object, number));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_counts_once_a_tick_with_its_first_update() {
        for (object_cells, cells) in [(4, [9, 1, 2, 8, 13]), (5, [11, 1, 2, 10, 17])] {
            let (mut collector, mut tick) = (Collector::new(4, object_cells), Tick::default());
            for _ in 0..2 {
                collector.collect(&cells, &mut tick);
                assert_eq!((tick.updates, tick.first.as_slice()), (5, [(2, 0), (0, 1), (3, 4)].as_slice()));
            }
        }
    }
}
