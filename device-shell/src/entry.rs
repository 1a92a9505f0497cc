//! The nine steps of the device entry, in the order of the specification.
//!
//! The rules are `tenon-core`'s; here they meet memory. A refusal in steps 1 to 4 knows no context. From then on `tenon-core`'s types
//! see to it that exactly one verdict is posted, and all that is left to do here is to wake the AICore branches.

use core::ffi::c_void;

use tenon_core::area::{AreaWords, RECORD_GENERATION};
use tenon_core::device::AreaInfo;
use tenon_core::dispatch::{Begun, Located, Payload, Refusal, Unlocated, locate};
use tenon_core::generation::SlotIndex;
use tenon_core::packet::{self, Invocation};
use tenon_core::record::RecordFault;
use tenon_core::status::DispatchAnswer;
use tenon_core::wire::{DispatchPrefix, Mode, PREFIX_BYTES};

use crate::code::{Callable, LoadFault};
use crate::log::{Level, Line};
use crate::operator::{Arguments, Execution};
use crate::platform::CodeStore;
use crate::platform_table::Platform;
use crate::words::{DeviceArea, DeviceImage};

/// The device shell: what the device process gave it, and the code that it has loaded.
#[derive(Debug)]
pub struct Shell {
    platform: Platform,
    code: CodeStore,
}

impl Shell {
    /// A shell that has loaded nothing yet.
    #[must_use]
    pub const fn new(platform: Platform) -> Self {
        Self { platform, code: CodeStore::new() }
    }

    /// Receives one packet of a context of `mode` and runs what it names, or says why not.
    ///
    /// Any number of threads may be inside, also with packets of one context: all but one of those are refused as *busy*.
    ///
    /// # Safety
    /// 1. `args` is null, misaligned, or the start of a packet's copy: readable for 8 bytes, and for as many as those say.
    /// 2. Nobody writes the copy until this returns.
    /// 3. Areas that the platform finds are mapped, 64-aligned and never unmapped; callable memory is mapped and readable; an image
    ///    there, once a record names it, is a callable whose code may be run, and stays until nothing executes it.
    pub unsafe fn exec(&self, args: *const c_void, mode: Mode) -> DispatchAnswer {
        // SAFETY: conditions 1 and 2.
        let Some(invocation) = (unsafe { self.read(args, mode) }) else { return DispatchAnswer::InvalidArgs };
        let Some(area) = self.platform.find_area(invocation.residency_address()) else {
            return self.refuse_unlocated(Unlocated::NoArea { found: invocation.residency_address() });
        };
        // SAFETY: condition 3.
        let words = unsafe { DeviceArea::new(area.base) };
        let located = match locate(invocation, &area, &words) {
            Ok(located) => located,
            Err(unlocated) => return self.refuse_unlocated(unlocated),
        };
        // SAFETY: conditions 1 and 2; `read` has accepted a packet whose payload is as long as its counts say.
        let arguments = unsafe { Arguments::after_prefix(args.cast(), &invocation) };
        // SAFETY: conditions 2 and 3; the arguments are the packet's.
        match unsafe { self.launch(located, &area, &words, arguments) } {
            Ok(answer) => answer,
            Err(refusal) => self.refuse(&invocation, &area, refusal),
        }
    }

    /// Lets all loaded code go. Whether the system agreed to all of it.
    ///
    /// # Safety
    /// No launch is inside and none comes while this runs.
    pub unsafe fn unload(&self) -> bool {
        // SAFETY: this function's condition.
        unsafe { self.code.unload() }
    }

    /// Steps 1 to 3: the pointer, the packet's own size, the envelope. Nothing past what the packet says of its size is read.
    ///
    /// # Safety
    /// Conditions 1 and 2 of [`exec`](Self::exec).
    unsafe fn read(&self, args: *const c_void, mode: Mode) -> Option<Invocation> {
        let prefix = args.cast::<DispatchPrefix>();
        if prefix.is_null() || !prefix.is_aligned() {
            self.refuse_packet(Line::new("refused: no packet at ").address(args.expose_provenance() as u64));
            return None;
        }
        // SAFETY: readable for 8 bytes, by condition 1, and aligned, as was just asked.
        let packet_bytes = unsafe { prefix.cast::<u64>().read() };
        if packet_bytes < PREFIX_BYTES as u64 {
            self.refuse_packet(Line::new("refused: packet_bytes is ").number(packet_bytes));
            return None;
        }
        // SAFETY: as above, and readable for the 56 bytes that the packet says are there at least.
        let prefix = unsafe { prefix.read() };
        match packet::check(&prefix, mode) {
            Ok(invocation) => Some(invocation),
            Err(error) => {
                self.refuse_packet(Line::new("refused: the envelope breaks the rule of ").text(error.field()));
                None
            }
        }
    }

