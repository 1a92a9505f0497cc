//! What the environment says about the simulated devices, read and checked.
//!
//! | variable | meaning | default |
//! | --- | --- | --- |
//! | `TENON_SIM_DEVICES` | devices of this machine, 1..=16 | 1 |
//! | `TENON_SIM_SEED` | seed of every random choice of a device | 0 |
//! | `TENON_SIM_AICPU_THREADS` | AICPU threads, 1..=64 | 4 |
//! | `TENON_SIM_AICORES` | AICore workers, 1..=256 | 8 |
//! | `TENON_SIM_MEMORY` | bytes of device memory, 64 MiB to 64 GiB | 8 GiB |
//! | `TENON_SIM_BASE` | address of the first device's memory, a multiple of 2 MiB | 0x550000000000 |
//! | `TENON_SIM_AICORE_TIMEOUT_MS` | how long an AICore branch waits for a verdict, at least 1 | 10000 |
//! | `TENON_SIM_DEVICE` | the executable of the device process | beside this library, or in `../bin` |
//!
//! Numbers are decimal, or hexadecimal after `0x`. A device whose memory is smaller than the default has a quarter of it as
//! callable memory.

use core::ops::RangeInclusive;

use crate::shm;

/// Devices that a process can have.
pub const MAX_DEVICES: usize = 16;
/// What [`Settings::base`] is a multiple of.
const BASE_ALIGN: u64 = 2 << 20;
/// Device memory must end below this, the end of user addresses on the processors in question.
const ADDRESS_END: u64 = 1 << 47;

/// The settings of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Devices of this machine.
    pub devices: u32,
    /// Seed of every random choice.
    pub seed: u64,
    /// AICPU threads.
    pub aicpu_threads: u32,
    /// AICore workers.
    pub aicore_workers: u32,
    /// Bytes of device memory.
    pub memory_bytes: u64,
    /// Bytes of its upper part, callable memory.
    pub callable_bytes: u64,
    /// Address of the first device's memory; each further device follows the one before.
    pub base: u64,
    /// Milliseconds that an AICore branch waits for a verdict.
    pub aicore_timeout_ms: u32,
}

/// A variable whose text is not what it must be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={text:?}: expected {expected}")]
pub struct BadSetting {
    variable: &'static str,
    text: String,
    expected: String,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    /// The first variable that is not a number in its range.
    pub fn from_environment() -> Result<Self, BadSetting> {
        Self::read(|variable| std::env::var_os(variable).map(|text| text.to_string_lossy().into_owned()))
    }

    /// Reads every variable through `lookup`.
    ///
    /// # Errors
    /// As [`from_environment`](Self::from_environment).
    pub fn read(lookup: impl Fn(&'static str) -> Option<String>) -> Result<Self, BadSetting> {
        let number = |variable, range: RangeInclusive<u64>, default| number(&lookup, variable, range, default);
        let small = |variable, range: RangeInclusive<u32>, default: u32| {
            let range = u64::from(*range.start())..=u64::from(*range.end());
            // The range was made from 32-bit numbers, so what lies in it fits.
            number(variable, range, default.into()).map(|value| u32::try_from(value).unwrap_or(u32::MAX))
        };
        let devices = small("TENON_SIM_DEVICES", 1..=16, 1)?;
        let memory_bytes =
            number("TENON_SIM_MEMORY", 64 << 20..=64 << 30, shm::DEVICE_BYTES)? / BASE_ALIGN * BASE_ALIGN;
        let base = number("TENON_SIM_BASE", BASE_ALIGN..=ADDRESS_END, shm::DEVICE_BASE)?;
        if !base.is_multiple_of(BASE_ALIGN) || base + u64::from(devices) * memory_bytes > ADDRESS_END {
            return Err(BadSetting {
                variable: "TENON_SIM_BASE",
                text: format!("{base:#x}"),
                expected: format!("a multiple of {BASE_ALIGN:#x} with room for the devices below {ADDRESS_END:#x}"),
            });
        }
        Ok(Self {
            devices,
            seed: number("TENON_SIM_SEED", 0..=u64::MAX, 0)?,
            aicpu_threads: small("TENON_SIM_AICPU_THREADS", 1..=64, 4)?,
            aicore_workers: small("TENON_SIM_AICORES", 1..=256, 8)?,
            memory_bytes,
            callable_bytes: shm::CALLABLE_BYTES.min(memory_bytes / 4 / BASE_ALIGN * BASE_ALIGN),
            base,
            aicore_timeout_ms: small("TENON_SIM_AICORE_TIMEOUT_MS", 1..=u32::MAX, 10_000)?,
        })
    }

    /// Address of the memory of device `id`, which is below `devices`.
    #[must_use]
    pub fn base_of(&self, id: u32) -> u64 {
        self.base + u64::from(id) * self.memory_bytes
    }
}

fn number(
    lookup: impl Fn(&'static str) -> Option<String>,
    variable: &'static str,
    range: RangeInclusive<u64>,
    default: u64,
) -> Result<u64, BadSetting> {
    let Some(text) = lookup(variable) else { return Ok(default) };
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match parsed {
        Ok(value) if range.contains(&value) => Ok(value),
        Ok(_) | Err(_) => {
            let expected = format!("a number in {}..={}", range.start(), range.end());
            Err(BadSetting { variable, text, expected })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&'static str, &str)]) -> Result<Settings, String> {
        Settings::read(|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, text)| (*text).to_owned()))
            .map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_environment_gives_the_defaults() {
        let settings = read(&[]).unwrap();
        assert_eq!((settings.devices, settings.aicpu_threads, settings.aicore_workers), (1, 4, 8));
        assert_eq!(settings.base_of(0), 0x5500_0000_0000);
        assert_eq!((settings.memory_bytes, settings.callable_bytes), (8 << 30, 2 << 30));
    }

    #[test]
    fn hexadecimal_and_small_memory_are_understood() {
        let settings = read(&[("TENON_SIM_SEED", "0xff"), ("TENON_SIM_MEMORY", "0x10000000")]).unwrap();
        assert_eq!(settings.seed, 255);
        assert_eq!((settings.memory_bytes, settings.callable_bytes), (256 << 20, 64 << 20));
        assert_eq!(settings.base_of(2), 0x5500_0000_0000 + (512 << 20));
    }

    #[test]
    fn a_wrong_text_is_named_with_what_was_expected() {
        assert_eq!(
            read(&[("TENON_SIM_AICORES", "many")]).unwrap_err(),
            "TENON_SIM_AICORES=\"many\": expected a number in 1..=256"
        );
        assert_eq!(
            read(&[("TENON_SIM_DEVICES", "17")]).unwrap_err(),
            "TENON_SIM_DEVICES=\"17\": expected a number in 1..=16"
        );
        assert!(read(&[("TENON_SIM_BASE", "0x550000000001")]).unwrap_err().contains("a multiple of 0x200000"));
        assert!(read(&[("TENON_SIM_BASE", "0x7ffff0000000")]).unwrap_err().contains("room for the devices"));
    }
}
