//! Writes the C headers from the Rust types, or checks that they are written.
//!
//! `tenon-abi-headers` writes `abi-headers/include/tenon/*.h`; with `--check` it compares and writes nothing. The headers are
//! committed, so that a C program needs no Rust. [`table`] says what each contains; [`source`] turns our sources into what cbindgen
//! can read, and [`generate`] runs it.
//!
//! What the headers say is asserted a second time in `tests/layout.c`, written from the specification and not from here.

mod generate;
mod source;
mod table;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// A sentence for a person.
type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_check = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: tenon-abi-headers [--check]");
            return ExitCode::from(2);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    match run(root, is_check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("run `cargo xtask headers` and commit what it writes");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes or compares every header; whether all are as they should be.
fn run(root: &Path, is_check: bool) -> Result<bool> {
    let mut is_same = true;
    for header in table::HEADERS {
        let text = generate::generate(root, header)?;
        let place = root.join("abi-headers/include/tenon").join(header.name);
        let old = fs::read_to_string(&place).unwrap_or_default();
        if old == text {
            continue;
        }
        if is_check {
            is_same = false;
            let line = old.lines().zip(text.lines()).take_while(|(old, new)| old == new).count();
            eprintln!("{}:{}: differs from what the types give", header.name, line + 1);
            eprintln!("  is:       {}", old.lines().nth(line).unwrap_or_default());
            eprintln!("  expected: {}", text.lines().nth(line).unwrap_or_default());
        } else {
            fs::create_dir_all(place.parent().unwrap_or(root))?;
            fs::write(&place, text)?;
            println!("wrote abi-headers/include/tenon/{}", header.name);
        }
    }
    Ok(is_same)
}
