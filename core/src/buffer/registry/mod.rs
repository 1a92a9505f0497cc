//! What an owner and an importer may do next, without doing it.
//!
//! A shell keeps one [`Tenancy`] per `buffer_id` that it owns, and one [`Import`] per identity that it has imported. Both are
//! small values; the functions say how they change and what the shell must do. [`Import`] packs into one word, so that a shell
//! can change it with compare-and-exchange and hold no lock while it maps.

mod import;
mod owner;

pub use import::{Acquired, Import, Released};
pub use owner::{Closed, Tenancy};

use super::checked::{BufferHandleDescriptor, CanonicalIdentity};
use super::refusal::{Reason, Refusal};

/// What a new identity is to one that is already known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Succession {
    /// Another buffer, or another owner.
    Unrelated,
    /// The same tenant.
    Same,
    /// A later tenant of the same `buffer_id`: what is known is stale from now on.
    Supersedes,
}

/// What `offered` is to `known`.
///
/// # Errors
/// [`Reason::GenerationStale`] when `offered` is an earlier tenant than the known one.
pub fn succession(known: &CanonicalIdentity, offered: &CanonicalIdentity) -> Result<Succession, Refusal> {
    if (known.owner_instance_id, known.buffer_id) != (offered.owner_instance_id, offered.buffer_id) {
        return Ok(Succession::Unrelated);
    }
    let (found, current) = (offered.generation.to_bits(), known.generation.to_bits());
    if found < current {
        return Err(Refusal::new(Reason::GenerationStale, u64::from(found)).limit(u64::from(current)));
    }
    Ok(if found == current { Succession::Same } else { Succession::Supersedes })
}

/// Whether two descriptors of one identity say the same. What is for people only may differ.
///
/// # Errors
/// [`Reason::IdentityConflict`], at the byte of the descriptor where the first differing field begins, with what `offered` has
/// there. What is known stays as it is.
pub fn check_same_content(known: &BufferHandleDescriptor, offered: &BufferHandleDescriptor) -> Result<(), Refusal> {
    let conflict = |offset, found| Err(Refusal::new(Reason::IdentityConflict, found).at(offset));
    let (known, offered) = (&known.raw, &offered.raw);
    if known.address_space != offered.address_space {
        return conflict(2, u64::from(offered.address_space));
    }
    if known.access != offered.access {
        return conflict(3, u64::from(offered.access));
    }
    if known.backend_kind != offered.backend_kind {
        return conflict(4, u64::from(offered.backend_kind));
    }
    if known.nbytes != offered.nbytes {
        return conflict(40, offered.nbytes);
    }
    if known.body_len != offered.body_len {
        return conflict(52, u64::from(offered.body_len));
    }
    match (56_u32..).zip(offered.body.iter().zip(&known.body)).find(|(_, (new, old))| new != old) {
        Some((offset, (found, _))) => conflict(offset, u64::from(*found)),
        None => Ok(()),
    }
}
