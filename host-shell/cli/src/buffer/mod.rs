//! `tenon buffer`: what the validator says of buffers that cross processes.
//!
//! Both commands go through the one validator of `core::buffer`, so their answers are those of every other boundary.

mod check;
mod show;

pub(crate) use check::Check;
pub(crate) use show::Show;

use crate::failure::Failure;

/// Bytes of a descriptor, of a reference, and of two references.
pub(crate) const DESCRIPTOR_BYTES: usize = 88;
pub(crate) const REFERENCE_BYTES: usize = 144;
pub(crate) const PAIR_BYTES: usize = 2 * REFERENCE_BYTES;

/// Reads hexadecimal digits, two to a byte.
pub(crate) fn bytes_of(hex: &str) -> Result<Vec<u8>, Failure> {
    let digits = hex.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return Err(Failure::Usage(format!("{} hexadecimal digits, expected two to a byte", digits.len())));
    }
    let byte = |(index, pair): (usize, &[u8])| {
        let text = str::from_utf8(pair).ok().filter(|text| text.bytes().all(|digit| digit.is_ascii_hexdigit()));
        text.and_then(|text| u8::from_str_radix(text, 16).ok())
            .ok_or_else(|| Failure::Usage(format!("digit {}: expected hexadecimal digits only", 2 * index + 1)))
    };
    digits.chunks_exact(2).enumerate().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_become_bytes_and_anything_else_is_refused_with_its_place() {
        assert_eq!(bytes_of("00fFa5").unwrap(), [0, 0xff, 0xa5]);
        assert!(bytes_of("").unwrap().is_empty());
        assert_eq!(bytes_of("abc").unwrap_err().to_string(), "3 hexadecimal digits, expected two to a byte");
        for wrong in ["00+1", "00 1", "00gg", "00é"] {
            assert_eq!(
                bytes_of(wrong).unwrap_err().to_string(),
                "digit 3: expected hexadecimal digits only",
                "{wrong}"
            );
        }
    }
}
