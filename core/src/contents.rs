//! The contents of a launch: how many arguments there are, and what they are.
//!
//! Addresses and ids have been checked before (they are *arguments*); this is what the argument block itself says. Only what its
//! two counts name is read.

use core::fmt;

use crate::callable::Counts;
use crate::tensor::{TensorRefusal, check_tensor};
use crate::wire::{MAX_ARGUMENTS, MAX_SCALARS, MAX_TENSORS, StorageTaskArgs, Tensor};

/// The used arguments of a launch, checked.
#[derive(Clone, Copy, Debug)]
pub struct LaunchArguments<'a> {
    /// Every one is a view of device memory that fits its backing.
    pub tensors: &'a [Tensor],
    /// Their meaning is the operator's.
    pub scalars: &'a [u64],
}

/// Contents that a launch does not take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum LaunchRefusal {
    /// A count outside its range.
    Count {
        /// The field, as the C header spells it.
        field: &'static str,
        /// What is there.
        found: i32,
        /// The most that it can be.
        most: u32,
    },
    /// The callable takes another number of arguments.
    CountMismatch {
        /// The field, as the C header spells it.
        field: &'static str,
        /// What is there.
        found: u32,
        /// What the callable takes.
        expected: u32,
    },
    /// A tensor that breaks a rule.
    Tensor {
        /// Which.
        index: u32,
        /// How.
        refusal: TensorRefusal,
    },
}

impl<'a> LaunchArguments<'a> {
    /// Checks the counts' ranges and every used tensor.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(args: &'a StorageTaskArgs) -> Result<Self, LaunchRefusal> {
        let tensors = used(&args.tensors, "tensor_count", args.tensor_count, MAX_TENSORS)?;
        let scalars = used(&args.scalars, "scalar_count", args.scalar_count, MAX_SCALARS)?;
        let room = MAX_ARGUMENTS.saturating_sub(tensors.len());
        if scalars.len() > room {
            return Err(range("scalar_count", args.scalar_count, room));
        }
        for (index, tensor) in (0..).zip(tensors) {
            check_tensor(tensor).map_err(|refusal| LaunchRefusal::Tensor { index, refusal })?;
        }
        Ok(Self { tensors, scalars })
    }

    /// Checks that a callable takes this many.
    ///
    /// # Errors
    /// The first count that differs.
    pub fn match_callable(&self, callable: Counts) -> Result<(), LaunchRefusal> {
        for (field, found, expected) in [
            ("tensor_count", self.tensors.len(), callable.tensors),
            ("scalar_count", self.scalars.len(), callable.scalars),
        ] {
            let found = u32::try_from(found).unwrap_or(u32::MAX);
            if found != expected {
                return Err(LaunchRefusal::CountMismatch { field, found, expected });
            }
        }
        Ok(())
    }
}

fn used<'a, T>(all: &'a [T], field: &'static str, count: i32, most: usize) -> Result<&'a [T], LaunchRefusal> {
    usize::try_from(count).ok().and_then(|count| all.get(..count)).ok_or_else(|| range(field, count, most))
}

#[cold]
fn range(field: &'static str, found: i32, most: usize) -> LaunchRefusal {
    LaunchRefusal::Count { field, found, most: u32::try_from(most).unwrap_or(u32::MAX) }
}

impl fmt::Display for LaunchRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { field, found, most } => write!(f, "{field} is {found}; expected 0 to {most}"),
            Self::CountMismatch { field, found, expected } => {
                write!(f, "{field} is {found}; the callable takes {expected}")
            }
            Self::Tensor { index, refusal } => write!(f, "tensor {index}: {refusal}"),
        }
    }
}

impl core::error::Error for LaunchRefusal {}

#[cfg(test)]
mod tests;
