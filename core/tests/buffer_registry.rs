//! Owners' generations and importers' counts, over all states.
//!

use tenon_core::buffer::registry::{Acquired, Closed, Import, Released, Tenancy};
use tenon_core::buffer::{BufferGeneration, Refusal};

fn refused<T: std::fmt::Debug>(result: Result<T, Refusal>) -> &'static str {
    result.unwrap_err().reason.name()
}

fn generation(bits: u32) -> BufferGeneration {
    BufferGeneration::from_bits(bits).unwrap()
}

#[test]
fn every_tenant_of_an_id_has_a_generation_of_its_own() {
    let mut tenancy = Tenancy::NEW;
    for expected in 1..1000 {
        let (live, tenant) = tenancy.open().unwrap();
        assert_eq!(tenant, generation(expected));
        assert_eq!(refused(live.open()), "buffer_id_in_use");
        assert_eq!(live.check(tenant), Ok(()));
        let (after, closed) = live.close(tenant).unwrap();
        assert_eq!(closed, Closed::Now);
        assert_eq!(refused(after.check(tenant)), "generation_stale");
        tenancy = after;
    }
}

#[test]
fn the_last_generation_retires_the_id() {
    let (live, last) = Tenancy::Vacant { next: BufferGeneration::LAST }.open().unwrap();
    assert_eq!(last.to_bits(), u32::MAX);
    let (retired, closed) = live.close(last).unwrap();
    assert_eq!((retired, closed), (Tenancy::Retired, Closed::Now));
    assert_eq!(refused(retired.open()), "buffer_id_retired");
    assert_eq!(retired.close(last), Ok((Tenancy::Retired, Closed::Before)));
    assert_eq!(refused(retired.check(last)), "generation_stale");
}

#[test]
fn a_second_close_does_nothing_and_never_reaches_the_next_tenant() {
    let (live, first) = Tenancy::NEW.open().unwrap();
    let (vacant, _) = live.close(first).unwrap();
    assert_eq!(vacant.close(first), Ok((vacant, Closed::Before)));
    let (next, second) = vacant.open().unwrap();
    assert_eq!(next.close(first), Ok((next, Closed::Before)));
    assert_eq!(next.check(second), Ok(()));
    assert_eq!(refused(next.close(generation(3))), "not_held");
    assert_eq!(refused(vacant.close(generation(2))), "not_held");
}

#[test]
fn the_first_importer_maps_and_the_others_share() {
    let (mapping, acquired) = Import::Absent.acquire().unwrap();
    assert_eq!(acquired, Acquired::Map);
    assert_eq!(mapping.acquire(), Ok((Import::Mapping, Acquired::Wait)));
    let mapped = mapping.mapped().unwrap();
    assert_eq!(mapped, Import::Mapped { references: 1, uses: 0 });
    assert_eq!(mapped.acquire(), Ok((Import::Mapped { references: 2, uses: 0 }, Acquired::Shared)));
    assert_eq!(mapping.failed(), Ok(Import::Absent));
}

#[test]
fn the_last_reference_stays_while_the_bytes_are_used() {
    let used = Import::Mapped { references: 1, uses: 0 }.begin_use().unwrap();
    assert_eq!(refused(used.release()), "in_use");
    let shared = used.acquire().unwrap().0;
    assert_eq!(shared.release(), Ok((used, Released::Kept)));
    let unused = used.end_use().unwrap();
    assert_eq!(unused.release(), Ok((Import::Unmapping, Released::Unmap)));
    assert_eq!(Import::Unmapping.acquire(), Ok((Import::Unmapping, Acquired::Wait)));
    assert_eq!(Import::Unmapping.unmapped(), Ok(Import::Absent));
}

#[test]
fn giving_back_more_than_was_taken_is_an_error_and_changes_nothing() {
    for state in [Import::Absent, Import::Mapping, Import::Unmapping] {
        assert_eq!(refused(state.release()), "not_held", "{state:?}");
        assert_eq!(refused(state.end_use()), "not_held", "{state:?}");
        assert_eq!(refused(state.begin_use()), "not_imported", "{state:?}");
    }
    assert_eq!(refused(Import::Mapped { references: 3, uses: 0 }.end_use()), "not_held");
    for state in [Import::Absent, Import::Unmapping, Import::Mapped { references: 1, uses: 0 }] {
        assert_eq!(refused(state.mapped()), "not_held", "{state:?}");
        assert_eq!(refused(state.failed()), "not_held", "{state:?}");
    }
    assert_eq!(refused(Import::Mapping.unmapped()), "not_held");
}

#[test]
fn counts_end_before_they_wrap() {
    let most = Import::MAX_HOLDERS;
    assert_eq!(refused(Import::Mapped { references: most, uses: 0 }.acquire()), "too_many_holders");
    assert_eq!(refused(Import::Mapped { references: 1, uses: most }.begin_use()), "too_many_holders");
}

#[test]
fn every_state_has_a_word_of_its_own() {
    let counts = [1, 2, 3, 1 << 16, Import::MAX_HOLDERS];
    let uses = [0, 1, 2, 1 << 16, Import::MAX_HOLDERS];
    let mapped = counts.iter().flat_map(|references| uses.map(|uses| Import::Mapped { references: *references, uses }));
    let states: Vec<Import> = [Import::Absent, Import::Mapping, Import::Unmapping].into_iter().chain(mapped).collect();
    let words: std::collections::BTreeSet<u64> = states.iter().map(|state| state.to_bits()).collect();
    assert_eq!(words.len(), states.len());
    for state in states {
        assert_eq!(Import::from_bits(state.to_bits()), Some(state));
    }
    for bits in [3 << 32, u64::MAX, 1 << 31, 1 << 63 | 1] {
        assert_eq!(Import::from_bits(bits), None, "{bits:#x}");
    }
}
