//! Every reason for refusing something about a buffer: its number and its name.
//!
//! Names and numbers are part of the interface: the C ABI gives the numbers, Python and the command line the names. A number is
//! never given a second meaning; shells take theirs from 100 on.

use core::fmt;

closed_enum! {
    /// Why something was refused. 0 is success and has no reason.
    pub enum Reason: u32 {
        // 1–19: a descriptor, in the order of its checks.
        /// The first two bytes are not 0x5342.
        BadMagic = 1 => "bad_magic",
        /// Neither host nor device.
        AddressSpaceOutOfRange = 2 => "address_space_out_of_range",
        /// Neither read, write nor read-write.
        AccessOutOfRange = 3 => "access_out_of_range",
        /// No such backend.
        BackendKindOutOfRange = 4 => "backend_kind_out_of_range",
        /// More than the 32 bytes that a body has.
        BodyLenOutOfRange = 5 => "body_len_out_of_range",
        /// Generations count from 1.
        GenerationZero = 6 => "generation_zero",
        /// The backend does not exist in this address space.
        BackendAddressSpaceMismatch = 7 => "backend_address_space_mismatch",
        /// Copy-on-write pages are the reader's own: writes would reach nobody.
        ForkCowNotReadOnly = 8 => "fork_cow_not_read_only",
        /// A base address has 8 bytes.
        AddressBodyLength = 9 => "address_body_length",
        /// The base address is 0.
        AddressBodyNull = 10 => "address_body_null",
        /// A named object without a name.
        ShmNameMissing = 11 => "shm_name_missing",
        /// A byte of the name is not printable ASCII, or is `/`.
        ShmNameInvalid = 12 => "shm_name_invalid",
        /// A sidecar carries no body.
        SidecarBodyNotEmpty = 13 => "sidecar_body_not_empty",
        /// Unused bytes of the body carry something.
        BodyTailNotZero = 14 => "body_tail_not_zero",
        // 20–29: a reference, after its descriptor, in the order of its checks.
        /// Neither 1, 2, 3, 4 nor 5 axes.
        NdimsOutOfRange = 20 => "ndims_out_of_range",
        /// No such element type.
        UnknownDtype = 21 => "unknown_dtype",
        /// The view does not start at a multiple of the element size.
        ByteOffsetMisaligned = 22 => "byte_offset_misaligned",
        /// An axis without elements.
        ShapeZero = 23 => "shape_zero",
        /// An axis whose elements are all the same one.
        StrideZero = 24 => "stride_zero",
        /// A shape or stride past the last axis carries something.
        InactiveSlotNotZero = 25 => "inactive_slot_not_zero",
        /// The bytes of the view do not fit 64 bits.
        ExtentOverflow = 26 => "extent_overflow",
        /// The view ends after its backing.
        ViewOutOfBounds = 27 => "view_out_of_bounds",
        // 30–39: bytes and blobs.
        /// Fewer bytes than the structure has.
        Truncated = 30 => "truncated",
        /// A blob's count of tensors is negative.
        TensorCountNegative = 31 => "tensor_count_negative",
        /// A blob's count of scalars is negative.
        ScalarCountNegative = 32 => "scalar_count_negative",
        /// A blob says that it has more than there is room for.
        BlobTooLarge = 33 => "blob_too_large",
        /// There is no element with this index.
        IndexOutOfRange = 34 => "index_out_of_range",
        // 40–49: views of views.
        /// The view has no such axis.
        AxisOutOfRange = 40 => "axis_out_of_range",
        /// A range ends before it begins, or after the axis does.
        RangeOutOfRange = 41 => "range_out_of_range",
        /// The result would have no elements.
        ViewEmpty = 42 => "view_empty",
        /// Steps go forward, by at least 1.
        StepNotPositive = 43 => "step_not_positive",
        /// Not every axis exactly once.
        PermutationInvalid = 44 => "permutation_invalid",
        /// A reshape keeps the number of elements.
        ElementCountDiffers = 45 => "element_count_differs",
        /// No strides describe this shape over the same elements: it would need a copy.
        ReshapeNeedsCopy = 46 => "reshape_needs_copy",
        /// A stride does not fit 32 bits.
        StrideOverflow = 47 => "stride_overflow",
        // 50–59: a task's arguments.
        /// A tag asks for more than the descriptor grants.
        AccessExceedsGrant = 50 => "access_exceeds_grant",
        /// Two arguments may write the same bytes.
        WritesOverlap = 51 => "writes_overlap",
        // 60–79: from a reference to an address.
        /// The last byte of the backing would have no address.
        AddressWraps = 60 => "address_wraps",
        /// A sidecar can be carried and not materialised.
        SidecarNotMaterialised = 61 => "sidecar_not_materialised",
        /// A device backing has no address in a host process.
        DeviceBackingOnHost = 62 => "device_backing_on_host",
        /// Nothing of the host's may be staged for this launch.
        HostReferenceInLaunch = 63 => "host_reference_in_launch",
        /// The launching process has bound this identity to no device.
        IdentityNotBound = 64 => "identity_not_bound",
        /// Bound to another device than the launching one.
        DeviceMismatch = 65 => "device_mismatch",
        /// The owner has since used the `buffer_id` again.
        GenerationStale = 66 => "generation_stale",
        /// The same identity with other content.
        IdentityConflict = 67 => "identity_conflict",
        /// The object has fewer bytes than the descriptor says.
        BackingTooSmall = 68 => "backing_too_small",
        /// A raw address of a process that is neither this one nor an ancestor that wrapped it before the fork.
        AddressForeign = 69 => "address_foreign",
        // 80–89: owners and importers.
        /// The `buffer_id` has used its last generation.
        BufferIdRetired = 80 => "buffer_id_retired",
        /// The `buffer_id` has a tenant.
        BufferIdInUse = 81 => "buffer_id_in_use",
        /// Nothing is held under this identity.
        NotImported = 82 => "not_imported",
        /// It is still being used.
        InUse = 83 => "in_use",
        /// More was given back than had been taken.
        NotHeld = 84 => "not_held",
        /// A count of holders has reached its end.
        TooManyHolders = 85 => "too_many_holders",
    }
}

/// A refusal: why, and what was found where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The field, axis, byte or element, where there are several.
    pub index: Option<u32>,
    /// What is there.
    pub found: u64,
    /// The limit that it breaks, where a number says it.
    pub limit: Option<u64>,
}

impl Refusal {
    #[cold]
    pub(crate) const fn new(reason: Reason, found: u64) -> Self {
        Self { reason, index: None, found, limit: None }
    }

    pub(crate) const fn at(mut self, index: u32) -> Self {
        self.index = Some(index);
        self
    }

    #[expect(clippy::cast_possible_truncation, reason = "a view has at most five axes; larger claims are only shown")]
    pub(crate) const fn on_axis(self, axis: usize) -> Self {
        self.at(axis as u32)
    }

    pub(crate) const fn limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: found {}", self.reason.name(), self.found)?;
        if let Some(index) = self.index {
            write!(f, " at {index}")?;
        }
        match self.limit {
            Some(limit) => write!(f, ", limit {limit}"),
            None => Ok(()),
        }
    }
}

impl core::error::Error for Refusal {}
