//! The list of uploaded images, whose memory a shell chooses.
//!

/// An image that lies on the device until its context closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UploadedImage {
    /// Content hash.
    pub hash: u64,
    /// Bytes, as charged.
    pub bytes: u64,
    /// Where it is on the device.
    pub address: u64,
}

/// A list that only grows until its context closes, each unique image once.
///
/// A context may hold 57,260 images (512 MiB of bare headers). A host lists them in memory that grows, a part without an allocator
/// in a `heapless::Vec` of the size that it can afford.
pub trait ImageList {
    /// The images, in the order in which they came.
    fn images(&self) -> &[UploadedImage];
    /// Makes room for one more; `false` when there is none.
    fn make_room(&mut self) -> bool;
    /// Adds one. Called only after [`make_room`](Self::make_room) has answered `true` since the last `push`.
    fn push(&mut self, image: UploadedImage);
    /// Takes the last one away.
    fn pop(&mut self) -> Option<UploadedImage>;
}

impl<const M: usize> ImageList for heapless::Vec<UploadedImage, M> {
    fn images(&self) -> &[UploadedImage] {
        self
    }

    fn make_room(&mut self) -> bool {
        !self.is_full()
    }

    fn push(&mut self, image: UploadedImage) {
        let pushed = heapless::Vec::push(self, image);
        debug_assert!(pushed.is_ok(), "room was made before");
    }

    fn pop(&mut self) -> Option<UploadedImage> {
        heapless::Vec::pop(self)
    }
}
