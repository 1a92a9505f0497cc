//! The table of entries and states, every cell, through the C boundary.
//!

use core::ffi::{c_int, c_void};
use core::ptr;

use tenon_core::area::BUSY;
use tenon_core::entries::{ContextState, Entry};

use crate::client::{Client, INVALID_ARGUMENT, INVALID_STATE, stream};
use crate::image::image;

const TABLE: &str = include_str!("../../../../core/src/entries.txt");

/// A context that was brought into `state` by entries alone.
fn context_in(state: ContextState) -> Client {
    let client = Client::new();
    match state {
        ContextState::Fresh => {}
        ContextState::ProgramInitFailed => {
            client.platform.fail(1);
            assert_eq!(client.simpler_init(), -1000);
        }
        ContextState::Program => {
            assert_eq!(client.simpler_init(), 0);
            assert_eq!(client.register(0), 0);
        }
        ContextState::Finalized => {
            assert_eq!(client.simpler_init(), 0);
            assert_eq!(client.finalize(), 0);
        }
        ContextState::KernelInitFailed => {
            // The first call asks for the current device, before the latch.
            client.platform.fail(2);
            assert_eq!(client.kernel_init(), -1000);
        }
        ContextState::Live => live(&client),
        ContextState::Poisoned => {
            live(&client);
            // Step 1 is a plain refusal; a failure of step 2 poisons.
            client.platform.fail(2);
            assert_eq!(client.launch(0), -1000);
        }
        ContextState::Closing => {
            live(&client);
            set_busy(&client, 1);
            assert_eq!(client.finalize(), INVALID_STATE);
            set_busy(&client, 0);
        }
        ContextState::Closed => {
            live(&client);
            assert_eq!(client.finalize(), 0);
        }
    }
    client
}

fn live(client: &Client) {
    assert_eq!(client.kernel_init(), 0);
    assert_eq!(client.prepare(0, &image(b"code")), 0);
}

fn set_busy(client: &Client, busy: u32) {
    let mut fake = client.platform.fake();
    let area = fake.area();
    fake.poke(area + BUSY, busy);
}

/// What the calls behind one row answer; each call for itself, with what it answers when it works.
fn call(entry: Entry, client: &Client) -> Vec<(&'static str, c_int, c_int)> {
    match entry {
        Entry::SimplerInit => vec![("simpler_init", client.simpler_init(), 0)],
        Entry::ProgramEntries => program_entries(client),
        Entry::KernelModeSupported => vec![("supported", client.supported(), 1)],
        Entry::KernelModeInit => vec![("kernel_mode_init", client.kernel_init(), 0)],
        Entry::Prepare => vec![("prepare", client.prepare(1, &image(b"other code")), 0)],
        Entry::Launch => vec![("launch", client.launch(0), 0)],
        Entry::Release => vec![("release", client.release_with(0, stream()), 0)],
        // A slot that closing has emptied is not resident, which is an answer of a working entry.
        Entry::SlotGeneration => match client.slot_generation(0) {
            Ok(generation) => vec![("slot_generation", 0, c_int::from(generation != 1))],
            Err(code) => vec![("slot_generation", code, crate::client::NOT_RESIDENT)],
        },
        Entry::ContextErrors => vec![("context_errors", client.errors().err().unwrap_or(0), 0)],
        Entry::FinalizeDevice => vec![("finalize", client.finalize(), 0)],
        Entry::DestroyDeviceContext => vec![("destroy", client.destroy(), 0)],
    }
}

fn program_entries(client: &Client) -> Vec<(&'static str, c_int, c_int)> {
    let mut host = [7_u8; 16];
    let device = client.malloc(64);
    // An address for the calls in states that give none: they are refused before anybody looks at it.
    let at: *mut c_void = if device.is_null() { ptr::without_provenance_mut(64) } else { device };
    let answers = vec![
        ("malloc", if device.is_null() { INVALID_STATE } else { 0 }, 0),
        ("copy_in", client.copy_in(at, &host), 0),
        ("copy_out", client.copy_out(&mut host, at), 0),
        ("copy of nothing", client.copy_in(at, &[]), 0),
        ("committed", if client.committed_bytes() == 0 { INVALID_STATE } else { 0 }, 0),
        ("free", client.free(at), 0),
        ("register", client.register(1), 0),
        ("register unsized", client.register_unsized(2), 0),
        ("run", client.run(1), 0),
        ("unregister", client.unregister(1), 0),
        ("unregister an empty slot", client.unregister(63), 0),
        ("unregister no slot", client.unregister(-5), 0),
    ];
    assert_eq!(host, [7; 16], "what was copied in came back");
    answers
}

#[test]
fn every_entry_in_every_state_does_what_the_written_table_says() {
    let mut lines = TABLE.lines();
    assert_eq!(lines.next().unwrap().split_whitespace().count(), ContextState::ALL.len());
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split_whitespace().skip(1).collect()).collect();
    assert_eq!(rows.len(), Entry::ALL.len());
    let mut cells = 0;
    for (entry, row) in Entry::ALL.iter().zip(rows) {
        assert_eq!(row.len(), ContextState::ALL.len());
        for (state, written) in ContextState::ALL.iter().zip(row) {
            check(*entry, *state, written);
            cells += 1;
        }
    }
    assert_eq!(cells, 11 * 9);
}

fn check(entry: Entry, state: ContextState, written: &str) {
    let client = context_in(state);
    let calls = client.calls();
    for (name, answer, working) in call(entry, &client) {
        let cell = format!("{name} in {}: {written}", state.name());
        match written {
            "state" => assert_eq!(answer, INVALID_STATE, "{cell}"),
            "zero" => assert_eq!(answer, 0, "{cell}"),
            "latches" | "works" => assert_eq!(answer, working, "{cell}"),
            "closes" => {
                assert_eq!(answer, 0, "{cell}");
                assert_eq!(client.destroy(), 0, "{cell}: what is closed may be destroyed");
                return;
            }
            "frees" => {
                assert_eq!(answer, 0, "{cell}");
                assert_eq!(client.destroy(), INVALID_ARGUMENT, "{cell}: the handle is gone");
                return;
            }
            other => panic!("{cell}: what is {other:?}?"),
        }
    }
    if matches!(written, "state" | "zero") {
        assert_eq!(client.calls(), calls, "{} in {}: the platform was not touched", entry.name(), state.name());
    }
    assert_eq!(client.finalize(), 0, "{} in {}: it can be closed", entry.name(), state.name());
    assert_eq!(client.destroy(), 0);
}
