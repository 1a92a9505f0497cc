//! What the operands of a launch are, from signature and command line.
//!

use tenon_core::callable::{CallableImage, Direction};
use tenon_core::wire::{AddressSpace, DataType, MAX_SCALARS, MAX_TENSORS, StorageTaskArgs, Tensor};

use super::array::{Array, Form};
use super::scalar::Scalar;
use super::{Buffer, Launch};
use crate::count;
use crate::failure::Failure;
use crate::show::direction_name;

/// One tensor argument.
#[derive(Debug)]
pub(super) struct Operand {
    pub(super) form: Form,
    /// What it holds before the launch: the input, or zeroes.
    pub(super) contents: Vec<u8>,
    /// Whether it is read back afterwards.
    pub(super) is_written: bool,
}

/// The tensor arguments in the order of the signature.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) operands: Vec<Operand>,
}

impl Plan {
    /// Reads the inputs and decides the forms of the outputs.
    pub(super) fn new(launch: &Launch, callable: &CallableImage<'_>) -> Result<Self, Failure> {
        let signature: Vec<Direction> = callable.signature().collect();
        let number_of =
            |is_counted: fn(Direction) -> bool| signature.iter().filter(|entry| is_counted(**entry)).count();
        let plain_outputs = number_of(|entry| entry == Direction::Out);
        let given = [
            ("--in", launch.inputs.len(), number_of(|entry| matches!(entry, Direction::In | Direction::Inout))),
            ("--out", launch.outputs.len(), number_of(Direction::is_written)),
            ("--scalar", launch.scalars.len(), number_of(|entry| entry == Direction::Scalar)),
        ];
        let names: Vec<&str> = signature.iter().copied().map(direction_name).collect();
        let names = names.join(", ");
        for (option, found, expected) in given {
            if found != expected {
                let times = count(found as u64, "time");
                let what = format!("{option} is given {times}, expected {expected}: the signature is ({names})");
                return Err(Failure::Usage(what));
            }
        }
        for (option, found) in [("--out-shape", launch.out_shape.len()), ("--out-dtype", launch.out_dtype.len())] {
            if found > plain_outputs {
                let times = count(found as u64, "time");
                let what = format!("{option} is given {times}, expected at most {plain_outputs}: ({names})");
                return Err(Failure::Usage(what));
            }
        }

        let inputs = launch.inputs.iter().map(|path| Array::read(path)).collect::<Result<Vec<_>, _>>()?;
        let like = inputs.first().map(|array| array.form.clone());
        let mut inputs = inputs.into_iter();
        let mut shapes = launch.out_shape.iter();
        let mut dtypes = launch.out_dtype.iter();
        let mut operands = Vec::with_capacity(signature.len());
        for direction in signature.into_iter().filter(|entry| *entry != Direction::Scalar) {
            let contents = if direction == Direction::Out { None } else { inputs.next() };
            operands.push(match contents {
                Some(Array { form, bytes }) => Operand { form, contents: bytes, is_written: direction.is_written() },
                None => {
                    let form = output_form(like.as_ref(), shapes.next(), dtypes.next())?;
                    Operand { contents: vec![0; form.bytes()], form, is_written: true }
                }
            });
        }
        Ok(Self { operands })
    }

    /// The argument block, once the operands lie in `buffers`.
    pub(super) fn arguments(&self, buffers: &[Buffer<'_>], scalars: &[Scalar]) -> Box<StorageTaskArgs> {
        let mut args = Box::new(StorageTaskArgs {
            tensors: [Tensor::default(); MAX_TENSORS],
            scalars: [0; MAX_SCALARS],
            // The signature bounds both, and the operands are as many as it says.
            tensor_count: i32::try_from(self.operands.len()).unwrap_or(i32::MAX),
            scalar_count: i32::try_from(scalars.len()).unwrap_or(i32::MAX),
            pad: [0; 56],
        });
        for (tensor, (operand, buffer)) in args.tensors.iter_mut().zip(self.operands.iter().zip(buffers)) {
            *tensor = row_major(&operand.form, buffer.address(), buffer.bytes() as u64);
        }
        for (to, scalar) in args.scalars.iter_mut().zip(scalars) {
            *to = scalar.0;
        }
        args
    }
}

fn output_form(like: Option<&Form>, shape: Option<&Vec<u64>>, dtype: Option<&DataType>) -> Result<Form, Failure> {
    let missing = |option: &str| {
        Failure::Usage(format!("there is no input whose form an output could take: {option} is needed for each output"))
    };
    let dtype = match (dtype, like) {
        (Some(dtype), _) => *dtype,
        (None, Some(like)) => like.dtype,
        (None, None) => return Err(missing("--out-dtype")),
    };
    match (shape, like) {
        (Some(shape), _) => Form::new(dtype, shape).map_err(|what| Failure::Usage(format!("--out-shape: {what}"))),
        (None, Some(like)) => Ok(Form { dtype, shape: like.shape.clone() }),
        (None, None) => Err(missing("--out-shape")),
    }
}

/// A contiguous view of a whole buffer.
fn row_major(form: &Form, addr: u64, size: u64) -> Tensor {
    let mut tensor = Tensor {
        addr,
        size,
        dtype: form.dtype.code(),
        is_contiguous: 1,
        address_space: AddressSpace::Device.code(),
        ..Tensor::default()
    };
    let mut stride = 1;
    for (axis, extent) in form.shape.iter().enumerate().rev() {
        tensor.shapes[axis] = *extent;
        // An extent is at least 1 and the whole fits in memory; a stride beyond 32 bits is refused by the runtime's own check.
        tensor.strides[axis] = u32::try_from(stride).unwrap_or(u32::MAX);
        stride *= u64::from(*extent);
        tensor.ndims += 1;
    }
    tensor.extent_elem = stride;
    tensor
}

#[cfg(test)]
mod tests {
    use tenon_core::tensor::check_tensor;

    use super::*;

    #[test]
    fn a_whole_buffer_is_a_tensor_that_a_launch_takes() {
        for shape in [&[7][..], &[3, 4], &[1, 5, 1], &[2, 1, 3, 1, 2]] {
            let form = Form::new(DataType::F16, shape).unwrap();
            let tensor = row_major(&form, 0x5400_0000_0000, form.bytes() as u64);
            assert_eq!(check_tensor(&tensor), Ok(()), "{shape:?}");
            assert_eq!(tensor.ndims as usize, shape.len());
        }
    }

    #[test]
    fn an_output_is_like_the_first_input_where_nothing_else_is_said() {
        let like = Form::new(DataType::F32, &[3, 4]).unwrap();
        let shape = vec![5];
        let form = |shape, dtype| output_form(Some(&like), shape, dtype).unwrap();
        assert_eq!(form(None, None), like);
        assert_eq!(form(Some(&shape), None), Form::new(DataType::F32, &[5]).unwrap());
        assert_eq!(form(None, Some(&DataType::I8)), Form::new(DataType::I8, &[3, 4]).unwrap());
        assert!(output_form(None, Some(&shape), None).is_err());
        assert!(output_form(None, None, Some(&DataType::F32)).is_err());
    }
}
