//! Code comes with a tenant's first launch and goes when the tenant has gone.
//!
//! What is loaded is read from the process's own mappings, so these tests take turns.

mod common;

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard};

use common::{Behaviour, Context, Device, Faulty, Image, Operator, Verdicts, Workers};
use tenon_core::callable::layout::{CHILD_BINARY_SIZE, HEADER_BYTES};
use tenon_core::generation::CallableId;
use tenon_core::status::DispatchAnswer::{self, InvalidBinding, NotResident, Stale, Success, UnsupportedPayload};

/// One test at a time.
fn take_turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Objects that this process has mapped from files without a name: by their inode.
fn loaded_objects() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let inodes = maps.lines().filter(|line| line.contains("memfd:tenon-code"));
    inodes.map(|line| line.split_whitespace().nth(4).unwrap()).collect::<BTreeSet<_>>().len()
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// The faulty operator, built to be told apart. It has two objects: the orchestration and one child.
fn tenant(identity: u32) -> Image {
    Operator { identity, ..Operator::FAULTY }.image()
}
const OBJECTS: usize = 2;

fn launch(context: &Context<'_>, faulty: &Faulty, id: CallableId) -> DispatchAnswer {
    faulty.launch(context, id, Behaviour::Succeed, 0)
}

#[test]
fn only_the_first_launch_of_a_tenant_loads() {
    let _turn = take_turn();
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let id = context.install(0, 1, &tenant(1));
    assert_eq!(loaded_objects(), 0, "a prepare loads nothing");
    for _ in 0..50 {
        assert_eq!(launch(&context, &faulty, id), Success);
        assert_eq!(loaded_objects(), OBJECTS);
    }
    assert_eq!(device.lines(), ["loaded slot 0 generation 1"]);
}

#[test]
fn a_slots_next_tenant_runs_its_own_code_and_the_old_code_goes() {
    let _turn = take_turn();
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let first = context.install(0, 1, &tenant(11));
    let descriptors = {
        assert_eq!(launch(&context, &faulty, first), Success);
        open_descriptors()
    };
    let mut before = first;
    for generation in 2..40 {
        let identity = if generation % 2 == 0 { 12 } else { 11 };
        let id = context.install(0, generation, &tenant(identity));
        assert_eq!(launch(&context, &faulty, id), Success);
        assert_eq!(faulty.identity(), identity, "generation {generation}");
        assert_eq!(launch(&context, &faulty, before), Stale);
        assert_eq!((loaded_objects(), open_descriptors()), (OBJECTS, descriptors), "generation {generation}");
        before = id;
    }
}

#[test]
fn tenants_of_different_slots_and_contexts_keep_their_own_code() {
    let _turn = take_turn();
    let device = Device::new(Workers::Inline);
    let contexts = [Context::new(&device, 1), Context::new(&device, 2)];
    let faulty = Faulty::new();
    let launches: Vec<_> = (0..8_u32)
        .map(|number| {
            let context = &contexts[number as usize % 2];
            let slot = i32::try_from(number / 2).unwrap();
            (context, context.install(slot, 1, &tenant(20 + number)), 20 + number)
        })
        .collect();
    for round in 0..3 {
        for (context, id, identity) in &launches {
            assert_eq!(launch(context, &faulty, *id), Success);
            assert_eq!(faulty.identity(), *identity, "round {round}: accepted, so what ran is what was named");
        }
    }
    assert_eq!(loaded_objects(), 8 * OBJECTS);
}

#[test]
fn the_next_load_of_a_context_lets_go_of_every_tenant_that_has_gone() {
    let _turn = take_turn();
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let other = Context::new(&device, 2);
    let faulty = Faulty::new();
    for slot in 0..4 {
        let id = context.install(slot, 1, &tenant(1));
        assert_eq!(launch(&context, &faulty, id), Success);
    }
    let id = other.install(0, 1, &tenant(1));
    assert_eq!(launch(&other, &faulty, id), Success);
    assert_eq!(loaded_objects(), 5 * OBJECTS);
    context.retire(1);
    context.retire(2);
    let id = context.install(5, 1, &tenant(1));
    assert_eq!(launch(&context, &faulty, id), Success);
    assert_eq!(loaded_objects(), 4 * OBJECTS, "slots 0, 3 and 5, and the other context's");
}

