//! A small generator of random numbers: `SplitMix64` (Steele et al., OOPSLA 2014). Each seed gives one stream.

#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number that is uniform in [0, 1).
    #[inline]
    #[allow(clippy::cast_precision_loss, reason = "a double has 53 bits")]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Returns a number that is uniform in 0..below. It is the high half of a product (Lemire 2019). Lemire's rejection of some
    /// products is left out, which gives a bias below 2^-32.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "the high half of the product of two 32-bit numbers has 32 bits")]
    pub fn below(&mut self, below: u32) -> u32 {
        (((self.next() >> 32) * u64::from(below)) >> 32) as u32
    }
}
