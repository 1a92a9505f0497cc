//! Identity, descriptor and reference that keep every rule.
//!
//! Their fields are private to this module's parent: [`validate`](mod@super::validate) fills them, and whoever has one has the proof.

use core::num::{NonZeroU32, NonZeroU64};

use super::refusal::{Reason, Refusal};
use super::validate;
use super::wire::{BODY_BYTES, MAGIC, MAX_AXES, RawBufferRef, RawCanonicalIdentity, RawDescriptor};
use crate::wire::{AddressSpace, DataType};

closed_enum! {
    /// What the holder of a descriptor may do.
    pub enum Access: u8 {
        /// Read only.
        Read = 0 => "read",
        /// Write only.
        Write = 1 => "write",
        /// Both.
        ReadWrite = 2 => "read_write",
    }
}

closed_enum! {
    /// What a backing is made of.
    pub enum BackendKind: u8 {
        /// Shared pages at the same address in the owner and in what was forked from it.
        ForkShm = 0 => "fork_shm",
        /// A named object.
        PosixShm = 1 => "posix_shm",
        /// A window of device memory.
        VmmWindow = 2 => "vmm_window",
        /// Carried, never materialised.
        RemoteSidecar = 3 => "remote_sidecar",
        /// A device pointer on its own chip.
        DeviceMalloc = 4 => "device_malloc",
        /// Pages copied on write at the same address: read only.
        ForkCow = 5 => "fork_cow",
    }
}

impl Access {
    /// Whether the holder may read.
    #[must_use]
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write)
    }

    /// Whether the holder may write.
    #[must_use]
    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read)
    }

    /// Whether all that `wanted` asks for is granted.
    #[must_use]
    pub const fn grants(self, wanted: Self) -> bool {
        (self.reads() || !wanted.reads()) && (self.writes() || !wanted.writes())
    }
}

/// How often a `buffer_id` has been used, from 1. The last one has no successor: the id is then retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct BufferGeneration(NonZeroU32);

impl BufferGeneration {
    /// The first tenant's.
    pub const FIRST: Self = Self(NonZeroU32::MIN);
    /// The last one that an id can have.
    pub const LAST: Self = Self(NonZeroU32::MAX);

    /// The generation with this number; `None` for 0, which names nobody.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Option<Self> {
        match NonZeroU32::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// The number as it travels.
    #[must_use]
    pub const fn to_bits(self) -> u32 {
        self.0.get()
    }

    /// The next tenant's, or `None` after the last.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }
}

/// Which backing is meant, in every process and after every hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CanonicalIdentity {
    /// A random draw per owner incarnation; opaque.
    pub owner_instance_id: [u8; 8],
    /// Which of that owner's buffers.
    pub buffer_id: u64,
    /// Which tenant of that `buffer_id`.
    pub generation: BufferGeneration,
}

impl CanonicalIdentity {
    /// The identity as it travels.
    #[must_use]
    pub const fn to_raw(&self) -> RawCanonicalIdentity {
        let Self { owner_instance_id, buffer_id, generation } = *self;
        RawCanonicalIdentity { owner_instance_id, buffer_id, generation: generation.to_bits(), pad: [0; 12] }
    }
}

/// The name of a shared-memory object: 1 to 32 printable ASCII characters without `/`, and so without the leading slash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShmName {
    bytes: [u8; BODY_BYTES],
    len: u8,
}

impl ShmName {
    /// Takes a name.
    ///
    /// # Errors
    /// [`Reason::ShmNameMissing`] for an empty one, [`Reason::BodyLenOutOfRange`] for more than 32 bytes,
    /// [`Reason::ShmNameInvalid`] for a byte outside 0x21–0x7e, or `/`.
    pub fn new(name: &str) -> Result<Self, Refusal> {
        let mut bytes = [0; BODY_BYTES];
        let (Some(room), Ok(len)) = (bytes.get_mut(..name.len()), u8::try_from(name.len())) else {
            return Err(Refusal::new(Reason::BodyLenOutOfRange, name.len() as u64).limit(BODY_BYTES as u64));
        };
        room.copy_from_slice(name.as_bytes());
        validate::check_name(name.as_bytes())?;
        Ok(Self { bytes, len })
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.len)).unwrap_or_default();
        // Printable ASCII, so never the default.
        str::from_utf8(bytes).unwrap_or_default()
    }
}

