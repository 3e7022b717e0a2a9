//! A set of objects, with one bit for each object.

#[derive(Clone, Debug)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Makes a set for `count` objects, which has either all of them or none.
    pub fn new(count: usize, are_set: bool) -> Self {
        let mut words = vec![if are_set { u64::MAX } else { 0 }; count.div_ceil(64)];
        if let (true, Some(last), rest @ 1..) = (are_set, words.last_mut(), count % 64) {
            *last = (1 << rest) - 1;
        }
        Self(words)
    }

    pub fn set(&mut self, object: usize) {
        self.0[object / 64] |= 1 << (object % 64);
    }

    pub fn contains(&self, object: usize) -> bool {
        self.0[object / 64] >> (object % 64) & 1 == 1
    }

    /// Returns the bits of the 64 objects from 64 x `index` on.
    pub fn word(&self, index: usize) -> u64 {
        self.0[index]
    }

    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Returns the number of contiguous groups of objects in the set.
    pub fn groups(&self) -> u64 {
        let mut before = 0;
        let starts = self.0.iter().map(|word| {
            let starts = word & !(word << 1 | before);
            before = word >> 63;
            u64::from(starts.count_ones())
        });
        starts.sum()
    }

    /// Returns the number of blocks that have at least one object in the set. A block has `size` neighbouring objects, and `size`
    /// must divide 64.
    pub fn blocks(&self, size: usize) -> u64 {
        let block = u64::MAX >> (64 - size);
        let of_word = |word: &u64| (0..64).step_by(size).map(|at| u64::from(word >> at & block != 0)).sum::<u64>();
        self.0.iter().map(of_word).sum()
    }

    /// Yields the contiguous groups in order, each with its first object and its number of objects.
    pub fn runs(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut left = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = left.next()?;
            let mut count = 1;
            while left.next_if_eq(&(first + count)).is_some() {
                count += 1;
            }
            Some((first, count))
        })
    }

    /// Yields the objects in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(index, word)| {
            let mut left = *word;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros() as usize;
                left &= left.wrapping_sub(1);
                (bit < 64).then_some(64 * index + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_and_their_groups_are_counted_across_words() {
        let mut bits = Bits::new(200, false);
        let objects = [0, 1, 5, 62, 63, 64, 65, 127, 129, 199];
        for object in objects {
            bits.set(object);
        }
        assert!(bits.iter().eq(objects));
        assert_eq!((bits.count(), bits.groups()), (10, 6));
        assert_eq!([bits.blocks(8), bits.blocks(64)], [6, 4]);
        assert!(bits.runs().eq([(0, 2), (5, 1), (62, 4), (127, 1), (129, 1), (199, 1)]));
        assert!(bits.contains(199) && !bits.contains(198));
        for count in [1, 63, 64, 65, 128] {
            let all = Bits::new(count, true);
            assert_eq!((all.count(), all.groups(), all.iter().count()), (count as u64, 1, count));
        }
    }
}
