//! Fault injection: every call can be made to fail, and then does nothing.
//!

use core::ffi::{CStr, c_void};
use core::ptr;
use std::ffi::CString;

use tenon_sim::host::fault::Call;

use crate::support::{Device, SYNC, call, message, ok};

fn count(name: &CStr) -> u64 {
    let mut count = 0;
    ok!(tenon_sim_call_count(name.as_ptr(), &raw mut count));
    count
}

/// Calls `which` with arguments that are right.
fn make(which: Call, stream: *mut c_void, event: *mut c_void, memory: *mut c_void) -> i32 {
    let mut handle: *mut c_void = ptr::null_mut();
    let (out, mut number, mut unsigned, mut size) = (&raw mut handle, 0i32, 0u32, 0usize);
    let mut host = [0u8; 4];
    let host: *mut c_void = host.as_mut_ptr().cast();
    match which {
        Call::GetDeviceCount => call!(tenon_sim_get_device_count(&raw mut unsigned)),
        Call::SetDevice => call!(tenon_sim_set_device(0)),
        Call::GetDevice => call!(tenon_sim_get_device(&raw mut number)),
        Call::ResetDevice => call!(tenon_sim_reset_device(0)),
        Call::SynchronizeDevice => call!(tenon_sim_synchronize_device()),
        Call::GetOpTimeout => call!(tenon_sim_get_op_timeout(&raw mut unsigned)),
        Call::CreateStream => call!(tenon_sim_create_stream(out)),
        Call::DestroyStream => call!(tenon_sim_destroy_stream(stream)),
        Call::SynchronizeStream => call!(tenon_sim_synchronize_stream(stream)),
        Call::SynchronizeStreamWithTimeout => call!(tenon_sim_synchronize_stream_with_timeout(stream, -1)),
        Call::QueryStream => call!(tenon_sim_query_stream(stream, &raw mut number)),
        Call::CreateEvent => call!(tenon_sim_create_event(out, SYNC)),
        Call::DestroyEvent => call!(tenon_sim_destroy_event(event)),
        Call::RecordEvent => call!(tenon_sim_record_event(event, stream)),
        Call::StreamWaitEvent => call!(tenon_sim_stream_wait_event(stream, event)),
        Call::SynchronizeEvent => call!(tenon_sim_synchronize_event(event)),
        Call::QueryEvent => call!(tenon_sim_query_event(event, &raw mut number)),
        Call::Malloc => call!(tenon_sim_malloc(out, 64)),
        Call::Free => call!(tenon_sim_free(memory)),
        Call::MallocCallable => call!(tenon_sim_malloc_callable(out, 64)),
        Call::MallocHost => call!(tenon_sim_malloc_host(out, 64)),
        Call::FreeHost => call!(tenon_sim_free_host(memory)),
        Call::Memcpy => call!(tenon_sim_memcpy(memory, 4, host, 4, 1)),
        Call::MemcpyAsync => call!(tenon_sim_memcpy_async(memory, 4, host, 4, 1, stream)),
        Call::Memset => call!(tenon_sim_memset(memory, 4, 1, 4)),
        Call::MemsetAsync => call!(tenon_sim_memset_async(memory, 4, 1, 4, stream)),
        Call::WriteValue32Async => call!(tenon_sim_write_value32_async(memory, 1, stream)),
        Call::ReadDevice => call!(tenon_sim_read_device(host, memory, 4)),
        Call::GetMemInfo => call!(tenon_sim_get_mem_info(&raw mut size, &raw mut size)),
        Call::CaptureBegin => call!(tenon_sim_capture_begin(stream, 0)),
        Call::CaptureEnd => call!(tenon_sim_capture_end(stream, out)),
        Call::CaptureGetInfo => call!(tenon_sim_capture_get_info(stream, &raw mut number, out)),
        Call::CaptureExchangeMode => call!(tenon_sim_capture_exchange_mode(&raw mut number)),
        Call::GraphLaunch => call!(tenon_sim_graph_launch(memory, stream)),
        Call::GraphDestroy => call!(tenon_sim_graph_destroy(memory)),
        Call::LoadBinary => call!(tenon_sim_load_binary(host, 4, out)),
        Call::UnloadBinary => call!(tenon_sim_unload_binary(memory)),
        Call::LaunchAicpu => call!(tenon_sim_launch_aicpu(ptr::null_mut(), 0, host, 4, stream)),
        Call::LaunchAicore => call!(tenon_sim_launch_aicore(memory.addr() as u64, stream)),
        Call::RegisterArea => call!(tenon_sim_register_area(memory.addr() as u64, 1)),
    }
}

#[test]
fn every_call_fails_on_demand_has_then_no_effect_and_is_counted_by_its_name() {
    let device = Device::new();
    let (stream, event, memory) = (device.stream(), device.event(SYNC), device.memory(4096, 9));
    let tasks = device.stats().host_tasks;
    for which in Call::ALL {
        let name = CString::new(which.name()).expect("no zero byte in a name");
        let (before, all) = (count(&name), count(c"*"));
        ok!(tenon_sim_fault_inject(name.as_ptr(), 1, 207_005));
        assert_eq!(make(*which, stream, event, memory), 207_005, "{name:?}");
        assert_eq!(message(), format!("207005 ACL_ERROR_RT_RESOURCE_ALLOC_FAIL: injected into {}", which.name()));
        assert_eq!(count(&name), before + 1);
        assert_eq!(count(c"*"), all + 1);
    }
    assert_eq!(device.stats().host_tasks, tasks, "nothing was enqueued");
    assert_eq!(device.read(memory, 4), [9; 4]);
    ok!(tenon_sim_synchronize_stream(stream));
    ok!(tenon_sim_destroy_event(event));
    ok!(tenon_sim_free(memory));
    ok!(tenon_sim_destroy_stream(stream));
}

#[test]
fn the_nth_of_any_calls_fails_and_the_ones_around_it_do_not() {
    let device = Device::new();
    let mut number = 0;
    ok!(tenon_sim_fault_inject(c"*".as_ptr(), 3, 107_017));
    let answers = [(); 4].map(|()| call!(tenon_sim_get_device(&raw mut number)));
    assert_eq!(answers, [0, 0, 107_017, 0]);
    ok!(tenon_sim_fault_inject(c"get_device".as_ptr(), 1, 107_017));
    ok!(tenon_sim_fault_clear());
    ok!(tenon_sim_get_device(&raw mut number));
    assert_eq!(call!(tenon_sim_fault_inject(c"tenon_sim_malloc".as_ptr(), 1, 1)), 100_000);
    assert_eq!(call!(tenon_sim_fault_inject(ptr::null(), 1, 1)), 100_000);
    drop(device);
}

#[test]
fn codes_have_the_vendors_names() {
    let name = |code| {
        let text = call!(tenon_sim_error_name(code));
        // SAFETY: a string that lives as long as the library.
        unsafe { CStr::from_ptr(text) }
    };
    assert_eq!(name(0), c"ACL_SUCCESS");
    assert_eq!(name(107_027), c"ACL_ERROR_RT_STREAM_CAPTURED");
    assert_eq!(name(-5), c"UNKNOWN");
}
