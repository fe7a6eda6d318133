//! Named random streams with common random numbers.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One independent sequence of random numbers, named for what it decides (`"loss/bottleneck/forward"`).
///
/// A stream depends on the run's seed and its own name alone. Two treatments under the same seed therefore meet the
/// same luck on the same entity (common random numbers), and a new probe or flow disturbs no other stream. The
/// generator is xoshiro256++ seeded through SplitMix64 from an FNV-1a hash of the name: both are part of the format.
#[derive(Clone, Debug)]
pub struct RandomStream(Xoshiro256PlusPlus);

impl RandomStream {
    /// Returns the stream called `name` of the run with `seed`.
    pub fn new(seed: u64, name: &str) -> RandomStream {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in seed.to_le_bytes().iter().chain(name.as_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        RandomStream(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// 64 uniform random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1) with 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in `0..bound`; zero when `bound` is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.uniform())
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller 1958; two draws each).
    pub fn normal(&mut self) -> f64 {
        let (radius, angle) = (libm::sqrt(self.exponential(2.0)), std::f64::consts::TAU * self.uniform());
        radius * libm::cos(angle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_name_and_by_seed_and_repeat() {
        let first = |seed, name| RandomStream::new(seed, name).bits();
        assert_eq!(first(1, "loss/bottleneck"), first(1, "loss/bottleneck"));
        assert_ne!(first(1, "loss/bottleneck"), first(1, "loss/bottleneck2"));
        assert_ne!(first(1, "loss/bottleneck"), first(2, "loss/bottleneck"));
    }

    #[test]
    fn uniform_and_exponential_have_their_means() {
        let mut stream = RandomStream::new(7, "means");
        let n = 200_000;
        let uniform = (0..n).map(|_| stream.uniform()).sum::<f64>() / f64::from(n);
        let exponential = (0..n).map(|_| stream.exponential(3.0)).sum::<f64>() / f64::from(n);
        // Five standard errors: sqrt(1/12/n) and 3/sqrt(n).
        assert!((uniform - 0.5).abs() < 5.0 * 0.00065, "{uniform}");
        assert!((exponential - 3.0).abs() < 5.0 * 0.0067, "{exponential}");
        // A normal variable's mean and mean square: five standard errors of 1/sqrt(n) and sqrt(2/n).
        let normal: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = normal.iter().sum::<f64>() / f64::from(n);
        let square = normal.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 5.0 * 0.0022 && (square - 1.0).abs() < 5.0 * 0.0032, "{mean} {square}");
    }
}
