//! What stands behind a handle: the sum of the two modes.
//!

use std::sync::OnceLock;

use tenon_core::entries::{Action, ContextState, Entry, action};
use tenon_core::vocabulary::DeviceImages;
use tenon_core::wire::{ContextErrors, Mode};

use super::failure::Failure;
use crate::error::ContextError;
use crate::fork;
use crate::kernel::{Admission, KernelContext, KernelInit};
use crate::platform::{AnyPlatform, PlatformError};
use crate::program::{ProgramContext, ProgramInit};
use crate::unlatched::UnlatchedContext;

/// Whether this is a real build or a stub, which checks arguments and then says no.
const HAS_KERNEL_MODE: bool = cfg!(feature = "kernel-mode");

/// One context, as its handle finds it. All of it may be used from any thread.
pub(super) struct Context {
    /// Of the process that made it.
    epoch: u32,
    latch: UnlatchedContext,
    /// Set by the call that has latched the mode, once it has something to set.
    modal: OnceLock<Modal>,
    open: Box<dyn Fn() -> Result<AnyPlatform, PlatformError> + Send + Sync>,
}

/// A context with its mode.
enum Modal {
    Kernel(Box<KernelContext<AnyPlatform>>),
    Program(Box<ProgramContext<AnyPlatform>>),
}

impl Context {
    /// A context without a mode, whose platform comes from `open` when it is needed.
    pub(super) fn new(open: impl Fn() -> Result<AnyPlatform, PlatformError> + Send + Sync + 'static) -> Self {
        Self { epoch: fork::epoch(), latch: UnlatchedContext::new(), modal: OnceLock::new(), open: Box::new(open) }
    }

    /// Whether this process is a child of the one that made the context.
    pub(super) fn is_inherited(&self) -> bool {
        self.epoch != fork::epoch()
    }

    /// Whether kernel mode can be had.
    pub(super) fn has_kernel_mode(&self) -> Result<bool, Failure> {
        // A platform implements all vocabularies or does not compile, so one that can be opened has it.
        Ok(HAS_KERNEL_MODE && (self.open)().map(|_| true)?)
    }

    /// Gives the context kernel mode, and what it needs there.
    pub(super) fn init_kernel(&self, request: &KernelInit, images: DeviceImages<'_>) -> Result<(), Failure> {
        if !HAS_KERNEL_MODE {
            return Err(Failure::NoKernelMode);
        }
        match self.latch.mode() {
            None => {}
            Some(Mode::Kernel) => return Err(ContextError::SecondInit.into()),
            Some(Mode::Program) => return Err(Failure::OtherMode),
        }
        let (mut platform, observer) = ((self.open)()?, (self.open)()?);
        let admission = Admission::check(&mut platform, request)?;
        let permit = self.latch.latch_kernel()?;
        let (kernel, result) = KernelContext::init(permit, admission, platform, observer, images);
        // Nobody else has the permit, so the place is empty.
        let _ = self.modal.set(Modal::Kernel(Box::new(kernel)));
        Ok(result?)
    }

    /// Gives the context program mode, and what it needs there; after a failure it may be asked again.
    pub(super) fn init_program(&self, request: &ProgramInit<'_>) -> Result<(), Failure> {
        if self.latch.mode() == Some(Mode::Kernel) {
            return Err(Failure::OtherMode);
        }
        let program = match self.modal.get() {
            Some(Modal::Program(program)) => program,
            _ => self.latch_program()?,
        };
        match action(Entry::SimplerInit, program.state()) {
            Action::Zero => Ok(()),
            _ => Ok(program.init(request)?),
        }
    }

    fn latch_program(&self) -> Result<&ProgramContext<AnyPlatform>, Failure> {
        // Opened before the latch: without a platform there is no support, and the context stays fresh.
        let (platform, observer) = ((self.open)()?, (self.open)()?);
        let permit = self.latch.latch_program().map_err(ContextError::from)?;
        // Of two threads that have come this far one makes the context; neither waits for a platform call.
        let made = self.modal.get_or_init(|| Modal::Program(Box::new(ProgramContext::new(permit, platform, observer))));
        match made {
            Modal::Program(program) => Ok(program),
            Modal::Kernel(_) => Err(Failure::OtherMode),
        }
    }

    /// The context in kernel mode.
    pub(super) fn kernel(&self) -> Result<&KernelContext<AnyPlatform>, Failure> {
        match self.modal.get() {
            Some(Modal::Kernel(kernel)) => Ok(kernel),
            Some(Modal::Program(_)) => Err(Failure::OtherMode),
            None => Err(self.without_modal()),
        }
    }

    /// The context in program mode, initialised and not finalized.
    pub(super) fn program(&self) -> Result<&ProgramContext<AnyPlatform>, Failure> {
        match self.modal.get() {
            Some(Modal::Program(program)) => match action(Entry::ProgramEntries, program.state()) {
                Action::Works => Ok(program),
                _ => Err(Failure::Closed),
            },
            Some(Modal::Kernel(_)) => Err(Failure::OtherMode),
            None => Err(self.without_modal()),
        }
    }

    /// Closes the context, in whichever mode it is.
    pub(super) fn finalize(&self) -> Result<(), Failure> {
        match (self.modal.get(), self.state()?) {
            (_, state) if action(Entry::FinalizeDevice, state) == Action::Zero => Ok(()),
            (Some(Modal::Kernel(kernel)), _) => Ok(kernel.close()?),
            (Some(Modal::Program(program)), _) => Ok(program.finalize()?),
            (None, _) => Err(self.without_modal()),
        }
    }

    /// The error slots. A context that is still being initialised has none yet.
    pub(super) fn errors(&self) -> ContextErrors {
        match self.modal.get() {
            Some(Modal::Kernel(kernel)) => kernel.errors(),
            Some(Modal::Program(program)) => program.errors(),
            None => ContextErrors::default(),
        }
    }

    /// Whether the handle may go.
    pub(super) fn may_be_destroyed(&self) -> bool {
        self.state().is_ok_and(|state| action(Entry::DestroyDeviceContext, state) == Action::Frees)
    }

    /// The column of the table of entries that the context is in.
    fn state(&self) -> Result<ContextState, Failure> {
        match self.modal.get() {
            Some(Modal::Kernel(kernel)) => Ok(kernel.state()),
            Some(Modal::Program(program)) => Ok(program.state()),
            None if self.latch.mode().is_none() => Ok(ContextState::Fresh),
            None => Err(self.without_modal()),
        }
    }

    /// Why there is nothing with a mode here: no init has come, or one is just at it in another thread.
    fn without_modal(&self) -> Failure {
        match self.latch.mode() {
            None => Failure::Fresh,
            Some(_) => ContextError::Entered.into(),
        }
    }
}
