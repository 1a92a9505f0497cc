//! The table of contexts alone: plainly, and under loom.
//!

use super::*;

#[cfg(not(loom))]
mod plain {
    use super::*;

    #[test]
    fn a_context_is_found_until_it_is_removed() {
        let registry = Registry::<u32, 4>::new();
        let handle = registry.insert(7).unwrap();
        assert_eq!(registry.enter(handle).unwrap().with(|value| *value), Some(7));
        assert_eq!(registry.remove(handle, |value| *value == 7), Ok(Some(7)));
        assert_eq!(registry.enter(handle).err(), Some(Refused::Not(NotAHandle::Destroyed)));
        assert_eq!(registry.remove(handle, |_| true), Err(Refused::Not(NotAHandle::Destroyed)));
    }

    #[test]
    fn an_old_handle_does_not_find_the_next_context_in_its_place() {
        let registry = Registry::<u32, 1>::new();
        let old = registry.insert(1).unwrap();
        registry.remove(old, |_| true).unwrap();
        let new = registry.insert(2).unwrap();
        assert_eq!((new.index, new.generation), (old.index, old.generation + 1));
        assert_eq!(registry.enter(old).err(), Some(Refused::Not(NotAHandle::Destroyed)));
        assert_eq!(registry.remove(old, |_| true), Err(Refused::Not(NotAHandle::Destroyed)));
        assert_eq!(registry.enter(new).unwrap().with(|value| *value), Some(2));
    }

    #[test]
    fn a_handle_that_was_never_issued_is_foreign() {
        let registry = Registry::<u32, 2>::new();
        registry.insert(1).unwrap();
        for (index, generation) in [(0, 2), (1, 1), (2, 1), (4095, LAST_GENERATION)] {
            let forged = Handle { index, generation };
            assert_eq!(registry.enter(forged).err(), Some(Refused::Not(NotAHandle::Foreign)), "{forged:?}");
        }
    }

    #[test]
    fn nothing_is_removed_while_a_call_is_inside() {
        let registry = Registry::<u32, 1>::new();
        let handle = registry.insert(1).unwrap();
        let first = registry.enter(handle).unwrap();
        let second = registry.enter(handle).unwrap();
        assert_eq!(registry.remove(handle, |_| true), Err(Refused::InUse));
        drop(first);
        assert_eq!(registry.remove(handle, |_| true), Err(Refused::InUse));
        assert_eq!(second.with(|value| *value), Some(1));
        drop(second);
        assert_eq!(registry.remove(handle, |_| true), Ok(Some(1)));
    }

    #[test]
    fn a_refused_removal_leaves_everything_as_it_was() {
        let registry = Registry::<u32, 1>::new();
        let handle = registry.insert(1).unwrap();
        assert_eq!(registry.remove(handle, |_| false), Err(Refused::Held));
        assert_eq!(registry.enter(handle).unwrap().with(|value| *value), Some(1));
        assert_eq!(registry.remove(handle, |_| true), Ok(Some(1)));
    }

    #[test]
    fn a_full_table_refuses_and_a_freed_place_is_used_again() {
        let registry = Registry::<u32, 2>::new();
        let first = registry.insert(1).unwrap();
        registry.insert(2).unwrap();
        assert_eq!(registry.insert(3), None);
        registry.remove(first, |_| true).unwrap();
        assert_eq!(registry.insert(4).map(|handle| handle.index), Some(first.index));
    }

    #[test]
    fn the_last_generation_retires_its_place() {
        let registry = Registry::<u32, 1>::new();
        let before_last = Word { generation: LAST_GENERATION - 1, occupancy: Occupancy::Vacant, users: 0 };
        registry.places[0].word.store(before_last.to_bits(), Ordering::Relaxed);
        let last = registry.insert(1).unwrap();
        assert_eq!(last.generation, LAST_GENERATION);
        registry.remove(last, |_| true).unwrap();
        assert_eq!(registry.insert(2), None);
        assert_eq!(registry.enter(last).err(), Some(Refused::Not(NotAHandle::Destroyed)));
    }

    #[test]
    fn more_calls_than_can_be_counted_are_refused() {
        let registry = Registry::<u32, 1>::new();
        let handle = registry.insert(1).unwrap();
        let full = Word { generation: 1, occupancy: Occupancy::Live, users: u16::MAX };
        registry.places[0].word.store(full.to_bits(), Ordering::Relaxed);
        assert_eq!(registry.enter(handle).err(), Some(Refused::InUse));
    }

    #[test]
    fn a_word_keeps_its_three_parts_apart() {
        let word = Word { generation: LAST_GENERATION, occupancy: Occupancy::Live, users: u16::MAX };
        assert_eq!(Word::from_bits(word.to_bits()), word);
        let word = Word { generation: 1, occupancy: Occupancy::Claimed, users: 0 };
        assert_eq!(word.to_bits(), 0x101_0000);
        assert_eq!(Word::from_bits(0), Word { generation: 0, occupancy: Occupancy::Vacant, users: 0 });
    }

    #[test]
    fn threads_that_create_and_destroy_never_see_each_others_contexts() {
        let registry = Registry::<usize, 8>::new();
        std::thread::scope(|scope| {
            for thread in 0..4_usize {
                let registry = &registry;
                scope.spawn(move || {
                    for round in 0..2000 {
                        let mine = thread * 10_000 + round;
                        let handle = registry.insert(mine).unwrap();
                        assert_eq!(registry.enter(handle).unwrap().with(|value| *value), Some(mine));
                        assert_eq!(registry.remove(handle, |value| *value == mine), Ok(Some(mine)));
                        assert!(registry.enter(handle).is_err());
                    }
                });
            }
        });
    }
}

#[cfg(loom)]
mod loom_tests {
    use loom::{sync::Arc, thread};

    use super::*;

    #[test]
    fn a_context_never_goes_under_a_call() {
        loom::model(|| {
            let registry = Arc::new(Registry::<u32, 1>::new());
            let handle = registry.insert(1).unwrap();
            let caller = {
                let registry = Arc::clone(&registry);
                thread::spawn(move || match registry.enter(handle) {
                    Ok(entered) => assert_eq!(entered.with(|value| *value), Some(1)),
                    Err(refused) => assert!(matches!(refused, Refused::InUse | Refused::Not(NotAHandle::Destroyed))),
                })
            };
            match registry.remove(handle, |value| *value == 1) {
                Ok(value) => assert_eq!(value, Some(1)),
                Err(refused) => assert_eq!(refused, Refused::InUse),
            }
            caller.join().unwrap();
        });
    }

    #[test]
    fn of_two_destroyers_one_gets_the_context() {
        loom::model(|| {
            let registry = Arc::new(Registry::<u32, 1>::new());
            let handle = registry.insert(1).unwrap();
            let other = {
                let registry = Arc::clone(&registry);
                thread::spawn(move || registry.remove(handle, |_| true).is_ok())
            };
            let mine = registry.remove(handle, |_| true).is_ok();
            let theirs = other.join().unwrap();
            assert!(mine ^ theirs, "one of two is served, never both and never neither");
        });
    }
}
