//! Tasks and orders, written short.
//!

use tenon_sim::shm::{TaskHeader, kind};

/// Orders of the AICPU image in `fake_aicpu.c`.
pub(crate) mod order {
    pub(crate) const LOG: u64 = 1;
    pub(crate) const FAIL: u64 = 2;
    pub(crate) const EXECUTE: u64 = 3;
    pub(crate) const LEAVE: u64 = 4;
    pub(crate) const PAIR: u64 = 5;
    pub(crate) const COUNT: u64 = 6;
    pub(crate) const TAIL: u64 = 7;
    pub(crate) const CRASH: u64 = 8;
    pub(crate) const FIND: u64 = 9;
    pub(crate) const WORK_WITHOUT_CHILDREN: u64 = 10;
    pub(crate) const HOLD: u64 = 11;
}

/// A task with its arguments.
#[derive(Clone, Debug, Default)]
pub(crate) struct Task {
    pub(crate) header: TaskHeader,
    pub(crate) payload: Vec<u8>,
}

pub(crate) fn task(kind: u32, a: u64, b: u64, c: u64) -> Task {
    Task { header: TaskHeader { kind, a, b, c, ..TaskHeader::default() }, payload: Vec::new() }
}

pub(crate) fn record(event: u64, ticket: u64) -> Task {
    task(kind::RECORD, event, ticket, 0)
}

pub(crate) fn wait(event: u64, ticket: u64) -> Task {
    task(kind::WAIT, event, ticket, 0)
}

pub(crate) fn aicore(area: u64) -> Task {
    task(kind::AICORE, area, 0, 0)
}

/// A call of the kernel entry of `binary` with these words.
pub(crate) fn call_in(binary: u64, words: &[u64]) -> Task {
    let payload: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    Task { payload: payload.clone(), ..task(kind::AICPU, binary, 0, payload.len() as u64) }
}

/// A call of the device's own image.
pub(crate) fn call(words: &[u64]) -> Task {
    call_in(0, words)
}

/// Writes one word.
pub(crate) fn write(address: u64, value: u64) -> Task {
    Task { payload: value.to_le_bytes().into(), ..task(kind::WRITE, address, 0, 8) }
}
