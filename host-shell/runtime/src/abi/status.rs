//! Names of codes.
//!

use core::ffi::{CStr, c_int};

use tenon_core::status::{DispatchAnswer, RuntimeError};

/// The name of what an entry of this library answers; never null, and it stays for ever.
pub(super) fn name(code: c_int) -> &'static CStr {
    if code == 0 {
        return c"PTO_RUNTIME_SUCCESS";
    }
    if let Ok(error) = RuntimeError::try_from(code) {
        return runtime_name(error);
    }
    let latched = DispatchAnswer::ALL.iter().find(|answer| answer.latched_code() == code);
    latched.map_or(c"unknown", |answer| answer_name(*answer))
}

const fn runtime_name(error: RuntimeError) -> &'static CStr {
    match error {
        RuntimeError::Internal => c"PTO_RUNTIME_ERR_INTERNAL",
        RuntimeError::Unsupported => c"PTO_RUNTIME_ERR_UNSUPPORTED",
        RuntimeError::PreparedIncompatible => c"PTO_RUNTIME_ERR_PREPARED_INCOMPATIBLE",
        RuntimeError::InvalidState => c"PTO_RUNTIME_ERR_INVALID_STATE",
        RuntimeError::InvalidArgument => c"PTO_RUNTIME_ERR_INVALID_ARGUMENT",
        RuntimeError::CallableCountExceeded => c"PTO_RUNTIME_ERR_CALLABLE_COUNT_EXCEEDED",
        RuntimeError::CallableBytesExceeded => c"PTO_RUNTIME_ERR_CALLABLE_BYTES_EXCEEDED",
        RuntimeError::CallableNotResident => c"PTO_RUNTIME_ERR_CALLABLE_NOT_RESIDENT",
        RuntimeError::CallableStale => c"PTO_RUNTIME_ERR_CALLABLE_STALE",
    }
}

/// What the device answered, as it is latched: `-(900 + answer)`.
const fn answer_name(answer: DispatchAnswer) -> &'static CStr {
    match answer {
        DispatchAnswer::Success => c"PTO_RUNTIME_SUCCESS",
        DispatchAnswer::InvalidArgs => c"device: InvalidArgs",
        DispatchAnswer::NotResident => c"device: NotResident",
        DispatchAnswer::Stale => c"device: Stale",
        DispatchAnswer::UnsupportedPayload => c"device: UnsupportedPayload",
        DispatchAnswer::InvalidBinding => c"device: InvalidBinding",
        DispatchAnswer::ExecutionFailed => c"device: ExecutionFailed",
        DispatchAnswer::CleanupFailed => c"device: CleanupFailed",
        DispatchAnswer::Busy => c"device: Busy",
        DispatchAnswer::Poisoned => c"device: Poisoned",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_the_name_that_core_gives_it() {
        for error in RuntimeError::ALL {
            assert_eq!(name(error.code()).to_str(), Ok(error.c_name()));
        }
        for answer in DispatchAnswer::ALL.iter().filter(|answer| **answer != DispatchAnswer::Success) {
            let expected = format!("device: {}", answer.name());
            assert_eq!(name(answer.latched_code()).to_str(), Ok(expected.as_str()));
        }
        assert_eq!(name(0), c"PTO_RUNTIME_SUCCESS");
        for unknown in [1, -1, -910, -1009, c_int::MIN, c_int::MAX] {
            assert_eq!(name(unknown), c"unknown");
        }
    }
}