    /// Steps 5 to 9.
    ///
    /// # Safety
    /// Condition 3 of [`exec`](Self::exec), and `arguments` are those of the located packet, valid until this returns.
    unsafe fn launch(
        &self,
        located: Located<'_, DeviceArea>,
        area: &AreaInfo,
        words: &DeviceArea,
        arguments: Arguments,
    ) -> Result<DispatchAnswer, Refusal> {
        let resident = located.find(|address, bytes| self.platform.is_callable_memory(address, bytes))?;
        let image = resident.image();
        // SAFETY: the record has been checked: 16-aligned, does not wrap, in callable memory, which is mapped by condition 3.
        let image = unsafe { DeviceImage::new(image.address, image.bytes) };
        let callable = Callable::inspect(image);
        let payload = match &callable {
            Ok(callable) => {
                let counts = callable.header().counts();
                Payload::Takes { tensors: counts.tensors, scalars: counts.scalars }
            }
            Err(payload) => *payload,
        };
        let begun = resident.bind(payload)?.begin()?;
        // What could not be inspected was refused by `bind`.
        let Ok(callable) = callable else { return Err(begun.refuse(Refusal::InvalidHeader)) };
        // SAFETY: condition 3, the arguments by this function's condition, and `begun` holds the busy word.
        unsafe { self.execute(begun, area, words, &callable, arguments) }
    }

    /// Step 9: the callable runs.
    ///
    /// # Safety
    /// As [`launch`](Self::launch); `begun` is a launch of `callable` in the context of `area`.
    unsafe fn execute(
        &self,
        begun: Begun<'_, DeviceArea>,
        area: &AreaInfo,
        words: &DeviceArea,
        callable: &Callable,
        arguments: Arguments,
    ) -> Result<DispatchAnswer, Refusal> {
        let invocation = *begun.invocation();
        let generation_of = |slot: SlotIndex| words.load_u64(slot.record_offset() + RECORD_GENERATION);
        // SAFETY: `begun` holds the busy word; it is given back by `end` below, after the last use of the code.
        let code = unsafe { self.code.prepare(&self.platform, area, invocation.callable(), callable, generation_of) };
        let code = match code {
            Ok(code) => code,
            Err(fault) => return Err(begun.refuse(fault.refusal())),
        };
        let executing = begun.work();
        self.platform.notify_aicore(area.base);
        let execution = Execution::new(&self.platform, area.base, callable, code, arguments);
        // SAFETY:
        // 1. The arguments are the packet's: this function's condition.
        // 2. `executing` holds the busy word.
        let answer = unsafe { execution.run(&invocation) };
        self.platform.execution_ended(area.base);
        Ok(executing.end(answer))
    }

    /// Says why bytes are no packet.
    #[cold]
    fn refuse_packet(&self, line: Line) {
        line.send(Level::Warning, &self.platform);
    }

    /// Answers for a packet that belongs to no context.
    #[cold]
    fn refuse_unlocated(&self, unlocated: Unlocated) -> DispatchAnswer {
        let line = Line::new("refused: ");
        let line = match unlocated {
            Unlocated::NoArea { found } => line.text("no context area at ").address(found),
            Unlocated::NotTheRecord { found, base } => {
                line.address(found).text(" is not the slot's record in the area at ").address(base)
            }
            Unlocated::ContextGeneration { found, expected } => {
                line.text("context generation ").number(found).text(", registered was ").number(expected)
            }
            _ => line.text("no context"),
        };
        line.send(Level::Warning, &self.platform);
        unlocated.answer()
    }

    /// Answers for a launch that core has refused: the verdict is posted, somebody has to look at it.
    #[cold]
    fn refuse(&self, invocation: &Invocation, area: &AreaInfo, refusal: Refusal) -> DispatchAnswer {
        self.platform.notify_aicore(area.base);
        let answer = refusal.answer();
        let id = invocation.callable();
        let line = Line::new("refused, ")
            .text(answer.name())
            .text(": slot ")
            .number(id.slot.to_id())
            .text(" generation ")
            .number(id.generation.to_bits());
        let line = match refusal {
            Refusal::NotResident(fault) => line.text(", ").text(describe(fault)),
            Refusal::Stale { current, .. } => line.text(", the slot has ").number(current.to_bits()),
            Refusal::InvalidBinding { expected: (tensors, scalars), .. } => {
                line.text(", it takes ").number(tensors).text(" tensors and ").number(scalars).text(" scalars")
            }
            Refusal::InvalidHeader => line.text(", its header breaks a rule"),
            _ => line,
        };
        line.send(Level::Warning, &self.platform);
        answer
    }
}

/// What is wrong with a slot's record, in a few words.
const fn describe(fault: RecordFault) -> &'static str {
    match fault {
        RecordFault::Vacant => "the slot is empty",
        RecordFault::Changed { .. } => "the slot changed hands meanwhile",
        RecordFault::CallableId { .. } => "the record is another slot's",
        RecordFault::Address { .. } => "the record's address is 0 or not 16-aligned",
        RecordFault::Bytes { .. } => "the record's image is shorter than a header",
        RecordFault::Memory { .. } => "the record's image is not in callable memory",
        RecordFault::Reserved { .. } => "the record's reserved field is not 0",
        _ => "the record breaks a rule",
    }
}

impl LoadFault {
    /// What becomes of a launch whose code cannot be made ready.
    const fn refusal(self) -> Refusal {
        match self {
            Self::OutsideImage { .. } => Refusal::InvalidHeader,
            Self::Unloadable { .. } => Refusal::UnsupportedPayload,
            Self::NoResources => Refusal::ExecutionFailed,
        }
    }
}
