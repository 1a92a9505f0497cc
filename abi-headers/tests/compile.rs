//! The headers as C and C++ compilers see them.
//!
//! Each header compiles alone, under every warning, in both languages; and `layout.c` asserts what they say from the
//! specification.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LANGUAGES: [(&str, &str, &str); 2] = [("cc", "c", "-std=c11"), ("c++", "c++", "-std=c++17")];
const WARNINGS: [&str; 5] = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only"];

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Compiles `file`; what the compiler had to say.
fn compile(compiler: &str, language: &str, standard: &str, file: &Path) -> String {
    let output = Command::new(compiler)
        .args(["-x", language, standard])
        .args(WARNINGS)
        .arg("-I")
        .arg(package().join("include"))
        .arg(file)
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}; install a C and a C++ compiler"));
    String::from_utf8_lossy(&output.stderr).into_owned() + if output.status.success() { "" } else { "failed" }
}

fn headers() -> Vec<PathBuf> {
    let folder = package().join("include/tenon");
    let mut headers: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    headers.sort();
    headers
}

#[test]
fn every_header_compiles_alone_in_both_languages() {
    assert!(headers().len() >= 6);
    let folder = tempfile::tempdir().unwrap();
    for header in headers() {
        let source = folder.path().join("alone");
        // Twice: the guard is part of what is tested.
        let line = format!("#include \"tenon/{}\"\n", header.file_name().unwrap().to_string_lossy());
        fs::write(&source, format!("{line}{line}extern int something;\n")).unwrap();
        for (compiler, language, standard) in LANGUAGES {
            assert_eq!(compile(compiler, language, standard, &source), "", "{} as {standard}", header.display());
        }
    }
}

#[test]
fn sizes_offsets_enumerators_and_codes_are_those_of_the_specification() {
    for (compiler, language, standard) in LANGUAGES {
        let name = if language == "c" { "layout.c" } else { "layout.cpp" };
        assert_eq!(compile(compiler, language, standard, &package().join("tests").join(name)), "", "{standard}");
    }
}

#[test]
fn a_wrong_number_does_not_compile() {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(package().join("tests/layout.c")).unwrap();
    let wrong =
        text.replace("FIELD(SimplerDispatchArgs, header, 16, 40)", "FIELD(SimplerDispatchArgs, header, 24, 40)");
    assert_ne!(text, wrong);
    let source = folder.path().join("wrong.c");
    fs::write(&source, wrong).unwrap();
    for (compiler, language, standard) in LANGUAGES {
        assert!(compile(compiler, language, standard, &source).contains("SimplerDispatchArgs.header"), "{standard}");
    }
}

#[test]
fn the_committed_headers_are_those_the_types_give() {
    let output = Command::new(env!("CARGO_BIN_EXE_tenon-abi-headers")).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
