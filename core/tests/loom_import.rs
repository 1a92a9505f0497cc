//! Every interleaving of importers of one backing: mapped once, never leaked.
//!
#![cfg(loom)]

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use loom::thread;
use tenon_core::buffer::registry::{Acquired, Import, Released};
use tenon_core::buffer::{Reason, Refusal};

/// An import's word as a shell keeps it, and a mapping that tells on whoever breaks the rules.
struct Registry {
    word: AtomicU64,
    is_mapped: AtomicBool,
    mappings: AtomicUsize,
}

impl Registry {
    fn new() -> Self {
        Self {
            word: AtomicU64::new(Import::Absent.to_bits()),
            is_mapped: AtomicBool::new(false),
            mappings: AtomicUsize::new(0),
        }
    }

    /// Changes the state by a pure step; what the step says besides.
    fn step<T>(&self, step: impl Fn(Import) -> Result<(Import, T), Refusal>) -> Result<T, Refusal> {
        let mut bits = self.word.load(Ordering::Acquire);
        loop {
            let (next, said) = step(Import::from_bits(bits).expect("a state"))?;
            match self.word.compare_exchange(bits, next.to_bits(), Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Ok(said),
                Err(found) => bits = found,
            }
        }
    }

    fn acquire(&self) {
        loop {
            match self.step(Import::acquire).unwrap() {
                Acquired::Shared => return,
                Acquired::Wait => thread::yield_now(),
                Acquired::Map => {
                    assert!(!self.is_mapped.swap(true, Ordering::Relaxed), "mapped twice");
                    self.mappings.fetch_add(1, Ordering::Relaxed);
                    return self.step(|state| Ok((state.mapped()?, ()))).unwrap();
                }
            }
        }
    }

    fn release(&self) -> Result<(), Refusal> {
        if self.step(Import::release)? == Released::Unmap {
            assert!(self.is_mapped.swap(false, Ordering::Relaxed), "unmapped twice");
            self.step(|state| Ok((state.unmapped()?, ()))).unwrap();
        }
        Ok(())
    }

    /// Uses the bytes, which must be mapped from before to after.
    fn touch(&self) {
        self.step(|state| Ok((state.begin_use()?, ()))).unwrap();
        assert!(self.is_mapped.load(Ordering::Relaxed), "used while nothing is mapped");
        self.step(|state| Ok((state.end_use()?, ()))).unwrap();
    }
}

/// Runs the same on two threads, then looks at what is left.
fn two_threads(body: fn(&Registry), after: fn(&Registry)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(move || {
        let registry = Arc::new(Registry::new());
        let other = Arc::clone(&registry);
        let thread = thread::spawn(move || body(&other));
        body(&registry);
        thread.join().unwrap();
        after(&registry);
    });
}

#[test]
fn loom_two_importers_map_once_at_a_time_and_leave_nothing_behind() {
    two_threads(
        |registry| {
            registry.acquire();
            registry.touch();
            registry.release().unwrap();
        },
        |registry| {
            assert_eq!(registry.word.load(Ordering::Relaxed), Import::Absent.to_bits());
            assert!(!registry.is_mapped.load(Ordering::Relaxed));
            let mappings = registry.mappings.load(Ordering::Relaxed);
            assert!(mappings == 1 || mappings == 2, "{mappings}");
        },
    );
}

#[test]
fn loom_of_two_releases_of_one_reference_one_is_an_error() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let registry = Arc::new(Registry::new());
        registry.acquire();
        let other = Arc::clone(&registry);
        let thread = thread::spawn(move || other.release());
        let results = [registry.release(), thread.join().unwrap()];
        let refused: Vec<_> = results.into_iter().filter_map(Result::err).map(|refusal| refusal.reason).collect();
        assert_eq!(refused, [Reason::NotHeld]);
        assert!(!registry.is_mapped.load(Ordering::Relaxed));
    });
}
