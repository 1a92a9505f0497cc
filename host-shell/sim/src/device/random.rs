//! The random choices of the device, all from one seed.
//!
//! The generator is SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014): one addition
//! and three mixing steps, any seed is good, and a stream of its own can be split off for every purpose.
//!
//! What the seed promises: from among the same ready streams the scheduler takes the same one, and the blocks of a child are
//! handed out in an order that depends on the seed, the context area, the number of the execution and the number of the child
//! in it, and on nothing else. Which thread is quicker is not the seed's business.

/// A stream of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

/// The odd number nearest to 2^64 divided by the golden ratio.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

impl Random {
    /// The stream of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream that depends on `seed` and on `purpose`, and on their order.
    #[must_use]
    pub fn split(seed: u64, purpose: &[u64]) -> Self {
        purpose.iter().fold(Self::new(seed), |mut random, part| Self(random.next() ^ part))
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `limit`, which is not 0. The bias is below `limit / 2^64`.
    pub const fn below(&mut self, limit: u32) -> u32 {
        let product = self.next() as u128 * limit as u128;
        // The upper half of a 64 × 32 bit product is below 2^32.
        #[expect(clippy::cast_possible_truncation, reason = "less than `limit`")]
        let chosen = (product >> 64) as u32;
        chosen
    }
}

/// The numbers `0..count`, each once, in an order that follows a seed, without a table of them.
///
/// A walk of a random stride that shares no divisor with `count` meets every number before it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shuffle {
    start: u32,
    stride: u32,
    count: u32,
}

impl Shuffle {
    /// An order of `0..count`; `count` is not 0.
    #[must_use]
    pub fn new(count: u32, random: &mut Random) -> Self {
        let start = random.below(count);
        let mut stride = 1 + random.below(count);
        while divisor(stride, count) != 1 {
            stride = stride % count + 1;
        }
        Self { start, stride, count }
    }

    /// The number in place `place`, below `count`.
    #[must_use]
    pub fn at(&self, place: u32) -> u32 {
        let walked = u64::from(self.start) + u64::from(place) * u64::from(self.stride);
        #[expect(clippy::cast_possible_truncation, reason = "a remainder of a 32-bit number")]
        let number = (walked % u64::from(self.count)) as u32;
        number
    }
}

/// The greatest common divisor.
const fn divisor(mut a: u32, mut b: u32) -> u32 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // First outputs of the reference implementation for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let first = [random.next(), random.next(), random.next()];
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_shuffle_gives_every_number_once() {
        for count in (1..200).chain([1024, 30030]) {
            for seed in 0..8 {
                let shuffle = Shuffle::new(count, &mut Random::new(seed));
                let mut seen: Vec<u32> = (0..count).map(|place| shuffle.at(place)).collect();
                seen.sort_unstable();
                assert!(seen.into_iter().eq(0..count), "count {count} seed {seed}");
            }
        }
    }

    #[test]
    fn seeds_and_purposes_give_different_orders() {
        let order = |seed, purpose: &[u64]| Shuffle::new(1009, &mut Random::split(seed, purpose));
        assert_eq!(order(1, &[2, 3]), order(1, &[2, 3]));
        assert_ne!(order(1, &[2, 3]), order(1, &[3, 2]));
        assert_ne!(order(1, &[2, 3]), order(2, &[2, 3]));
    }

    #[test]
    fn a_choice_stays_below_its_limit_and_reaches_all_of_it() {
        let mut random = Random::new(7);
        let mut seen = [0_u32; 5];
        for _ in 0..1000 {
            seen[random.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|&times| times > 100), "{seen:?}");
    }
}
