//! Runs cbindgen for one header, and makes its text C.
//!

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use cbindgen::{
    Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, Language, LayoutConfig, RenameRule, SortKey, Style,
};

use crate::Result;
use crate::source;
use crate::table::{HEADERS, Header};

/// Attributes that C11 has no words for; compilers of both languages on the hosts we serve know these.
const MACROS: &str = "\
/* Alignment and packing of structures, for C and C++ alike. */
#ifndef TENON_ALIGNED
#define TENON_ALIGNED(bytes) __attribute__((aligned(bytes)))
#define TENON_PACKED __attribute__((packed))
#endif";

/// The text of `header`.
pub(crate) fn generate(root: &Path, header: &Header) -> Result<String> {
    let folder = std::env::temp_dir().join(format!("tenon-abi-headers-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let text = run(root, header, &folder);
    fs::remove_dir_all(&folder)?;
    text
}

fn run(root: &Path, header: &Header, folder: &Path) -> Result<String> {
    let mut builder = Builder::new();
    let mut unwanted = Vec::new();
    for (number, file) in source::files(root, header.sources)?.iter().enumerate() {
        let text = source::plain(&fs::read_to_string(file)?);
        let is_wanted = |name: &str| header.constants.iter().any(|(rust, _)| *rust == name);
        unwanted.extend(source::constants(&text).filter(|name| !is_wanted(name)).map(str::to_owned));
        let copy = folder.join(format!("{number}.rs"));
        fs::write(&copy, text)?;
        builder = builder.with_src(copy);
    }
    let mut bytes = Vec::new();
    builder.with_config(config(header, unwanted)).generate()?.write(&mut bytes);
    let text = finish(&String::from_utf8(bytes)?);
    missing(header, &text)?;
    Ok(text)
}

fn config(header: &Header, unwanted: Vec<String>) -> Config {
    let own: Vec<String> = header.types.iter().map(|(rust, _)| (*rust).to_owned()).collect();
    // A type of another header has its C name here too, but is declared there.
    let others = HEADERS.iter().flat_map(|other| other.types).map(|(rust, _)| (*rust).to_owned());
    let exclude = others.filter(|rust| !own.contains(rust)).chain(unwanted).collect();
    // Its own types come last, and win where another header has a type of the same Rust name.
    let names = HEADERS.iter().flat_map(|other| other.types).chain(header.constants).chain(header.types);
    let rename: HashMap<String, String> = names.map(|(rust, c)| ((*rust).to_owned(), (*c).to_owned())).collect();
    let guard = format!("TENON_{}", header.name.replace('.', "_").to_uppercase());
    Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Both,
        header: Some(format!("{}\n{}", notice(), comment(header.about))),
        include_guard: Some(guard),
        no_includes: true,
        sys_includes: ["stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        includes: header.includes.iter().map(|name| format!("tenon/{name}")).collect(),
        after_includes: header.has_attributes.then(|| MACROS.to_owned()),
        line_length: 100,
        tab_width: 2,
        documentation_style: DocumentationStyle::C99,
        usize_is_size_t: true,
        sort_by: SortKey::None,
        export: ExportConfig { include: own, exclude, rename, ..ExportConfig::default() },
        enumeration: EnumConfig { rename_variants: RenameRule::QualifiedScreamingSnakeCase, ..EnumConfig::default() },
        layout: LayoutConfig { packed: Some("TENON_PACKED".to_owned()), aligned_n: Some("TENON_ALIGNED".to_owned()) },
        ..Config::default()
    }
}

fn notice() -> String {
    comment("Made by `cargo xtask headers` from the Rust types. Change those and not this.")
}

fn comment(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!(" * {line}\n")).collect();
    format!("/*\n{} */", lines.concat())
}

/// Documentation is written for Rust; here its links become names that C knows, and its headings plain words.
fn finish(text: &str) -> String {
    let mut text = text.replace("// # Errors\n", "// Errors:\n").replace("// # Safety\n", "// The caller:\n");
    for (rust, c) in HEADERS.iter().flat_map(|header| header.types) {
        text = text.replace(&format!("[`{rust}`]"), &format!("`{c}`")).replace(&format!(" (C: `{c}`)"), "");
    }
    for part in ["[`", "`]"] {
        text = text.replace(part, "`");
    }
    text
}

/// Every name of the table is there: a misspelt one would vanish without a word.
fn missing(header: &Header, text: &str) -> Result {
    let names = header.types.iter().chain(header.constants).map(|(_, c)| *c);
    let missing: Vec<&str> = names.filter(|name| !text.contains(name)).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("{}: {} not found in the sources", header.name, missing.join(", ")).into())
    }
}
