//! Handles that are not contexts, and contexts that are not any more.
//!

use core::ffi::{c_int, c_void};
use core::ptr;

use host_runtime::abi;

use crate::client::{Client, INVALID_ARGUMENT, INVALID_STATE, in_process_of_its_own, stream};
use crate::image::image;

/// What every entry that answers a code says of a handle.
fn ask_all(client: &Client) -> Vec<(&'static str, c_int)> {
    let mut host = [0_u8; 4];
    let device = ptr::without_provenance_mut(64);
    vec![
        ("simpler_init", client.simpler_init()),
        ("register", client.register(0)),
        ("register unsized", client.register_unsized(0)),
        ("unregister", client.unregister(0)),
        ("run", client.run(0)),
        ("free", client.free(device)),
        ("copy in", client.copy_in(device, &host)),
        ("copy out", client.copy_out(&mut host, device)),
        ("kernel init", client.kernel_init()),
        ("prepare", client.prepare(0, &image(b"code"))),
        ("launch", client.launch(0)),
        ("release", client.release_with(0, stream())),
        ("slot_generation", client.slot_generation(0).err().unwrap_or(0)),
        ("errors", client.errors().err().unwrap_or(0)),
        ("finalize", client.finalize()),
        ("destroy", client.destroy()),
    ]
}

fn refused_everywhere(client: &Client, why: &str) {
    for (entry, code) in ask_all(client) {
        // A build without kernel mode has looked at the handle, too, before it says that it has none.
        assert_eq!(code, INVALID_ARGUMENT, "{entry}: {why}");
    }
    assert_eq!(client.supported(), 0, "{why}");
    assert_eq!(client.committed_bytes(), 0, "{why}");
    assert!(client.malloc(64).is_null(), "{why}");
}

#[test]
fn what_is_not_a_context_is_refused_by_every_entry() {
    let client = Client::new();
    let handle = client.context.addr();
    let own = 0_u64;
    let numbers = [
        (0, "null"),
        (handle + 1, "misaligned"),
        (handle + 8, "misaligned"),
        ((&raw const own).addr(), "a pointer into the stack"),
        ((image as *const ()).addr() & !0xF, "a pointer to code"),
        (usize::MAX, "all ones"),
        (usize::MAX & !0xF, "all ones, aligned"),
        (handle ^ (1 << 55), "another generation"),
        (handle + (1 << 16), "the next generation"),
        (handle ^ (0xFFF << 4), "another place"),
        (handle & !(0xFF << 56), "without its tag"),
        (64, "a small number"),
    ];
    for (number, why) in numbers {
        refused_everywhere(&client.on(ptr::without_provenance_mut(number)), why);
    }
    assert_eq!(client.calls(), 0);
    assert_eq!(client.destroy(), 0, "the real one is unharmed");
}

#[test]
fn random_numbers_are_never_contexts() {
    let client = Client::new();
    // A fixed seed; xorshift is random enough for numbers that are nearly all foreign.
    let mut number = 0x9E37_79B9_7F4A_7C15_u64;
    for round in 0..2_000 {
        number ^= number << 13;
        number ^= number >> 7;
        number ^= number << 17;
        // Every other one has the tag, so that places and generations are tried too, far above any that was issued.
        let bits = if round % 2 == 0 { number } else { 0x5480_0000_0000_0000 | number >> 8 & !0xF };
        let foreign: *mut c_void = ptr::without_provenance_mut(usize::try_from(bits).unwrap());
        if foreign != client.context {
            assert_eq!(client.on(foreign).errors().err(), Some(INVALID_ARGUMENT), "{bits:#x}");
        }
    }
    assert_eq!(client.destroy(), 0);
}

#[test]
fn a_destroyed_context_is_refused_by_every_entry() {
    let client = Client::new();
    assert_eq!(client.destroy(), 0);
    refused_everywhere(&client, "destroyed");
    assert_eq!(client.destroy(), INVALID_ARGUMENT, "a second time");
}

