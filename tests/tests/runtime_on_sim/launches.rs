//! Launches that run, and refusals that reach the caller.
//!

use tenon_core::wire::DataType;
use tenon_tests::libraries::build_directory;
use tenon_tests::reference::{self, Seeded};

use crate::session::{AICPU_EXCEPTION, Context, Device, INTERNAL, Image, arguments, faulty, tell_faulty};

#[test]
fn an_operator_runs_on_real_data_between_what_comes_before_and_after_it() {
    let device = Device::new();
    let context = Context::live(&device);
    let count = 5000;
    let mut seeded = Seeded::new(7);
    let (a, b) = (seeded.floats(count), seeded.floats(count));
    let bits = |floats: &[f32]| floats.iter().map(|float| float.to_bits()).collect::<Vec<_>>();
    let inputs = [device.words(&bits(&a)), device.words(&bits(&b))];
    let out = device.words(&vec![u32::MAX; count]);
    let f32s = |memory| (memory, count, DataType::F32);
    let args = arguments(&[f32s(inputs[0]), f32s(inputs[1]), f32s(out)], &[]);

    assert_eq!(context.prepare(3, &Image::of("vector_add")), 0);
    assert_eq!(context.launch(3, &args), 0);
    assert_eq!(device.synchronize(device.stream), 0);
    let computed: Vec<f32> = device.read(out, count).into_iter().map(f32::from_bits).collect();
    assert!(reference::max_error(&computed, &reference::vector_add(&a, &b)) < 1e-6);
    assert_eq!(context.errors().refusals, 0);
    context.close();
}

#[test]
fn a_launch_that_fails_on_the_device_reaches_synchronise_and_error_slots_and_poisons_nothing() {
    let device = Device::new();
    let context = Context::live(&device);
    let (trace, other) = (device.words(&[0; faulty::WORDS]), device.words(&[0; faulty::WORDS]));
    assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
    assert_eq!(context.launch(0, &tell_faulty(trace, other, faulty::FAIL, 7)), 0);
    assert_eq!(device.synchronize(device.stream), AICPU_EXCEPTION);
    let errors = context.errors();
    assert_eq!((errors.first_refusal, errors.refusals, errors.runtime_error), (6, 1, 0));

    assert_eq!(context.launch(0, &tell_faulty(trace, other, faulty::SUCCEED, 0)), 0);
    assert_eq!(device.synchronize(device.stream), 0, "the next one runs");
    assert_eq!(device.read(trace, faulty::WORDS)[faulty::ENTERED], 2);
    context.close();
}

#[test]
fn a_context_runs_on_the_device_image_that_its_caller_brings() {
    let device = Device::new();
    let image = std::fs::read(build_directory().join("lib/libtenon_aicpu.so")).unwrap();
    let broken = Context::fresh(&device);
    assert_eq!(broken.init_with(b"no image at all"), INTERNAL);
    broken.close();

    let context = Context::fresh(&device);
    assert_eq!(context.init_with(&image), 0);
    let (trace, other) = (device.words(&[0; faulty::WORDS]), device.words(&[0; faulty::WORDS]));
    assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
    assert_eq!(context.launch(0, &tell_faulty(trace, other, faulty::SUCCEED, 0)), 0);
    assert_eq!(device.synchronize(device.stream), 0);
    assert_eq!(device.read(trace, faulty::WORDS)[faulty::ENTERED], 1);
    context.close();
}

#[test]
fn a_context_whose_device_is_lost_closes() {
    let device = Device::new();
    let context = Context::live(&device);
    assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
    // The host cannot tell, and the device faults as real ones do: nothing is mapped there.
    let nowhere = std::ptr::without_provenance_mut(64);
    assert_eq!(context.launch(0, &tell_faulty(nowhere, nowhere, faulty::SUCCEED, 0)), 0);
    assert_eq!(device.synchronize(device.stream), 507_010);
    context.close();
    drop(device);

    let device = Device::new();
    let context = Context::live(&device);
    assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
    context.close();
}

#[test]
fn a_context_whose_device_was_reset_closes_and_touches_nothing_of_the_next_one() {
    let device = Device::new();
    let context = Context::live(&device);
    assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
    assert_eq!(device.synchronize(device.stream), 0);
    device.restart();
    // The next device hands out the same addresses: what the context would free is somebody else's now.
    let freed = device.count("free");
    context.close();
    assert_eq!(device.count("free"), freed);
}

#[test]
fn contexts_that_bring_the_same_device_image_share_one() {
    let device = Device::new();
    let image = std::fs::read(build_directory().join("lib/libtenon_aicpu.so")).unwrap();
    // More than a device can hold at once.
    for _ in 0..70 {
        let context = Context::fresh(&device);
        assert_eq!(context.init_with(&image), 0);
        context.close();
    }
}

#[test]
fn two_contexts_share_a_device_and_do_not_touch_each_other() {
    let device = Device::new();
    let (first, second) = (Context::live(&device), Context::live(&device));
    let traces = [device.words(&[0; faulty::WORDS]), device.words(&[0; faulty::WORDS])];
    let other = device.words(&[0; faulty::WORDS]);
    for (context, trace) in [(&first, traces[0]), (&second, traces[1])] {
        assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
        assert_eq!(context.launch(0, &tell_faulty(trace, other, faulty::SUCCEED, 0)), 0);
    }
    assert_eq!(device.synchronize(device.stream), 0);
    first.close();
    assert_eq!(second.launch(0, &tell_faulty(traces[1], other, faulty::SUCCEED, 0)), 0);
    assert_eq!(device.synchronize(device.stream), 0);
    assert_eq!(device.read(traces[0], 2)[faulty::ENTERED], 1);
    assert_eq!(device.read(traces[1], 2)[faulty::ENTERED], 2);
    second.close();
}
