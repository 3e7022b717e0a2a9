//! Reuse distances: how many other pages are accessed until a page is accessed again.
//!
//! A cache that drops the page whose last access is the oldest hits an access if it holds more pages than the reuse distance of
//! the access. So the distances give the hits of a cache of any size (Mattson et al. 1970). A tree of partial sums counts the
//! pages between two accesses (Bennett and Kruskal 1975). A long sequence is sampled by page, and the distances are scaled
//! (Waldspurger et al. 2015). Pages belong to groups at random, so that the caller sees how far a sample can be off.

use rustc_hash::FxHashMap;

/// Number of groups of pages.
pub const GROUPS: usize = 16;
/// Number of classes of distances. Class 0 has the distance 0, and class k those from 2^(k-1) to 2^k - 1.
pub const CLASSES: usize = 64;

/// An access to pages that follow each other, in a stretch of time.
#[derive(Clone, Copy)]
pub struct Access {
    pub first: u64,
    pub pages: u64,
    pub stretch: usize,
}

/// Numbers of accesses to sampled pages.
pub struct Distances {
    /// One of 2^`shift` pages is in the sample.
    pub shift: u32,
    /// Accesses by group of the page and class of the distance.
    pub again: Vec<[u64; CLASSES]>,
    /// Pages by group, each of which is accessed for a first time.
    pub first: Vec<u64>,
    /// Different pages in each stretch of time, by group.
    pub distinct: Vec<Vec<u64>>,
}

/// Measures the distances of accesses in their order. The sample has about `most` accesses to single pages at most, and all if
/// there are no more. The times of `accesses` are in stretches below `stretches`.
pub fn measure(accesses: impl Iterator<Item = Access> + Clone, stretches: usize, most: u64) -> Distances {
    let total: u64 = accesses.clone().map(|access| access.pages).sum();
    let shift = (0..63).find(|shift| total >> shift <= most).unwrap_or(63);
    let sampled: Vec<(u64, usize)> = accesses
        .flat_map(|access| (access.first..access.first + access.pages).map(move |page| (page, access.stretch)))
        .filter(|(page, _)| shift == 0 || mixed(*page) >> (64 - shift) == 0)
        .collect();
    let mut found = Distances {
        shift,
        again: vec![[0; CLASSES]; GROUPS],
        first: vec![0; GROUPS],
        distinct: vec![vec![0; stretches]; GROUPS],
    };
    let mut last: FxHashMap<u64, (usize, usize)> = FxHashMap::default();
    let mut newest = Sums::new(sampled.len());
    for (position, &(page, stretch)) in sampled.iter().enumerate() {
        let group = usize::from(mixed(page).to_le_bytes()[0]) % GROUPS;
        let pages = last.len();
        let before = last.insert(page, (position, stretch));
        if let Some((before, _)) = before {
            let distance = (pages as u64 - newest.up_to(before)) << shift;
            found.again[group][(u64::BITS - distance.leading_zeros()) as usize] += 1;
            newest.add(before, -1);
        } else {
            found.first[group] += 1;
        }
        if before.is_none_or(|(_, seen)| seen != stretch) {
            found.distinct[group][stretch] += 1;
        }
        newest.add(position, 1);
    }
    found
}

/// Spreads a number over all bits (the last step of Steele's `SplitMix`).
fn mixed(number: u64) -> u64 {
    let first = (number.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let second = (first ^ (first >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    second ^ (second >> 31)
}

/// A tree of partial sums (Fenwick 1994).
struct Sums {
    tree: Vec<i32>,
}

impl Sums {
    fn new(size: usize) -> Self {
        Self { tree: vec![0; size + 1] }
    }

    fn add(&mut self, position: usize, value: i32) {
        let mut node = position + 1;
        while node < self.tree.len() {
            self.tree[node] += value;
            node += node & node.wrapping_neg();
        }
    }

    /// Returns the sum of all values up to a position, with its own.
    fn up_to(&self, position: usize) -> u64 {
        let (mut node, mut sum) = (position + 1, 0);
        while node > 0 {
            sum += i64::from(self.tree[node]);
            node &= node - 1;
        }
        u64::try_from(sum).expect("a page has one newest access")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(sequence: &[u64]) -> Vec<Access> {
        sequence.iter().map(|&first| Access { first, pages: 1, stretch: 0 }).collect()
    }

    fn distances(found: &Distances) -> Vec<(usize, u64)> {
        let sum = |class| found.again.iter().map(|group: &[u64; CLASSES]| group[class]).sum();
        (0..CLASSES).map(|class| (class, sum(class))).filter(|(_, count)| *count > 0).collect()
    }

    #[test]
    fn counts_other_pages_between_two_accesses() {
        let found = measure(pages(&[1, 1, 2, 3, 2, 1, 4, 1]).into_iter(), 1, 100);
        // 1 again at once: 0. 2 after 3: 1. 1 after 2 and 3: 2. 1 after 4: 1.
        assert_eq!(distances(&found), [(0, 1), (1, 2), (2, 1)]);
        assert_eq!(found.first.iter().sum::<u64>(), 4);
        assert_eq!(found.shift, 0);
    }

    #[test]
    fn an_access_to_several_pages_is_one_to_each() {
        let accesses = [Access { first: 7, pages: 3, stretch: 0 }, Access { first: 8, pages: 2, stretch: 1 }];
        let found = measure(accesses.into_iter(), 2, 100);
        // Between the two accesses to page 8 lies page 9, and between those to page 9 lies page 8.
        assert_eq!(distances(&found), [(1, 2)]);
        let distinct = |stretch: usize| found.distinct.iter().map(|group| group[stretch]).sum::<u64>();
        assert_eq!((distinct(0), distinct(1)), (3, 2));
    }

    #[test]
    fn a_sample_is_close() {
        let loops: Vec<u64> = (0..40).flat_map(|_| 0..10_000).collect();
        let found = measure(pages(&loops).into_iter(), 1, 50_000);
        assert_eq!(found.shift, 3);
        let sampled: u64 = found.first.iter().sum();
        assert!((1100..1400).contains(&sampled), "{sampled}");
        // Every page comes again after 9,999 others, which is in the class from 8,192 to 16,383, or near its lower end.
        assert_eq!(distances(&found).iter().map(|(_, count)| count).sum::<u64>(), 39 * sampled);
        assert!(distances(&found).iter().all(|(class, _)| *class == 14));
    }
}
