//! Program mode: the context owns the device, and waits for what it runs.
//!

use core::ffi::c_void;
use core::ptr;

use tenon_core::wire::{CallConfig, DataType};

use crate::session::{Context, Device, Image, arguments, faulty, tell_faulty};

fn init(context: &Context<'_>) {
    let (init, none) = (context.runtime.simpler_init, ptr::null());
    // SAFETY: every pointer is null.
    let code = unsafe { init(context.handle, 0, none, 0, none, 0, none, 0, ptr::null(), 0, ptr::null(), 0) };
    assert_eq!(code, 0);
}

#[test]
fn a_program_context_registers_runs_copies_and_is_finalized() {
    // The device is the context's own; only the turn among the tests is taken from here.
    let device = Device::new();
    let context = Context::fresh(&device);
    let (runtime, handle) = (context.runtime, context.handle);
    init(&context);
    let (image, config) = (Image::of("vector_add"), CallConfig::default());
    // SAFETY: the image is as long as its header says.
    assert_eq!(unsafe { (runtime.simpler_register_callable)(handle, 9, image.address()) }, 0);

    let memory: Vec<*mut c_void> = (0..3)
        .map(|_| {
            // SAFETY: any handle is allowed.
            unsafe { (runtime.device_malloc_ctx)(handle, 400) }
        })
        .collect();
    let input: Vec<f32> = (0..100_u8).map(f32::from).collect();
    for at in &memory[..2] {
        // SAFETY: `input` is readable.
        assert_eq!(unsafe { (runtime.copy_to_device_ctx)(handle, *at, input.as_ptr().cast(), 400) }, 0);
    }
    let vectors: Vec<_> = memory.iter().map(|at| (*at, 100, DataType::F32)).collect();
    let args = arguments(&vectors, &[]);
    // SAFETY: both are live.
    assert_eq!(unsafe { (runtime.simpler_run)(handle, 9, &raw const *args, &raw const config) }, 0);
    let mut output = vec![0_f32; 100];
    // SAFETY: `output` is writable.
    assert_eq!(unsafe { (runtime.copy_from_device_ctx)(handle, output.as_mut_ptr().cast(), memory[2], 400) }, 0);
    assert!(output.iter().zip(&input).all(|(sum, one)| *sum == one + one));
    // SAFETY: any handle is allowed.
    assert!(unsafe { (runtime.committed_device_memory_ctx)(handle) } > 1200);
    assert_eq!(context.finalize(), 0);
    assert_eq!(context.destroy(), 0);
}

#[test]
fn a_run_that_the_callable_fails_is_answered_at_once_and_the_context_goes_on() {
    let device = Device::new();
    let (trace, other) = (device.words(&[0; faulty::WORDS]), device.words(&[0; faulty::WORDS]));
    let context = Context::fresh(&device);
    let (runtime, handle) = (context.runtime, context.handle);
    init(&context);
    let (image, config) = (Image::of("faulty"), CallConfig::default());
    // SAFETY: the image is live for its size.
    let registered = unsafe { (runtime.simpler_register_callable_sized)(handle, 0, image.address(), image.len_bytes) };
    assert_eq!(registered, 0);
    for (behaviour, answer) in [(faulty::SUCCEED, 0), (faulty::FAIL, -906), (faulty::SUCCEED, 0)] {
        let args = tell_faulty(trace, other, behaviour, 3);
        // SAFETY: both are live.
        assert_eq!(unsafe { (runtime.simpler_run)(handle, 0, &raw const *args, &raw const config) }, answer);
    }
    assert_eq!(context.finalize(), 0);
    assert_eq!(context.destroy(), 0);
}
