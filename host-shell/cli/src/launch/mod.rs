//! `tenon launch`: runs a callable on arrays from files, in kernel mode.
//!
//! [`plan`] decides what the operands are, before any device is touched; this module moves them and launches.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use tenon_core::callable::CallableImage;
use tenon_core::wire::DataType;
use zerocopy::IntoBytes;

use crate::device::{Buffer, Device, DeviceName, SimTable, Stream};
use crate::failure::Failure;
use crate::output::say;
use crate::runtime::{Context, RuntimeTable};
use crate::{count, file, library};
use array::Array;
use plan::Plan;
use scalar::Scalar;

mod array;
mod plan;
mod scalar;

/// Arguments of `tenon launch`.
///
/// Operands are given in the order of the callable's signature: one `--in` for each `in` and `inout`, one `--out` for each `out`
/// and `inout`, one `--scalar` for each scalar.
#[derive(Debug, clap::Args)]
pub(crate) struct Launch {
    /// A callable image, as `tenon pack` writes it
    file: PathBuf,
    /// A tensor that the callable reads, as .npy; once for each `in` and `inout` of the signature
    #[arg(long = "in", value_name = "A.npy")]
    inputs: Vec<PathBuf>,
    /// Where to write a tensor that the callable writes; once for each `out` and `inout`
    #[arg(long = "out", value_name = "C.npy")]
    outputs: Vec<PathBuf>,
    /// A scalar: an integer, or TYPE:VALUE as in f32:1e-5; once for each scalar
    #[arg(long = "scalar", value_name = "VALUE", allow_hyphen_values = true)]
    scalars: Vec<Scalar>,
    /// Shape of an `out`, as in 3x4, in the order of the signature; without it, like the first input
    #[arg(long, value_name = "SHAPE", value_parser = array::parse_shape)]
    out_shape: Vec<Vec<u64>>,
    /// Element type of an `out`, in the order of the signature; without it, like the first input
    #[arg(long, value_name = "TYPE", value_parser = array::parse_dtype)]
    out_dtype: Vec<DataType>,
    /// Capture the launch in a graph and replay it, instead of launching it
    #[arg(long)]
    graph: bool,
    /// How often to replay the graph
    #[arg(long, value_name = "N", default_value_t = 1, requires = "graph", value_parser = clap::value_parser!(u64).range(1..))]
    replays: u64,
    /// Where to run: sim, or sim:INDEX
    #[arg(long, default_value = "sim", value_name = "DEVICE")]
    device: DeviceName,
    /// The host runtime to load [default: TENON_RUNTIME, else beside this program]
    #[arg(long, value_name = "PATH")]
    runtime: Option<PathBuf>,
    /// Print one JSON object instead of sentences
    #[arg(long)]
    json: bool,
}

/// What is reported; the names are those of the JSON object.
#[derive(Debug, Serialize)]
struct Report<'a> {
    callable: &'a PathBuf,
    device: String,
    tensors: usize,
    scalars: usize,
    /// Whether a graph was captured and replayed.
    graph: bool,
    /// Executions of the callable.
    executions: u64,
    /// From the first enqueue to the end of the last execution, without preparing.
    seconds: f64,
    outputs: Vec<Output<'a>>,
}

#[derive(Debug, Serialize)]
struct Output<'a> {
    file: &'a PathBuf,
    dtype: String,
    shape: Vec<u32>,
}

impl Launch {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let image = file::read(&self.file)?;
        let parsed =
            CallableImage::parse(&image).map_err(|refusal| Failure::Callable { path: self.file.clone(), refusal })?;
        let plan = Plan::new(self, &parsed)?;

        let runtime_path = library::runtime_path(self.runtime.as_deref());
        let sim_path = library::sim_path(&runtime_path);
        tracing::debug!(runtime = %runtime_path.display(), sim = %sim_path.display(), "loading");
        // The simulated device first: the runtime takes the one that is loaded.
        let sim = SimTable::load(&sim_path)?;
        let runtime = RuntimeTable::load(&runtime_path)?;

