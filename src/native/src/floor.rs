//! What is added to the model's latency: the more requests are in flight, the more they wait for cores. And what is added now and
//! then: while a core stands still, or is behind, some requests take longer by themselves. As many fewer then need to be slow.

use crate::model::Op;

/// Requests in flight of late are counted in thousandths.
pub const MILLI: u64 = 1000;
/// The most requests in flight are forgotten within so many latencies of those that come after,
const FADING: u64 = 8;
/// and not sooner than this.
const LEAST_FADING_NS: u64 = 100_000;

/// How many requests were in flight of late, in thousandths: the most, which fades. The first of two that come together sees nobody
/// beside it, and competes with the other for the cores all the same.
#[derive(Clone, Debug, Default)]
pub struct Lately {
    most: u64,
    at_ns: u64,
}

impl Lately {
    /// With a request that arrives at `now_ns` as one of `inflight`, and takes `latency_ns`.
    pub fn with(&mut self, inflight: u32, now_ns: u64, latency_ns: u64) -> u64 {
        let fading_ns = FADING.saturating_mul(latency_ns).max(LEAST_FADING_NS);
        let left_ns = fading_ns.saturating_sub(now_ns.saturating_sub(self.at_ns));
        let remembered = u128::from(self.most) * u128::from(left_ns) / u128::from(fading_ns);
        self.most = u64::try_from(remembered).unwrap_or(u64::MAX).max(MILLI * u64::from(inflight));
        self.at_ns = now_ns;
        self.most
    }
}

/// What is taken back from long latencies of one operation with so many requests in flight: latencies in nanoseconds, ascending, and
/// what of each.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject), pyo3(from_item_all))]
pub struct Tail {
    pub op: usize,
    pub inflight: u64,
    pub points: Vec<[u64; 2]>,
}

/// Lines over requests in flight.
#[derive(Clone, Debug, Default)]
pub struct Floor {
    /// Thousandths of requests in flight, ascending from one request, and nanoseconds.
    points: Vec<[u64; 2]>,
    /// By operation; ascending by requests in flight.
    tails: [Vec<Tail>; 4],
}

impl Floor {
    /// A floor of `ns` for one request alone, and what it is with more of them: requests in flight, ascending from 2, and nanoseconds.
    pub fn new(ns: u64, deep: &[[u64; 2]]) -> Self {
        let points = [[1, ns]].iter().chain(deep).map(|[inflight, ns]| [inflight.saturating_mul(MILLI), *ns]).collect();
        Self { points, ..Self::default() }
    }

    /// And what is taken back of long latencies because the machine adds as much to some by itself.
    pub fn with_tails(mut self, tails: Vec<Tail>) -> Self {
        for tail in tails {
            self.tails[tail.op].push(tail);
        }
        self
    }

    /// When so many thousandths of requests were in flight; linear between the points, and no more than the last beyond.
    pub fn ns(&self, lately: u64) -> u64 {
        on_line(&self.points, |point| *point, lately)
    }

    /// What is taken back from a request for which this latency was drawn, and that waits for nothing.
    pub fn tail_ns(&self, op: Op, lately: u64, drawn_ns: u64) -> u64 {
        let at = |tail: &Tail| [tail.inflight.saturating_mul(MILLI), on_line(&tail.points, |point| *point, drawn_ns)];
        on_line(&self.tails[op as usize], at, lately)
    }

    /// Whether nothing is added.
    pub fn is_none(&self) -> bool {
        self.points.iter().all(|[_, ns]| *ns == 0)
    }

    /// For one request alone.
    pub fn alone_ns(&self) -> u64 {
        self.points.first().map_or(0, |[_, ns]| *ns)
    }
}

/// What is at `at` between `points`, ascending; level beyond them, and 0 if there are none.
fn on_line<T>(points: &[T], read: impl Fn(&T) -> [u64; 2], at: u64) -> u64 {
    let after = points.partition_point(|point| read(point)[0] < at);
    match (after.checked_sub(1).map(|before| read(&points[before])), points.get(after).map(&read)) {
        (Some([low, low_ns]), Some([high, high_ns])) => {
            let (share, span) = (u128::from(at - low), u128::from(high - low));
            let ns = (u128::from(low_ns) * (span - share) + u128::from(high_ns) * share) / span;
            u64::try_from(ns).expect("it lies between the two")
        }
        (Some([_, ns]), None) | (None, Some([_, ns])) => ns,
        (None, None) => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_linear_between_its_points_and_level_beyond() {
        let floor = Floor::new(100, &[[2, 200], [6, 1000], [7, 900]]);
        assert_eq!(
            [0, 1000, 2000, 3000, 4000, 4500, 5000, 6000, 7000, 8000, 1_000_000].map(|lately| floor.ns(lately)),
            [100, 100, 200, 400, 600, 700, 800, 1000, 900, 900, 900]
        );
        assert_eq!(
            [Floor::default(), Floor::new(0, &[[2, 0]]), Floor::new(0, &[[2, 1]])].map(|floor| floor.is_none()),
            [true, true, false]
        );
        assert_eq!((Floor::new(7, &[]).ns(9000), Floor::default().ns(1000), floor.alone_ns()), (7, 0, 100));
    }

    #[test]
    fn of_long_latencies_more_is_taken_back() {
        let tails = [(1, vec![[500, 0], [900, 200]]), (5, vec![[500, 0], [600, 100], [1600, 1000]]), (6, Vec::new())];
        let tails = tails.map(|(inflight, points)| Tail { op: Op::Write as usize, inflight, points });
        let floor = Floor::new(10, &[]).with_tails(tails.to_vec());
        let ns = |lately, drawn_ns| floor.tail_ns(Op::Write, lately, drawn_ns);
        assert_eq!([0, 500, 700, 900, 5000].map(|drawn_ns| ns(1000, drawn_ns)), [0, 0, 100, 200, 200]);
        assert_eq!([400, 600, 1100, 1600, u64::MAX].map(|drawn_ns| ns(5000, drawn_ns)), [0, 100, 550, 1000, 1000]);
        assert_eq!([600, 900].map(|drawn_ns| ns(3000, drawn_ns)), [75, 285]);
        assert_eq!([0, 5500, 6000, 9000].map(|lately| ns(lately, 900)), [200, 185, 0, 0]);
        assert_eq!([Op::Read, Op::Flush, Op::Discard].map(|op| floor.tail_ns(op, 5000, 1600)), [0; 3], "of writes only");
        assert_eq!(floor.ns(5000), 10);
        assert!(!floor.is_none() && Floor::default().with_tails(vec![Tail::default()]).is_none());
    }

    #[test]
    fn the_most_of_late_fades_within_some_latencies() {
        let mut lately = Lately::default();
        let mut at = |inflight, now_ns| lately.with(inflight, now_ns, 1_000_000);
        // Pairs that come together, a latency apart: both of each are two.
        assert_eq!(at(1, 10_000_000), 1000);
        assert_eq!(at(2, 10_000_010), 2000);
        assert_eq!(at(1, 11_000_010), 1750);
        assert_eq!(at(2, 11_000_020), 2000);
        assert_eq!(at(1, 11_000_020 + 4_000_000), 1000);
        assert_eq!(at(40, 16_000_000), 40_000);
        assert_eq!(at(1, 24_000_000), 1000, "it is forgotten");
        assert_eq!(Lately { most: 2000, at_ns: 0 }.with(1, 25_000, 0), 1500, "not within nothing");
    }
}
