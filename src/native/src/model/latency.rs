//! The latency of an operation, which is either constant or drawn. All latencies are in ns.

use super::line::value;
use super::whole;

#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub enum Latency {
    #[cfg_attr(feature = "python", pyo3(transparent))]
    Constant(u64),
    /// A latency whose logarithm is normally distributed with the standard deviation `sigma`.
    #[cfg_attr(feature = "python", pyo3(from_item_all))]
    Lognormal { median_ns: u64, sigma: f64 },
    /// Quantiles of the latency for each of some numbers of requests in flight, which ascend. A row has a share first, as in
    /// `Quantiles`, and then a latency for each of these numbers. The latency is linear between two numbers. Beyond the last
    /// number it goes on with the last slope if that slope is positive.
    #[cfg_attr(feature = "python", pyo3(from_item_all))]
    QuantilesByInflight { inflight: Vec<f64>, quantiles: Vec<Vec<f64>> },
    /// Pairs of a share, ascending from 0 to 1, and the latency that this share of the requests does not exceed. The latency is
    /// linear in between.
    #[cfg_attr(feature = "python", pyo3(from_item_all))]
    Quantiles { quantiles: Vec<[f64; 2]> },
}

impl Default for Latency {
    fn default() -> Self {
        Self::Constant(0)
    }
}

impl Latency {
    /// Returns whether the number of requests in flight decides the latency.
    pub const fn is_by_inflight(&self) -> bool {
        matches!(self, Self::QuantilesByInflight { .. })
    }

    /// Returns the latency that `share` of the requests do not exceed if `inflight` requests are in flight, in ns. `share` is
    /// drawn only if it decides the latency.
    #[allow(clippy::cast_precision_loss, reason = "latencies are far below 2^53 ns, 104 days")]
    pub fn ns(&self, inflight: f64, share: impl FnOnce() -> f64) -> u64 {
        match self {
            Self::Constant(ns) => *ns,
            Self::Lognormal { median_ns, sigma } => whole(*median_ns as f64 * (sigma * normal_quantile(share())).exp()),
            Self::QuantilesByInflight { inflight: counts, quantiles } => whole(between(counts, quantiles, inflight, share())),
            Self::Quantiles { quantiles } => whole(value(quantiles, share())),
        }
    }
}

/// Returns the latency at `share` and `inflight`. Each row has a share and a latency for each of `counts`.
fn between(counts: &[f64], rows: &[Vec<f64>], inflight: f64, share: f64) -> f64 {
    let above = rows.partition_point(|row| row[0] <= share).clamp(1, rows.len() - 1);
    let (low, high) = (&rows[above - 1], &rows[above]);
    let part = (share - low[0]) / (high[0] - low[0]);
    let at = |count: usize| low[count + 1] + part * (high[count + 1] - low[count + 1]);
    let more = counts.partition_point(|count| *count <= inflight);
    let slope = |from: usize, to: usize| (at(to) - at(from)) / (counts[to] - counts[from]);
    match more {
        0 => at(0),
        _ if more < counts.len() => at(more - 1) + (inflight - counts[more - 1]) * slope(more - 1, more),
        1 => at(0),
        _ => at(more - 1) + (inflight - counts[more - 1]) * slope(more - 2, more - 1).max(0.0),
    }
}

/// Coefficients of a ratio of polynomials from Wichura (1988), algorithm AS 241, PPND16. The numerator comes before the
/// denominator, and each has its highest power first.
type Rational = [[f64; 8]; 2];
const CENTRE: Rational = [
    [
        2.509_080_928_730_122_7e3,
        3.343_057_558_358_813e4,
        6.726_577_092_700_87e4,
        4.592_195_393_154_987e4,
        1.373_169_376_550_946e4,
        1.971_590_950_306_551_4e3,
        1.331_416_678_917_843_8e2,
        3.387_132_872_796_366_5,
    ],
    [
        5.226_495_278_852_854e3,
        2.872_908_573_572_194_3e4,
        3.930_789_580_009_271e4,
        2.121_379_430_158_659_7e4,
        5.394_196_021_424_751e3,
        6.871_870_074_920_579e2,
        4.231_333_070_160_091e1,
        1.0,
    ],
];
const SIDE: Rational = [
    [
        7.745_450_142_783_414e-4,
        2.272_384_498_926_918_4e-2,
        2.417_807_251_774_506e-1,
        1.270_458_252_452_368_4,
        3.647_848_324_763_204_5,
        5.769_497_221_460_691,
        4.630_337_846_156_546,
        1.423_437_110_749_683_5,
    ],
    [
        1.050_750_071_644_416_9e-9,
        5.475_938_084_995_345e-4,
        1.519_866_656_361_645_7e-2,
        1.481_039_764_274_800_8e-1,
        6.897_673_349_851e-1,
        1.676_384_830_183_803_8,
        2.053_191_626_637_759,
        1.0,
    ],
];
const END: Rational = [
    [
        2.010_334_399_292_288_1e-7,
        2.711_555_568_743_487_6e-5,
        1.242_660_947_388_078_4e-3,
        2.653_218_952_657_612_4e-2,
        2.965_605_718_285_048_7e-1,
        1.784_826_539_917_291_3,
        5.463_784_911_164_114,
        6.657_904_643_501_103,
    ],
    [
        2.044_263_103_389_939_8e-15,
        1.421_511_758_316_446e-7,
        1.846_318_317_510_054_8e-5,
        7.868_691_311_456_133e-4,
        1.487_536_129_085_061_5e-2,
        1.369_298_809_227_358e-1,
        5.998_322_065_558_88e-1,
        1.0,
    ],
];

