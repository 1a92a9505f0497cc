//! What the arguments of one task may do.
//!

use super::checked::{Access, BufferHandleDescriptor, BufferRef};
use super::overlap::{Overlap, overlap};
use super::refusal::{Reason, Refusal};

/// A view and what a task will do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    /// The view.
    pub reference: BufferRef,
    /// What the task's tag asks for.
    pub access: Access,
}

/// Whether the descriptor grants what a tag asks for.
///
/// # Errors
/// [`Reason::AccessExceedsGrant`], with the access that was asked for.
pub fn check_access(descriptor: &BufferHandleDescriptor, wanted: Access) -> Result<(), Refusal> {
    if descriptor.access().grants(wanted) {
        Ok(())
    } else {
        let granted = u64::from(descriptor.access().code());
        Err(Refusal::new(Reason::AccessExceedsGrant, u64::from(wanted.code())).limit(granted))
    }
}

/// Checks the arguments of one task: each asks for what it was granted, and no two write the same bytes.
///
/// # Errors
/// [`Reason::AccessExceedsGrant`] at the first argument that asks for too much; [`Reason::WritesOverlap`] at the first argument
/// that may write what an earlier one writes, which is `found`.
pub fn check_arguments(arguments: &[Argument]) -> Result<(), Refusal> {
    for (index, argument) in (0_u32..).zip(arguments) {
        let granted = check_access(argument.reference.descriptor(), argument.access);
        granted.map_err(|refusal| refusal.at(index))?;
    }
    let writers = || (0_u32..).zip(arguments).filter(|(_, argument)| argument.access.writes());
    for (index, argument) in writers() {
        let mut earlier = writers().take_while(|(earlier, _)| *earlier < index);
        // A box that covers and one that is covered are both refused, so the order of the two does not matter.
        let clash = earlier.find(|(_, other)| overlap(&other.reference, &argument.reference) != Overlap::None);
        if let Some((other, _)) = clash {
            return Err(Refusal::new(Reason::WritesOverlap, u64::from(other)).at(index));
        }
    }
    Ok(())
}
