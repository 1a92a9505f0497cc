//! The codes that the host runtime and the device answer with.
//!
//! A number is never given a second meaning. Codes latched on the device live in `-999..=-1`, codes of the host runtime start at
//! −1000 and go down: the two bands never meet.

use static_assertions::const_assert_eq;

closed_enum! {
    /// What an entry of the host runtime answers when it does not answer 0 (`PTO_RUNTIME_ERR_*`).
    pub enum RuntimeError: i32 {
        /// A fault of the runtime or its platform. Elsewhere read as "this card is poisoned".
        Internal = -1000,
        /// This build or this platform cannot do it.
        Unsupported = -1001,
        /// A run prepared under another configuration.
        PreparedIncompatible = -1002,
        /// The call does not fit the mode or the phase of the context, or another thread is inside.
        InvalidState = -1003,
        /// An argument breaks a rule; nothing was changed.
        InvalidArgument = -1004,
        /// No slot, or a retired one; or no context area is left.
        CallableCountExceeded = -1005,
        /// More than 512 MiB of unique images in one context.
        CallableBytesExceeded = -1006,
        /// The slot is empty.
        CallableNotResident = -1007,
        /// Reserved: stale is the device's answer.
        CallableStale = -1008,
    }
}

closed_enum! {
    /// What the device entry answers, in the order of its checks.
    pub enum DispatchAnswer: u32 {
        /// The callable ran.
        Success = 0,
        /// The packet breaks a rule, or names no registered context (steps 1–4).
        InvalidArgs = 1,
        /// The slot's record names nothing that can run (step 5).
        NotResident = 2,
        /// The slot has another tenant than the packet names (step 6).
        Stale = 3,
        /// Code of a kind or machine that this build cannot run (step 7).
        UnsupportedPayload = 4,
        /// The counts do not fit the callable (step 7), or a child was started with arguments that do not fit it.
        InvalidBinding = 5,
        /// The callable or one of its children reported failure.
        ExecutionFailed = 6,
        /// It ran; releasing its working state failed.
        CleanupFailed = 7,
        /// Another launch of the same context is executing.
        Busy = 8,
        /// The context was cancelled.
        Poisoned = 9,
    }
}

/// First code of the host runtime's band; everything above it and below 0 is latched on the device.
pub const HOST_BAND_FIRST: i32 = -1000;

const_assert_eq!(RuntimeError::Internal as i32, HOST_BAND_FIRST);

impl DispatchAnswer {
    /// The code under which a device latches this answer: `-(900 + answer)`, or 0 for success.
    #[must_use]
    pub const fn latched_code(self) -> i32 {
        match self {
            Self::Success => 0,
            Self::InvalidArgs => -901,
            Self::NotResident => -902,
            Self::Stale => -903,
            Self::UnsupportedPayload => -904,
            Self::InvalidBinding => -905,
            Self::ExecutionFailed => -906,
            Self::CleanupFailed => -907,
            Self::Busy => -908,
            Self::Poisoned => -909,
        }
    }

    /// Whether the answer counts in the device's line of the context area (answers 2 to 9).
    #[must_use]
    pub const fn is_counted(self) -> bool {
        !matches!(self, Self::Success | Self::InvalidArgs)
    }
}

impl RuntimeError {
    /// The name that C sees.
    #[must_use]
    pub const fn c_name(self) -> &'static str {
        match self {
            Self::Internal => "PTO_RUNTIME_ERR_INTERNAL",
            Self::Unsupported => "PTO_RUNTIME_ERR_UNSUPPORTED",
            Self::PreparedIncompatible => "PTO_RUNTIME_ERR_PREPARED_INCOMPATIBLE",
            Self::InvalidState => "PTO_RUNTIME_ERR_INVALID_STATE",
            Self::InvalidArgument => "PTO_RUNTIME_ERR_INVALID_ARGUMENT",
            Self::CallableCountExceeded => "PTO_RUNTIME_ERR_CALLABLE_COUNT_EXCEEDED",
            Self::CallableBytesExceeded => "PTO_RUNTIME_ERR_CALLABLE_BYTES_EXCEEDED",
            Self::CallableNotResident => "PTO_RUNTIME_ERR_CALLABLE_NOT_RESIDENT",
            Self::CallableStale => "PTO_RUNTIME_ERR_CALLABLE_STALE",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        let runtime: std::vec::Vec<(&str, i32)> = RuntimeError::ALL.iter().map(|e| (e.name(), e.code())).collect();
        assert_eq!(
            runtime,
            [
                ("Internal", -1000),
                ("Unsupported", -1001),
                ("PreparedIncompatible", -1002),
                ("InvalidState", -1003),
                ("InvalidArgument", -1004),
                ("CallableCountExceeded", -1005),
                ("CallableBytesExceeded", -1006),
                ("CallableNotResident", -1007),
                ("CallableStale", -1008),
            ]
        );
        let answers: std::vec::Vec<(&str, u32)> = DispatchAnswer::ALL.iter().map(|a| (a.name(), a.code())).collect();
        assert_eq!(
            answers,
            [
                ("Success", 0),
                ("InvalidArgs", 1),
                ("NotResident", 2),
                ("Stale", 3),
                ("UnsupportedPayload", 4),
                ("InvalidBinding", 5),
                ("ExecutionFailed", 6),
                ("CleanupFailed", 7),
                ("Busy", 8),
                ("Poisoned", 9),
            ]
        );
    }

    #[test]
    fn the_bands_of_host_and_device_never_meet() {
        for error in RuntimeError::ALL {
            assert!(error.code() <= HOST_BAND_FIRST, "{}", error.name());
        }
        for answer in DispatchAnswer::ALL.iter().filter(|a| **a != DispatchAnswer::Success) {
            let code = i64::from(answer.latched_code());
            assert_eq!(code, -(900 + i64::from(answer.code())));
            assert!((-999..0).contains(&code));
        }
    }

    #[test]
    fn an_unknown_number_is_data() {
        assert_eq!(DispatchAnswer::try_from(10), Err(10));
        assert_eq!(RuntimeError::try_from(-1009), Err(-1009));
        for error in RuntimeError::ALL {
            assert_eq!(RuntimeError::try_from(error.code()), Ok(*error));
        }
    }
}
