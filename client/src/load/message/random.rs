//! Numbers that are the same in every run, on every machine.

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014). Seeds next to each other
/// give sequences that have nothing in common.
#[derive(Debug, Clone)]
pub(in crate::load) struct SplitMix64(u64);

impl SplitMix64 {
    pub(in crate::load) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(in crate::load) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers of seed 1234567, as the authors' C program and other implementations give them.
    #[test]
    fn numbers_are_those_of_the_reference() {
        let mut random = SplitMix64::new(1_234_567);
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!([random.next(), random.next(), random.next()], expected);
    }
}
