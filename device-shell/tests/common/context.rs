//! A context as the host keeps it: its area, its slots' tenants, its packets.
//!

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tenon_core::area::{AREA_BYTES, AreaWords, BUSY, CANCELLED, FIRST_REFUSAL, REFUSALS, VERDICT_LEAVE, VERDICT_WORK};
use tenon_core::generation::{CallableId, Generation, SlotIndex};
use tenon_core::packet::Draft;
use tenon_core::record::{self, SlotRecord};
use tenon_core::status::DispatchAnswer;
use tenon_core::verdict::{self, Taken};
use tenon_core::wire::{AddressSpace, DataType, Mode, Tensor};

use super::device::Device;
use super::image::Image;
use super::memory::Mapping;

/// A context of a device.
#[derive(Debug)]
pub struct Context<'d> {
    pub device: &'d Device,
    area: Words,
    mode: Mode,
}

/// Verdicts that nobody has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verdicts {
    pub work: u32,
    pub leave: u32,
}

/// A packet at an address of its own.
#[derive(Clone, Debug)]
pub struct Packet(Vec<u64>);

impl Packet {
    /// Copies bytes to where a packet may be.
    pub fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0_u64; bytes.len().div_ceil(8)];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks(8)) {
            let mut all = [0; 8];
            all[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(all);
        }
        Self(words)
    }

    pub fn address(&self) -> u64 {
        self.0.as_ptr().expose_provenance() as u64
    }

    pub fn bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

impl<'d> Context<'d> {
    /// A kernel-mode context, registered.
    pub fn new(device: &'d Device, context_generation: u64) -> Self {
        Self::of_mode(device, context_generation, Mode::Kernel)
    }

    pub fn of_mode(device: &'d Device, context_generation: u64, mode: Mode) -> Self {
        let area = Words(Arc::new(Mapping::new(usize::try_from(AREA_BYTES).unwrap())));
        area.store_u64(0, context_generation);
        device.register(&area.0, context_generation);
        Self { device, area, mode }
    }

    /// Gives a slot to an image, as its tenant of `generation`.
    pub fn install(&self, slot: i32, generation: u64, image: &Image) -> CallableId {
        let address = self.device.upload(image);
        self.publish(slot, generation, address, image.0.len() as u64)
    }

    /// Writes a slot's record.
    pub fn publish(&self, slot: i32, generation: u64, address: u64, bytes: u64) -> CallableId {
        let slot = SlotIndex::from_id(slot).unwrap();
        let generation = Generation::from_bits(generation).unwrap();
        record::install(&self.area, slot, &SlotRecord { generation, address, bytes });
        CallableId { slot, generation }
    }

    pub fn retire(&self, slot: i32) {
        record::retire(&self.area, SlotIndex::from_id(slot).unwrap());
    }

    /// Zeroes all generations; whether a launch is executing.
    pub fn close(&self) -> bool {
        record::close(&self.area)
    }

    pub fn cancel(&self) {
        record::cancel(&self.area);
    }

    /// The packet that a launch of `id` ships.
    pub fn packet(&self, id: CallableId, tensors: &[Tensor], scalars: &[u64]) -> Packet {
        let draft = Draft {
            mode: self.mode,
            callable: id,
            residency_address: self.area.0.address() + id.slot.record_offset(),
            tensors,
            scalars,
        };
        let mut bytes = vec![0; draft.packet_bytes().unwrap()];
        Packet::new(draft.emit(&mut bytes).unwrap())
    }

    /// Launches `id` and gives the device's answer.
    pub fn launch(&self, id: CallableId, tensors: &[Tensor], scalars: &[u64]) -> DispatchAnswer {
        self.device.receive(self.packet(id, tensors, scalars).address(), self.mode)
    }

    pub fn verdicts(&self) -> Verdicts {
        Verdicts { work: self.area.load_u32(VERDICT_WORK), leave: self.area.load_u32(VERDICT_LEAVE) }
    }

    /// What an AICore branch does: takes a verdict, if one is there.
    pub fn try_take(&self) -> Option<Taken> {
        verdict::try_take(&self.area)
    }

