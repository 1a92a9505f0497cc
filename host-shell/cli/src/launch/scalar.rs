//! Scalars of the command line: 64 bits each, whose meaning is the operator's.
//!

use std::fmt::Display;
use std::str::FromStr;

use half::{bf16, f16};

/// The 64 bits of one scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scalar(pub(super) u64);

/// `3`, `-3` or `0x10` is a 64-bit integer; anything else names its type, as in `f32:1e-5`.
///
/// Signed integers are extended by their sign, everything else by zeroes: a 32-bit float is in the lower half.
impl FromStr for Scalar {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bits = match text.split_once(':') {
            None => integer(text)?,
            Some(("i8", value)) => signed(i64::from(number::<i8>(value)?)),
            Some(("i16", value)) => signed(i64::from(number::<i16>(value)?)),
            Some(("i32", value)) => signed(i64::from(number::<i32>(value)?)),
            Some(("i64", value)) => signed(number::<i64>(value)?),
            Some(("u8", value)) => u64::from(number::<u8>(value)?),
            Some(("u16", value)) => u64::from(number::<u16>(value)?),
            Some(("u32", value)) => u64::from(number::<u32>(value)?),
            Some(("u64", value)) => number::<u64>(value)?,
            Some(("f16", value)) => u64::from(f16::from_f32(number::<f32>(value)?).to_bits()),
            Some(("bf16", value)) => u64::from(bf16::from_f32(number::<f32>(value)?).to_bits()),
            Some(("f32", value)) => u64::from(number::<f32>(value)?.to_bits()),
            Some(("f64", value)) => number::<f64>(value)?.to_bits(),
            Some(("bool", value)) => u64::from(number::<bool>(value)?),
            Some((kind, _)) => {
                return Err(format!(
                    "`{kind}` is no type; expected i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64 or bool"
                ));
            }
        };
        Ok(Self(bits))
    }
}

fn integer(text: &str) -> Result<u64, String> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).map_err(|error| format!("`{text}` is no integer: {error}"));
    }
    let value = text.parse::<u64>().or_else(|_| text.parse::<i64>().map(signed));
    value.map_err(|error| format!("`{text}` is no 64-bit integer: {error}; a float names its type, as in `f32:1e-5`"))
}

fn number<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| format!("`{text}`: {error}"))
}

fn signed(value: i64) -> u64 {
    value.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(text: &str) -> Result<u64, String> {
        text.parse::<Scalar>().map(|scalar| scalar.0)
    }

    #[test]
    fn a_scalar_has_the_bits_of_its_type() {
        for (text, expected) in [
            ("3", 3),
            ("-1", u64::MAX),
            ("18446744073709551615", u64::MAX),
            ("0xff", 0xff),
            ("i8:-1", u64::MAX),
            ("i32:-2", u64::MAX - 1),
            ("u8:255", 255),
            ("f32:1", 0x3f80_0000),
            ("f32:-0", 0x8000_0000),
            ("f32:1e-5", 0x3727_c5ac),
            ("f64:1", 0x3ff0_0000_0000_0000),
            ("f16:1", 0x3c00),
            ("bf16:1", 0x3f80),
            ("bool:true", 1),
        ] {
            assert_eq!(bits(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_of_its_type_is_refused() {
        for text in ["", "1.5", "1e3", "i8:128", "u8:-1", "u32:", "f32:x", "f8:1", "0x", "18446744073709551616"] {
            assert!(bits(text).is_err(), "{text}");
        }
        assert!(bits("1.5").unwrap_err().contains("f32:1e-5"), "says how to write a float");
    }
}
