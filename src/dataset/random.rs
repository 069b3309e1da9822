//! Where do a sample's random choices come from? From a generator keyed by (seed, index) alone, so
//! that any sample can be made again without the others.

use crate::run::args::random::{SplitMix, mix};

/// The choices of one sample: SplitMix64, started at a mix of the key.
#[derive(Clone, Debug)]
pub struct Random(SplitMix);

impl Random {
    pub fn new(seed: u64, index: u64) -> Random {
        Random(SplitMix(mix(mix(seed ^ 0x6b63_2d64_6174_6173) ^ index.wrapping_mul(0xd134_2543_de82_ef95))))
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0.word()
    }

    /// Uniform in 0..n; 0 for n = 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1).max(1) as usize) as i64
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of a list that is not empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// The position of one of several weights, at least one of them above 0.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let total: u32 = weights.iter().sum();
        let mut at = self.below(total as usize) as u32;
        for (n, &weight) in weights.iter().enumerate() {
            if at < weight {
                return n;
            }
            at -= weight;
        }
        weights.len().saturating_sub(1)
    }

    /// Roughly standard normal: the sum of twelve uniform numbers.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }
}
