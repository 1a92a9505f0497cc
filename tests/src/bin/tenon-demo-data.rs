//! Writes the demo's inputs, and what the operators ought to make of them.
//!
//! `tenon-demo-data FOLDER` makes `FOLDER/NAME/0.npy`, `1.npy`, … (single precision, seeded) and `FOLDER/NAME/expected.npy` (double
//! precision, from [`reference`](tenon_tests::reference)). Nothing of Tenon computes here.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use npyz::{AutoSerialize, WriterBuilder as _};
use tenon_tests::reference::{AttentionShape, Seeded, attention, gemm, rms_norm, softmax, vector_add};

/// The numbers of every run.
const SEED: u64 = 2026;
/// As in the client.
const EPSILON: f32 = 1e-5;
/// As in the client: 1 / √width.
const SCALE: f32 = 0.125;

fn main() -> io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.ok_or_else(|| io::Error::other("usage: tenon-demo-data FOLDER"))?;
    let mut seeded = Seeded::new(SEED);
    let mut floats = |shape: &[u64]| seeded.floats(shape.iter().product::<u64>().try_into().unwrap_or(usize::MAX));

    let (vector, a, b) = ([60_000], floats(&[60_000]), floats(&[60_000]));
    write(&folder, "vector_add", &[(&vector, &a), (&vector, &b)], &vector, &vector_add(&a, &b))?;

    let (matrix, row) = ([64, 384], [384]);
    let (x, weight) = (floats(&matrix), floats(&row));
    write(&folder, "rms_norm", &[(&matrix, &x), (&row, &weight)], &matrix, &rms_norm(&x, &weight, EPSILON))?;

    let matrix = [96, 257];
    let x: Vec<f32> = floats(&matrix).iter().map(|x| 20.0 * x).collect();
    write(&folder, "softmax", &[(&matrix, &x)], &matrix, &softmax(&x, 257))?;

    let (left, right, product) = ([100, 128], [128, 90], [100, 90]);
    let (a, b) = (floats(&left), floats(&right));
    write(&folder, "gemm", &[(&left, &a), (&right, &b)], &product, &gemm(&a, &b, 100, 128, 90))?;

    let shape = AttentionShape { heads: 4, queries: 33, keys: 48, width: 64, depth: 32 };
    let (q_shape, k_shape, v_shape, out_shape) = ([4, 33, 64], [4, 48, 64], [4, 48, 32], [4, 33, 32]);
    let (q, k, v) = (floats(&q_shape), floats(&k_shape), floats(&v_shape));
    let expected = attention(&q, &k, &v, SCALE, shape);
    write(&folder, "attention", &[(&q_shape, &q), (&k_shape, &k), (&v_shape, &v)], &out_shape, &expected)
}

/// Writes one operator's files.
fn write(folder: &Path, name: &str, inputs: &[(&[u64], &[f32])], shape: &[u64], expected: &[f64]) -> io::Result<()> {
    let folder = folder.join(name);
    fs::create_dir_all(&folder)?;
    for (number, (shape, elements)) in inputs.iter().enumerate() {
        write_array(&folder.join(format!("{number}.npy")), shape, elements)?;
    }
    write_array(&folder.join("expected.npy"), shape, expected)
}

fn write_array<T: AutoSerialize + Copy>(path: &Path, shape: &[u64], elements: &[T]) -> io::Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd()?;
    writer.extend(elements.iter().copied())?;
    writer.finish()
}
