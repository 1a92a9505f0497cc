//! Room for one packet, made once per context so that a launch allocates nothing.
//!

use tenon_core::wire::MAX_PACKET_BYTES;

/// Room for the largest packet, aligned as the device entry wants it.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct PacketBuffer(pub(crate) [u8; MAX_PACKET_BYTES]);

impl PacketBuffer {
    pub(crate) fn new() -> Box<Self> {
        Box::new(Self([0; MAX_PACKET_BYTES]))
    }
}
