//! Graphs: replayed without the host, refused when their slot has moved on.
//!

use core::ffi::c_void;

use crate::session::{
    AICPU_EXCEPTION, Context, Device, INTERNAL, INVALID_STATE, Image, faulty, new_stream, tell_faulty, vendor,
};

/// A captured launch of the faulty operator in slot 0, and its trace.
struct Captured<'d> {
    context: Context<'d>,
    graph: *mut c_void,
    trace: *mut c_void,
}

impl<'d> Captured<'d> {
    fn new(device: &'d Device, behaviour: u64) -> Self {
        let context = Context::live(device);
        let (trace, other) = (device.words(&[0; faulty::WORDS]), device.words(&[0; faulty::WORDS]));
        assert_eq!(context.prepare(0, &Image::of("faulty")), 0);
        assert_eq!(device.synchronize(device.stream), 0);
        let graph = context.capture(0, &tell_faulty(trace, other, behaviour, 0));
        Self { context, graph, trace }
    }

    fn entered(&self) -> u32 {
        self.context.device.read(self.trace, faulty::WORDS)[faulty::ENTERED]
    }

    /// Replays on the caller's stream and waits.
    fn replay(&self) -> i32 {
        let device = self.context.device;
        device.replay(self.graph, device.stream);
        device.synchronize(device.stream)
    }

    /// A replay that the device has to answer with this number, and that must not run.
    #[track_caller]
    fn is_refused_as(&self, answer: i32) {
        let before = self.entered();
        assert_eq!(self.replay(), AICPU_EXCEPTION);
        let errors = self.context.errors();
        assert_eq!((errors.first_refusal, errors.refusals), (answer, 1));
        assert_eq!(self.entered(), before, "what was refused never ran");
    }

    fn destroy_graph(&self) {
        // SAFETY: no pointer that is followed.
        vendor(unsafe { (self.context.device.sim.graph_destroy)(self.graph) });
    }
}

#[test]
fn a_captured_launch_runs_a_thousand_times_and_not_while_it_is_captured() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::SUCCEED);
    assert_eq!(captured.entered(), 0, "capturing runs nothing");
    for _ in 0..1000 {
        assert_eq!(captured.replay(), 0);
    }
    let trace = device.read(captured.trace, faulty::WORDS);
    assert_eq!((trace[faulty::ENTERED], trace[faulty::BLOCKS]), (1000, 1000));
    assert_eq!(captured.context.errors().refusals, 0);
    captured.destroy_graph();
    captured.context.close();
}

#[test]
fn a_replay_whose_slot_has_another_tenant_is_refused_as_stale() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::SUCCEED);
    assert_eq!(captured.replay(), 0);
    assert_eq!(captured.context.prepare(0, &Image::of("vector_add")), 0);
    captured.is_refused_as(3);
    captured.destroy_graph();
    captured.context.close();
}

#[test]
fn a_replay_whose_slot_holds_the_same_image_again_is_stale_all_the_same() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::SUCCEED);
    assert_eq!(captured.context.prepare(0, &Image::of("faulty")), 0);
    captured.is_refused_as(3);
    captured.destroy_graph();
    captured.context.close();
}

#[test]
fn a_replay_whose_slot_was_released_is_not_resident() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::SUCCEED);
    assert_eq!(captured.context.release(0), 0);
    captured.is_refused_as(2);
    captured.destroy_graph();
    captured.context.close();
}

#[test]
fn a_replay_of_a_poisoned_context_is_refused_as_poisoned() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::SUCCEED);
    let other = device.words(&[0; faulty::WORDS]);
    let args = tell_faulty(captured.trace, other, faulty::SUCCEED, 0);
    device.fail("launch_aicpu", 1, 507_899);
    assert_eq!(captured.context.launch(0, &args), INTERNAL);
    let errors = captured.context.errors();
    assert_eq!((errors.runtime_error, errors.runtime_vendor_code, errors.failed_step), (INTERNAL, 507_899, 6));
    assert_eq!(captured.context.launch(0, &args), INVALID_STATE, "nothing more is dispatched");
    assert_eq!(device.synchronize(device.stream), 0, "the cancelled launch has left the stream");
    captured.is_refused_as(9);
    captured.destroy_graph();
    captured.context.close();
}

#[test]
fn replays_that_overlap_are_refused_as_busy_and_the_first_is_unharmed() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::WAIT_AT_GATE);
    let [second, opener] = [new_stream(device.sim), new_stream(device.sim)];
    device.replay(captured.graph, device.stream);
    while captured.entered() == 0 {
        std::thread::yield_now();
    }
    device.replay(captured.graph, second);
    assert_eq!(device.synchronize(second), AICPU_EXCEPTION);
    let errors = captured.context.errors();
    assert_eq!((errors.first_refusal, errors.refusals), (8, 1));
    assert_eq!(captured.context.finalize(), INVALID_STATE, "a busy context is not taken down");

    let gate = captured.trace.wrapping_byte_add(4 * faulty::GATE);
    // SAFETY: no pointer that the host follows.
    vendor(unsafe { (device.sim.write_value32_async)(gate, 1, opener) });
    assert_eq!(device.synchronize(device.stream), 0);
    assert_eq!(captured.entered(), 1);
    captured.destroy_graph();
    captured.context.close();
    for stream in [second, opener] {
        // SAFETY: no pointer that is followed.
        vendor(unsafe { (device.sim.destroy_stream)(stream) });
    }
}

#[test]
fn a_replay_after_close_reads_zeroes_and_runs_nothing() {
    let device = Device::new();
    let captured = Captured::new(&device, faulty::SUCCEED);
    assert_eq!(captured.replay(), 0);
    assert_eq!(captured.context.finalize(), 0);
    device.replay(captured.graph, device.stream);
    assert_eq!(device.synchronize(device.stream), AICPU_EXCEPTION);
    assert_eq!(captured.entered(), 1);
    let errors = captured.context.errors();
    assert_eq!((errors.first_refusal, errors.refusals), (2, 1), "not resident");
    captured.destroy_graph();
    assert_eq!(captured.context.destroy(), 0);
}
