//! Random numbers that are the same everywhere: SplitMix64 (Steele, Lea, Flood: Fast splittable
//! pseudorandom number generators, 2014).

/// What the state moves by: 2^64 over the golden ratio.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The generator, with its state.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Uniform in [0, 1), with 20 bits: float32 holds the number exactly.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 44) as f64 / f64::from(1 << 20)
    }
}

/// Number `n` of the sequence of `seed`.
pub fn nth(seed: u64, n: u64) -> u64 {
    mix(seed.wrapping_add(n.wrapping_add(1).wrapping_mul(STEP)))
}

/// Spreads a number over all bits.
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of seed 0, as the authors' generator gives them.
    #[test]
    fn the_published_sequence() {
        let mut random = SplitMix(0);
        assert_eq!([random.word(), random.word()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_eq!(nth(0, 1), 0x6e78_9e6a_a1b9_65f4);
    }
}
