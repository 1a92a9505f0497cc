//! Operators compute what their formulas say, through the whole device entry.
//!

mod common;
#[path = "../../tests/src/reference.rs"]
#[allow(dead_code, unreachable_pub, reason = "a part of it is used")]
mod reference;

use common::{Context, Device, Mapping, Operator, Workers, contiguous};
use reference::{AttentionShape, Seeded, attention, gemm, max_error, rms_norm, softmax, vector_add};
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DataType, Tensor};

/// Above the rounding of single precision in any of the cases, far below any mistake.
const TOLERANCE: f64 = 1e-5;

/// Floats in device memory.
struct Floats {
    mapping: Mapping,
    len: usize,
}

impl Floats {
    fn new(floats: &[f32]) -> Self {
        let mapping = Mapping::new(floats.len() * 4);
        mapping.write(0, &floats.iter().flat_map(|float| float.to_le_bytes()).collect::<Vec<u8>>());
        Self { mapping, len: floats.len() }
    }

    fn room(len: usize) -> Self {
        Self::new(&vec![f32::NAN; len])
    }

    fn view(&self, shape: &[u32]) -> Tensor {
        let tensor = contiguous(self.mapping.address(), shape, DataType::F32);
        assert_eq!(tensor.extent_elem, self.len as u64);
        tensor
    }

    fn read(&self) -> Vec<f32> {
        self.mapping.read(0, self.len)
    }
}

/// Runs an operator once, its blocks at the same time.
fn launch(operator: &Operator, tensors: &[Tensor], scalars: &[u64]) -> DispatchAnswer {
    let device = Device::new(Workers::Threads);
    let context = Context::new(&device, 1);
    let id = context.install(0, 1, &operator.image());
    context.launch(id, tensors, scalars)
}

fn float_scalar(value: f32) -> u64 {
    value.to_bits().into()
}

/// The same view with its last two axes exchanged: of the transposed matrices, over the same memory.
fn transposed(mut tensor: Tensor) -> Tensor {
    let last = tensor.ndims as usize - 1;
    tensor.shapes.swap(last - 1, last);
    tensor.strides.swap(last - 1, last);
    tensor.is_contiguous = 0;
    tensor
}

/// What that view shows, row by row.
fn transpose(floats: &[f32], rows: usize, columns: usize) -> Vec<f32> {
    (0..columns * rows).map(|at| floats[at % rows * columns + at / rows]).collect()
}

fn assert_close(computed: &Floats, expected: &[f64], case: impl std::fmt::Debug) {
    let error = max_error(&computed.read(), expected);
    assert!(error <= TOLERANCE, "{case:?}: wrong by {error}");
}

#[test]
fn vector_add_adds_vectors_of_every_length_around_a_blocks_share() {
    let mut seeded = Seeded::new(1);
    for len in [1_u32, 2, 1023, 1024, 1025, 2047, 2048, 10_000] {
        let (a, b) = (seeded.floats(len as usize), seeded.floats(len as usize));
        let (a_memory, b_memory, out) = (Floats::new(&a), Floats::new(&b), Floats::room(len as usize));
        let tensors = [a_memory.view(&[len]), b_memory.view(&[len]), out.view(&[len])];
        assert_eq!(launch(&Operator::VECTOR_ADD, &tensors, &[]), DispatchAnswer::Success);
        assert_close(&out, &vector_add(&a, &b), len);
    }
}

#[test]
fn vector_add_follows_the_strides_of_its_inputs() {
    let (rows, columns) = (70_u32, 50_u32);
    let mut seeded = Seeded::new(2);
    let (a, b) = (seeded.floats(3500), seeded.floats(3500));
    let (a_memory, b_memory, out) = (Floats::new(&a), Floats::new(&b), Floats::room(3500));
    let tensors =
        [transposed(a_memory.view(&[rows, columns])), b_memory.view(&[columns, rows]), out.view(&[columns, rows])];
    assert_eq!(launch(&Operator::VECTOR_ADD, &tensors, &[]), DispatchAnswer::Success);
    assert_close(&out, &vector_add(&transpose(&a, 70, 50), &b), "a is transposed");
}

#[test]
fn rms_norm_normalises_every_row() {
    let mut seeded = Seeded::new(3);
    for (rows, columns) in [(1_u32, 1_u32), (1, 257), (2, 64), (33, 100)] {
        let (x, weight) = (seeded.floats((rows * columns) as usize), seeded.floats(columns as usize));
        let (x_memory, weight_memory, out) = (Floats::new(&x), Floats::new(&weight), Floats::room(x.len()));
        let tensors = [x_memory.view(&[rows, columns]), weight_memory.view(&[columns]), out.view(&[rows, columns])];
        assert_eq!(launch(&Operator::RMS_NORM, &tensors, &[float_scalar(1e-5)]), DispatchAnswer::Success);
        assert_close(&out, &rms_norm(&x, &weight, 1e-5), (rows, columns));
    }
}

