//! Arrays in `.npy` files, as the bytes that a device takes.
//!

use std::path::Path;

use npyz::{DType, NpyHeader, TypeStr, WriteOptions, WriterBuilder};
use tenon_core::wire::DataType;

use crate::failure::Failure;
use crate::file;

/// Element type and shape: what an operator and its operands agree on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) dtype: DataType,
    /// One to five axes, outermost first, none of them 0.
    pub(super) shape: Vec<u32>,
}

/// A row-major array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) form: Form,
    pub(super) bytes: Vec<u8>,
}

/// NumPy's type string for each element type that it has one for.
///
/// It has none for the narrow floats; those are written as raw bytes of their width (`V`), which is also how other libraries
/// that add such types to NumPy store them.
fn descr(dtype: DataType) -> &'static str {
    match dtype {
        DataType::F32 => "<f4",
        DataType::F16 => "<f2",
        DataType::I32 => "<i4",
        DataType::I16 => "<i2",
        DataType::I8 => "|i1",
        DataType::U8 => "|u1",
        DataType::I64 => "<i8",
        DataType::U64 => "<u8",
        DataType::U16 => "<u2",
        DataType::U32 => "<u4",
        DataType::Bool => "|b1",
        DataType::Bf16 => "|V2",
        DataType::Fp8E4M3Fn | DataType::Fp8E8M0 | DataType::Fp4E2M1 => "|V1",
    }
}

impl Form {
    /// Checks a shape: 1 to 5 axes of 1 to 4,294,967,295 elements, and a size that memory can have.
    pub(super) fn new(dtype: DataType, shape: &[u64]) -> Result<Self, String> {
        // NumPy has arrays without an axis; they are one element.
        let shape = if shape.is_empty() { &[1] } else { shape };
        if shape.len() > 5 {
            return Err(format!("shape has {} axes, expected 1 to 5", shape.len()));
        }
        let mut checked = Vec::with_capacity(shape.len());
        for (axis, extent) in shape.iter().enumerate() {
            match u32::try_from(*extent) {
                Ok(extent) if extent != 0 => checked.push(extent),
                _ => return Err(format!("shape[{axis}] is {extent}, expected 1 to {}", u32::MAX)),
            }
        }
        let form = Self { dtype, shape: checked };
        form.checked_bytes().map(|_| form).ok_or_else(|| format!("shape {shape:?} does not fit in memory"))
    }

    /// Bytes of the whole array.
    pub(super) fn bytes(&self) -> usize {
        self.checked_bytes().unwrap_or(usize::MAX)
    }

    fn checked_bytes(&self) -> Option<usize> {
        let bytes =
            self.shape.iter().try_fold(self.dtype.size_bytes(), |sum, axis| sum.checked_mul(u64::from(*axis)))?;
        // A slice is never longer than this.
        usize::try_from(bytes).ok().filter(|bytes| isize::try_from(*bytes).is_ok())
    }
}

impl Array {
    /// Reads a file. An array in column-major order is rearranged.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let contents = file::read(path)?;
        Self::parse(&contents).map_err(|what| Failure::contents(path, what))
    }

    fn parse(contents: &[u8]) -> Result<Self, String> {
        let mut rest = contents;
        let header = NpyHeader::from_reader(&mut rest).map_err(|error| format!("no readable .npy header: {error}"))?;
        let form = Form::new(data_type(&header.dtype())?, header.shape())?;
        if rest.len() != form.bytes() {
            let offset = contents.len().saturating_sub(rest.len());
            let (found, expected) = (rest.len(), form.bytes());
            return Err(format!(
                "data at byte {offset} is {found} bytes, expected {expected} for shape {:?}",
                form.shape
            ));
        }
        let bytes = match header.order() {
            npyz::Order::C => rest.to_vec(),
            npyz::Order::Fortran => row_major(&form, rest),
        };
        Ok(Self { form, bytes })
    }

    /// Writes a file.
    pub(super) fn write(&self, path: &Path) -> Result<(), Failure> {
        let shape: Vec<u64> = self.form.shape.iter().map(|extent| u64::from(*extent)).collect();
        let mut contents = Vec::with_capacity(self.bytes.len().saturating_add(128));
        let failure = |source| Failure::File { path: path.into(), action: "write", source };
        let type_str: TypeStr =
            descr(self.form.dtype).parse().map_err(|_| failure(std::io::ErrorKind::Other.into()))?;
        let options = WriteOptions::new_header_only().dtype(DType::new_scalar(type_str)).shape(&shape);
        options.writer(&mut contents).write_header_only().map_err(failure)?;
        contents.extend_from_slice(&self.bytes);
        file::write(path, &contents)
    }
}

