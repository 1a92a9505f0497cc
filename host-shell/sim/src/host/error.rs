//! The numbers that the vendor library answers with, and the last sentence.
//!
//! Numbers and names are those of ACL, so that a program written against one reads the other's answers. A failure is a [`Code`];
//! its sentence goes straight into the thread's own buffer ([`recent_message`]), which takes no memory and no lock.

use core::cell::RefCell;
use core::ffi::{CStr, c_char};
use core::fmt::{self, Write};

/// What a call answers with.
pub type Result<T = ()> = core::result::Result<T, Code>;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $vendor:literal;)+) => {
        /// A failure of a call, by number.
        #[derive(Clone, Copy, PartialEq, Eq, Hash)]
        pub struct Code(i32);

        impl Code {
            $($(#[$doc])* pub const $name: Self = Self($code);)+

            /// The vendor's name of `number`.
            #[must_use]
            pub const fn name_of(number: i32) -> Option<&'static CStr> {
                match number {
                    0 => Some(c"ACL_SUCCESS"),
                    $($code => Some($vendor),)+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// An argument is wrong in itself.
    INVALID_PARAM = 100_000, c"ACL_ERROR_INVALID_PARAM";
    /// An argument does not fit the state of the device.
    PARAM_INVALID = 107_000, c"ACL_ERROR_RT_PARAM_INVALID";
    /// No such device.
    DEVICE_ID = 107_001, c"ACL_ERROR_RT_INVALID_DEVICEID";
    /// The thread has no current device.
    NO_DEVICE = 107_002, c"ACL_ERROR_RT_CONTEXT_NULL";
    /// The stream belongs to another device.
    STREAM_CONTEXT = 107_003, c"ACL_ERROR_RT_STREAM_CONTEXT";
    /// The graph belongs to another device.
    MODEL_CONTEXT = 107_004, c"ACL_ERROR_RT_MODEL_CONTEXT";
    /// A handle that names nothing (any more).
    INVALID_HANDLE = 107_017, c"ACL_ERROR_RT_INVALID_HANDLE";
    /// A capture depends on something outside itself.
    CAPTURE_DEPENDENCY = 107_024, c"ACL_ERROR_RT_CAPTURE_DEPENDENCY";
    /// A stream joined the capture and never returned.
    STREAM_UNJOINED = 107_025, c"ACL_ERROR_RT_STREAM_UNJOINED";
    /// The graph is still being captured.
    MODEL_CAPTURED = 107_026, c"ACL_ERROR_RT_MODEL_CAPTURED";
    /// The stream is being captured.
    STREAM_CAPTURED = 107_027, c"ACL_ERROR_RT_STREAM_CAPTURED";
    /// The event's last record is part of a capture.
    EVENT_CAPTURED = 107_028, c"ACL_ERROR_RT_EVENT_CAPTURED";
    /// The stream is not being captured.
    STREAM_NOT_CAPTURED = 107_029, c"ACL_ERROR_RT_STREAM_NOT_CAPTURED";
    /// A synchronous operation that the capture mode forbids.
    CAPTURE_MODE = 107_030, c"ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT";
    /// The default stream would depend on a capture.
    CAPTURE_IMPLICIT = 107_031, c"ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT";
    /// The capture began on another stream.
    CAPTURE_UNMATCHED = 107_036, c"ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED";
    /// A replay of the graph has not ended.
    MODEL_RUNNING = 107_037, c"ACL_ERROR_RT_MODEL_RUNNING";
    /// The capture began on another thread.
    CAPTURE_THREAD = 107_038, c"ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD";
    /// An asynchronous copy would have to wait, and its stream is being captured.
    CAPTURE_BLOCKS = 107_041, c"ACL_ERROR_RT_CAPTURE_MODE_BLOCK_ASYNC";
    /// Not for this kind of object.
    NOT_SUPPORTED = 207_000, c"ACL_ERROR_RT_FEATURE_NOT_SUPPORT";
    /// Out of memory.
    OUT_OF_MEMORY = 207_001, c"ACL_ERROR_RT_MEMORY_ALLOCATION";
    /// Out of something else.
    NO_RESOURCES = 207_005, c"ACL_ERROR_RT_RESOURCE_ALLOC_FAIL";
    /// Out of events.
    NO_EVENTS = 207_007, c"ACL_ERROR_RT_NO_EVENT_RESOURCE";
    /// Out of streams.
    NO_STREAMS = 207_008, c"ACL_ERROR_RT_NO_STREAM_RESOURCE";
    /// The device process has gone.
    DEVICE_LOST = 507_010, c"ACL_ERROR_RT_LOST_HEARTBEAT";
    /// An AICore branch got no verdict in time.
    AICORE_TIMEOUT = 507_014, c"ACL_ERROR_RT_AICORE_TIMEOUT";
    /// An AICore worker failed.
    AICORE_EXCEPTION = 507_015, c"ACL_ERROR_RT_AICORE_EXCEPTION";
    /// An AICPU entry did not end in time.
    AICPU_TIMEOUT = 507_017, c"ACL_ERROR_RT_AICPU_TIMEOUT";
    /// An AICPU entry answered with something other than 0.
    AICPU_EXCEPTION = 507_018, c"ACL_ERROR_RT_AICPU_EXCEPTION";
    /// The device process could not start.
    DEVICE_SETUP = 507_033, c"ACL_ERROR_RT_DEV_SETUP_ERROR";
    /// A wait ended before the stream did.
    SYNC_TIMEOUT = 507_046, c"ACL_ERROR_RT_STREAM_SYNC_TIMEOUT";
    /// A copy on the device failed.
    COPY_DATA = 507_052, c"ACL_ERROR_RT_COPY_DATA";
    /// The library's own fault.
    INTERNAL = 507_899, c"ACL_ERROR_RT_DRV_INTERNAL_ERROR";
    /// The capture was invalid when it ended.
    CAPTURE_INVALIDATED = 507_903, c"ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED";
}

impl Code {
    /// The failure with this number; 0 is none.
    #[must_use]
    pub const fn from_number(number: i32) -> Option<Self> {
        if number == 0 { None } else { Some(Self(number)) }
    }

    /// The number that crosses the boundary.
    #[must_use]
    pub const fn number(self) -> i32 {
        self.0
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::name_of(self.0).and_then(|name| name.to_str().ok()).unwrap_or("unknown");
        write!(f, "{} {name}", self.0)
    }
}

/// Bytes of the longest sentence, its end included; longer ones are cut.
const MESSAGE_BYTES: usize = 512;

thread_local! {
    static MESSAGE: RefCell<heapless::Vec<u8, MESSAGE_BYTES>> = const { RefCell::new(heapless::Vec::new()) };
}

/// Keeps `sentence` (what was wrong, where, what was expected) for this thread and gives `code` back.
#[cold]
pub fn failure(code: Code, sentence: fmt::Arguments<'_>) -> Code {
    struct Cut<'a>(&'a mut heapless::Vec<u8, MESSAGE_BYTES>);
    impl Write for Cut<'_> {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            for byte in text.bytes().filter(|byte| *byte != 0) {
                if self.0.len() + 1 == MESSAGE_BYTES || self.0.push(byte).is_err() {
                    break;
                }
            }
            Ok(())
        }
    }
    MESSAGE.with_borrow_mut(|message| {
        message.clear();
        // `Cut` drops what does not fit instead of failing, and leaves room for the terminator.
        let _ = write!(Cut(message), "{code:?}: {sentence}");
        let _ = message.push(0);
    });
    code
}

