//! Why an image is refused: which field, where, what was found, what was expected.
//!

use core::fmt;

macro_rules! fields {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// The field that a refusal is about, in the order of the rules.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub enum Field { $($(#[$doc])* $variant,)+ }

        impl Field {
            /// Every field, in the order of the rules.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The field's name in the specification.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

fields! {
    /// Bytes of the image.
    Size = "size",
    /// Address of the image in memory.
    Base = "base",
    /// Used signature entries.
    SigCount = "sig_count",
    /// A signature entry.
    Signature = "signature",
    /// The stored number of scalars, or the number of scalar entries.
    ScalarCount = "scalar_count",
    /// Number of children.
    ChildCount = "child_count",
    /// Bytes of the orchestration's name.
    FuncNameLen = "func_name_len",
    /// Bytes of the configuration's name.
    ConfigNameLen = "config_name_len",
    /// The orchestration's name.
    FuncName = "func_name",
    /// The configuration's name.
    ConfigName = "config_name",
    /// Bytes of the orchestration.
    BinarySize = "binary_size",
    /// Where a child starts.
    ChildOffset = "child_offset",
    /// A child's header.
    ChildHeader = "child_header",
    /// Used signature entries of a child.
    ChildSigCount = "child_sig_count",
    /// A signature entry of a child.
    ChildSignature = "child_signature",
    /// Bytes of a child's code.
    ChildBinarySize = "child_binary_size",
    /// Bytes of the storage.
    Storage = "storage",
}

/// What would have been right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Expected {
    /// This or more.
    AtLeast(u64),
    /// From 0 to this.
    AtMost(u64),
    /// This and nothing else.
    Exactly(u64),
    /// A multiple of this.
    MultipleOf(u64),
    /// 0 for "not recorded", or this.
    ZeroOr(u64),
    /// 0 scalar, 1 in, 2 out or 3 inout.
    Direction,
    /// No tensor after the first scalar.
    TensorsBeforeScalars,
    /// The byte that ends a name.
    Nul,
    /// A byte inside a name.
    NotNul,
}

/// An image, or the description of one, that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refusal {
    /// What is wrong.
    pub field: Field,
    /// The child it is in, for a field of a child.
    pub child: Option<u32>,
    /// Offset of the field from the start of the image; for a table or a name, of the entry.
    pub offset: u64,
    /// What is there.
    pub found: i128,
    /// What should be.
    pub expected: Expected,
}

impl Refusal {
    pub(super) fn new(field: Field, offset: u64, found: impl Into<i128>, expected: Expected) -> Self {
        Self { field, child: None, offset, found: found.into(), expected }
    }

    pub(super) fn in_child(child: u32, field: Field, offset: u64, found: impl Into<i128>, expected: Expected) -> Self {
        Self { field, child: Some(child), offset, found: found.into(), expected }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(child) = self.child {
            write!(f, "child {child}: ")?;
        }
        write!(f, "{} at byte {} is {}, expected {}", self.field.name(), self.offset, self.found, self.expected)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::AtMost(most) => write!(f, "0 to {most}"),
            Self::Exactly(value) => write!(f, "{value}"),
            Self::MultipleOf(unit) => write!(f, "a multiple of {unit}"),
            Self::ZeroOr(value) => write!(f, "{value}, or 0 for \"not recorded\""),
            Self::Direction => f.write_str("a direction: 0 scalar, 1 in, 2 out or 3 inout"),
            Self::TensorsBeforeScalars => f.write_str("a scalar: tensors come before scalars"),
            Self::Nul => f.write_str("the NUL that ends the name"),
            Self::NotNul => f.write_str("a byte of the name: no NUL before its end"),
        }
    }
}

impl core::error::Error for Refusal {}
