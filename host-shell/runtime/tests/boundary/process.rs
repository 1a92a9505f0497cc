//! What holds for a process: generations, areas, the fence.
//!

use host_runtime::abi;
use host_runtime::platform::PlatformError;
use tenon_core::wire::CallConfig;

use crate::client::{
    COUNT_EXCEEDED, Client, INTERNAL, INVALID_STATE, Init, UNSUPPORTED, in_process_of_its_own, new_generation,
};
use crate::image::image;

#[test]
fn a_generation_that_a_context_has_is_refused_before_the_latch_also_after_close() {
    let config = CallConfig::default();
    let init = Init::new(&config);
    let first = Client::new();
    assert_eq!(first.kernel_init_with(&init), 0);
    let second = Client::new();
    assert_eq!(second.kernel_init_with(&init), INVALID_STATE);
    assert_eq!(first.finalize(), 0);
    assert_eq!(first.destroy(), 0);
    assert_eq!(second.kernel_init_with(&init), INVALID_STATE, "its area lives on");
    assert_eq!(second.simpler_init(), 0, "the context was still fresh");
    assert_eq!(second.finalize(), 0);
    assert_eq!(second.destroy(), 0);
}

#[test]
fn another_device_than_the_current_one_is_refused_before_the_latch() {
    let config = CallConfig::default();
    let client = Client::new();
    assert_eq!(client.kernel_init_with(&Init { device_id: 1, ..Init::new(&config) }), INVALID_STATE);
    client.platform.fake().current_device = None;
    assert_eq!(client.kernel_init(), INVALID_STATE);
    client.platform.fake().current_device = Some(0);
    assert_eq!(client.kernel_init(), 0, "the context was still fresh");
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}

#[test]
fn the_1025th_area_of_a_process_is_refused_before_the_latch() {
    const NAME: &str = "process::the_1025th_area_of_a_process_is_refused_before_the_latch";
    in_process_of_its_own(NAME, || {
        for area in 0..1024 {
            let client = Client::new();
            assert_eq!(client.kernel_init(), 0, "{area}");
            assert_eq!(client.finalize(), 0, "{area}");
            assert_eq!(client.destroy(), 0, "{area}");
        }
        let client = Client::new();
        assert_eq!(client.kernel_init(), COUNT_EXCEEDED);
        assert_eq!(client.kernel_init(), COUNT_EXCEEDED, "not latched: a latched context would answer INVALID_STATE");
        assert_eq!(client.destroy(), 0);
    });
}

#[test]
fn handles_run_out_with_a_null_pointer_and_come_back() {
    const NAME: &str = "process::handles_run_out_with_a_null_pointer_and_come_back";
    in_process_of_its_own(NAME, || {
        let clients: Vec<Client> = (0..4096).map(|_| Client::new()).collect();
        assert!(abi::create_device_context().is_null());
        assert_eq!(clients[77].destroy(), 0);
        let again = Client::new();
        assert_ne!(again.context, clients[77].context);
        assert_eq!(again.destroy(), 0);
    });
}

#[test]
fn a_panic_inside_is_answered_with_internal_and_never_unwinds_into_c() {
    const NAME: &str = "process::a_panic_inside_is_answered_with_internal_and_never_unwinds_into_c";
    let log = in_process_of_its_own(NAME, || {
        let context = abi::create_with_platform(|| panic!("a fault that this test has made"));
        let client = Client::new().on(context);
        assert_eq!(client.kernel_init(), INTERNAL);
        assert_eq!(client.supported(), 0);
        assert_eq!(client.destroy(), 0, "nothing had been latched");
    });
    if let Some(log) = log {
        assert!(log.contains("tenon: error: simpler_kernel_mode_init: a fault inside the library"), "{log}");
    }
}

#[test]
fn a_context_that_a_call_has_panicked_in_is_never_entered_again() {
    const NAME: &str = "process::a_context_that_a_call_has_panicked_in_is_never_entered_again";
    in_process_of_its_own(NAME, || {
        let client = Client::new();
        assert_eq!(client.kernel_init(), 0);
        assert_eq!(client.prepare(0, &image(b"code")), 0);
        // The fake panics on a stream that does not live.
        let args = crate::image::arguments();
        let nowhere = core::ptr::without_provenance_mut(0xDEAD);
        assert_eq!(client.launch_with(0, &raw const *args, nowhere), INTERNAL);
        assert_eq!(client.launch(0), INVALID_STATE);
        assert_eq!(client.finalize(), INVALID_STATE);
        assert_eq!(client.destroy(), INVALID_STATE);
    });
}

#[test]
fn without_a_platform_init_is_unsupported_and_the_context_stays_fresh() {
    let context = abi::create_with_platform(|| Err(PlatformError::Unknown("none".to_owned())));
    let client = Client::new().on(context);
    assert_eq!(client.supported(), 0);
    assert_eq!(client.kernel_init(), UNSUPPORTED);
    assert_eq!(client.simpler_init(), UNSUPPORTED);
    assert_eq!(client.kernel_init(), UNSUPPORTED, "no mode was latched");
    assert_eq!(client.destroy(), 0);
}

#[test]
fn a_generation_is_free_again_after_an_init_that_made_no_area() {
    let config = CallConfig::default();
    let init = Init { generation: new_generation(), ..Init::new(&config) };
    let failing = Client::new();
    failing.platform.fail(3);
    assert_eq!(failing.kernel_init_with(&init), INTERNAL);
    let other = Client::new();
    assert_eq!(other.kernel_init_with(&init), 0);
    for client in [failing, other] {
        assert_eq!(client.finalize(), 0);
        assert_eq!(client.destroy(), 0);
    }
}
