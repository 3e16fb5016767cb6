//! Random numbers that are the same on every machine: integers, and floats made with + and × only.

/// A stream of random words from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A stream of its own for each list of numbers.
    pub fn new(parts: &[u64]) -> Self {
        let mut random = Self(0x6c6f_6f6b_616c_696b);
        for part in parts {
            random.0 ^= part.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            random.0 = random.word();
        }
        random
    }

    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.word()) * bound as u128) >> 64) as usize
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A normal number of mean 0 and deviation 1: a sum of twelve even ones, so never beyond 6.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// A lognormal number with this median.
    pub fn lognormal(&mut self, median: f64, sigma: f64) -> f64 {
        median * exp(sigma * self.normal())
    }
}

/// e to the power of x by its series: a system's own function may differ in the last bit.
fn exp(x: f64) -> f64 {
    let mut term = 1.0;
    let mut sum = 1.0;
    for n in 1..60 {
        term *= x / f64::from(n);
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normal_and_lognormal_have_their_shape() {
        let mut random = Random::new(&[1]);
        let count = 20_000;
        let numbers: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        let mean = numbers.iter().sum::<f64>() / count as f64;
        let variance = numbers.iter().map(|number| number * number).sum::<f64>() / count as f64;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        let above = (0..count).filter(|_| random.lognormal(200.0, 0.6) > 200.0).count();
        assert!((above as f64 / count as f64 - 0.5).abs() < 0.02);
    }

    #[test]
    fn the_exponential_is_one() {
        for x in [-3.6, -1.0, 0.0, 0.5, 3.6] {
            assert!((exp(x) / f64::exp(x) - 1.0).abs() < 1e-12);
        }
    }
}