/// Returns the standard normal value that `share` of the draws do not exceed, to some 16 digits.
fn normal_quantile(share: f64) -> f64 {
    let ratio = |[over, under]: Rational, r: f64| {
        let [over, under] = [over, under].map(|powers| powers.iter().fold(0.0, |sum, factor| sum * r + factor));
        over / under
    };
    let from_centre = share - 0.5;
    if from_centre.abs() <= 0.425 {
        return from_centre * ratio(CENTRE, 0.180_625 - from_centre * from_centre);
    }
    let r = (-share.min(1.0 - share).ln()).sqrt();
    if r <= 5.0 { ratio(SIDE, r - 1.6) } else { ratio(END, r - 5.0) }.copysign(from_centre)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_quantile_is_that_of_the_tables() {
        // The expected values are those of scipy.special.ndtri.
        for (share, expected) in [
            (0.5, 0.0),
            (0.1, -1.281_551_565_544_600_4),
            (0.99, 2.326_347_874_040_841),
            (0.999_999, 4.753_424_308_817_087),
            (1e-13, -7.348_796_102_800_62),
        ] {
            let found = normal_quantile(share);
            assert!((found - expected).abs() < 1e-9, "{share}: {found}");
        }
    }

    #[test]
    fn a_lognormal_has_its_median_and_its_sigma() {
        let latency = Latency::Lognormal { median_ns: 80_000, sigma: 0.5 };
        assert_eq!([0.5, 0.841_344_746_068_543].map(|share| latency.ns(1.0, || share)), [80_000, 131_898]); // 80,000 * e^0.5
    }

    #[test]
    fn quantiles_are_met_and_linear_in_between() {
        let latency = Latency::Quantiles { quantiles: vec![[0.0, 100.0], [0.5, 200.0], [0.9, 200.0], [1.0, 1000.0]] };
        let shares = [1e-9, 0.25, 0.5, 0.7, 0.95, 1.0 - 1e-9];
        assert_eq!(shares.map(|share| latency.ns(1.0, || share)), [100, 150, 200, 200, 600, 1000]);
    }

    #[test]
    fn tables_are_met_at_their_counts_and_linear_in_between() {
        let quantiles =
            [[0.0, 100.0, 200.0, 150.0], [0.5, 200.0, 400.0, 500.0], [1.0, 300.0, 400.0, 700.0]].map(Vec::from).to_vec();
        let latency = Latency::QuantilesByInflight { inflight: vec![2.0, 4.0, 8.0], quantiles };
        let at = |inflight| [1e-9, 0.5, 0.75, 1.0 - 1e-9].map(|share| latency.ns(inflight, || share));
        assert_eq!((at(1.0), at(2.0)), ([100, 200, 250, 300], [100, 200, 250, 300]));
        assert_eq!((at(3.0), at(4.0)), ([150, 300, 325, 350], [200, 400, 400, 400]));
        assert_eq!((at(6.0), at(8.0)), ([175, 450, 500, 550], [150, 500, 600, 700]));
        assert_eq!(at(12.0), [150, 600, 800, 1000], "it goes on where it rises, but not where it falls");
        let one = Latency::QuantilesByInflight { inflight: vec![4.0], quantiles: vec![vec![0.0, 10.0], vec![1.0, 20.0]] };
        assert_eq!([1.0, 4.0, 9.0].map(|inflight| one.ns(inflight, || 0.5)), [15; 3]);
    }

    #[test]
    fn a_constant_is_not_drawn() {
        assert_eq!(Latency::Constant(7).ns(1.0, || panic!("nothing to decide")), 7);
    }
}