#[test]
fn unloading_lets_everything_go_and_a_launch_loads_again() {
    let _turn = take_turn();
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let id = context.install(7, 1, &tenant(1));
    assert_eq!(launch(&context, &faulty, id), Success);
    assert!(device.unload());
    assert_eq!(loaded_objects(), 0);
    assert_eq!(launch(&context, &faulty, id), Success);
    assert_eq!(loaded_objects(), OBJECTS);
    drop(device);
    assert_eq!(loaded_objects(), 0);
}

#[test]
fn a_closed_contexts_replay_is_not_resident() {
    let _turn = take_turn();
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let id = context.install(7, 1, &tenant(1));
    assert_eq!(launch(&context, &faulty, id), Success);
    assert!(!context.close(), "nothing executes");
    assert_eq!(launch(&context, &faulty, id), NotResident);
    assert_eq!(faulty.entered(), 1);
}

/// What a change to the parts of an image makes of its launch. Nothing of it stays loaded, and the context stays usable.
fn launch_changed(name: &str, image: &Image) -> DispatchAnswer {
    let device = Device::new(Workers::Inline);
    let context = Context::new(&device, 1);
    let faulty = Faulty::new();
    let id = context.install(0, 1, image);
    let descriptors = open_descriptors();
    let answer = launch(&context, &faulty, id);
    assert_eq!(launch(&context, &faulty, id), answer, "{name}: the second launch");
    assert_eq!((loaded_objects(), open_descriptors(), faulty.entered()), (0, descriptors, 0), "{name}");
    assert_eq!(context.verdicts(), Verdicts { work: 0, leave: 2 }, "{name}");
    assert!(!context.is_busy(), "{name}");
    let id = context.install(1, 1, &tenant(1));
    assert_eq!(launch(&context, &faulty, id), Success, "{name}: another slot");
    answer
}

#[test]
fn code_that_cannot_be_loaded_is_an_unsupported_payload() {
    let _turn = take_turn();
    let faulty = Operator::FAULTY;
    let images = [
        ("no such orchestration", faulty.image_with(|parts| parts.func_name = "absent".to_owned())),
        ("no tenon_kernel", faulty.image_with(|parts| parts.children[0] = parts.orchestration.clone())),
        ("half an object", faulty.image_with(|parts| parts.orchestration.truncate(1000))),
        ("half a child", faulty.image_with(|parts| parts.children[0].truncate(1000))),
    ];
    for (name, image) in &images {
        assert_eq!(launch_changed(name, image), UnsupportedPayload, "{name}");
    }
}

#[test]
fn code_of_another_kind_is_an_unsupported_payload() {
    let _turn = take_turn();
    let faulty = Operator::FAULTY;
    let images = [
        ("raw code", faulty.image_with(|parts| parts.orchestration = vec![0x90; 64])),
        ("a raw child", faulty.image_with(|parts| parts.children[0] = vec![0x90; 64])),
        ("no orchestration", faulty.image_with(|parts| parts.orchestration.clear())),
        ("no child", faulty.image_with(|parts| parts.children[0].clear())),
        ("too short to name a machine", faulty.image_with(|parts| parts.orchestration.truncate(19))),
        ("another machine", faulty.image_with(|parts| parts.orchestration[18] ^= 0xff)),
        ("a child for another machine", faulty.image_with(|parts| parts.children[0][18] ^= 0xff)),
        ("a 32-bit object", faulty.image_with(|parts| parts.children[0][4] = 1)),
    ];
    for (name, image) in &images {
        assert_eq!(launch_changed(name, image), UnsupportedPayload, "{name}");
    }
}

#[test]
fn a_child_whose_code_leaves_the_image_is_invalid_binding() {
    let _turn = take_turn();
    let mut image = tenant(1);
    let orchestration = Operator::FAULTY.image_with(|parts| parts.children.clear()).0.len() as u64 - HEADER_BYTES;
    let child = HEADER_BYTES + orchestration.next_multiple_of(64);
    let field = usize::try_from(child + CHILD_BINARY_SIZE).unwrap();
    image.0[field..field + 4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(launch_changed("a child past the end", &image), InvalidBinding);
}
