//! A build without kernel mode checks the same arguments, and then says no.
//!
#![cfg(not(feature = "kernel-mode"))]

use crate::client::{Client, INVALID_STATE, UNSUPPORTED};
use crate::image::image;

#[test]
fn a_stub_does_not_support_kernel_mode_and_latches_nothing() {
    let client = Client::new();
    assert_eq!(client.supported(), 0);
    assert_eq!(client.kernel_init(), UNSUPPORTED);
    assert_eq!(client.kernel_init(), UNSUPPORTED);
    assert_eq!(client.prepare(0, &image(b"code")), INVALID_STATE);
    assert_eq!(client.launch(0), INVALID_STATE);
    assert_eq!(client.release_with(0, crate::client::stream()), INVALID_STATE);
    assert_eq!(client.slot_generation(0), Err(INVALID_STATE));
    assert_eq!(client.errors().map(|errors| errors.runtime_error), Ok(0));
    assert_eq!(client.calls(), 0);
    assert_eq!(client.simpler_init(), 0, "the context was still fresh");
    assert_eq!(client.kernel_init(), UNSUPPORTED);
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}
