//! What of a configuration stays as it is between the runs of one context.
//!
//! Ring sizes may differ from run to run: they are capacity, and the arena grows. The number of AICPU threads and the diagnostics
//! are how the context was prepared: a run that asks for others was prepared for another context.

use core::fmt;

use crate::wire::CallConfig;

/// The part of a [`CallConfig`] that a context keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// AICPU threads; 0 for whoever has no opinion.
    aicpu_threads: i32,
    /// One bit a diagnostic, in the order of the configuration.
    diagnostics: u8,
}

/// A run's configuration is not that of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingsConflict {
    /// The field of the configuration.
    pub field: &'static str,
    /// What the run asks for.
    pub found: i32,
    /// What the context was prepared with.
    pub expected: i32,
}

const DIAGNOSTICS: [&str; 5] =
    ["enable_chip_swimlane", "enable_dump_args", "enable_pmu", "enable_dep_gen", "enable_scope_stats"];

impl Settings {
    /// The settings in a configuration whose fields are inside their ranges.
    #[must_use]
    pub fn of(config: &CallConfig) -> Self {
        let CallConfig {
            aicpu_thread_num,
            enable_chip_swimlane,
            enable_dump_args,
            enable_pmu,
            enable_dep_gen,
            enable_scope_stats,
            ..
        } = *config;
        let enables = [enable_chip_swimlane, enable_dump_args, enable_pmu, enable_dep_gen, enable_scope_stats];
        let diagnostics = enables.iter().rev().fold(0, |bits, enable| bits << 1 | u8::from(*enable != 0));
        Self { aicpu_threads: aicpu_thread_num, diagnostics }
    }

    /// The settings of a context after a run with `run` was let in.
    ///
    /// # Errors
    /// The first field in which the two differ.
    pub fn admit(self, run: Self) -> Result<Self, SettingsConflict> {
        let differ = self.diagnostics ^ run.diagnostics;
        if let Some(field) = DIAGNOSTICS.get(differ.trailing_zeros() as usize) {
            let bit = differ.trailing_zeros();
            let of = |bits: u8| i32::from(bits >> bit & 1);
            return Err(SettingsConflict { field, found: of(run.diagnostics), expected: of(self.diagnostics) });
        }
        match (self.aicpu_threads, run.aicpu_threads) {
            (_, 0) => Ok(self),
            (0, threads) => Ok(Self { aicpu_threads: threads, ..self }),
            (held, asked) if held == asked => Ok(self),
            (expected, found) => Err(SettingsConflict { field: "aicpu_thread_num", found, expected }),
        }
    }
}

impl fmt::Display for SettingsConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { field, found, expected } = self;
        write!(f, "{field} is {found}, but the context was prepared with {expected}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(aicpu_thread_num: i32) -> Settings {
        Settings::of(&CallConfig { aicpu_thread_num, ..CallConfig::default() })
    }

    #[test]
    fn whoever_has_no_opinion_on_threads_goes_with_any() {
        assert_eq!(threads(4).admit(threads(0)), Ok(threads(4)));
        assert_eq!(threads(0).admit(threads(4)), Ok(threads(4)));
        assert_eq!(threads(4).admit(threads(4)), Ok(threads(4)));
    }

    #[test]
    fn another_number_of_threads_is_another_configuration() {
        let conflict = SettingsConflict { field: "aicpu_thread_num", found: 3, expected: 4 };
        assert_eq!(threads(4).admit(threads(3)), Err(conflict));
    }

    #[test]
    fn each_diagnostic_is_told_by_its_name() {
        let on: [fn(&mut CallConfig); 5] = [
            |c| c.enable_chip_swimlane = 1,
            |c| c.enable_dump_args = 1,
            |c| c.enable_pmu = 1,
            |c| c.enable_dep_gen = 1,
            |c| c.enable_scope_stats = 1,
        ];
        for (enable, field) in on.iter().zip(DIAGNOSTICS) {
            let mut config = CallConfig::default();
            enable(&mut config);
            let with = Settings::of(&config);
            assert_eq!(with.admit(with), Ok(with));
            assert_eq!(threads(0).admit(with), Err(SettingsConflict { field, found: 1, expected: 0 }));
            assert_eq!(with.admit(threads(0)), Err(SettingsConflict { field, found: 0, expected: 1 }));
        }
    }
}
