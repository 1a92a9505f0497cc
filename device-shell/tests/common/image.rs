//! Images of the operators in `tests/operators/`, compiled when asked for.
//!

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};

use tenon_core::callable::{CallableSpec, ChildSpec, Direction};

use Direction::{In, Inout, Out, Scalar};

/// An image as `tenon pack` would write it.
#[derive(Clone, Debug)]
pub struct Image(pub Vec<u8>);

/// An operator's parts.
#[derive(Clone, Debug)]
pub struct Operator {
    /// Name of the folder, and of the orchestration.
    pub name: &'static str,
    /// Directions of the arguments.
    pub signature: &'static [Direction],
    /// Each child's source and directions.
    pub children: &'static [(&'static str, &'static [Direction])],
    /// `FAULTY_IDENTITY`, for the faulty operator.
    pub identity: u32,
}

impl Operator {
    pub const VECTOR_ADD: Self =
        Self { name: "vector_add", signature: &[In, In, Out], children: &[("add", &[In, In, Out])], identity: 1 };
    pub const RMS_NORM: Self = Self {
        name: "rms_norm",
        signature: &[In, In, Out, Scalar],
        children: &[("norm_rows", &[In, In, Out, Scalar])],
        identity: 1,
    };
    pub const SOFTMAX: Self =
        Self { name: "softmax", signature: &[In, Out], children: &[("softmax_rows", &[In, Out])], identity: 1 };
    pub const GEMM: Self =
        Self { name: "gemm", signature: &[In, In, Out], children: &[("multiply_tile", &[In, In, Out])], identity: 1 };
    pub const ATTENTION: Self = Self {
        name: "attention",
        signature: &[In, In, In, Out, Out, Scalar],
        children: &[
            ("scale_scores", &[In, In, Out, Scalar]),
            ("softmax_in_place", &[Inout]),
            ("weigh", &[In, In, Out]),
        ],
        identity: 1,
    };
    pub const FAULTY: Self = Self {
        name: "faulty",
        signature: &[Inout, In, Scalar, Scalar],
        children: &[("child", &[Inout, Scalar, Scalar])],
        identity: 1,
    };

    /// Compiles and packs it.
    pub fn image(&self) -> Image {
        self.image_with(|_| {})
    }

    /// Compiles it, lets `change` edit the description's parts, and packs it.
    pub fn image_with(&self, change: impl FnOnce(&mut Parts)) -> Image {
        let mut parts = Parts {
            func_name: self.name.to_owned(),
            orchestration: compile(self, "orchestration").to_vec(),
            children: self.children.iter().map(|(source, _)| compile(self, source).to_vec()).collect(),
        };
        change(&mut parts);
        let directions = self.children.iter().map(|(_, signature)| *signature);
        let children: Vec<ChildSpec<'_>> = directions
            .zip(&parts.children)
            .map(|(signature, code)| ChildSpec { func_id: 0, signature, code })
            .collect();
        let spec = CallableSpec {
            func_name: parts.func_name.as_bytes(),
            signature: self.signature,
            orchestration: &parts.orchestration,
            children: &children,
            ..CallableSpec::default()
        };
        let mut bytes = vec![0; usize::try_from(spec.image_bytes().unwrap()).unwrap()];
        spec.write(&mut bytes).unwrap();
        Image(bytes)
    }
}

/// What goes into an image and a test may change.
#[derive(Clone, Debug)]
pub struct Parts {
    pub func_name: String,
    pub orchestration: Vec<u8>,
    pub children: Vec<Vec<u8>>,
}

type Compiled = HashMap<(&'static str, String, u32), Arc<[u8]>>;

/// Compiles one source, once for each program of tests.
fn compile(operator: &Operator, source: &str) -> Arc<[u8]> {
    static COMPILED: Mutex<Option<Compiled>> = Mutex::new(None);
    let mut compiled = COMPILED.lock().unwrap();
    let key = (operator.name, source.to_owned(), operator.identity);
    compiled.get_or_insert_default().entry(key).or_insert_with(|| run_compiler(operator, source)).clone()
}

fn run_compiler(operator: &Operator, source: &str) -> Arc<[u8]> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let operators = root.join("tests/operators");
    let out = tempfile::Builder::new().suffix(".so").tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let status = Command::new("cc")
        .args(["-std=c11", "-O2", "-fPIC", "-shared", "-nostdlib", "-fno-math-errno"])
        .arg("-fno-tree-loop-distribute-patterns")
        .arg(format!("-DFAULTY_IDENTITY={}", operator.identity))
        .arg("-I")
        .arg(root.join("abi-headers/include"))
        .arg("-I")
        .arg(&operators)
        .arg(operators.join(operator.name).join(source).with_extension("c"))
        .arg("-o")
        .arg(out.path())
        .status()
        .expect("a C compiler named cc");
    assert!(status.success(), "{} {source} does not compile", operator.name);
    std::fs::read(out.path()).unwrap().into()
}
