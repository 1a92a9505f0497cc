//! What the operators ought to compute, said plainly and in double precision.
//!
//! Nothing is shared with the operators' own code: each function is the formula, over row-major data. Results stay `f64`, so that a
//! comparison sees all of the device's rounding and none of the reference's.

/// Numbers that follow from a seed (SplitMix64), for inputs that are the same in every run.
#[derive(Clone, Debug)]
pub struct Seeded(u64);

impl Seeded {
    /// Starts the sequence of `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// The next number in `[-1, 1)`, a multiple of 2⁻²³.
    pub fn next_f32(&mut self) -> f32 {
        let upper = (self.next_u64() >> 40) as u32;
        upper as f32 / (1 << 23) as f32 - 1.0
    }

    /// The next `count` numbers in `[-1, 1)`.
    pub fn floats(&mut self, count: usize) -> Vec<f32> {
        (0..count).map(|_| self.next_f32()).collect()
    }
}

/// `a + b`, element by element.
#[must_use]
pub fn vector_add(a: &[f32], b: &[f32]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| f64::from(*a) + f64::from(*b)).collect()
}

/// `x / sqrt(mean(x²) + epsilon) · weight`, for each row of `weight.len()` elements.
#[must_use]
pub fn rms_norm(x: &[f32], weight: &[f32], epsilon: f32) -> Vec<f64> {
    let row = |row: &[f32]| {
        let squares: f64 = row.iter().map(|x| f64::from(*x).powi(2)).sum();
        let root = (squares / row.len() as f64 + f64::from(epsilon)).sqrt();
        row.iter().zip(weight).map(|(x, weight)| f64::from(*x) / root * f64::from(*weight)).collect::<Vec<_>>()
    };
    x.chunks(weight.len()).flat_map(row).collect()
}

/// `exp(x) / Σ exp(x)`, for each row of `columns` elements.
#[must_use]
pub fn softmax(x: &[f32], columns: usize) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    x.chunks(columns).flat_map(softmax_row).collect()
}

/// `a · b` for row-major `a` of `m × k` and `b` of `k × n`.
#[must_use]
pub fn gemm(a: &[f32], b: &[f32], m: usize, k: usize, n: usize) -> Vec<f64> {
    let element = |row: usize, column: usize| {
        let a_row = a[row * k..].iter().take(k);
        let b_column = b[column..].iter().step_by(n);
        a_row.zip(b_column).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>()
    };
    (0..m).flat_map(|row| (0..n).map(move |column| (row, column))).map(|(row, column)| element(row, column)).collect()
}

/// Sizes of an attention block.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// Independent heads.
    pub heads: usize,
    /// Rows of q and of the output.
    pub queries: usize,
    /// Rows of k and v.
    pub keys: usize,
    /// Elements of a row of q and k.
    pub width: usize,
    /// Elements of a row of v and of the output.
    pub depth: usize,
}

/// `softmax(q kᵀ · scale) v` for each head.
#[must_use]
pub fn attention(q: &[f32], k: &[f32], v: &[f32], scale: f32, shape: AttentionShape) -> Vec<f64> {
    let AttentionShape { heads, queries, keys, width, depth } = shape;
    let mut out = Vec::with_capacity(heads * queries * depth);
    for head in 0..heads {
        let (k, v) = (&k[head * keys * width..], &v[head * keys * depth..]);
        for query in q[head * queries * width..].chunks(width).take(queries) {
            let score = |key: &[f32]| {
                let dot: f64 = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
                dot * f64::from(scale)
            };
            let weights = softmax_row(&k.chunks(width).take(keys).map(score).collect::<Vec<_>>());
            for column in 0..depth {
                let values = v[column..].iter().step_by(depth);
                out.push(weights.iter().zip(values).map(|(weight, v)| weight * f64::from(*v)).sum());
            }
        }
    }
    out
}

/// The largest difference between what a device computed and what it ought to have, relative to the expected value where that
/// is above 1. Anything that cannot be compared (another length, NaN) is infinitely wrong.
#[must_use]
pub fn max_error(computed: &[f32], expected: &[f64]) -> f64 {
    if computed.len() != expected.len() {
        return f64::INFINITY;
    }
    let error = |(computed, expected): (&f32, &f64)| {
        let error = (f64::from(*computed) - expected).abs() / expected.abs().max(1.0);
        if error.is_nan() { f64::INFINITY } else { error }
    };
    computed.iter().zip(expected).map(error).fold(0.0, f64::max)
}

fn softmax_row(row: &[f64]) -> Vec<f64> {
    let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = row.iter().map(|x| (x - max).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_every_time() {
        // The first outputs of SplitMix64 from state 0, from its author's reference implementation.
        let mut seeded = Seeded::new(0);
        assert_eq!(seeded.next_u64(), 0xe220_a839_7b1d_cdaf);
        assert_eq!(seeded.next_u64(), 0x6e78_9e6a_a1b9_65f4);
        let floats = Seeded::new(7).floats(10_000);
        assert!(floats.iter().all(|x| (-1.0..1.0).contains(x)));
        assert!(floats.iter().any(|x| *x < -0.99) && floats.iter().any(|x| *x > 0.99));
    }

    #[test]
    fn references_agree_with_values_worked_out_by_hand() {
        assert_eq!(vector_add(&[1.0, 2.0], &[0.5, -2.0]), [1.5, 0.0]);
        // mean(x²) = (9 + 16) / 2 = 12.5, and 12.5 - 0.25 is the square of 3.5.
        assert_eq!(rms_norm(&[3.0, 4.0], &[3.5, 7.0], -0.25), [3.0, 8.0]);
        assert_eq!(softmax(&[5.0, 5.0, 1.0], 1), [1.0, 1.0, 1.0]);
        assert_eq!(softmax(&[1.0, 1.0, -1000.0, 2.0], 2), [0.5, 0.5, 0.0, 1.0]);
        assert_eq!(
            gemm(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], 2, 3, 2),
            [4.0, 5.0, 10.0, 11.0]
        );
        // Equal scores: the output is the mean of the values, head by head.
        let shape = AttentionShape { heads: 2, queries: 1, keys: 2, width: 1, depth: 1 };
        assert_eq!(attention(&[0.0, 0.0], &[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 5.0, 9.0], 1.0, shape), [2.0, 7.0]);
    }

    #[test]
    fn what_cannot_be_compared_is_infinitely_wrong() {
        assert_eq!(max_error(&[1.0, 2.5], &[1.0, 2.0]), 0.25);
        assert_eq!(max_error(&[1.0], &[1.0, 2.0]), f64::INFINITY);
        assert_eq!(max_error(&[f32::NAN, 1.0], &[1.0, 1.0]), f64::INFINITY);
    }
}