impl core::fmt::Debug for ShmName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        core::fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A backend and what its body says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backing {
    /// Shared pages at this address of the owner, and of what was forked from it.
    ForkShm(NonZeroU64),
    /// A named object.
    PosixShm(ShmName),
    /// A window of device memory.
    VmmWindow(NonZeroU64),
    /// Carried, never materialised; the one backend that may be in either space.
    RemoteSidecar(AddressSpace),
    /// A device pointer.
    DeviceMalloc(NonZeroU64),
    /// Pages copied on write at this address.
    ForkCow(NonZeroU64),
}

impl Backing {
    /// Which backend it is.
    #[must_use]
    pub const fn kind(&self) -> BackendKind {
        match self {
            Self::ForkShm(_) => BackendKind::ForkShm,
            Self::PosixShm(_) => BackendKind::PosixShm,
            Self::VmmWindow(_) => BackendKind::VmmWindow,
            Self::RemoteSidecar(_) => BackendKind::RemoteSidecar,
            Self::DeviceMalloc(_) => BackendKind::DeviceMalloc,
            Self::ForkCow(_) => BackendKind::ForkCow,
        }
    }

    /// Where it is.
    #[must_use]
    pub const fn address_space(&self) -> AddressSpace {
        match self {
            Self::ForkShm(_) | Self::PosixShm(_) | Self::ForkCow(_) => AddressSpace::Host,
            Self::VmmWindow(_) | Self::DeviceMalloc(_) => AddressSpace::Device,
            Self::RemoteSidecar(space) => *space,
        }
    }

    /// The base address, for a backend that is one.
    #[must_use]
    pub const fn base(&self) -> Option<NonZeroU64> {
        match self {
            Self::ForkShm(base) | Self::VmmWindow(base) | Self::DeviceMalloc(base) | Self::ForkCow(base) => Some(*base),
            Self::PosixShm(_) | Self::RemoteSidecar(_) => None,
        }
    }
}

/// What a backing is and what its holder may do. Only the validator makes one.
///
/// It is the claim itself, with its pads cleared and nothing in it out of range. The getters turn numbers into types; where they
/// name a value for a number that is in no range, no descriptor has that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct BufferHandleDescriptor {
    pub(super) raw: RawDescriptor,
}

impl BufferHandleDescriptor {
    /// Describes a backing; `owner_path_id` is 0.
    ///
    /// # Errors
    /// What the validator says of it: [`Reason::ForkCowNotReadOnly`] is all that the types leave open.
    pub fn new(identity: CanonicalIdentity, backing: &Backing, access: Access, nbytes: u64) -> Result<Self, Refusal> {
        let mut body = [0; BODY_BYTES];
        let body_len = match (backing.base(), backing) {
            (Some(base), _) => {
                body.iter_mut().zip(base.get().to_le_bytes()).for_each(|(byte, value)| *byte = value);
                8
            }
            (None, Backing::PosixShm(name)) => {
                body = name.bytes;
                name.len
            }
            (None, _) => 0,
        };
        validate::descriptor(&RawDescriptor {
            magic: MAGIC,
            address_space: backing.address_space().code(),
            access: access.code(),
            backend_kind: backing.kind().code(),
            pad_head: [0; 3],
            identity: identity.to_raw(),
            nbytes,
            owner_path_id: 0,
            body_len: u16::from(body_len),
            pad_body: [0; 2],
            body,
        })
    }

