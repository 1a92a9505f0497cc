//! Rust text without what is not code.
//!

/// `text` with the contents of comments, strings and character literals replaced by spaces; lines stay where they are.
///
/// This knows as much of the grammar as the rules need: nested block comments, raw strings, and that `'a` is a lifetime.
pub(crate) fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => block_comment(rest),
            '"' => string(rest, 1),
            'r' if !out.ends_with(is_word) => raw_string(rest).unwrap_or(0),
            '\'' => character(rest),
            _ => 0,
        };
        if end == 0 {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            out.extend(rest[..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = &rest[end..];
        }
    }
    out
}

/// Whether `c` can be part of a word.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where `word` stands as a whole word in `code`: (line from 0, byte after it).
pub(crate) fn words(code: &str, word: &str) -> Vec<(usize, usize)> {
    code.match_indices(word)
        .filter(|(at, _)| !code[..*at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word))
        .map(|(at, _)| (code[..at].matches('\n').count(), at + word.len()))
        .collect()
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The end of a string that begins at 0; its contents begin at `from`.
fn string(text: &str, from: usize) -> usize {
    let mut is_escaped = false;
    for (at, c) in text[from..].char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return from + at + 1,
            _ => {}
        }
    }
    text.len()
}

fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|b| *b == b'#').count();
    let contents = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(contents.find(&end).map_or(text.len(), |at| 2 + hashes + at + end.len()))
}

/// The end of a character literal, or 0 for a lifetime.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => text[2..].char_indices().skip(1).find(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 3),
        Some(_) => chars.next().filter(|(_, c)| *c == '\'').map_or(0, |(at, _)| at + 1),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blank_and_lines_stay() {
        for (text, is_blank) in [
            ("// unsafe\n", true),
            ("/* a /* unsafe */ unsafe */\n", true),
            ("\"a \\\" unsafe\"\n", true),
            ("r#\"a \" unsafe\"#\n", true),
            ("b\"unsafe\"\n", true),
            ("'\"'; unsafe\n", false),
            ("'\\''; unsafe\n", false),
            ("fn f<'a>(x: &'a str) { unsafe }\n", false),
            ("for_r\"unsafe\"\n", true),
            ("unsafe_code\n", true),
            ("äöü unsafe\n", false),
        ] {
            let code = blank(text);
            assert_eq!(words(&code, "unsafe").is_empty(), is_blank, "{text} became {code}");
            assert_eq!(code.lines().count(), text.lines().count());
        }
    }

    #[test]
    fn a_word_is_found_with_its_line() {
        assert_eq!(words("a\nunsafe {", "unsafe"), [(1, 8)]);
    }
}
