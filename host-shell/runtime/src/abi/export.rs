//! Every entry that the library exports, declared once.
//!
//! The list is made of paths, so an entry that does not exist does not compile. That no other function is exported is
//! shown by a test over the sources, and for the built library by `cargo xtask ci`.

use super::{kernel, lifecycle, program};

/// Makes the list of names.
///
/// # Grammar
///
/// `module: entry, …;`, one line per module of entries.
macro_rules! exports {
    ($($module:ident: $($entry:ident),+;)+) => {
        /// The names of all entries, as C sees them.
        pub const EXPORTS: &[&str] = &[$($(stringify!($entry),)+)+];

        const _: () = {
            $($( let _ = $module::$entry; )+)+
        };
    };
}

exports! {
    lifecycle: create_device_context, destroy_device_context, finalize_device, simpler_context_errors,
        simpler_status_name;
    program: simpler_init, simpler_register_callable, simpler_register_callable_sized, simpler_unregister_callable,
        simpler_run, device_malloc_ctx, device_free_ctx, copy_to_device_ctx, copy_from_device_ctx, committed_device_memory_ctx;
    kernel: simpler_kernel_mode_supported, simpler_kernel_mode_init, simpler_kernel_mode_prepare_callable,
        simpler_kernel_mode_launch, simpler_kernel_mode_release_callable, simpler_kernel_mode_slot_generation;
}

#[cfg(test)]
mod tests {
    use super::EXPORTS;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_is_what_the_sources_export() {
        let sources = [include_str!("kernel.rs"), include_str!("lifecycle.rs"), include_str!("program.rs")];
        let mut exported = BTreeSet::new();
        for source in sources {
            for item in source.split("unsafe(no_mangle))]").skip(1) {
                let name = item.split("extern \"C\" fn ").nth(1).and_then(|rest| rest.split('(').next());
                exported.insert(name.expect("a function behind every export"));
            }
        }
        assert_eq!(exported, EXPORTS.iter().copied().collect());
        assert_eq!(exported.len(), EXPORTS.len(), "an entry is listed twice");
    }
}
