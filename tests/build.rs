//! Compiles the reference implementations that Tenon is compared with.
//!

fn main() {
    println!("cargo::rerun-if-changed=reference");
    if std::env::var_os("CARGO_FEATURE_REFERENCE").is_none() {
        return;
    }
    // The comparison is with -O2, whatever profile this package is built in.
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(2)
        .debug(false)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .files(["reference/buffer.cpp", "reference/packet.cpp"])
        .compile("tenon_reference");
}
