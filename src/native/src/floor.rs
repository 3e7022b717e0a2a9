//! What the emulator itself adds to a request's latency: the more requests are in flight, the more they wait for its cores.

/// A line over requests in flight.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    /// Requests in flight, ascending from 1, and nanoseconds.
    points: Vec<(u32, u64)>,
}

impl Floor {
    /// A floor of `ns` for one request alone, and what it is with more of them: requests in flight, ascending from 2, and nanoseconds.
    pub fn new(ns: u64, deep: &[(u32, u64)]) -> Self {
        Self { points: [(1, ns)].iter().chain(deep).copied().collect() }
    }

    /// For a request that has `inflight - 1` others beside it; linear between the points, and no more than the last beyond.
    pub fn ns(&self, inflight: u32) -> u64 {
        let after = self.points.partition_point(|(depth, _)| *depth < inflight);
        let before = after.checked_sub(1).map(|at| self.points[at]);
        match (before, self.points.get(after).copied()) {
            (Some((low, low_ns)), Some((high, high_ns))) => {
                let (share, span) = (u64::from(inflight - low), u64::from(high - low));
                (low_ns * (span - share) + high_ns * share) / span
            }
            (Some((_, ns)), None) | (None, Some((_, ns))) => ns,
            (None, None) => 0,
        }
    }

    /// For one request alone.
    pub fn alone_ns(&self) -> u64 {
        self.points.first().map_or(0, |(_, ns)| *ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_linear_between_its_points_and_level_beyond() {
        let floor = Floor::new(100, &[(2, 200), (6, 1000), (7, 900)]);
        assert_eq!(
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 1000].map(|inflight| floor.ns(inflight)),
            [100, 100, 200, 400, 600, 800, 1000, 900, 900, 900]
        );
        assert_eq!((Floor::new(7, &[]).ns(9), Floor::default().ns(1), floor.alone_ns()), (7, 0, 100));
    }
}
