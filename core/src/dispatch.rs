//! Steps 4 to 9 of the device entry, one type for each that has passed.
//!
//! ```text
//!  packet ──check──▶ Invocation
//!                        │ 4  locate            no context: InvalidArgs, nothing posted
//!                        ▼
//!                     Located ──5 cancelled, record──▶ Poisoned, NotResident
//!                        │    ──6 generations────────▶ Stale
//!                        ▼
//!                     Resident ──7 code, counts──────▶ UnsupportedPayload, InvalidBinding
//!                        ▼
//!                      Bound ──8 busy, looks again───▶ Busy, NotResident
//!                        ▼
//!                      Begun ──refuse────────────────▶ whatever the shell found too late
//!                        │ 9  work
//!                        ▼
//!                    Executing ──end──▶ the answer
//! ```
//!
//! Each step consumes the value before it, so none can be left out, repeated or taken in another order. Whoever holds one of these
//! values owes its context one verdict: a step that refuses posts *leave* and counts before it answers, [`Begun::work`] posts
//! *work*. Where an `Err` is a [`Refusal`], all that is left to do is to wake the AICore branches and to answer
//! [`Refusal::answer`].

mod refusal;

pub use refusal::{Refusal, Unlocated};

use crate::area::{AreaWords, BUSY, CANCELLED, CONTEXT_GENERATION, FIRST_REFUSAL, REFUSALS};
use crate::device::AreaInfo;
use crate::generation::CallableId;
use crate::packet::Invocation;
use crate::record::{self, RecordFault};
use crate::status::DispatchAnswer;
use crate::verdict::{self, Verdict};

/// A launch whose context is known (step 4).
#[derive(Debug)]
#[must_use = "the context is owed a verdict"]
pub struct Located<'a, W: AreaWords + ?Sized> {
    words: &'a W,
    invocation: Invocation,
}

/// A launch whose slot has the tenant that it names (steps 5 and 6).
#[derive(Debug)]
#[must_use = "the context is owed a verdict"]
pub struct Resident<'a, W: AreaWords + ?Sized> {
    launch: Located<'a, W>,
    image: Image,
}

/// A launch whose arguments fit the callable (step 7).
#[derive(Debug)]
#[must_use = "the context is owed a verdict"]
pub struct Bound<'a, W: AreaWords + ?Sized>(Resident<'a, W>);

/// A launch that holds its context's busy word (step 8).
#[derive(Debug)]
#[must_use = "the context is busy and is owed a verdict"]
pub struct Begun<'a, W: AreaWords + ?Sized>(Resident<'a, W>);

/// A launch that runs (step 9).
#[derive(Debug)]
#[must_use = "the context is busy until the launch ends"]
pub struct Executing<'a, W: AreaWords + ?Sized>(Resident<'a, W>);

/// Where a resident callable's image is. In callable memory, 16-aligned, at least a header long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// Device address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// What the shell found at a resident image (step 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Code of a kind or machine that this build cannot run, in the orchestration or in a child.
    Unsupported,
    /// The header breaks a rule.
    Invalid,
    /// What the callable takes, derived from its header.
    Takes {
        /// Tensors.
        tensors: u32,
        /// Scalars.
        scalars: u32,
    },
}

/// Step 4: whether the packet's residency address is the record of its slot in the registered area, and the area still the
/// context's.
///
/// `area` is what the platform knows about the invocation's residency address, `words` gives access to that area. Nothing is read
/// unless the address is right.
///
/// # Errors
/// [`Unlocated`]: no context is known, so no verdict is posted and nothing is counted.
pub fn locate<'a, W: AreaWords + ?Sized>(
    invocation: Invocation,
    area: &AreaInfo,
    words: &'a W,
) -> Result<Located<'a, W>, Unlocated> {
    let found = invocation.residency_address();
    let expected = area.base.checked_add(invocation.callable().slot.record_offset());
    if expected != Some(found) {
        return Err(Unlocated::NotTheRecord { found, base: area.base });
    }
    words.invalidate(CONTEXT_GENERATION, 64);
    let generation = words.load_u64(CONTEXT_GENERATION);
    if generation != area.context_generation {
        return Err(Unlocated::ContextGeneration { found: generation, expected: area.context_generation });
    }
    Ok(Located { words, invocation })
}

impl<'a, W: AreaWords + ?Sized> Located<'a, W> {
    /// Steps 5 and 6: not cancelled, a record that can be believed, and the generation that the packet names.
    ///
    /// `is_callable_memory` answers for `(address, bytes)`, whose sum does not wrap. It is asked once at most.
    ///
    /// # Errors
    /// [`Refusal::Poisoned`], [`Refusal::NotResident`], [`Refusal::Stale`]; posted and counted.
    pub fn find(self, is_callable_memory: impl FnOnce(u64, u64) -> bool) -> Result<Resident<'a, W>, Refusal> {
        let CallableId { slot, generation } = self.invocation.callable();
        self.words.invalidate(CONTEXT_GENERATION, 64);
        if self.words.load_u32(CANCELLED) != 0 {
            return Err(self.refuse(Refusal::Poisoned));
        }
        let record = record::read(self.words, slot).and_then(|record| {
            record.check(slot, is_callable_memory)?;
            Ok(record)
        });
        match record {
            Err(fault) => Err(self.refuse(Refusal::NotResident(fault))),
            Ok(record) if record.generation != generation => {
                Err(self.refuse(Refusal::Stale { found: generation, current: record.generation }))
            }
            Ok(record) => Ok(Resident { launch: self, image: Image { address: record.address, bytes: record.bytes } }),
        }
    }

    /// Counts the refusal and tells one AICore branch to leave.
    fn refuse(self, refusal: Refusal) -> Refusal {
        count(self.words, refusal.answer());
        verdict::post(self.words, Verdict::Leave);
        refusal
    }
}