#[test]
fn an_old_handle_does_not_find_a_newer_context() {
    let old = Client::new();
    assert_eq!(old.destroy(), 0);
    // More than can run beside this test, so one of them has the old one's place.
    let newer: Vec<Client> = (0..64).map(|_| Client::new()).collect();
    refused_everywhere(&old, "destroyed, and its place taken");
    assert!(newer.iter().all(|client| client.context != old.context));
    for client in newer {
        assert_eq!(client.destroy(), 0);
    }
}

#[test]
fn a_context_in_use_is_not_destroyed() {
    let client = Client::new();
    assert_eq!(client.simpler_init(), 0);
    assert_eq!(client.destroy(), INVALID_STATE);
    assert_eq!(client.finalize(), 0);
    assert_eq!(client.destroy(), 0);
}

#[test]
fn a_child_is_refused_its_parents_contexts_and_may_make_its_own() {
    const NAME: &str = "misuse::a_child_is_refused_its_parents_contexts_and_may_make_its_own";
    // In a process that runs nothing else, so that the child inherits no lock that somebody holds.
    let log = in_process_of_its_own(NAME, || {
        let client = Client::new();
        assert_eq!(client.simpler_init(), 0);
        let before = client.calls();
        // SAFETY: no other thread of this process is inside anything; the child makes calls that are allowed there and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_refused = ask_all(&client)
                .into_iter()
                .filter(|(entry, _)| cfg!(feature = "kernel-mode") || *entry != "kernel init")
                .all(|(_, code)| code == INVALID_STATE);
            let is_untouched = client.calls() == before;
            let own = Client::new();
            let has_own = own.simpler_init() == 0 && own.finalize() == 0 && own.destroy() == 0;
            let status = c_int::from(!is_refused) | c_int::from(!is_untouched) << 1 | c_int::from(!has_own) << 2;
            // SAFETY: no requirements; no destructor of the parent's things runs.
            unsafe { libc::_exit(status) };
        }
        let mut status = -1;
        // SAFETY: `status` is writable.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0, "1: not refused, 2: touched, 4: has no context of its own (times 256)");
        assert_eq!(client.finalize(), 0, "the parent's is unharmed");
        assert_eq!(client.destroy(), 0);
    });
    if let Some(log) = log {
        assert!(log.contains("tenon: error: simpler_run: the context was made by another process"), "{log}");
    }
}

#[test]
fn each_refusal_is_one_line_that_names_entry_argument_and_what_was_expected() {
    const NAME: &str = "misuse::each_refusal_is_one_line_that_names_entry_argument_and_what_was_expected";
    let log = in_process_of_its_own(NAME, || {
        let client = Client::new();
        client.launch_with(64, ptr::without_provenance(64), stream());
        client.on(ptr::without_provenance_mut(0x1234)).finalize();
        client.destroy();
        client.destroy();
    });
    if let Some(log) = log {
        let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("tenon: ")).collect();
        assert_eq!(lines.len(), 3, "{log}");
        assert_eq!(
            lines[0],
            "tenon: error: simpler_kernel_mode_launch: callable_id is 64; expected 0..=63 \
             (PTO_RUNTIME_ERR_INVALID_ARGUMENT)"
        );
        assert!(lines[1].starts_with("tenon: error: finalize_device: ctx is 0x1234, misaligned"), "{log}");
        assert!(lines[2].contains("destroy_device_context: ctx is 0x54"), "{log}");
        assert!(lines[2].contains("a context that has been destroyed"), "{log}");
    }
}

#[test]
fn every_code_has_a_name() {
    let name = |code| {
        // SAFETY: the entry answers a terminated text that stays for ever.
        unsafe { core::ffi::CStr::from_ptr(abi::simpler_status_name(code)) }.to_str().unwrap()
    };
    assert_eq!(name(0), "PTO_RUNTIME_SUCCESS");
    assert_eq!(name(-1000), "PTO_RUNTIME_ERR_INTERNAL");
    assert_eq!(name(-1008), "PTO_RUNTIME_ERR_CALLABLE_STALE");
    assert_eq!(name(-903), "device: Stale");
    assert_eq!(name(12), "unknown");
}
