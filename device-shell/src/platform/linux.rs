//! Code on Linux: ELF shared objects, loaded once for each tenant of a slot.
//!
//! An object is copied out of device memory into a file without a name, and the dynamic loader takes it from there. A slot's objects
//! are let go by the next load of the same context that finds their generation gone, so the code of a context that was closed stays
//! until the shell itself is unloaded: there are at most 1,024 contexts in a device process's life.
//!
//! No lock is needed. A slot's entry is only touched by the launch that holds its context's busy word.

use core::ffi::{CStr, c_void};
use core::mem::transmute;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use tenon_core::area::MAX_AREAS;
use tenon_core::device::{AreaInfo, Child, Orchestration};
use tenon_core::generation::{CallableId, SlotIndex};
use tenon_core::wire::SLOTS;

use crate::code::{Callable, LoadFault};
use crate::log::{Level, Line};
use crate::platform_table::Platform;

mod elf;
mod name;
mod object;
mod pages;

use name::FuncName;
use object::Object;
use pages::Pages;

/// The symbol of every child.
const CHILD_SYMBOL: &CStr = c"tenon_kernel";

/// What is loaded, for every slot of every context.
#[derive(Debug)]
pub(crate) struct CodeStore {
    /// `SLOTS` entries for each area that ever loaded something, else null.
    areas: [AtomicPtr<SlotCode>; MAX_AREAS],
}

/// What is loaded for one slot. All zeroes is nothing.
#[derive(Debug)]
struct SlotCode {
    /// Whose code it is; 0 for nobody's.
    generation: u64,
    orchestration: Object,
    children: Pages<Object>,
}

/// The entry points of one tenant, as long as its launch holds the busy word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loaded<'a>(&'a SlotCode);

impl CodeStore {
    /// A store with nothing in it.
    pub(crate) const fn new() -> Self {
        Self { areas: [const { AtomicPtr::new(ptr::null_mut()) }; MAX_AREAS] }
    }

    /// Gives the entry points of a callable, loading its code if this is its first launch.
    ///
    /// `generation_of` reads a slot's generation; a load first lets go of all code of the context whose generation has moved on.
    ///
    /// # Safety
    /// The caller holds the busy word of the context whose area this is, as long as the result is used.
    #[inline]
    pub(crate) unsafe fn prepare(
        &self,
        platform: &Platform,
        area: &AreaInfo,
        id: CallableId,
        callable: &Callable,
        generation_of: impl Fn(SlotIndex) -> u64,
    ) -> Result<Loaded<'_>, LoadFault> {
        let area = self.areas.get(area.index as usize).ok_or(LoadFault::NoResources)?;
        let slots = area.load(Ordering::Acquire);
        if !slots.is_null() {
            let slot = slots.wrapping_add(id.slot.to_index());
            // SAFETY:
            // 1. `slots` has SLOTS entries, never unmapped while a launch can be inside, and the slot's index is below SLOTS.
            // 2. Nobody writes the entry while the reference lives: the caller holds the busy word.
            let slot = unsafe { &*slot };
            if slot.generation == id.generation.to_bits() {
                return Ok(Loaded(slot));
            }
        }
        load(platform, area, id, callable, generation_of)
    }

    /// Lets all code go. Whether everything went.
    ///
    /// # Safety
    /// No launch is inside the shell and none comes while this runs.
    pub(crate) unsafe fn unload(&self) -> bool {
        let mut is_clean = true;
        for area in &self.areas {
            let slots = area.swap(ptr::null_mut(), Ordering::AcqRel);
            if slots.is_null() {
                continue;
            }
            for index in 0..SLOTS {
                // SAFETY: `slots` has SLOTS entries, and nobody else is inside: this function's condition.
                let slot = unsafe { &mut *slots.wrapping_add(index) };
                is_clean &= slot.let_go();
            }
            // SAFETY: the pointer was made by `Pages::into_raw` with this length, and was just taken out of the store.
            drop(unsafe { Pages::from_raw(slots, SLOTS) });
        }
        is_clean
    }
}

/// The first launch of a tenant: the only one that may allocate.
#[cold]
#[inline(never)]
fn load<'a>(
    platform: &Platform,
    area: &'a AtomicPtr<SlotCode>,
    id: CallableId,
    callable: &Callable,
    generation_of: impl Fn(SlotIndex) -> u64,
) -> Result<Loaded<'a>, LoadFault> {
    if area.load(Ordering::Acquire).is_null() {
        let pages = Pages::<SlotCode>::new(SLOTS).ok_or(LoadFault::NoResources)?;
        area.store(pages.into_raw(), Ordering::Release);
    }
    let slots = area.load(Ordering::Acquire);
    for slot in SlotIndex::all() {
        // SAFETY:
        // 1. `slots` has SLOTS entries, as above or from an earlier load.
        // 2. Nobody else uses the entry: `prepare`'s condition.
        let code = unsafe { &mut *slots.wrapping_add(slot.to_index()) };
        if code.generation != 0 && code.generation != generation_of(slot) && !code.let_go() {
            Line::new("code of slot ").number(slot.to_id()).text(" could not be let go").send(Level::Error, platform);
        }
    }
    // SAFETY: as in the loop, whose references are gone.
    let slot = unsafe { &mut *slots.wrapping_add(id.slot.to_index()) };
    if let Err(fault) = slot.fill(platform, callable) {
        slot.let_go();
        return Err(fault);
    }
    slot.generation = id.generation.to_bits();
    Line::new("loaded slot ")
        .number(id.slot.to_id())
        .text(" generation ")
        .number(id.generation.to_bits())
        .send(Level::Info, platform);
    Ok(Loaded(slot))
}

impl SlotCode {
    /// Loads everything into an empty entry. What a failure leaves is for [`let_go`](Self::let_go).
    fn fill(&mut self, platform: &Platform, callable: &Callable) -> Result<(), LoadFault> {
        let name = FuncName::of(callable);
        self.orchestration = Object::load(platform, callable.orchestration(), name.as_c_str(), None)?;
        self.children = Pages::new(callable.child_count() as usize).ok_or(LoadFault::NoResources)?;
        for (index, child) in (0..).zip(self.children.as_mut_slice()) {
            *child = Object::load(platform, callable.child(index)?, CHILD_SYMBOL, Some(index))?;
        }
        Ok(())
    }

    /// Unloads everything; the entry is empty afterwards. Whether the system agreed to all of it.
    fn let_go(&mut self) -> bool {
        self.generation = 0;
        let mut is_clean = self.orchestration.unload();
        for child in self.children.as_mut_slice() {
            is_clean &= child.unload();
        }
        self.children = Pages::EMPTY;
        is_clean
    }
}

impl Loaded<'_> {
    /// The orchestration.
    pub(crate) fn orchestration(&self) -> Orchestration {
        // SAFETY: the symbol that the image names as its orchestration is one: what a callable's image is (operator.md).
        unsafe { transmute::<*mut c_void, Orchestration>(self.0.orchestration.entry()) }
    }

    /// A child, if there is such a one.
    pub(crate) fn child(&self, index: u32) -> Option<Child> {
        let entry = self.0.children.as_slice().get(index as usize)?.entry();
        // SAFETY: `tenon_kernel` of a child's code is a child: what a callable's image is (operator.md).
        Some(unsafe { transmute::<*mut c_void, Child>(entry) })
    }
}

/// Ends the device process at once, with a core dump where the system makes one.
pub fn stop() -> ! {
    // SAFETY: no condition.
    unsafe { libc::abort() }
}
