//! Random ranks with a Zipf distribution, by the generator of J. Gray et al., "Quickly Generating Billion-Record Synthetic
//! Databases", SIGMOD 1994. The probabilities of the first two ranks are exact, and the other ranks come from a power of a
//! uniform number. Ranks count from 0, and the most probable rank is 0.

use super::random::Random;

#[derive(Clone, Debug)]
pub struct Zipf {
    count: u32,
    zeta: f64,
    second: f64,
    eta: f64,
    alpha: f64,
    /// `alpha` as an integer, if it is a whole number, as with skews of 0, 0.5, 0.8 and 0.9. Multiplications are then much
    /// quicker than `powf`.
    whole_alpha: Option<i32>,
    /// If there are few ranks, the least uniform number of each rank but the first, found by bisection. Empty if there are many.
    thresholds: Vec<f64>,
}

/// Largest number of ranks that are looked up. For so few ranks, comparisons with thresholds are quicker than a power.
const LOOKED_UP: u32 = 16;

#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "ranks are below 2^32")]
impl Zipf {
    /// Prepares ranks 0..count whose probabilities are proportional to 1 / (rank + 1)^skew. The `skew` is at least 0 and below 1.
    pub fn new(count: u32, skew: f64) -> Self {
        let zeta = (1..=count).map(|rank| f64::from(rank).powf(-skew)).sum::<f64>();
        let two = 1.0 + 0.5_f64.powf(skew);
        let eta = if count > 2 { (1.0 - (2.0 / f64::from(count)).powf(1.0 - skew)) / (1.0 - two / zeta) } else { 1.0 };
        let alpha = 1.0 / (1.0 - skew);
        let whole_alpha = ((alpha - alpha.round()).abs() < 1e-9).then(|| alpha.round() as i32);
        let mut zipf = Self { count, zeta, second: two, eta, alpha, whole_alpha, thresholds: Vec::new() };
        if count <= LOOKED_UP {
            zipf.thresholds = (1..count).map(|rank| zipf.least(rank)).collect();
        }
        zipf
    }

    /// Returns the rank that belongs to a uniform number.
    #[inline]
    pub fn rank(&self, uniform: f64) -> u32 {
        if self.thresholds.is_empty() {
            self.power(uniform)
        } else {
            self.thresholds.iter().map(|threshold| u32::from(uniform >= *threshold)).sum()
        }
    }

    /// Draws a rank.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u32 {
        self.rank(random.unit())
    }

    /// Computes the rank that belongs to a uniform number by the formula of the generator.
    #[inline]
    fn power(&self, uniform: f64) -> u32 {
        let scaled = uniform * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < self.second {
            return 1.min(self.count - 1);
        }
        let base = self.eta * uniform - self.eta + 1.0;
        let share = self.whole_alpha.map_or_else(|| base.powf(self.alpha), |alpha| base.powi(alpha));
        ((f64::from(self.count) * share) as u32).min(self.count - 1)
    }

    /// Returns the least double whose rank is `rank` or more. The bisection is possible because ranks do not fall as the number
    /// rises.
    fn least(&self, rank: u32) -> f64 {
        let (mut below, mut at) = (0_u64, 1_u64 << 53);
        while at - below > 1 {
            let middle = below.midpoint(at);
            if self.power(middle as f64 / (1_u64 << 53) as f64) < rank {
                below = middle;
            } else {
                at = middle;
            }
        }
        at as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looked_up_ranks_are_those_of_the_formula() {
        let mut random = Random::new(1);
        for skew in [0.0, 0.5, 0.8, 0.99] {
            let zipf = Zipf::new(10, skew);
            assert!((0..100_000).map(|_| random.unit()).all(|uniform| zipf.rank(uniform) == zipf.power(uniform)));
        }
    }

    #[test]
    fn the_first_two_ranks_are_exact_and_all_are_in_range() {
        let zipf = Zipf::new(1000, 0.8);
        let first = 1.0 / zipf.zeta;
        assert_eq!((zipf.rank(first * 0.999), zipf.rank(first * 1.001)), (0, 1));
        assert_eq!(zipf.rank(0.999_999_999_999), 999);
        assert_eq!((Zipf::new(1, 0.5).rank(0.7), Zipf::new(2, 0.0).rank(0.49), Zipf::new(2, 0.0).rank(0.51)), (0, 0, 1));
    }
}
