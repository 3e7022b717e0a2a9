//! Random numbers by position instead of by state. Number `n` of a seed is the same, whatever else was drawn before it.

/// One stream of random numbers.
#[derive(Clone, Copy, Debug)]
pub struct Draws(u64);

impl Draws {
    /// Makes a stream. The streams of one seed are independent of each other.
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self(word(seed, stream))
    }

    /// Returns number `n` of the stream, which is uniform and strictly between 0 and 1.
    #[allow(clippy::cast_precision_loss, reason = "52 bits and a half fit into 53")]
    pub fn share(self, n: u64) -> f64 {
        ((word(self.0, n) >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }
}

/// Returns output `n` of `SplitMix64` (Steele, Lea and Flood, 2014, fig. 16 and 17), whose state is a counter.
const fn word(seed: u64, n: u64) -> u64 {
    let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(n.wrapping_add(1)));
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_those_of_the_published_generator() {
        // The expected numbers are the first outputs of Vigna's splitmix64.c, started with 1234567.
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431];
        assert_eq!([0, 1, 2, 3].map(|n| word(1_234_567, n)), expected);
    }

    #[test]
    fn shares_are_uniform_and_never_0_or_1() {
        let draws = Draws::new(7, 0);
        let mut tenths = [0; 10];
        for n in 0..100_000 {
            let share = draws.share(n);
            assert!(share > 0.0 && share < 1.0);
            tenths[(1..10).filter(|tenth| share * 10.0 >= f64::from(*tenth)).count()] += 1;
        }
        assert!(tenths.iter().all(|count| (9_600..10_400).contains(count)), "{tenths:?}");
    }
}
