//! The context area and the callable's image, as memory that others write.
//!
//! No reference is made into either: words of the area are atomics, words of an image are volatile reads, and both are copies as soon
//! as they are here. What an offset cannot name is answered without touching memory, so no caller can make these types unsound.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use static_assertions::const_assert_eq;
use tenon_core::area::{AREA_BYTES, AreaWords};
use tenon_core::callable::ImageWords;

use crate::cache;

// Device addresses are 64 bits, so a device that runs this has pointers of as many.
const_assert_eq!(size_of::<usize>(), size_of::<u64>());

/// A pointer to what is at an address of the device, which is no object of this program.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "pointers have 64 bits")]
pub(crate) fn at<T>(address: u64) -> *const T {
    core::ptr::with_exposed_provenance(address as usize)
}

/// A registered context area in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceArea {
    base: u64,
}

impl DeviceArea {
    /// Takes the platform's word for an area.
    ///
    /// # Safety
    /// 1. `[base, base + 2240)` is mapped, readable and writable, as long as the device process lives.
    /// 2. `base` is a multiple of 8.
    /// 3. Rust makes no reference into it but to atomics.
    pub(crate) const unsafe fn new(base: u64) -> Self {
        Self { base }
    }

    /// Address of the word of `SIZE` bytes that `offset` is in. Past the area it is the area's last, which is a pad.
    #[inline]
    const fn address<const SIZE: u64>(self, offset: u64) -> u64 {
        let last = AREA_BYTES - SIZE;
        let offset = if offset < last { offset & !(SIZE - 1) } else { last };
        self.base.wrapping_add(offset)
    }

    #[inline]
    fn u64(&self, offset: u64) -> &AtomicU64 {
        let word = at::<u64>(self.address::<8>(offset)).cast_mut();
        // SAFETY:
        // 1. Valid for reads and writes as long as the reference: `new`'s condition 1, `address` stays inside the area.
        // 2. Aligned: the base by `new`'s condition 2, the offset by `address`.
        // 3. Whoever else uses the word does so atomically: the protocol of the area, and `new`'s condition 3.
        unsafe { AtomicU64::from_ptr(word) }
    }

    #[inline]
    fn u32(&self, offset: u64) -> &AtomicU32 {
        let word = at::<u32>(self.address::<4>(offset)).cast_mut();
        // SAFETY: as in `u64`, 1 to 3.
        unsafe { AtomicU32::from_ptr(word) }
    }

    #[inline]
    fn written(&self, offset: u64) {
        cache::clean(self.address::<4>(offset));
    }
}

impl AreaWords for DeviceArea {
    #[inline]
    fn load_u64(&self, offset: u64) -> u64 {
        self.u64(offset).load(Ordering::Acquire)
    }

    #[inline]
    fn load_u32(&self, offset: u64) -> u32 {
        self.u32(offset).load(Ordering::Acquire)
    }

    #[inline]
    fn store_u64(&self, offset: u64, value: u64) {
        self.u64(offset).store(value, Ordering::Release);
        self.written(offset);
    }

    #[inline]
    fn store_u32(&self, offset: u64, value: u32) {
        self.u32(offset).store(value, Ordering::Release);
        self.written(offset);
    }

    #[inline]
    fn load_u64_seq_cst(&self, offset: u64) -> u64 {
        self.u64(offset).load(Ordering::SeqCst)
    }

    #[inline]
    fn load_u32_seq_cst(&self, offset: u64) -> u32 {
        self.u32(offset).load(Ordering::SeqCst)
    }

    #[inline]
    fn store_u64_seq_cst(&self, offset: u64, value: u64) {
        self.u64(offset).store(value, Ordering::SeqCst);
        self.written(offset);
    }

    #[inline]
    fn compare_exchange_u32(&self, offset: u64, current: u32, new: u32) -> Result<u32, u32> {
        let result = self.u32(offset).compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst);
        self.written(offset);
        result
    }

    #[inline]
    fn store_u32_seq_cst(&self, offset: u64, value: u32) {
        self.u32(offset).store(value, Ordering::SeqCst);
        self.written(offset);
    }

    #[inline]
    fn fetch_add_u32(&self, offset: u64, value: u32) -> u32 {
        let before = self.u32(offset).fetch_add(value, Ordering::AcqRel);
        self.written(offset);
        before
    }

    #[inline]
    fn fetch_add_u64(&self, offset: u64, value: u64) -> u64 {
        let before = self.u64(offset).fetch_add(value, Ordering::AcqRel);
        self.written(offset);
        before
    }

    #[inline]
    fn invalidate(&self, offset: u64, len: u64) {
        cache::invalidate(self.base.wrapping_add(offset), len);
    }
}

/// A callable's image in device memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceImage {
    base: u64,
    bytes: u64,
}

impl DeviceImage {
    /// Takes the record's word for an image, which steps 5 and 6 have checked.
    ///
    /// # Safety
    /// `[base, base + bytes)` does not wrap, is mapped and readable, as long as the value is used.
    pub(crate) const unsafe fn new(base: u64, bytes: u64) -> Self {
        Self { base, bytes }
    }

    /// Address of the image.
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// Address of `bytes` bytes at `offset`, if they lie inside.
    #[inline]
    pub(crate) const fn range(&self, offset: u64, bytes: u64) -> Option<u64> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Some(self.base.wrapping_add(offset)),
            _ => None,
        }
    }
}

impl ImageWords for DeviceImage {
    fn image_bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn u8_at(&self, offset: u64) -> u8 {
        let Some(address) = self.range(offset, 1) else { return 0 };
        let byte = at::<u8>(address);
        // SAFETY: readable, by `new`'s condition and `range`; a byte needs no alignment and has no invalid value.
        unsafe { byte.read_volatile() }
    }

    #[inline]
    fn u32_at(&self, offset: u64) -> u32 {
        let address = match self.range(offset, 4) {
            Some(address) if address.is_multiple_of(4) => address,
            _ => return 0,
        };
        let word = at::<u32>(address);
        // SAFETY: readable, by `new`'s condition and `range`; aligned, as was just asked; every value is one.
        unsafe { word.read_volatile() }
    }
}
