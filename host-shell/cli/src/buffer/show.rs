//! `tenon buffer show`: every field of a claim, whether it is valid or not.
//!

use tenon_core::buffer::{RawBufferRef, RawDescriptor, Refusal, validate};
use zerocopy::FromBytes;

use super::{DESCRIPTOR_BYTES, REFERENCE_BYTES, bytes_of};
use crate::failure::Failure;
use crate::output::say;

/// Arguments of `tenon buffer show`.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// 88 bytes of a descriptor or 144 of a reference, as hexadecimal digits
    hex: String,
}

impl Show {
    /// # Errors
    /// Bytes that are neither; a claim that is refused is shown, and refused at the end.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let bytes = bytes_of(&self.hex)?;
        let verdict = match bytes.len() {
            DESCRIPTOR_BYTES => {
                descriptor(&read::<RawDescriptor>(&bytes)?);
                validate::descriptor_from_bytes(&bytes).map(|_| String::new())
            }
            REFERENCE_BYTES => {
                let raw = read::<RawBufferRef>(&bytes)?;
                descriptor(&raw.descriptor);
                reference(&raw);
                validate::reference_from_bytes(&bytes).map(|view| format!(", {} bytes", view.extent_bytes()))
            }
            other => {
                let expected = format!("{DESCRIPTOR_BYTES} of a descriptor or {REFERENCE_BYTES} of a reference");
                return Err(Failure::Usage(format!("{other} bytes, expected {expected}")));
            }
        };
        match verdict {
            Ok(extent) => say!("valid{extent}"),
            Err(refusal) => return Err(refused(refusal)),
        }
        Ok(())
    }
}

fn read<T: FromBytes>(bytes: &[u8]) -> Result<T, Failure> {
    T::read_from_bytes(bytes).map_err(|_| Failure::Usage(format!("{} bytes do not fit", bytes.len())))
}

fn refused(refusal: Refusal) -> Failure {
    Failure::contents("HEX", refusal.to_string())
}

/// One line a field: offset, name, value, and what the number means.
fn field(offset: usize, name: &str, value: impl std::fmt::Display, meaning: &str) {
    say!("{offset:>4}  {name:<18} {value}{}{meaning}", if meaning.is_empty() { "" } else { "  " });
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn descriptor(raw: &RawDescriptor) {
    use tenon_core::buffer::{Access, BackendKind};
    use tenon_core::wire::AddressSpace;

    let space = AddressSpace::try_from(raw.address_space).map_or("unknown", AddressSpace::name);
    let access = Access::try_from(raw.access).map_or("unknown", Access::name);
    let kind = BackendKind::try_from(raw.backend_kind).map_or("unknown", BackendKind::name);
    field(0, "magic", format_args!("{:#06x}", raw.magic), "");
    field(2, "address_space", raw.address_space, space);
    field(3, "access", raw.access, access);
    field(4, "backend_kind", raw.backend_kind, kind);
    field(8, "owner_instance_id", hex(&raw.identity.owner_instance_id), "");
    field(16, "buffer_id", raw.identity.buffer_id, "");
    field(24, "generation", raw.identity.generation, "");
    field(40, "nbytes", raw.nbytes, "bytes of the backing");
    field(48, "owner_path_id", raw.owner_path_id, "for people only");
    field(52, "body_len", raw.body_len, "");
    let body = raw.body.get(..usize::from(raw.body_len)).unwrap_or(&raw.body);
    field(56, "body", hex(body), &format!("\"{}\"", body.escape_ascii()));
}

fn reference(raw: &RawBufferRef) {
    use tenon_core::wire::DataType;

    let dtype = DataType::try_from(raw.dtype).map_or("unknown", DataType::name);
    field(88, "byte_offset", raw.byte_offset, "from the start of the backing");
    field(96, "ndims", raw.ndims, "");
    field(100, "shapes", format_args!("{:?}", raw.shapes), "elements");
    field(120, "strides", format_args!("{:?}", raw.strides), "elements");
    field(140, "dtype", raw.dtype, dtype);
}
