//! The faulty operator: what it can be told, and the trace it leaves.
//!

use std::sync::atomic::Ordering;

use tenon_core::generation::CallableId;
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DataType, Tensor};

use super::context::{Context, Packet, contiguous};
use super::memory::Mapping;

/// First scalar of the faulty operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Behaviour {
    Succeed = 0,
    Fail = 1,
    ChildFails = 2,
    SwallowChild = 3,
    BadChild = 4,
    BadTensor = 5,
    NoBlocks = 6,
    MissingTensor = 7,
    MissingScalar = 8,
    ManyScalars = 9,
    InAsInout = 10,
    SwallowBadChild = 11,
    LeaveRunning = 12,
    WaitAtGate = 13,
    LeaveFailing = 14,
    ManyBlocks = 15,
}

/// Memory for one or more launches of the faulty operator.
#[derive(Debug)]
pub struct Faulty {
    trace: Mapping,
}

const GATE: usize = 0;
const ENTERED: usize = 1;
const BLOCKS: usize = 2;
const IDENTITY: usize = 3;
const TOLD: usize = 4;
const WORDS: u32 = 5;

impl Faulty {
    pub fn new() -> Self {
        Self { trace: Mapping::new(64) }
    }

    /// The trace, and an input that nobody reads.
    pub fn tensors(&self) -> [Tensor; 2] {
        let trace = contiguous(self.trace.address(), &[WORDS], DataType::U32);
        let other = contiguous(self.trace.address() + 32, &[WORDS], DataType::U32);
        [trace, other]
    }

    pub fn packet(&self, context: &Context<'_>, id: CallableId, behaviour: Behaviour, argument: u64) -> Packet {
        context.packet(id, &self.tensors(), &[behaviour as u64, argument])
    }

    pub fn launch(&self, context: &Context<'_>, id: CallableId, behaviour: Behaviour, argument: u64) -> DispatchAnswer {
        context.launch(id, &self.tensors(), &[behaviour as u64, argument])
    }

    pub fn open_gate(&self) {
        self.trace.atomic(GATE).store(1, Ordering::Release);
    }

    fn word(&self, index: usize) -> u32 {
        self.trace.atomic(index).load(Ordering::Acquire)
    }

    /// Orchestrations that have begun.
    pub fn entered(&self) -> u32 {
        self.word(ENTERED)
    }

    /// Child blocks that have ended.
    pub fn blocks(&self) -> u32 {
        self.word(BLOCKS)
    }

    /// Which build of it ran last.
    pub fn identity(&self) -> u32 {
        self.word(IDENTITY)
    }

    /// What the last call of the operator interface answered.
    pub fn told(&self) -> i32 {
        self.word(TOLD).cast_signed()
    }

    /// Waits until `count` orchestrations have begun.
    pub fn wait_until_entered(&self, count: u32) {
        while self.entered() < count {
            std::thread::yield_now();
        }
    }
}
