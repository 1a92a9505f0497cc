//! The commit rule on a live context: a refusal leaves every base as it was.
//!

use host_runtime::error::ContextError;
use tenon_core::arena::{CommitRefused, Region};
use tenon_core::vocabulary::MemoryKind;

use crate::fake::{Call, FakePlatform};
use crate::setup::{Kernel, live, request, try_init};

fn sizes(context: &Kernel) -> ([u64; 3], [u64; 3]) {
    // The sizes of `setup::request`: 4 × 2048, 4 × 128, 16 × 16.
    ([8192, 512, 256], context.arena_bases().unwrap())
}

#[test]
fn bases_are_aligned_and_stay_for_the_same_or_a_smaller_request() {
    let (platform, context) = live();
    let (committed, bases) = sizes(&context);
    assert!(bases.iter().all(|base| *base != 0 && base.is_multiple_of(1024)));
    let smaller = committed.map(|bytes| bytes / 2);
    for request in [committed, smaller, [1; 3], committed] {
        assert_eq!(context.commit_arena(request), Ok(()));
        assert_eq!(context.arena_bases(), Ok(bases));
    }
    assert_eq!(platform.fake().journal, [], "keeping is no call");
}

#[test]
fn growing_or_releasing_any_region_is_refused_with_all_bases_valid() {
    let (platform, context) = live();
    let (committed, bases) = sizes(&context);
    for (index, region) in Region::ALL.iter().enumerate() {
        for requested in [0, committed[index] + 1, u64::MAX] {
            let mut request = committed;
            request[index] = requested;
            let refused = CommitRefused { region: *region, committed: committed[index], requested };
            assert_eq!(context.commit_arena(request), Err(ContextError::Arena(refused)));
            assert_eq!(ContextError::Arena(refused).code(), -1000);
            assert_eq!(context.arena_bases(), Ok(bases));
        }
    }
    assert_eq!(platform.fake().journal, []);
    assert_eq!(platform.fake().addresses(MemoryKind::Arena).len(), 3);
}

#[test]
fn the_rule_is_asked_for_every_region_before_any_is_committed() {
    let platform = FakePlatform::new();
    let mut request = request();
    request.runtime_env.ring_task_window = [0; 4];
    let (context, result) = try_init(&platform, &request);
    result.unwrap();
    let bases = context.arena_bases().unwrap();
    assert_eq!(bases[1], 0);
    platform.fake().journal.clear();

    // The second region could be bound now, but the third would grow.
    assert!(context.commit_arena([8192, 512, 257]).is_err());
    assert_eq!(platform.fake().journal, []);
    assert_eq!(context.arena_bases(), Ok(bases));

    assert_eq!(context.commit_arena([8192, 512, 256]), Ok(()));
    assert_eq!(platform.fake().journal, [Call::Allocate(MemoryKind::Arena)]);
    let after = context.arena_bases().unwrap();
    assert_eq!((after[0], after[2]), (bases[0], bases[2]));
    assert_ne!(after[1], 0);
}

#[test]
fn a_failed_allocation_gives_back_what_this_request_has_committed() {
    let platform = FakePlatform::new();
    let mut request = request();
    request.runtime_env = tenon_core::wire::RuntimeEnv::default();
    let (context, result) = try_init(&platform, &request);
    result.unwrap();
    for nth in 1..=3 {
        platform.fail(nth);
        assert!(matches!(context.commit_arena([1, 2, 3]), Err(ContextError::Vendor { .. })));
        assert_eq!(context.arena_bases(), Ok([0; 3]));
        assert_eq!(platform.fake().addresses(MemoryKind::Arena), []);
    }
    assert_eq!(context.commit_arena([1, 2, 3]), Ok(()));
    assert_eq!(platform.fake().addresses(MemoryKind::Arena).len(), 3);
}