    /// The same with an owner path id, which routes nothing and gates nothing.
    #[must_use]
    pub const fn with_owner_path_id(mut self, owner_path_id: u32) -> Self {
        self.raw.owner_path_id = owner_path_id;
        self
    }

    /// Which backing.
    #[must_use]
    #[inline]
    pub fn identity(&self) -> CanonicalIdentity {
        let RawCanonicalIdentity { owner_instance_id, buffer_id, generation, .. } = self.raw.identity;
        let generation = BufferGeneration::from_bits(generation).unwrap_or(BufferGeneration::FIRST);
        CanonicalIdentity { owner_instance_id, buffer_id, generation }
    }

    /// Bytes of the backing.
    #[must_use]
    pub const fn nbytes(&self) -> u64 {
        self.raw.nbytes
    }

    /// For people only.
    #[must_use]
    pub const fn owner_path_id(&self) -> u32 {
        self.raw.owner_path_id
    }

    /// Where the backing is.
    #[must_use]
    pub fn address_space(&self) -> AddressSpace {
        AddressSpace::try_from(self.raw.address_space).unwrap_or(AddressSpace::Device)
    }

    /// What the holder may do.
    #[must_use]
    pub fn access(&self) -> Access {
        Access::try_from(self.raw.access).unwrap_or(Access::Read)
    }

    /// What the backing is made of.
    #[must_use]
    pub fn backend_kind(&self) -> BackendKind {
        BackendKind::try_from(self.raw.backend_kind).unwrap_or(BackendKind::RemoteSidecar)
    }

    /// What the backing is made of and what the body says of it.
    #[must_use]
    pub fn backing(&self) -> Backing {
        let base = || {
            let base = self.raw.body.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
            NonZeroU64::new(base).unwrap_or(NonZeroU64::MIN)
        };
        match self.backend_kind() {
            BackendKind::ForkShm => Backing::ForkShm(base()),
            BackendKind::PosixShm => {
                Backing::PosixShm(ShmName { bytes: self.raw.body, len: self.raw.body_len.to_le_bytes()[0] })
            }
            BackendKind::VmmWindow => Backing::VmmWindow(base()),
            BackendKind::RemoteSidecar => Backing::RemoteSidecar(self.address_space()),
            BackendKind::DeviceMalloc => Backing::DeviceMalloc(base()),
            BackendKind::ForkCow => Backing::ForkCow(base()),
        }
    }

    /// The descriptor as it travels.
    #[must_use]
    pub const fn to_raw(&self) -> RawDescriptor {
        self.raw
    }
}

/// Which elements of a backing a reference shall mean, not yet checked.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// First byte of the view.
    pub byte_offset: u64,
    /// Elements per axis, outermost first.
    pub shape: &'a [u32],
    /// Elements from one index to the next, per axis; `None` for row-major.
    pub strides: Option<&'a [u32]>,
    /// Element type.
    pub dtype: DataType,
}

/// A typed, strided view of a backing, all of it inside the backing. Only the validator makes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
// The claim's order, so that accepting is one copy.
#[repr(C)]
pub struct BufferRef {
    pub(super) descriptor: BufferHandleDescriptor,
    pub(super) byte_offset: u64,
    pub(super) ndims: u32,
    pub(super) shapes: [u32; MAX_AXES],
    pub(super) strides: [u32; MAX_AXES],
    pub(super) dtype: DataType,
    pub(super) extent_bytes: u64,
}

impl BufferRef {
    /// Refers to a view of a backing.
    ///
    /// # Errors
    /// What the validator says of it; [`Reason::NdimsOutOfRange`] also when shape and strides have not the same number of axes,
    /// and [`Reason::StrideOverflow`] when row-major strides do not fit 32 bits.
    pub fn new(descriptor: &BufferHandleDescriptor, draft: &Draft<'_>) -> Result<Self, Refusal> {
        let shapes = axes(draft.shape)?;
        let strides = match draft.strides {
            Some(strides) if strides.len() == draft.shape.len() => axes(strides)?,
            Some(strides) => {
                return Err(Refusal::new(Reason::NdimsOutOfRange, strides.len() as u64).limit(draft.shape.len() as u64));
            }
            None => row_major_strides(draft.shape)?,
        };
        validate::reference(&RawBufferRef {
            descriptor: descriptor.to_raw(),
            byte_offset: draft.byte_offset,
            ndims: u32::try_from(draft.shape.len()).unwrap_or(u32::MAX),
            shapes,
            strides,
            dtype: draft.dtype.code(),
            pad: [0; 3],
        })
    }

