//! The calls of the simulated device that this library needs, declared once.
//!
//! Names, types, binding and the name of a missing one all come from this table. The other side of it is `tenon/sim.h`.

use core::ffi::{CStr, c_int, c_void};

use tenon_core::vocabulary::VendorError;

/// The device process is gone, or the simulated device says so (facts of ACL: `ACL_ERROR_RT_DEVICE_LOST`).
const DEVICE_LOST: c_int = 507_010;
/// The handle is not one of this device, or not any more.
const INVALID_HANDLE: c_int = 107_017;

/// Declares the table.
///
/// # Grammar
///
/// `fn name(argument: C type, …);`, each with a line that says what the call does. The symbol is `tenon_sim_` and the
/// name; each returns 0 or the vendor's number.
macro_rules! symbols {
    ($( #[doc = $doc:literal] fn $name:ident($($argument:ident: $ty:ty),* $(,)?); )+) => {
        /// The bound calls of `libtenon_sim`.
        #[derive(Clone, Copy)]
        pub(in crate::platform) struct Symbols {
            $( $name: unsafe extern "C" fn($($ty),*) -> c_int, )+
        }

        /// What `libtenon_sim` must export.
        pub const REQUIRED_SYMBOLS: &[&str] = &[$(concat!("tenon_sim_", stringify!($name)),)+];

        impl Symbols {
            /// Looks every symbol up.
            ///
            /// # Errors
            /// The first name that `lookup` answers with null.
            ///
            /// # Safety
            /// 1. What `lookup` answers for a name of the table is the function of that name in `tenon/sim.h`.
            /// 2. It stays where it is for as long as the table is used.
            pub(super) unsafe fn bind(lookup: impl Fn(&CStr) -> *mut c_void) -> Result<Self, &'static str> {
                Ok(Self {
                    $( $name: {
                        let name = concat!("tenon_sim_", stringify!($name), "\0");
                        let address = CStr::from_bytes_with_nul(name.as_bytes()).map_or(core::ptr::null_mut(), &lookup);
                        if address.is_null() {
                            return Err(concat!("tenon_sim_", stringify!($name)));
                        }
                        // SAFETY: not null, and by 1. and 2. of this function the address of a function of this type.
                        unsafe { core::mem::transmute::<*mut c_void, unsafe extern "C" fn($($ty),*) -> c_int>(address) }
                    }, )+
                })
            }

            $(
                #[doc = $doc]
                ///
                /// # Errors
                /// The simulator's.
                ///
                /// # Safety Pointers are null or valid for what `tenon/sim.h` says the call does with them. Handles and
                /// device addresses may be anything: the simulator checks them.
                pub(super) unsafe fn $name(&self, $($argument: $ty),*) -> Result<(), VendorError> {
                    // SAFETY: the function was bound by its name, and this function's contract is its contract.
                    let code = unsafe { (self.$name)($($argument),*) };
                    answer(concat!("tenon_sim_", stringify!($name)), code)
                }
            )+
        }
    };
}

symbols! {
    /// The calling thread's current device.
    fn get_device(device: *mut i32);
    /// Makes a device current and starts it on first use.
    fn set_device(device: i32);
    /// Lets go of a device.
    fn reset_device(device: i32);
    /// How long an operator may run, in milliseconds.
    fn get_op_timeout(milliseconds: *mut u32);

    /// Creates a stream.
    fn create_stream(stream: *mut *mut c_void);
    /// Destroys a stream.
    fn destroy_stream(stream: *mut c_void);
    /// Waits for a stream.
    fn synchronize_stream(stream: *mut c_void);

    /// Creates an event; flags 1 makes it usable in a capture.
    fn create_event(event: *mut *mut c_void, flags: u32);
    /// Destroys an event.
    fn destroy_event(event: *mut c_void);
    /// Records an event.
    fn record_event(event: *mut c_void, stream: *mut c_void);
    /// Makes a stream wait for an event.
    fn stream_wait_event(stream: *mut c_void, event: *mut c_void);

    /// Allocates device memory, 64-aligned.
    fn malloc(device: *mut *mut c_void, size: usize);
    /// Allocates callable memory, at 32 more than a multiple of 64.
    fn malloc_callable(device: *mut *mut c_void, size: usize);
    /// Gives device memory back.
    fn free(device: *mut c_void);
    /// Allocates pinned host memory.
    fn malloc_host(host: *mut *mut c_void, size: usize);
    /// Gives pinned host memory back.
    fn free_host(host: *mut c_void);
    /// Copies at once.
    fn memcpy(dst: *mut c_void, dst_max: usize, src: *const c_void, count: usize, kind: i32);
    /// Copies in stream order.
    fn memcpy_async(dst: *mut c_void, dst_max: usize, src: *const c_void, count: usize, kind: i32, stream: *mut c_void);
    /// Writes four bytes of device memory in stream order.
    fn write_value32_async(device: *mut c_void, value: u32, stream: *mut c_void);
    /// Reads device memory without synchronising.
    fn read_device(host: *mut c_void, device: *const c_void, size: usize);

    /// Loads a device image.
    fn load_binary(data: *const c_void, size: usize, binary: *mut *mut c_void);
    /// Enqueues a device entry with a copy of its arguments; a null binary is the device's own.
    fn launch_aicpu(binary: *mut c_void, entry: u32, args: *const c_void, size: usize, stream: *mut c_void);
    /// Enqueues an AICore branch.
    fn launch_aicore(area: u64, stream: *mut c_void);
    /// Makes a context area known to the device.
    fn register_area(area: u64, context_generation: u64);
}

/// A handle that the device does not know counts as a lost device: it was reset under the context, and what lies at the context's
/// addresses now may be somebody else's.
fn answer(call: &'static str, code: c_int) -> Result<(), VendorError> {
    if code == 0 {
        Ok(())
    } else {
        Err(VendorError { code, call, is_device_lost: matches!(code, DEVICE_LOST | INVALID_HANDLE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_missing_symbol_is_named() {
        let here = here as *mut c_void;
        for (index, missing) in REQUIRED_SYMBOLS.iter().enumerate() {
            let lookup = |name: &CStr| {
                let position = REQUIRED_SYMBOLS.iter().position(|symbol| symbol.as_bytes() == name.to_bytes());
                if position < Some(index) { here } else { core::ptr::null_mut() }
            };
            // SAFETY: nothing of this table is called; it is dropped here.
            let bound = unsafe { Symbols::bind(lookup) };
            assert_eq!(bound.err(), Some(*missing));
        }
        // SAFETY: as above.
        assert!(unsafe { Symbols::bind(|_| here) }.is_ok());
    }

    fn here() {}

    #[test]
    fn an_answer_keeps_the_vendors_number_and_tells_a_lost_device() {
        assert_eq!(answer("x", 0), Ok(()));
        assert_eq!(answer("x", 107_002), Err(VendorError { code: 107_002, call: "x", is_device_lost: false }));
        assert_eq!(answer("x", 107_017), Err(VendorError { code: 107_017, call: "x", is_device_lost: true }));
        assert_eq!(answer("x", 507_010), Err(VendorError { code: 507_010, call: "x", is_device_lost: true }));
    }
}