        let (seconds, results) = self.execute(&plan, &image, &sim, &runtime)?;
        let mut outputs = Vec::with_capacity(results.len());
        for (file, array) in self.outputs.iter().zip(&results) {
            array.write(file)?;
            let dtype = array.form.dtype.name().to_ascii_lowercase();
            outputs.push(Output { file, dtype, shape: array.form.shape.clone() });
        }
        self.report(&Report {
            callable: &self.file,
            device: self.device.to_string(),
            tensors: plan.operands.len(),
            scalars: self.scalars.len(),
            graph: self.graph,
            executions: self.replays,
            seconds,
            outputs,
        });
        Ok(())
    }

    /// Runs the plan; gives the seconds that it took, and what the outputs hold then.
    fn execute(
        &self,
        plan: &Plan,
        image: &[u8],
        sim: &SimTable,
        runtime: &RuntimeTable,
    ) -> Result<(f64, Vec<Array>), Failure> {
        // Each is given back in the reverse of this order, on every way out.
        let device = Device::open(sim, self.device)?;
        let stream = device.stream()?;
        let buffers = plan.operands.iter().map(|operand| device.buffer(&operand.contents));
        let buffers = buffers.collect::<Result<Vec<Buffer<'_>>, Failure>>()?;
        let context = Context::init(runtime, self.device.index)?;
        context.prepare(aligned(image).as_bytes().get(..image.len()).unwrap_or_default(), &stream)?;
        stream.synchronize().map_err(|failure| context.explain(failure))?;

        let args = plan.arguments(&buffers, &self.scalars);
        let start = Instant::now();
        if self.graph {
            let graph = stream.capture(|| context.launch(&args, &stream))?;
            replay(self.replays, || graph.launch(&stream), &stream).map_err(|failure| context.explain(failure))?;
        } else {
            context.launch(&args, &stream)?;
            stream.synchronize().map_err(|failure| context.explain(failure))?;
        }
        let seconds = start.elapsed().as_secs_f64();

        let mut results = Vec::with_capacity(self.outputs.len());
        for (operand, buffer) in plan.operands.iter().zip(&buffers).filter(|(operand, _)| operand.is_written) {
            results.push(Array { form: operand.form.clone(), bytes: buffer.read()? });
        }
        context.close()?;
        Ok((seconds, results))
    }

    fn report(&self, report: &Report<'_>) {
        if self.json {
            say!("{}", serde_json::json!(report));
            return;
        }
        let how = if report.graph { "replayed" } else { "launched" };
        say!(
            "{how} {} {} on {} in {:.3} ms: {}, {}",
            report.callable.display(),
            count(report.executions, "time"),
            report.device,
            report.seconds * 1e3,
            count(report.tensors as u64, "tensor"),
            count(report.scalars as u64, "scalar"),
        );
        for output in &report.outputs {
            let shape: Vec<String> = output.shape.iter().map(u32::to_string).collect();
            say!("wrote {}: {} {}", output.file.display(), output.dtype, shape.join("x"));
        }
    }
}

/// Enqueues `count` replays, a hundredth at a time so that a bar can show how far the device is.
fn replay(count: u64, launch: impl Fn() -> Result<(), Failure>, stream: &Stream<'_>) -> Result<(), Failure> {
    let batch = count.div_ceil(100);
    let bar = if count >= 100 && std::io::stderr().is_terminal() {
        let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} replays, {eta} left");
        ProgressBar::new(count).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
    } else {
        ProgressBar::hidden()
    };
    let mut done = 0;
    while done < count {
        let next = batch.min(count - done);
        for _ in 0..next {
            launch()?;
        }
        stream.synchronize()?;
        done += next;
        bar.set_position(done);
    }
    bar.finish_and_clear();
    Ok(())
}

/// A copy whose base is 16-aligned, as the runtime asks; the tail is padded with zeroes.
fn aligned(image: &[u8]) -> Vec<u128> {
    let mut copy = vec![0_u128; image.len().div_ceil(16)];
    for (to, from) in copy.as_mut_bytes().iter_mut().zip(image) {
        *to = *from;
    }
    copy
}
