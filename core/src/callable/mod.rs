//! The callable image: an orchestration with the children it may start.
//!
//! An image is written to disk, sent between processes and uploaded to a device, so its layout is frozen and old images keep
//! working. [`layout`] names every offset once. What lies there is a claim; [`CallableImage`] is the checked value, made by the
//! ordered rules of [`validate`]. A device looks at an image in memory that somebody else wrote, so all rules read through
//! [`ImageWords`], which copies words out one at a time; the slice path uses the very same functions.
//!
//! | module | decides |
//! | --- | --- |
//! | [`layout`] | where things are |
//! | [`signature`] | directions and the two counts |
//! | [`header`] | what the header alone can tell |
//! | [`validate`] | the whole image |
//! | [`code`] | whether a device can run the code in it |
//! | [`start`] | whether a child may be started with these arguments |
//! | [`build`] | how an image is written |
//!
//! Not here: the table of prepared callables ([`crate::table`]), and anything that allocates.

pub mod build;
pub mod code;
pub mod hash;
pub mod header;
pub mod layout;
pub mod refusal;
pub mod signature;
pub mod start;
pub mod validate;
mod words;

pub use build::{CallableSpec, ChildSpec};
pub use hash::fnv1a_64;
pub use header::Header;
pub use refusal::{Expected, Field, Refusal};
pub use signature::{Counts, Direction};
pub use validate::{CallableImage, Child, ChildHeader, Children};
pub use words::ImageWords;

#[cfg(test)]
mod tests;
