//! One handle, many threads.
//!

use std::sync::Barrier;

use crate::client::{Client, INVALID_STATE, stream};
use crate::fake::FakePlatform;
use crate::image::image;

/// A handle that threads share, as C shares it.
#[derive(Clone, Copy)]
struct Shared<'a>(&'a Client);
// SAFETY: the handle is a number, and every entry may be called from any thread.
unsafe impl Sync for Shared<'_> {}
// SAFETY: as above.
unsafe impl Send for Shared<'_> {}

impl Shared<'_> {
    fn client(&self) -> &Client {
        self.0
    }
}

#[test]
fn of_both_inits_racing_exactly_one_mode_is_latched_for_ever() {
    for round in 0..50_usize {
        let client = Client::new();
        let shared = Shared(&client);
        let start = Barrier::new(6);
        let answers: Vec<(bool, i32)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..6_usize)
                .map(|thread| {
                    let start = &start;
                    scope.spawn(move || {
                        let is_kernel = (thread + round) % 2 == 0;
                        start.wait();
                        let client = shared.client();
                        (is_kernel, if is_kernel { client.kernel_init() } else { client.simpler_init() })
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let won: Vec<bool> = answers.iter().filter(|(_, code)| *code == 0).map(|(is_kernel, _)| *is_kernel).collect();
        assert_eq!(won.len(), 1, "one init works: {answers:?}");
        assert!(answers.iter().all(|(_, code)| *code == 0 || *code == INVALID_STATE), "{answers:?}");
        let is_kernel = won[0];
        assert_eq!(client.prepare(0, &image(b"code")) == 0, is_kernel);
        assert_eq!(client.register(0) == 0, !is_kernel);
        assert_eq!(client.finalize(), 0);
        assert_eq!(client.kernel_init(), INVALID_STATE, "not even after it is closed");
        assert_eq!(client.simpler_init(), if is_kernel { INVALID_STATE } else { 0 });
        assert_eq!(client.destroy(), 0);
    }
}

#[test]
fn a_second_thread_is_refused_and_the_first_is_unharmed() {
    let (platform, gate) = FakePlatform::new().with_gate();
    let client = Client::with(platform);
    assert_eq!(client.kernel_init(), 0);
    assert_eq!(client.prepare(0, &image(b"code")), 0);
    let shared = Shared(&client);
    std::thread::scope(|scope| {
        let first = scope.spawn(move || shared.client().launch(0));
        gate.reached.wait();
        assert_eq!(client.launch(0), INVALID_STATE);
        assert_eq!(client.prepare(1, &image(b"other")), INVALID_STATE);
        assert_eq!(client.release_with(0, stream()), INVALID_STATE);
        assert_eq!(client.finalize(), INVALID_STATE);
        assert_eq!(client.destroy(), INVALID_STATE, "a context never goes under a call");
        assert_eq!(client.slot_generation(0), Ok(1), "asking is no entry");
        assert_eq!(client.errors().map(|errors| errors.runtime_error), Ok(0));
        assert_eq!(client.supported(), 1);
        gate.opened.wait();
        assert_eq!(first.join().unwrap(), 0);
    });
    assert_eq!(client.platform.fake().arrived.len(), 1);
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}
