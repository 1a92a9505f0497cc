//! A context that has no mode yet, and the permits that its latch gives out.
//!
//! The two modes are two types, and neither can be made without its permit. There is one latch per context and it is written
//! once, so no context can ever become both.

use tenon_core::mode::{Latched, ModeConflict, ModeLatch};
use tenon_core::wire::Mode;

use crate::error::ContextError;

/// What a context is before, and beside, its mode. Shared by all threads that hold the context.
#[derive(Debug, Default)]
pub struct UnlatchedContext {
    latch: ModeLatch,
}

/// Allows one kernel-mode context to be made.
#[derive(Debug)]
#[must_use = "the latch has been written"]
pub struct KernelPermit(());

/// Allows a program-mode context to be made or initialised.
#[derive(Debug)]
#[must_use = "the latch has been written"]
pub struct ProgramPermit(());

impl UnlatchedContext {
    /// A context without a mode.
    #[must_use]
    pub const fn new() -> Self {
        Self { latch: ModeLatch::new() }
    }

    /// The mode, once it is latched.
    #[must_use]
    pub fn mode(&self) -> Option<Mode> {
        self.latch.mode()
    }

    /// Latches kernel mode. Only the call that writes it gets the permit: a context is initialised for kernel mode once, even if
    /// that fails.
    ///
    /// # Errors
    /// [`ContextError::Mode`] when program mode is held, [`ContextError::SecondInit`] when kernel mode is.
    pub fn latch_kernel(&self) -> Result<KernelPermit, ContextError> {
        match self.latch.latch(Mode::Kernel)? {
            Latched::First => Ok(KernelPermit(())),
            Latched::Again => Err(ContextError::SecondInit),
        }
    }

    /// Latches program mode, or finds it latched: an init that failed may be tried again.
    ///
    /// # Errors
    /// [`ModeConflict`] when kernel mode is held.
    pub fn latch_program(&self) -> Result<ProgramPermit, ModeConflict> {
        self.latch.latch(Mode::Program).map(|_| ProgramPermit(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_mode_is_permitted_once() {
        let context = UnlatchedContext::new();
        assert!(context.latch_kernel().is_ok());
        assert_eq!(context.latch_kernel().err(), Some(ContextError::SecondInit));
        let conflict = ModeConflict { held: Mode::Kernel, asked: Mode::Program };
        assert_eq!(context.latch_program().err(), Some(conflict));
        assert_eq!(context.mode(), Some(Mode::Kernel));
    }

    #[test]
    fn program_mode_is_permitted_again_and_kernel_mode_never_after_it() {
        let context = UnlatchedContext::new();
        assert!(context.latch_program().is_ok());
        assert!(context.latch_program().is_ok());
        let conflict = ModeConflict { held: Mode::Program, asked: Mode::Kernel };
        assert_eq!(context.latch_kernel().err(), Some(ContextError::Mode(conflict)));
    }
}
