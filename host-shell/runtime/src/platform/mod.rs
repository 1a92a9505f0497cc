//! The platforms that this library can drive, and which one a process uses.
//!
//! A platform implements the four vocabularies of [`tenon_core::vocabulary`] and nothing else. `TENON_PLATFORM` chooses
//! one by its name in [`PLATFORMS`]; without it the simulated device is used. A platform is bound once per process,
//! when the first context asks what it supports or is initialised; a library that was bound stays.

mod any;
mod sim;

use std::sync::OnceLock;

use thiserror::Error;

pub use any::{AnyPlatform, Platform};
pub use sim::{BindError, REQUIRED_SYMBOLS};

/// One platform that can be chosen.
pub struct PlatformRow {
    /// What `TENON_PLATFORM` says.
    pub name: &'static str,
    /// Whether kernel mode works on it.
    pub has_kernel_mode: bool,
    /// Binds its vendor library, or finds it bound, and gives one context's share of it.
    open: fn() -> Result<AnyPlatform, PlatformError>,
}

/// Every platform, the default first.
pub const PLATFORMS: &[PlatformRow] = &[PlatformRow { name: "sim", has_kernel_mode: true, open: open_sim }];

/// Why there is no platform.
#[derive(Clone, Debug, Error)]
pub enum PlatformError {
    /// `TENON_PLATFORM` names none.
    #[error("TENON_PLATFORM is {0:?}; expected one of {known}", known = Known)]
    Unknown(String),
    /// Its vendor library could not be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
}

/// The platform of this process: its row, or the value of `TENON_PLATFORM` that names none.
fn selected() -> Result<&'static PlatformRow, PlatformError> {
    static SELECTED: OnceLock<Result<&'static PlatformRow, PlatformError>> = OnceLock::new();
    SELECTED.get_or_init(|| find(std::env::var_os("TENON_PLATFORM").as_deref())).clone()
}

fn find(asked: Option<&std::ffi::OsStr>) -> Result<&'static PlatformRow, PlatformError> {
    let Some(asked) = asked.filter(|name| !name.is_empty()) else {
        return Ok(&PLATFORMS[0]);
    };
    PLATFORMS
        .iter()
        .find(|row| asked == row.name)
        .ok_or_else(|| PlatformError::Unknown(asked.to_string_lossy().into_owned()))
}

/// Gives one context its platform.
///
/// # Errors The environment names no platform, or the vendor's library cannot be bound; the message says which symbol
/// or file is missing.
pub fn open() -> Result<AnyPlatform, PlatformError> {
    (selected()?.open)()
}

/// Whether kernel mode works on the platform of this process.
///
/// # Errors
/// As for [`open`].
pub fn has_kernel_mode() -> Result<bool, PlatformError> {
    let row = selected()?;
    (row.open)()?;
    Ok(row.has_kernel_mode)
}

fn open_sim() -> Result<AnyPlatform, PlatformError> {
    Ok(AnyPlatform::new(sim::SimPlatform::new(sim::bound()?)))
}

/// The names of [`PLATFORMS`] as a person reads them.
struct Known;

impl core::fmt::Display for Known {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (index, row) in PLATFORMS.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", row.name)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_simulated_device_is_the_default() {
        assert_eq!(find(None).unwrap().name, "sim");
        assert_eq!(find(Some("".as_ref())).unwrap().name, "sim");
        assert_eq!(find(Some("sim".as_ref())).unwrap().name, "sim");
    }

    #[test]
    fn an_unknown_platform_is_refused_with_the_known_ones() {
        let message = find(Some("simm".as_ref())).err().unwrap().to_string();
        assert_eq!(message, "TENON_PLATFORM is \"simm\"; expected one of sim");
    }
}