    /// The first refusal's answer and the number of refusals.
    pub fn refusals(&self) -> (u32, u64) {
        (self.area.load_u32(FIRST_REFUSAL), self.area.load_u64(REFUSALS))
    }

    pub fn is_busy(&self) -> bool {
        self.area.load_u32(BUSY) != 0
    }

    /// Writes words that only a broken host or a hostile one would write.
    pub fn overwrite_u32(&self, offset: u64, value: u32) {
        self.area.store_u32(offset, value);
    }

    pub fn overwrite_u64(&self, offset: u64, value: u64) {
        self.area.store_u64(offset, value);
    }

    pub fn is_cancelled(&self) -> bool {
        self.area.load_u32(CANCELLED) != 0
    }
}

/// A row-major view of device memory.
pub fn contiguous(address: u64, shape: &[u32], dtype: DataType) -> Tensor {
    let mut tensor = Tensor {
        addr: address,
        ndims: u32::try_from(shape.len()).unwrap(),
        dtype: dtype.code(),
        is_contiguous: 1,
        address_space: AddressSpace::Device.code(),
        ..Tensor::default()
    };
    let mut stride = 1;
    for (axis, extent) in shape.iter().enumerate().rev() {
        tensor.shapes[axis] = *extent;
        tensor.strides[axis] = stride;
        stride *= extent;
    }
    tensor.extent_elem = u64::from(stride);
    tensor.size = u64::from(stride) * dtype.size_bytes();
    tensor
}

/// An area as the host sees it.
#[derive(Debug)]
struct Words(Arc<Mapping>);

impl Words {
    fn u64(&self, offset: u64) -> &AtomicU64 {
        assert!(offset + 8 <= AREA_BYTES && offset.is_multiple_of(8));
        let word = std::ptr::with_exposed_provenance_mut(usize::try_from(self.0.address() + offset).unwrap());
        // SAFETY: aligned and inside the mapping, as was just asserted; everybody uses it atomically.
        unsafe { AtomicU64::from_ptr(word) }
    }

    fn u32(&self, offset: u64) -> &AtomicU32 {
        assert!(offset + 4 <= AREA_BYTES && offset.is_multiple_of(4));
        let word = std::ptr::with_exposed_provenance_mut(usize::try_from(self.0.address() + offset).unwrap());
        // SAFETY: aligned and inside the mapping, as was just asserted; everybody uses it atomically.
        unsafe { AtomicU32::from_ptr(word) }
    }
}

impl AreaWords for Words {
    fn load_u64(&self, offset: u64) -> u64 {
        self.u64(offset).load(Ordering::Acquire)
    }
    fn load_u32(&self, offset: u64) -> u32 {
        self.u32(offset).load(Ordering::Acquire)
    }
    fn store_u64(&self, offset: u64, value: u64) {
        self.u64(offset).store(value, Ordering::Release);
    }
    fn store_u32(&self, offset: u64, value: u32) {
        self.u32(offset).store(value, Ordering::Release);
    }
    fn load_u64_seq_cst(&self, offset: u64) -> u64 {
        self.u64(offset).load(Ordering::SeqCst)
    }
    fn load_u32_seq_cst(&self, offset: u64) -> u32 {
        self.u32(offset).load(Ordering::SeqCst)
    }
    fn store_u64_seq_cst(&self, offset: u64, value: u64) {
        self.u64(offset).store(value, Ordering::SeqCst);
    }
    fn compare_exchange_u32(&self, offset: u64, current: u32, new: u32) -> Result<u32, u32> {
        self.u32(offset).compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst)
    }
    fn store_u32_seq_cst(&self, offset: u64, value: u32) {
        self.u32(offset).store(value, Ordering::SeqCst);
    }
    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32 {
        self.u32(offset).fetch_add(value, Ordering::AcqRel)
    }
    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64 {
        self.u64(offset).fetch_add(value, Ordering::AcqRel)
    }
    fn invalidate(&self, _offset: u64, _len: u64) {}
}