/// The element type that a type string names.
fn data_type(dtype: &DType) -> Result<DataType, String> {
    let found = dtype.descr();
    let known = DataType::ALL.iter().filter(|dtype| !descr(**dtype).contains('V'));
    known.copied().find(|dtype| found == format!("'{}'", descr(*dtype))).ok_or_else(|| {
        format!("descr is {found}, expected one of <f4 <f2 <i8 <i4 <i2 |i1 <u8 <u4 <u2 |u1 |b1 (convert with astype)")
    })
}

/// Rearranges column-major elements.
fn row_major(form: &Form, columns: &[u8]) -> Vec<u8> {
    let size = form.bytes() / form.shape.iter().map(|extent| *extent as usize).product::<usize>();
    let mut out = Vec::with_capacity(columns.len());
    let mut index = vec![0_u32; form.shape.len()];
    for _ in 0..columns.len() / size {
        // The first axis varies fastest in the source, the last one in the result.
        let (mut element, mut stride) = (0, 1);
        for (at, extent) in index.iter().zip(&form.shape) {
            element += *at as usize * stride;
            stride *= *extent as usize;
        }
        out.extend_from_slice(&columns[element * size..(element + 1) * size]);
        for (at, extent) in index.iter_mut().zip(&form.shape).rev() {
            *at += 1;
            if *at < *extent {
                break;
            }
            *at = 0;
        }
    }
    out
}

/// Parses `--out-shape`: extents with `x` or `,` between them.
pub(super) fn parse_shape(text: &str) -> Result<Vec<u64>, String> {
    text.split(['x', ','])
        .map(|extent| extent.parse().map_err(|error| format!("`{extent}` is no extent: {error}; expected as in 3x4")))
        .collect()
}

/// Parses `--out-dtype`: the name of an element type, as in `f32` or `bf16`.
pub(super) fn parse_dtype(text: &str) -> Result<DataType, String> {
    DataType::ALL.iter().copied().find(|dtype| dtype.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
        let names: Vec<String> = DataType::ALL.iter().map(|dtype| dtype.name().to_ascii_lowercase()).collect();
        format!("no such type; expected one of {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(descr: &str, is_column_major: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if is_column_major { "True" } else { "False" };
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.as_bytes());
        file.extend(data);
        file
    }

    #[test]
    fn what_is_written_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        for dtype in DataType::ALL.iter().filter(|dtype| !descr(**dtype).contains('V')) {
            let form = Form::new(*dtype, &[2, 3]).unwrap();
            let bytes = (0..).take(form.bytes()).collect();
            let array = Array { form, bytes };
            let path = directory.path().join(dtype.name());
            array.write(&path).unwrap();
            assert_eq!(Array::read(&path).unwrap(), array, "{}", dtype.name());
        }
    }

    #[test]
    fn a_column_major_array_is_rearranged() {
        // [[1, 2, 3], [4, 5, 6]] by columns.
        let array = Array::parse(&npy("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6])).unwrap();
        assert_eq!(array.bytes, [1, 2, 3, 4, 5, 6]);
        let array = Array::parse(&npy("<u2", true, "(2, 2)", &[1, 0, 3, 0, 2, 0, 4, 0])).unwrap();
        assert_eq!(array.bytes, [1, 0, 2, 0, 3, 0, 4, 0]);
    }

    #[test]
    fn an_array_without_an_axis_is_one_element() {
        let array = Array::parse(&npy("<f4", false, "()", &[0; 4])).unwrap();
        assert_eq!(array.form.shape, [1]);
    }

    #[test]
    fn what_a_device_cannot_take_is_refused_by_name() {
        for (file, expected) in [
            (npy(">f4", false, "(1,)", &[0; 4]), "descr is '>f4'"),
            (npy("<f8", false, "(1,)", &[0; 8]), "descr is '<f8'"),
            (npy("<f4", false, "(1,1,1,1,1,1)", &[0; 4]), "shape has 6 axes"),
            (npy("<f4", false, "(3, 0)", &[]), "shape[1] is 0"),
            (npy("<f4", false, "(3,)", &[0; 11]), "data at byte 128 is 11 bytes, expected 12"),
            (b"\x93NUMPY".to_vec(), "no readable .npy header"),
            (b"PK".to_vec(), "no readable .npy header"),
        ] {
            let what = Array::parse(&file).unwrap_err();
            assert!(what.contains(expected), "{what}");
        }
    }

    #[test]
    fn shapes_and_types_of_the_command_line_are_parsed() {
        assert_eq!(parse_shape("3x4"), Ok(vec![3, 4]));
        assert_eq!(parse_shape("7"), Ok(vec![7]));
        assert!(parse_shape("3x").is_err());
        assert_eq!(parse_dtype("bf16"), Ok(DataType::Bf16));
        assert_eq!(parse_dtype("fp8e4m3fn"), Ok(DataType::Fp8E4M3Fn));
        assert!(parse_dtype("f8").unwrap_err().contains("f32"));
        assert!(Form::new(DataType::F32, &[u64::from(u32::MAX); 5]).is_err());
    }
}
