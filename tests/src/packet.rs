//! The packet parser in C++ and Tenon's own, behind one signature.
//!
//! Both are reached through a plain function pointer and fill the same structure, so a comparison of the two measures their work
//! and nothing around it.

use std::ptr;

use tenon_core::packet::{PacketError, parse};
use tenon_core::wire::Mode;

/// What an accepted packet says (C++: `tenon_reference::Packet`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Accepted {
    /// Address of the slot's record.
    pub residency_address: u64,
    /// Which tenant.
    pub generation: u64,
    /// Slot.
    pub callable_id: i32,
    /// Tensors in the payload.
    pub tensor_count: i32,
    /// Scalars in the payload.
    pub scalar_count: i32,
    /// Where the payload is.
    pub payload: *const u8,
    /// Its length.
    pub payload_bytes: usize,
}

impl Default for Accepted {
    fn default() -> Self {
        Self {
            residency_address: 0,
            generation: 0,
            callable_id: 0,
            tensor_count: 0,
            scalar_count: 0,
            payload: ptr::null(),
            payload_bytes: 0,
        }
    }
}

/// Reads a packet: 0 and `out` filled, or the number of the first rule that is broken (C++: `tenon_reference::Answer`).
///
/// # Safety
/// `bytes` points to `len` readable bytes that nobody writes during the call; `out` to a writable, aligned [`Accepted`].
pub type Parser = unsafe extern "C" fn(bytes: *const u8, len: usize, out: *mut Accepted) -> u32;

unsafe extern "C" {
    fn tenon_reference_packet_parse(bytes: *const u8, len: usize, out: *mut Accepted) -> u32;
}

/// The one in `reference/packet.cpp`.
pub const REFERENCE: Parser = tenon_reference_packet_parse;
/// Tenon's.
pub const TENON: Parser = tenon_packet_parse;
/// Reads nothing: what a call of a parser costs.
pub const NOTHING: Parser = parse_nothing;

/// # Safety
/// None; the signature is that of [`Parser`].
unsafe extern "C" fn parse_nothing(_bytes: *const u8, _len: usize, _out: *mut Accepted) -> u32 {
    0
}

/// # Safety
/// As for [`Parser`].
unsafe extern "C" fn tenon_packet_parse(bytes: *const u8, len: usize, out: *mut Accepted) -> u32 {
    // SAFETY: `bytes` points to `len` readable bytes that nobody writes during the call: the contract of `Parser`.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, len) };
    match parse(bytes, Mode::Kernel) {
        Ok(packet) => {
            let invocation = packet.invocation;
            let accepted = Accepted {
                residency_address: invocation.residency_address(),
                generation: invocation.callable().generation.to_bits(),
                callable_id: invocation.callable().slot.to_id(),
                tensor_count: invocation.tensor_count().cast_signed(),
                scalar_count: invocation.scalar_count().cast_signed(),
                payload: packet.payload().as_ptr(),
                payload_bytes: packet.payload().len(),
            };
            // SAFETY: `out` is writable and aligned: the contract of `Parser`.
            unsafe { out.write(accepted) };
            0
        }
        Err(error) => rule_number(error),
    }
}

/// The reference's number for a broken rule.
#[cold]
fn rule_number(error: PacketError) -> u32 {
    match error {
        PacketError::Truncated { .. } => 1,
        PacketError::PacketBytes { .. } => 2,
        PacketError::PayloadBytes { .. } => 3,
        PacketError::Mode { .. } => 4,
        PacketError::CallableId { .. } => 5,
        PacketError::Generation => 6,
        PacketError::TensorCount { .. } => 7,
        PacketError::ScalarCount { .. } => 8,
        PacketError::ArgumentCount { .. } => 9,
        PacketError::HostCopyTensorCount { .. } => 10,
        PacketError::Reserved { .. } => 11,
        PacketError::PayloadSize { .. } => 12,
        _ => u32::MAX,
    }
}

/// Reads a packet with one of the parsers: 0 and `out` filled, or the number of the first rule that is broken.
#[inline]
pub fn read(parser: Parser, bytes: &[u8], out: &mut Accepted) -> u32 {
    // SAFETY:
    // 1. `bytes` points to `len` readable bytes that nobody writes during the call: they are one borrowed slice.
    // 2. `out` is writable and aligned: it is a reference to one, not used by anybody else during the call.
    unsafe { parser(bytes.as_ptr(), bytes.len(), out) }
}