#[test]
fn softmax_survives_rows_whose_powers_would_overflow() {
    let mut seeded = Seeded::new(4);
    for (rows, columns, scale) in [(1_u32, 1_u32, 1.0_f32), (5, 40, 1.0), (64, 33, 1e4), (3, 500, 80.0)] {
        let x: Vec<f32> = seeded.floats((rows * columns) as usize).iter().map(|x| x * scale).collect();
        let (x_memory, out) = (Floats::new(&x), Floats::room(x.len()));
        let tensors = [x_memory.view(&[rows, columns]), out.view(&[rows, columns])];
        assert_eq!(launch(&Operator::SOFTMAX, &tensors, &[]), DispatchAnswer::Success);
        assert_close(&out, &softmax(&x, columns as usize), (rows, columns, scale));
    }
}

#[test]
fn gemm_multiplies_matrices_of_every_shape_around_a_tile() {
    let mut seeded = Seeded::new(5);
    for (m, k, n) in [(1_u32, 1_u32, 1_u32), (31, 7, 33), (32, 32, 32), (65, 40, 64), (3, 100, 70)] {
        let (a, b) = (seeded.floats((m * k) as usize), seeded.floats((k * n) as usize));
        let (a_memory, b_memory, out) = (Floats::new(&a), Floats::new(&b), Floats::room((m * n) as usize));
        let tensors = [a_memory.view(&[m, k]), b_memory.view(&[k, n]), out.view(&[m, n])];
        assert_eq!(launch(&Operator::GEMM, &tensors, &[]), DispatchAnswer::Success);
        assert_close(&out, &gemm(&a, &b, m as usize, k as usize, n as usize), (m, k, n));
    }
}

#[test]
fn gemm_follows_the_strides_of_its_inputs() {
    let mut seeded = Seeded::new(6);
    let (a, b) = (seeded.floats(40 * 37), seeded.floats(40 * 45));
    let (a_memory, b_memory, out) = (Floats::new(&a), Floats::new(&b), Floats::room(37 * 45));
    let tensors = [transposed(a_memory.view(&[40, 37])), transposed(b_memory.view(&[45, 40])), out.view(&[37, 45])];
    assert_eq!(launch(&Operator::GEMM, &tensors, &[]), DispatchAnswer::Success);
    assert_close(&out, &gemm(&transpose(&a, 40, 37), &transpose(&b, 45, 40), 37, 40, 45), "both are transposed");
}

#[test]
fn attention_chains_its_three_children() {
    let mut seeded = Seeded::new(7);
    for (heads, queries, keys, width, depth) in
        [(1_u32, 1_u32, 1_u32, 1_u32, 1_u32), (2, 9, 17, 16, 8), (4, 32, 32, 64, 64)]
    {
        let q = seeded.floats((heads * queries * width) as usize);
        let k = seeded.floats((heads * keys * width) as usize);
        let v = seeded.floats((heads * keys * depth) as usize);
        let memories = [&q, &k, &v].map(|floats| Floats::new(floats));
        let scores = Floats::room((heads * queries * keys) as usize);
        let out = Floats::room((heads * queries * depth) as usize);
        let scale = 1.0 / (width as f32).sqrt();
        let tensors = [
            memories[0].view(&[heads, queries, width]),
            memories[1].view(&[heads, keys, width]),
            memories[2].view(&[heads, keys, depth]),
            scores.view(&[heads, queries, keys]),
            out.view(&[heads, queries, depth]),
        ];
        assert_eq!(launch(&Operator::ATTENTION, &tensors, &[float_scalar(scale)]), DispatchAnswer::Success);
        let [heads, queries, keys, width, depth] = [heads, queries, keys, width, depth].map(|extent| extent as usize);
        let shape = AttentionShape { heads, queries, keys, width, depth };
        assert_close(&out, &attention(&q, &k, &v, scale, shape), shape);
    }
}

#[test]
fn operators_refuse_tensors_that_do_not_fit() {
    let memory = Floats::room(64);
    let square = memory.view(&[8, 8]);
    let flat = memory.view(&[64]);
    let integers = Tensor { dtype: DataType::I32.code(), ..square };
    let cases: &[(&str, Operator, &[Tensor], &[u64])] = &[
        ("shape", Operator::VECTOR_ADD, &[square, square, flat], &[]),
        ("type", Operator::VECTOR_ADD, &[square, integers, square], &[]),
        ("layout", Operator::VECTOR_ADD, &[square, square, transposed(square)], &[]),
        ("weight", Operator::RMS_NORM, &[square, flat, square], &[0]),
        ("layout", Operator::SOFTMAX, &[square, transposed(square)], &[]),
        ("rank", Operator::GEMM, &[square, flat, square], &[]),
        ("rank", Operator::ATTENTION, &[square, square, square, square, square], &[0]),
    ];
    for (what, operator, tensors, scalars) in cases {
        assert_eq!(launch(operator, tensors, scalars), DispatchAnswer::ExecutionFailed, "{} {what}", operator.name);
    }
    assert!(memory.read().iter().all(|float| float.is_nan()), "a refused operator wrote something");
}