    /// The backing.
    #[must_use]
    pub const fn descriptor(&self) -> &BufferHandleDescriptor {
        &self.descriptor
    }

    /// First byte of the view from the start of the backing; a multiple of the element size.
    #[must_use]
    pub const fn byte_offset(&self) -> u64 {
        self.byte_offset
    }

    /// Bytes from the view's first to one past its last; `byte_offset + extent_bytes <= nbytes`.
    #[must_use]
    pub const fn extent_bytes(&self) -> u64 {
        self.extent_bytes
    }

    /// Axes, `1..=5`.
    #[must_use]
    pub const fn ndims(&self) -> usize {
        self.ndims as usize
    }

    /// Elements per axis, outermost first, each at least 1.
    #[must_use]
    pub fn shape(&self) -> &[u32] {
        self.shapes.get(..self.ndims()).unwrap_or_default()
    }

    /// Elements from one index to the next, per axis, each at least 1.
    #[must_use]
    pub fn strides(&self) -> &[u32] {
        self.strides.get(..self.ndims()).unwrap_or_default()
    }

    /// Element type.
    #[must_use]
    pub const fn dtype(&self) -> DataType {
        self.dtype
    }

    /// Elements of the view; `None` when 64 bits do not hold the number, which strides below row-major allow.
    #[must_use]
    pub fn element_count(&self) -> Option<u64> {
        self.shape().iter().try_fold(1_u64, |count, shape| count.checked_mul(u64::from(*shape)))
    }

    /// Whether the elements lie one after the other, in order.
    #[must_use]
    pub fn is_contiguous(&self) -> bool {
        super::is_row_major(self.shape(), self.strides())
    }

    /// The reference as it travels.
    #[must_use]
    pub const fn to_raw(&self) -> RawBufferRef {
        RawBufferRef {
            descriptor: self.descriptor.to_raw(),
            byte_offset: self.byte_offset,
            ndims: self.ndims,
            shapes: self.shapes,
            strides: self.strides,
            dtype: self.dtype.code(),
            pad: [0; 3],
        }
    }
}

/// One value per axis, with 0 in the slots that are not used.
pub(super) fn axes(values: &[u32]) -> Result<[u32; MAX_AXES], Refusal> {
    let mut slots = [0; MAX_AXES];
    let Some(used) = slots.get_mut(..values.len()) else {
        return Err(Refusal::new(Reason::NdimsOutOfRange, values.len() as u64).limit(MAX_AXES as u64));
    };
    used.copy_from_slice(values);
    Ok(slots)
}

/// Row-major strides. An axis of one element has a stride that nothing ever uses: 1 where the packed one does not fit.
pub(super) fn row_major_strides(shape: &[u32]) -> Result<[u32; MAX_AXES], Refusal> {
    let mut strides = axes(shape)?;
    let mut packed = 1_u64;
    for (axis, stride) in strides.iter_mut().enumerate().take(shape.len()).rev() {
        // The slot still has the axis' shape.
        let elements = *stride;
        *stride = match u32::try_from(packed) {
            Ok(packed) => packed,
            Err(_) if elements == 1 => 1,
            Err(_) => return Err(Refusal::new(Reason::StrideOverflow, packed).on_axis(axis).limit(u32::MAX.into())),
        };
        // An axis without elements is for the validator to name.
        packed = packed.saturating_mul(u64::from(elements.max(1)));
    }
    Ok(strides)
}
