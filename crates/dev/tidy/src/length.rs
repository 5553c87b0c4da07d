//! Lengths: a function has at most 70 lines, a file at most 500.
//!
//! A file may be longer when its first comment says why, in a sentence with
//! the words of [`REASON`].

use crate::code::{blanked, is_word, line_of, word_offsets};

/// Its signature and braces included.
pub const FUNCTION_LINES_MAX: usize = 70;
/// Its tests included.
pub const FILE_LINES_MAX: usize = 500;
pub const REASON: &str = "over 500 lines because";

#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Of the word `fn`, from 1.
    pub line: usize,
    /// From `fn` to the closing brace.
    pub lines: usize,
}

pub fn functions(source: &str) -> Vec<Function> {
    let text = blanked(source);
    word_offsets(&text, "fn").filter_map(|at| function_at(&text, at)).collect()
}

/// The function whose `fn` stands there; none for a signature or a function type.
fn function_at(text: &str, at: usize) -> Option<Function> {
    let name: String =
        text[at + 2..].trim_start().bytes().take_while(|&b| is_word(b)).map(char::from).collect();
    let open = at + body_offset(&text[at..])?;
    let close = open + closing_offset(&text[open..])?;
    let line = line_of(text, at);
    (!name.is_empty()).then(|| Function { name, line, lines: line_of(text, close) - line + 1 })
}

/// Where the body opens: the first brace before a semicolon, outside brackets.
fn body_offset(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    None
}

fn closing_offset(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

pub fn breaches(source: &str) -> Vec<String> {
    let too_long = functions(source).into_iter().filter(|f| f.lines > FUNCTION_LINES_MAX);
    let mut found: Vec<String> = too_long
        .map(|f| format!("line {}: fn {} has {} lines, of 70", f.line, f.name, f.lines))
        .collect();
    let lines = source.lines().count();
    if lines > FILE_LINES_MAX && !gives_a_reason(source) {
        found.push(format!(
            "{lines} lines, of 500; split it, or say in its first comment: {REASON}"
        ));
    }
    found
}

fn gives_a_reason(source: &str) -> bool {
    let comment: Vec<_> = source.lines().take_while(|line| line.starts_with("//")).collect();
    comment.join(" ").to_lowercase().contains(REASON)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function_of(lines: usize) -> String {
        format!("fn long() {{\n{}}}\n", "    work();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_found() {
        assert!(breaches(&function_of(70)).is_empty());
        assert_eq!(breaches(&function_of(71)), ["line 1: fn long has 71 lines, of 70"]);
    }

    #[test]
    fn signatures_types_and_braces_in_strings_do_not_count() {
        let source = "trait T { fn a(&self); }\ntype F = fn(u8) -> u8;\n\
                      fn b<const N: usize>(x: [u8; N]) -> fn() {\n    \"}\";\n}\n";
        let found = functions(source);
        assert_eq!(found, [Function { name: "b".into(), line: 3, lines: 3 }]);
    }

    #[test]
    fn a_file_of_501_lines_needs_a_reason() {
        let body = "\n".repeat(499);
        assert!(breaches(&format!("//! A table.\n{body}")).is_empty());
        assert_eq!(breaches(&format!("//! A table.\n\n{body}")).len(), 1);
        let said = format!("//! A table,\n//! over 500 lines because it is one.\n{body}");
        assert!(breaches(&said).is_empty());
    }
}
