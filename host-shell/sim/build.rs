//! Gives the vendor library its versioned name.
//!

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libtenon_sim.so.0");
    // Fork handlers and thread-locals point into the library, so it stays once it was loaded.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
}
