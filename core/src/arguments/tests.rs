//! Each rule alone, and the order in which the rules are asked.
//!

use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use super::*;
use crate::wire::RuntimeEnv;

const CONTEXT: usize = 0x5400_0000_0001_0010;
const STREAM: usize = 0x7000;
const IMAGE: usize = 0x8010;
const ARGS: usize = 0x8040;

fn good_init(config: &CallConfig) -> KernelInit<'_> {
    KernelInit {
        context: CONTEXT,
        device_id: 0,
        binaries: BinaryClaims::default(),
        config: Some(config),
        context_generation: 1,
    }
}

fn refused(result: Result<impl Sized, ArgumentError>) -> String {
    result.err().map_or_else(String::new, |error| error.to_string())
}

fn config_with(change: impl FnOnce(&mut CallConfig)) -> CallConfig {
    let mut config = CallConfig::default();
    change(&mut config);
    config
}

#[test]
fn good_arguments_pass_every_entry() {
    let config = CallConfig::default();
    assert_eq!(kernel_init(&good_init(&config)), Ok(()));
    for id in 0..64 {
        for on_stream in
            [prepare(CONTEXT, id, IMAGE, 9376, STREAM), launch(CONTEXT, id, ARGS, STREAM), release(CONTEXT, id, STREAM)]
        {
            assert_eq!(on_stream.map(|checked| (checked.slot.to_id(), checked.stream.to_bits())), Ok((id, STREAM)));
        }
        assert_eq!(slot_generation(CONTEXT, id, 1).map(SlotIndex::to_id), Ok(id));
    }
    assert_eq!(context_errors(CONTEXT, 1), Ok(()));
    assert_eq!(context_only(CONTEXT), Ok(()));
}

#[test]
fn each_rule_of_init_refuses_by_itself() {
    let config = CallConfig::default();
    let good = good_init(&config);
    let none_at = |address, len_bytes| BinaryClaim { address, len_bytes };
    let cases = [
        (KernelInit { context: 0, ..good }, "ctx is null; expected a pointer that is not null"),
        (KernelInit { config: None, ..good }, "config is null; expected a pointer that is not null"),
        (KernelInit { device_id: -1, ..good }, "device_id is -1; expected 0 or more"),
        (KernelInit { device_id: i32::MIN, ..good }, "device_id is -2147483648; expected 0 or more"),
        (KernelInit { context_generation: 0, ..good }, "context_generation is 0; expected a number that is not 0"),
        (
            KernelInit { binaries: BinaryClaims { aicpu: none_at(0, 8), ..BinaryClaims::default() }, ..good },
            "aicpu is null with size 8; expected a pointer, or size 0 for none",
        ),
        (
            KernelInit { binaries: BinaryClaims { aicore: none_at(64, 0), ..BinaryClaims::default() }, ..good },
            "aicore is a pointer with size 0; expected a size, or a null pointer for none",
        ),
        (
            KernelInit { binaries: BinaryClaims { dispatcher: none_at(0, 1), ..BinaryClaims::default() }, ..good },
            "dispatcher is null with size 1; expected a pointer, or size 0 for none",
        ),
        (
            KernelInit { binaries: BinaryClaims { aicpu: none_at(64, usize::MAX), ..BinaryClaims::default() }, ..good },
            "aicpu is 18446744073709551615 bytes long; expected a size that an object in memory can have",
        ),
    ];
    for (claim, message) in cases {
        assert_eq!(refused(kernel_init(&claim)), message);
    }
    let all = BinaryClaims { aicpu: none_at(1, 1), aicore: none_at(2, 2), dispatcher: none_at(3, 3) };
    assert_eq!(
        kernel_init(&KernelInit { binaries: all, device_id: i32::MAX, context_generation: u64::MAX, ..good }),
        Ok(())
    );
}