impl<'a, W: AreaWords + ?Sized> Resident<'a, W> {
    /// Where to look for the callable. Only now may anything there be touched.
    #[must_use]
    pub const fn image(&self) -> Image {
        self.image
    }

    /// What was asked for.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.launch.invocation
    }

    /// Step 7: code that can run, a valid header, and counts that are the packet's.
    ///
    /// # Errors
    /// [`Refusal::UnsupportedPayload`], [`Refusal::InvalidHeader`], [`Refusal::InvalidBinding`]; posted and counted.
    pub fn bind(self, payload: Payload) -> Result<Bound<'a, W>, Refusal> {
        let found = (self.launch.invocation.tensor_count(), self.launch.invocation.scalar_count());
        let refusal = match payload {
            Payload::Takes { tensors, scalars } if found == (tensors, scalars) => return Ok(Bound(self)),
            Payload::Takes { tensors, scalars } => Refusal::InvalidBinding { found, expected: (tensors, scalars) },
            Payload::Invalid => Refusal::InvalidHeader,
            Payload::Unsupported => Refusal::UnsupportedPayload,
        };
        Err(self.launch.refuse(refusal))
    }
}

impl<'a, W: AreaWords + ?Sized> Bound<'a, W> {
    /// Step 8: takes the busy word, then looks at the slot's generation once more.
    ///
    /// Close zeroes the generations and then looks at the busy word. All four accesses are in one total order, so a launch that
    /// close has not seen finds the zero here.
    ///
    /// # Errors
    /// [`Refusal::Busy`], [`Refusal::NotResident`]; posted and counted, and the busy word is as it was.
    pub fn begin(self) -> Result<Begun<'a, W>, Refusal> {
        let Self(resident) = self;
        let words = resident.launch.words;
        // Any other value than 0 is set, so it is 0 that the exchange asks for.
        if words.compare_exchange_u32(BUSY, 0, 1).is_err() {
            return Err(resident.launch.refuse(Refusal::Busy));
        }
        let CallableId { slot, generation } = resident.launch.invocation.callable();
        let now = record::generation_seq_cst(words, slot);
        let begun = Begun(resident);
        if now == Some(generation) {
            Ok(begun)
        } else {
            Err(begun.refuse(Refusal::NotResident(RecordFault::Changed { before: generation, after: now })))
        }
    }
}

impl<'a, W: AreaWords + ?Sized> Begun<'a, W> {
    /// Where the callable is.
    #[must_use]
    pub const fn image(&self) -> Image {
        self.0.image
    }

    /// What was asked for.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.0.launch.invocation
    }

    /// Gives the busy word back and refuses after all: the shell could not make the code ready.
    #[must_use = "this is the answer"]
    pub fn refuse(self, refusal: Refusal) -> Refusal {
        let words = self.0.launch.words;
        count(words, refusal.answer());
        words.store_u32_seq_cst(BUSY, 0);
        verdict::post(words, Verdict::Leave);
        refusal
    }

    /// Step 9: tells one AICore branch to work. The callable runs now.
    pub fn work(self) -> Executing<'a, W> {
        verdict::post(self.0.launch.words, Verdict::Work);
        Executing(self.0)
    }
}

impl<W: AreaWords + ?Sized> Executing<'_, W> {
    /// Where the callable is.
    #[must_use]
    pub const fn image(&self) -> Image {
        self.0.image
    }

    /// What was asked for.
    #[must_use]
    pub const fn invocation(&self) -> &Invocation {
        &self.0.launch.invocation
    }

    /// The launch has ended, however it ended: counts a failure, then gives the busy word back.
    ///
    /// Everything that the callable started has been waited for, and the platform has been told that the execution ended.
    #[must_use = "this is the answer"]
    pub fn end(self, answer: DispatchAnswer) -> DispatchAnswer {
        let words = self.0.launch.words;
        count(words, answer);
        words.store_u32_seq_cst(BUSY, 0);
        answer
    }
}

/// Counts an answer from 2 to 9 in the device's line, and keeps the first.
fn count<W: AreaWords + ?Sized>(words: &W, answer: DispatchAnswer) {
    if answer.is_counted() {
        // Losing means that another refusal was first.
        let _ = words.compare_exchange_u32(FIRST_REFUSAL, 0, answer.code());
        words.fetch_add_u64(REFUSALS, 1);
    }
}
