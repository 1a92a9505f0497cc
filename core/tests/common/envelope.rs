//! The envelope's rules a second time, straight from the specification.
//!

use tenon_core::packet::PacketError;
use tenon_core::wire::Mode;

/// Fields as they lie in the first 56 bytes, each wide enough that nothing wraps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields {
    pub(crate) packet_bytes: i128,
    pub(crate) mode: i128,
    pub(crate) callable_id: i128,
    pub(crate) generation: u64,
    pub(crate) payload_bytes: i128,
    pub(crate) tensor_count: i128,
    pub(crate) scalar_count: i128,
    pub(crate) host_copy_tensor_count: i128,
    pub(crate) reserved: i128,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn i32_at(bytes: &[u8], at: usize) -> i128 {
    i32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()).into()
}

impl Fields {
    /// Reads the first 56 bytes.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self {
            packet_bytes: u64_at(bytes, 0).into(),
            mode: i32_at(bytes, 16),
            callable_id: i32_at(bytes, 20),
            generation: u64_at(bytes, 24),
            payload_bytes: u64_at(bytes, 32).into(),
            tensor_count: i32_at(bytes, 40),
            scalar_count: i32_at(bytes, 44),
            host_copy_tensor_count: i32_at(bytes, 48),
            reserved: i32_at(bytes, 52),
        }
    }
}

/// A rule of steps 2 and 3, in the order in which they answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    PacketBytes,
    PayloadBytes,
    Mode,
    CallableId,
    Generation,
    TensorCount,
    ScalarCount,
    ArgumentCount,
    HostCopies,
    Reserved,
    PayloadSize,
    Truncated,
}

/// The first rule that these bytes break as a packet for an entry of this mode; `None` when they break none.
pub(crate) fn first_broken(bytes: &[u8], mode: Mode) -> Option<Rule> {
    if bytes.len() < 56 {
        return Some(Rule::Truncated);
    }
    let f = Fields::of(bytes);
    let rules = [
        (Rule::PacketBytes, f.packet_bytes >= 56),
        (Rule::PayloadBytes, f.payload_bytes == f.packet_bytes - 56),
        (Rule::Mode, f.mode == i128::from(mode.code())),
        (Rule::CallableId, (0..64).contains(&f.callable_id)),
        (Rule::Generation, f.generation != 0),
        (Rule::TensorCount, (0..=256).contains(&f.tensor_count)),
        (Rule::ScalarCount, (0..=128).contains(&f.scalar_count)),
        (Rule::ArgumentCount, f.tensor_count + f.scalar_count <= 256),
        (Rule::HostCopies, f.host_copy_tensor_count == 0),
        (Rule::Reserved, f.reserved == 0),
        (Rule::PayloadSize, f.payload_bytes == 128 * f.tensor_count + 8 * f.scalar_count),
        (Rule::Truncated, f.packet_bytes <= bytes.len() as i128),
    ];
    rules.into_iter().find(|(_, kept)| !kept).map(|(rule, _)| rule)
}

/// The rule that an error of the core names.
pub(crate) fn rule_of(error: PacketError) -> Rule {
    match error {
        PacketError::Truncated { .. } => Rule::Truncated,
        PacketError::PacketBytes { .. } => Rule::PacketBytes,
        PacketError::PayloadBytes { .. } => Rule::PayloadBytes,
        PacketError::Mode { .. } => Rule::Mode,
        PacketError::CallableId { .. } => Rule::CallableId,
        PacketError::Generation => Rule::Generation,
        PacketError::TensorCount { .. } => Rule::TensorCount,
        PacketError::ScalarCount { .. } => Rule::ScalarCount,
        PacketError::ArgumentCount { .. } => Rule::ArgumentCount,
        PacketError::HostCopyTensorCount { .. } => Rule::HostCopies,
        PacketError::Reserved { .. } => Rule::Reserved,
        PacketError::PayloadSize { .. } => Rule::PayloadSize,
        other => panic!("unknown error {other:?}"),
    }
}
