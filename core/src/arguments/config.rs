//! The ranges of a configuration's fields.
//!

use super::{ArgumentError, Found};
use crate::wire::CallConfig;

/// Largest value of the two ring sizes that the device keeps as a signed 32-bit number.
const RING_MAX: u64 = i32::MAX as u64;
/// Smallest ring.
const RING_MIN: u64 = 4;
/// Smallest heap of a ring, in bytes.
const HEAP_MIN: u64 = 1024;

/// Checks every field of a configuration, in the order in which they lie.
///
/// # Errors
/// The first field outside its range.
pub fn call_config(config: &CallConfig) -> Result<(), ArgumentError> {
    let threads = config.aicpu_thread_num;
    if threads != 0 && !(2..=8).contains(&threads) {
        return Err(ArgumentError::new("aicpu_thread_num", Found::Signed(threads.into()), "0 or 2..=8"));
    }
    let diagnostics = [
        ("enable_chip_swimlane", config.enable_chip_swimlane),
        ("enable_dump_args", config.enable_dump_args),
        ("enable_pmu", config.enable_pmu),
        ("enable_dep_gen", config.enable_dep_gen),
        ("enable_scope_stats", config.enable_scope_stats),
    ];
    for (field, value) in diagnostics {
        if !(0..=1).contains(&value) {
            return Err(ArgumentError::new(field, Found::Signed(value.into()), "0 or 1"));
        }
    }
    rings(
        "runtime_env.ring_task_window",
        config.runtime_env.ring_task_window,
        is_window,
        "0 or a power of two in 4..=2147483647",
    )?;
    rings("runtime_env.ring_heap", config.runtime_env.ring_heap, is_heap, "0 or at least 1024")?;
    rings("runtime_env.ring_dep_pool", config.runtime_env.ring_dep_pool, is_dep_pool, "0 or 4..=2147483647")?;
    if diagnostics.iter().any(|(_, value)| *value == 1) { prefix(&config.output_prefix) } else { Ok(()) }
}

fn rings(
    field: &'static str,
    values: [u64; 4],
    is_allowed: fn(u64) -> bool,
    expected: &'static str,
) -> Result<(), ArgumentError> {
    for (element, value) in (0_u8..).zip(values) {
        if value != 0 && !is_allowed(value) {
            return Err(ArgumentError::new(field, Found::Number(value), expected).at(element));
        }
    }
    Ok(())
}

fn is_window(value: u64) -> bool {
    value.is_power_of_two() && (RING_MIN..=RING_MAX).contains(&value)
}

fn is_heap(value: u64) -> bool {
    value >= HEAP_MIN
}

fn is_dep_pool(value: u64) -> bool {
    (RING_MIN..=RING_MAX).contains(&value)
}

/// A diagnostic writes files, so it needs to know where; without one the field is not looked at.
fn prefix(text: &[u8]) -> Result<(), ArgumentError> {
    let found = match text.iter().position(|byte| *byte == 0) {
        Some(0) => Found::EmptyText,
        Some(_) => return Ok(()),
        None => Found::UnterminatedText,
    };
    Err(ArgumentError::new("output_prefix", found, "a path prefix ended by NUL, since a diagnostic is on"))
}
