//! What a refused argument says: which, what was found, what was expected.
//!

use core::fmt;

/// The first argument of a call that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ArgumentError {
    /// The parameter, or the field of the configuration, as the C header spells it.
    pub argument: &'static str,
    /// Which element, where the field is an array.
    pub element: Option<u8>,
    /// What the caller gave.
    pub found: Found,
    /// What the rule allows.
    pub expected: &'static str,
}

/// What the caller gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Found {
    /// A null pointer.
    Null,
    /// A null pointer with a size that is not 0.
    NullWithSize(u64),
    /// A pointer with size 0.
    EmptyAtAddress,
    /// A size in bytes.
    Size(u64),
    /// An address.
    Address(u64),
    /// A signed number.
    Signed(i64),
    /// An unsigned number.
    Number(u64),
    /// A text of no characters.
    EmptyText,
    /// A text without the NUL that ends it.
    UnterminatedText,
}

impl ArgumentError {
    pub(super) const fn new(argument: &'static str, found: Found, expected: &'static str) -> Self {
        Self { argument, element: None, found, expected }
    }

    pub(super) const fn null(argument: &'static str) -> Self {
        Self::new(argument, Found::Null, "a pointer that is not null")
    }

    pub(super) const fn at(self, element: u8) -> Self {
        Self { element: Some(element), ..self }
    }
}

impl fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.argument)?;
        if let Some(element) = self.element {
            write!(f, "[{element}]")?;
        }
        write!(f, " is {}; expected {}", self.found, self.expected)
    }
}

impl core::error::Error for ArgumentError {}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::NullWithSize(len) => write!(f, "null with size {len}"),
            Self::EmptyAtAddress => f.write_str("a pointer with size 0"),
            Self::Size(len) => write!(f, "{len} bytes long"),
            Self::Address(address) => write!(f, "{address:#x}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::EmptyText => f.write_str("empty"),
            Self::UnterminatedText => f.write_str("not terminated by NUL"),
        }
    }
}