/// Makes a failure: the code, then the sentence as for `format!`.
macro_rules! fail {
    ($code:ident, $($sentence:tt)+) => {
        $crate::host::error::failure($crate::host::error::Code::$code, format_args!($($sentence)+))
    };
}
pub(crate) use fail;

/// The thread's last sentence as a C string: empty before the first failure, valid until the thread's next failure.
#[must_use]
pub fn recent_message() -> *const c_char {
    MESSAGE.with_borrow(|message| if message.is_empty() { c"".as_ptr() } else { message.as_ptr().cast() })
}

/// [`recent_message`], copied out.
#[must_use]
pub fn recent_message_text() -> String {
    MESSAGE.with_borrow(|message| {
        let text = message.strip_suffix(&[0]).unwrap_or(message);
        String::from_utf8_lossy(text).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_is_kept_until_the_next_failure() {
        let code = fail!(INVALID_PARAM, "argument {} is null", "stream");
        assert_eq!(code, Code::INVALID_PARAM);
        assert_eq!(recent_message_text(), "100000 ACL_ERROR_INVALID_PARAM: argument stream is null");
        let _ = fail!(SYNC_TIMEOUT, "x");
        assert_eq!(recent_message_text(), "507046 ACL_ERROR_RT_STREAM_SYNC_TIMEOUT: x");
    }

    #[test]
    fn a_long_sentence_is_cut_and_still_ends() {
        let _ = fail!(INTERNAL, "{}", "é".repeat(1000));
        // SAFETY: `recent_message` gives a C string that lives until this thread's next failure.
        let text = unsafe { CStr::from_ptr(recent_message()) };
        assert_eq!(text.to_bytes().len(), MESSAGE_BYTES - 1);
    }

    #[test]
    fn names_are_the_vendors() {
        assert_eq!(Code::name_of(0), Some(c"ACL_SUCCESS"));
        assert_eq!(Code::name_of(107_025), Some(c"ACL_ERROR_RT_STREAM_UNJOINED"));
        assert_eq!(Code::name_of(1), None);
    }
}
