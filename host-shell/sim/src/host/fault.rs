//! Every call of the vendor library: how often it came, and which is to fail.
//!
//! A fault is decided before the call has any effect, so a failed call can be told from one that half happened.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};

use super::error::{Code, Result, fail};

macro_rules! calls {
    ($($variant:ident $name:literal,)+) => {
        /// A call that can be counted and made to fail. The calls for testing are not among them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is the call of its name")]
        pub enum Call { $($variant,)+ }

        impl Call {
            /// Every call.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The function's name without its prefix `tenon_sim_`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

calls! {
    GetDeviceCount "get_device_count",
    SetDevice "set_device",
    GetDevice "get_device",
    ResetDevice "reset_device",
    SynchronizeDevice "synchronize_device",
    GetOpTimeout "get_op_timeout",
    CreateStream "create_stream",
    DestroyStream "destroy_stream",
    SynchronizeStream "synchronize_stream",
    SynchronizeStreamWithTimeout "synchronize_stream_with_timeout",
    QueryStream "query_stream",
    CreateEvent "create_event",
    DestroyEvent "destroy_event",
    RecordEvent "record_event",
    StreamWaitEvent "stream_wait_event",
    SynchronizeEvent "synchronize_event",
    QueryEvent "query_event",
    Malloc "malloc",
    Free "free",
    MallocCallable "malloc_callable",
    MallocHost "malloc_host",
    FreeHost "free_host",
    Memcpy "memcpy",
    MemcpyAsync "memcpy_async",
    Memset "memset",
    MemsetAsync "memset_async",
    WriteValue32Async "write_value32_async",
    ReadDevice "read_device",
    GetMemInfo "get_mem_info",
    CaptureBegin "capture_begin",
    CaptureEnd "capture_end",
    CaptureGetInfo "capture_get_info",
    CaptureExchangeMode "capture_exchange_mode",
    GraphLaunch "graph_launch",
    GraphDestroy "graph_destroy",
    LoadBinary "load_binary",
    UnloadBinary "unload_binary",
    LaunchAicpu "launch_aicpu",
    LaunchAicore "launch_aicore",
    RegisterArea "register_area",
}

/// Faults that can wait for their calls at once.
const MAX_FAULTS: usize = 64;
/// [`Fault::target`]: nothing.
const EMPTY: u32 = 0;
/// [`Fault::target`]: being filled in.
const FILLING: u32 = 1;
/// [`Fault::target`]: any call.
const ANY: u32 = 2;
/// [`Fault::target`]: the first call; the others follow.
const FIRST: u32 = 3;

/// A place for one fault. Words instead of a lock, so that a forked child never finds it locked by a thread that it lacks.
struct Fault {
    target: AtomicU32,
    /// Calls until it strikes; 1 is the next.
    left: AtomicU64,
    code: AtomicI32,
}

/// Counts of calls, by the number of the call.
static COUNTS: [AtomicU64; Call::ALL.len()] = [const { AtomicU64::new(0) }; Call::ALL.len()];
/// Faults that wait: the only thing that a call looks at when there are none.
static ARMED: AtomicU32 = AtomicU32::new(0);
static FAULTS: [Fault; MAX_FAULTS] =
    [const { Fault { target: AtomicU32::new(EMPTY), left: AtomicU64::new(0), code: AtomicI32::new(0) } }; MAX_FAULTS];

/// Counts one call, before it has any effect.
///
/// # Errors
/// The code of a fault that was injected for this call.
#[inline]
pub fn enter(call: Call) -> Result {
    COUNTS[call as usize].fetch_add(1, Relaxed);
    if ARMED.load(Relaxed) == 0 { Ok(()) } else { strike(call) }
}

#[cold]
fn strike(call: Call) -> Result {
    let mut struck = None;
    for fault in &FAULTS {
        let target = fault.target.load(Acquire);
        let is_meant = target == ANY || target == FIRST + call as u32;
        // Of several threads that make this call one takes the last count.
        if is_meant && fault.left.fetch_sub(1, AcqRel) == 1 {
            struck = struck.or(Code::from_number(fault.code.load(Relaxed)));
            disarm(fault, target);
        }
    }
    match struck {
        None => Ok(()),
        Some(code) => Err(super::error::failure(code, format_args!("injected into {}", call.name()))),
    }
}

fn disarm(fault: &Fault, target: u32) {
    if fault.target.compare_exchange(target, EMPTY, AcqRel, Relaxed).is_ok() {
        ARMED.fetch_sub(1, Relaxed);
    }
}

/// Makes the `nth` call from now (1 is the next) of `name` fail with `code`, once; `*` is any call.
///
/// # Errors
/// 100000 for an unknown name, `nth` 0 or `code` 0; 207005 when 64 faults wait already.
pub fn inject(name: &str, nth: u64, code: i32) -> Result {
    let target = by_name(name)?.map_or(ANY, |call| FIRST + call as u32);
    if code == 0 {
        return Err(fail!(INVALID_PARAM, "a fault needs a code other than 0"));
    }
    if nth == 0 {
        return Err(fail!(INVALID_PARAM, "calls are counted from 1"));
    }
    let free = FAULTS.iter().find(|fault| fault.target.compare_exchange(EMPTY, FILLING, AcqRel, Relaxed).is_ok());
    let Some(fault) = free else {
        return Err(fail!(NO_RESOURCES, "{MAX_FAULTS} faults wait for their calls already"));
    };
    fault.left.store(nth, Relaxed);
    fault.code.store(code, Relaxed);
    fault.target.store(target, Release);
    ARMED.fetch_add(1, Relaxed);
    Ok(())
}

/// Forgets every fault that has not struck.
pub fn clear() {
    for fault in &FAULTS {
        let target = fault.target.load(Acquire);
        if target >= ANY {
            disarm(fault, target);
        }
    }
}

/// Calls of `name` so far in this process, those that failed included; `*` is all calls.
///
/// # Errors
/// 100000 for an unknown name.
pub fn count(name: &str) -> Result<u64> {
    Ok(match by_name(name)? {
        Some(call) => COUNTS[call as usize].load(Relaxed),
        None => COUNTS.iter().map(|count| count.load(Relaxed)).sum(),
    })
}

fn by_name(name: &str) -> Result<Option<Call>> {
    if name == "*" {
        return Ok(None);
    }
    match Call::ALL.iter().find(|call| call.name() == name) {
        Some(call) => Ok(Some(*call)),
        None => Err(fail!(INVALID_PARAM, "{name:?} is no call of this library; names come without tenon_sim_")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, because faults belong to the process. It uses calls that no other unit test makes.
    #[test]
    fn the_nth_call_fails_once_before_anything_else_and_all_are_counted() {
        let before = count("load_binary").unwrap();
        inject("load_binary", 2, 207_005).unwrap();
        assert_eq!(enter(Call::LoadBinary), Ok(()));
        assert_eq!(enter(Call::UnloadBinary), Ok(()));
        assert_eq!(enter(Call::LoadBinary), Err(Code::NO_RESOURCES));
        assert_eq!(enter(Call::LoadBinary), Ok(()));
        assert_eq!(count("load_binary").unwrap(), before + 3);

        inject("*", 3, 507_899).unwrap();
        assert_eq!((enter(Call::UnloadBinary), enter(Call::LoadBinary)), (Ok(()), Ok(())));
        assert_eq!(enter(Call::UnloadBinary), Err(Code::INTERNAL));

        inject("unload_binary", 1, 207_001).unwrap();
        clear();
        assert_eq!(enter(Call::UnloadBinary), Ok(()));
        assert!(count("*").unwrap() >= before + 8);
    }

    #[test]
    fn an_unknown_name_and_numbers_that_mean_nothing_are_refused() {
        assert_eq!(inject("tenon_sim_malloc", 1, 1), Err(Code::INVALID_PARAM));
        assert_eq!(inject("malloc", 0, 1), Err(Code::INVALID_PARAM));
        assert_eq!(inject("malloc", 1, 0), Err(Code::INVALID_PARAM));
        assert_eq!(count("fault_inject"), Err(Code::INVALID_PARAM));
    }
}
