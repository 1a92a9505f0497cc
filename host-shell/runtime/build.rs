//! Gives the shared library its versioned name.
//!

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libhost_runtime.so.0");
}
