//! Arguments come first: in every build, in every state, with nothing changed.
//!

use core::ffi::{c_int, c_void};
use core::ptr;

use tenon_core::wire::CallConfig;

use crate::client::{Client, INVALID_ARGUMENT, Init, stream};
use crate::image::{arguments, image};

/// Every way to break an argument of the entries of kernel mode.
fn broken(client: &Client) -> Vec<(&'static str, c_int)> {
    let config = CallConfig::default();
    let bad_config = CallConfig { aicpu_thread_num: 1, ..config };
    let good = Init::new(&config);
    let byte = [0_u8; 1];
    let with_binary = |index: usize, binary| {
        let mut init = good.clone();
        init.binaries[index] = binary;
        client.kernel_init_with(&init)
    };
    let image = image(b"code");
    let args = arguments();
    let args_at = &raw const *args;
    let nowhere = client.on(ptr::null_mut());
    image.with(|bytes| {
        let (at, len): (*const c_void, usize) = (bytes.as_ptr().cast(), bytes.len());
        vec![
            ("init: ctx", nowhere.kernel_init_with(&good)),
            ("init: config", client.kernel_init_with(&Init { config: ptr::null(), ..good.clone() })),
            ("init: device_id", client.kernel_init_with(&Init { device_id: -1, ..good.clone() })),
            ("init: generation", client.kernel_init_with(&Init { generation: 0, ..good.clone() })),
            ("init: aicpu without address", with_binary(0, (ptr::null(), 1))),
            ("init: aicore without size", with_binary(1, (byte.as_ptr(), 0))),
            ("init: dispatcher of impossible size", with_binary(2, (byte.as_ptr(), usize::MAX))),
            ("init: field", client.kernel_init_with(&Init { config: &raw const bad_config, ..good.clone() })),
            ("prepare: ctx", nowhere.prepare_with(0, at, len, stream())),
            ("prepare: callable", client.prepare_with(0, ptr::null(), len, stream())),
            ("prepare: stream", client.prepare_with(0, at, len, ptr::null_mut())),
            ("prepare: id", client.prepare_with(64, at, len, stream())),
            ("prepare: negative id", client.prepare_with(-1, at, len, stream())),
            ("prepare: size", client.prepare_with(0, at, 9375, stream())),
            ("prepare: impossible size", client.prepare_with(0, at, usize::MAX, stream())),
            ("prepare: alignment", client.prepare_with(0, at.wrapping_byte_add(8), len - 8, stream())),
            ("launch: ctx", nowhere.launch_with(0, args_at, stream())),
            ("launch: args", client.launch_with(0, ptr::null(), stream())),
            ("launch: stream", client.launch_with(0, args_at, ptr::null_mut())),
            ("launch: id", client.launch_with(64, args_at, stream())),
            ("launch: alignment", client.launch_with(0, args_at.wrapping_byte_add(32), stream())),
            ("release: ctx", nowhere.release_with(0, stream())),
            ("release: stream", client.release_with(0, ptr::null_mut())),
            ("release: id", client.release_with(-64, stream())),
            ("slot_generation: ctx", nowhere.slot_generation(0).unwrap_err()),
            ("slot_generation: out", client.slot_generation_to(0, ptr::null_mut())),
            ("slot_generation: id", client.slot_generation(64).unwrap_err()),
            ("errors: ctx", nowhere.errors().unwrap_err()),
            ("errors: out", client.errors_to(ptr::null_mut())),
            ("finalize: ctx", nowhere.finalize()),
            ("destroy: ctx", nowhere.destroy()),
        ]
    })
}

/// Every way to break an argument of the entries of program mode.
fn broken_program(client: &Client) -> Vec<(&'static str, c_int)> {
    let nowhere = client.on(ptr::null_mut());
    let config = CallConfig::default();
    let bad_config = CallConfig { enable_pmu: 2, ..config };
    let args = arguments();
    let args_at = &raw const *args;
    let mut host = [0_u8; 8];
    vec![
        ("init: ctx", nowhere.simpler_init()),
        ("register: ctx", nowhere.register(0)),
        ("register: id", client.register(64)),
        ("register unsized: id", client.register_unsized(-1)),
        ("unregister: ctx", nowhere.unregister(0)),
        ("run: ctx", nowhere.run(0)),
        ("run: args", client.run_with(0, ptr::null(), &raw const config)),
        ("run: config", client.run_with(0, args_at, ptr::null())),
        ("run: field", client.run_with(0, args_at, &raw const bad_config)),
        ("run: id", client.run_with(64, args_at, &raw const config)),
        ("run: alignment", client.run_with(0, args_at.wrapping_byte_add(16), &raw const config)),
        ("free: device", client.free(ptr::null_mut())),
        ("copy in: device", client.copy_in(ptr::null_mut(), &host)),
        ("copy out: device", client.copy_out(&mut host, ptr::null())),
    ]
}

#[test]
fn a_fresh_context_refuses_broken_arguments_and_stays_fresh() {
    let client = Client::new();
    for (what, code) in broken(&client).into_iter().chain(broken_program(&client)) {
        assert_eq!(code, INVALID_ARGUMENT, "{what}");
    }
    assert_eq!(client.calls(), 0, "no platform call was made");
    assert_eq!(client.destroy(), 0, "no mode was latched");
}

#[test]
fn a_program_context_refuses_broken_arguments_before_it_looks_at_its_mode() {
    let client = Client::new();
    assert_eq!(client.simpler_init(), 0);
    let before = client.calls();
    for (what, code) in broken(&client).into_iter().chain(broken_program(&client)) {
        assert_eq!(code, INVALID_ARGUMENT, "{what}");
    }
    assert_eq!(client.calls(), before);
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}

#[test]
#[cfg(feature = "kernel-mode")]
fn a_live_context_refuses_broken_arguments_and_changes_nothing() {
    let client = Client::new();
    assert_eq!(client.kernel_init(), 0);
    assert_eq!(client.prepare(0, &image(b"code")), 0);
    let before = client.calls();
    for (what, code) in broken(&client).into_iter().chain(broken_program(&client)) {
        assert_eq!(code, INVALID_ARGUMENT, "{what}");
    }
    assert_eq!(client.calls(), before);
    assert_eq!(client.slot_generation(0), Ok(1));
    assert_eq!(client.launch(0), 0);
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}

#[test]
#[cfg(feature = "kernel-mode")]
fn a_configuration_and_answers_may_lie_at_any_address() {
    let client = Client::new();
    let mut config = vec![0_u8; size_of::<CallConfig>() + 1];
    config[1] = 2;
    let unaligned = Init { config: config[1..].as_ptr().cast(), ..Init::new(&CallConfig::default()) };
    assert_eq!(client.kernel_init_with(&unaligned), 0);
    assert_eq!(client.prepare(5, &image(b"code")), 0);
    let mut out = [0xA5_u8; 80];
    assert_eq!(client.slot_generation_to(5, out[1..].as_mut_ptr().cast()), 0);
    assert_eq!(out[..10], [0xA5, 1, 0, 0, 0, 0, 0, 0, 0, 0xA5]);
    assert_eq!(client.errors_to(out[3..].as_mut_ptr().cast()), 0);
    assert_eq!(out[3..67], [0; 64]);
    assert_eq!(out[67], 0xA5);
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}