#[test]
fn init_names_the_arguments_in_the_order_of_the_specification() {
    let config = config_with(|c| c.aicpu_thread_num = 1);
    let binaries = BinaryClaims { aicpu: BinaryClaim { address: 0, len_bytes: 1 }, ..BinaryClaims::default() };
    // Everything is wrong in the first claim; each next one has one thing less wrong.
    let nothing = KernelInit { context: 0, device_id: -1, binaries, config: None, context_generation: 0 };
    let context = KernelInit { context: CONTEXT, ..nothing };
    let config = KernelInit { config: Some(&config), ..context };
    let device = KernelInit { device_id: 0, ..config };
    let generation = KernelInit { context_generation: 7, ..device };
    let binaries = KernelInit { binaries: BinaryClaims::default(), ..generation };
    let named: Vec<_> = [nothing, context, config, device, generation, binaries]
        .iter()
        .map(|claim| kernel_init(claim).err().map_or("nothing", |error| error.argument))
        .collect();
    assert_eq!(named, ["ctx", "config", "device_id", "context_generation", "aicpu", "aicpu_thread_num"]);
}

#[test]
fn each_rule_of_prepare_launch_and_release_refuses_by_itself() {
    let cases = [
        (refused(prepare(0, 0, IMAGE, 9376, STREAM)), "ctx is null; expected a pointer that is not null"),
        (refused(prepare(CONTEXT, 0, 0, 9376, STREAM)), "callable is null; expected a pointer that is not null"),
        (refused(prepare(CONTEXT, 0, IMAGE, 9376, 0)), "caller_stream is null; expected a pointer that is not null"),
        (refused(prepare(CONTEXT, -1, IMAGE, 9376, STREAM)), "callable_id is -1; expected 0..=63"),
        (refused(prepare(CONTEXT, 64, IMAGE, 9376, STREAM)), "callable_id is 64; expected 0..=63"),
        (refused(prepare(CONTEXT, 256, IMAGE, 9376, STREAM)), "callable_id is 256; expected 0..=63"),
        (refused(prepare(CONTEXT, 0, IMAGE, 9375, STREAM)), "callable_size is 9375; expected at least 9376 bytes"),
        (
            refused(prepare(CONTEXT, 0, IMAGE, usize::MAX, STREAM)),
            "callable_size is 18446744073709551615 bytes long; expected a size that an object in memory can have",
        ),
        (refused(prepare(CONTEXT, 0, 0x8018, 9376, STREAM)), "callable is 0x8018; expected a multiple of 16"),
        (refused(launch(0, 0, ARGS, STREAM)), "ctx is null; expected a pointer that is not null"),
        (refused(launch(CONTEXT, 0, 0, STREAM)), "args is null; expected a pointer that is not null"),
        (refused(launch(CONTEXT, 0, ARGS, 0)), "caller_stream is null; expected a pointer that is not null"),
        (refused(launch(CONTEXT, i32::MIN, ARGS, STREAM)), "callable_id is -2147483648; expected 0..=63"),
        (refused(launch(CONTEXT, i32::MAX, ARGS, STREAM)), "callable_id is 2147483647; expected 0..=63"),
        (refused(launch(CONTEXT, 0, 0x8020, STREAM)), "args is 0x8020; expected a multiple of 64"),
        (refused(release(0, 0, STREAM)), "ctx is null; expected a pointer that is not null"),
        (refused(release(CONTEXT, 0, 0)), "caller_stream is null; expected a pointer that is not null"),
        (refused(release(CONTEXT, 64, STREAM)), "callable_id is 64; expected 0..=63"),
        (refused(slot_generation(0, 0, 1)), "ctx is null; expected a pointer that is not null"),
        (refused(slot_generation(CONTEXT, 0, 0)), "generation is null; expected a pointer that is not null"),
        (refused(slot_generation(CONTEXT, 99, 1)), "callable_id is 99; expected 0..=63"),
        (refused(context_errors(0, 1)), "ctx is null; expected a pointer that is not null"),
        (refused(context_errors(CONTEXT, 0)), "out is null; expected a pointer that is not null"),
        (refused(context_only(0)), "ctx is null; expected a pointer that is not null"),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn pointers_come_before_ids_and_ids_before_sizes_and_alignment() {
    let argument = |result: Result<OnStream, ArgumentError>| result.err().map(|error| error.argument);
    assert_eq!(argument(prepare(0, 64, 0, 0, 0)), Some("ctx"));
    assert_eq!(argument(prepare(CONTEXT, 64, 0, 0, 0)), Some("callable"));
    assert_eq!(argument(prepare(CONTEXT, 64, IMAGE + 1, 0, 0)), Some("caller_stream"));
    assert_eq!(argument(prepare(CONTEXT, 64, IMAGE + 1, 0, STREAM)), Some("callable_id"));
    assert_eq!(argument(prepare(CONTEXT, 63, IMAGE + 1, 0, STREAM)), Some("callable_size"));
    assert_eq!(argument(prepare(CONTEXT, 63, IMAGE + 1, 9376, STREAM)), Some("callable"));
    assert_eq!(argument(launch(CONTEXT, 64, ARGS + 1, 0)), Some("caller_stream"));
    assert_eq!(argument(launch(CONTEXT, 64, ARGS + 1, STREAM)), Some("callable_id"));
    assert_eq!(argument(launch(CONTEXT, 63, ARGS + 1, STREAM)), Some("args"));
}

#[test]
fn each_field_of_a_configuration_has_its_range() {
    type Switch = (&'static str, fn(&mut CallConfig, i32));
    for threads in [0, 2, 5, 8] {
        assert_eq!(call_config(&config_with(|c| c.aicpu_thread_num = threads)), Ok(()));
    }
    for threads in [-1, 1, 9, i32::MIN, i32::MAX] {
        let message = format!("aicpu_thread_num is {threads}; expected 0 or 2..=8");
        assert_eq!(refused(call_config(&config_with(|c| c.aicpu_thread_num = threads))), message);
    }
    let switches: [Switch; 5] = [
        ("enable_chip_swimlane", |c, value| c.enable_chip_swimlane = value),
        ("enable_dump_args", |c, value| c.enable_dump_args = value),
        ("enable_pmu", |c, value| c.enable_pmu = value),
        ("enable_dep_gen", |c, value| c.enable_dep_gen = value),
        ("enable_scope_stats", |c, value| c.enable_scope_stats = value),
    ];
    for (field, set) in switches {
        for value in [-1, 2, 256] {
            let message = format!("{field} is {value}; expected 0 or 1");
            assert_eq!(refused(call_config(&config_with(|c| set(c, value)))), message);
        }
        let on = config_with(|c| set(c, 1));
        let prefix = "a path prefix ended by NUL, since a diagnostic is on";
        assert_eq!(refused(call_config(&on)), format!("output_prefix is empty; expected {prefix}"));
        let unterminated = CallConfig { output_prefix: [b'a'; 1024], ..on };
        assert_eq!(
            refused(call_config(&unterminated)),
            format!("output_prefix is not terminated by NUL; expected {prefix}")
        );
        let mut output_prefix = [b'a'; 1024];
        output_prefix[1023] = 0;
        assert_eq!(call_config(&CallConfig { output_prefix, ..on }), Ok(()));
    }
    let unread = CallConfig { output_prefix: [b'a'; 1024], ..CallConfig::default() };
    assert_eq!(call_config(&unread), Ok(()), "without a diagnostic the prefix is not looked at");
}

#[test]
fn each_ring_has_its_range() {
    const MAX: u64 = 2_147_483_647;
    struct Ring {
        field: &'static str,
        build: fn([u64; 4]) -> RuntimeEnv,
        allowed: &'static [u64],
        forbidden: &'static [u64],
        expected: &'static str,
    }
    let rings = [
        Ring {
            field: "ring_task_window",
            build: |ring_task_window| RuntimeEnv { ring_task_window, ..RuntimeEnv::default() },
            allowed: &[0, 4, 8, 1 << 30],
            forbidden: &[1, 2, 3, 5, 12, MAX, 1 << 31, 1 << 63, u64::MAX],
            expected: "0 or a power of two in 4..=2147483647",
        },
        Ring {
            field: "ring_heap",
            build: |ring_heap| RuntimeEnv { ring_heap, ..RuntimeEnv::default() },
            allowed: &[0, 1024, 1025, u64::MAX],
            forbidden: &[1, 1023],
            expected: "0 or at least 1024",
        },
        Ring {
            field: "ring_dep_pool",
            build: |ring_dep_pool| RuntimeEnv { ring_dep_pool, ..RuntimeEnv::default() },
            allowed: &[0, 4, 5, MAX],
            forbidden: &[1, 3, MAX + 1, u64::MAX],
            expected: "0 or 4..=2147483647",
        },
    ];
    for Ring { field, build, allowed, forbidden, expected } in rings {
        for element in 0..4 {
            let with = |value| {
                let values = core::array::from_fn(|i| if i == element { value } else { 0 });
                CallConfig { runtime_env: build(values), ..CallConfig::default() }
            };
            for value in allowed {
                assert_eq!(call_config(&with(*value)), Ok(()), "{field}[{element}] {value}");
            }
            for value in forbidden {
                let message = format!("runtime_env.{field}[{element}] is {value}; expected {expected}");
                assert_eq!(refused(call_config(&with(*value))), message);
            }
        }
    }
}

#[test]
fn program_mode_follows_the_same_rules() {
    let config = CallConfig::default();
    let broken = config_with(|c| c.enable_pmu = 3);
    let good = ProgramInit {
        context: CONTEXT,
        device_id: 0,
        binaries: BinaryClaims::default(),
        prewarm: None,
        sdma_warmup: BinaryClaim::default(),
    };
    let argument = |result: Result<(), ArgumentError>| result.err().map(|error| error.argument);
    assert_eq!(program_init(&good), Ok(()));
    assert_eq!(argument(program_init(&ProgramInit { context: 0, ..good })), Some("ctx"));
    assert_eq!(argument(program_init(&ProgramInit { device_id: -1, ..good })), Some("device_id"));
    assert_eq!(argument(program_init(&ProgramInit { prewarm: Some(&broken), ..good })), Some("enable_pmu"));
    let dangling = BinaryClaim { address: 0, len_bytes: 4 };
    assert_eq!(argument(program_init(&ProgramInit { sdma_warmup: dangling, ..good })), Some("sdma_warmup"));

    let argument = |result: Result<SlotIndex, ArgumentError>| result.err().map(|error| error.argument);
    assert_eq!(argument(program_register(CONTEXT, 0, 0, None)), Some("callable"));
    assert_eq!(argument(program_register(CONTEXT, 64, IMAGE, None)), Some("callable_id"));
    assert_eq!(argument(program_register(CONTEXT, 0, IMAGE, Some(9375))), Some("callable_size"));
    assert_eq!(argument(program_register(CONTEXT, 0, IMAGE + 8, None)), Some("callable"));
    assert_eq!(argument(program_register(CONTEXT, 0, IMAGE, None)), None);
    assert_eq!(argument(program_run(CONTEXT, 0, 0, Some(&config))), Some("args"));
    assert_eq!(argument(program_run(CONTEXT, 0, ARGS, None)), Some("config"));
    assert_eq!(argument(program_run(CONTEXT, 64, ARGS, Some(&broken))), Some("callable_id"));
    assert_eq!(argument(program_run(CONTEXT, 0, ARGS + 16, Some(&broken))), Some("args"));
    assert_eq!(argument(program_run(CONTEXT, 0, ARGS, Some(&broken))), Some("enable_pmu"));
    assert_eq!(argument(program_run(CONTEXT, 0, ARGS, Some(&config))), None);

    let argument = |result: Result<(), ArgumentError>| result.err().map(|error| error.argument);
    assert_eq!(argument(program_free(CONTEXT, 0)), Some("device"));
    assert_eq!(argument(program_copy(CONTEXT, 0, 0, 0)), None, "a copy of nothing needs no addresses");
    assert_eq!(argument(program_copy(CONTEXT, 0, 8, 1)), Some("device"));
    assert_eq!(argument(program_copy(CONTEXT, 8, 0, 1)), Some("host"));
    assert_eq!(argument(program_copy(CONTEXT, 8, 8, usize::MAX)), Some("size"));
    assert_eq!(argument(program_copy(CONTEXT, 8, 8, isize::MAX as usize)), None);
}
