//! Openings: a module begins with a comment that says what it is, and the
//! binaries begin with a short `main.rs`.

/// Lines of the longest `main.rs`.
pub const MAIN_LINES_MAX: usize = 80;

/// What is wrong with the first lines of a Rust file, in words.
pub fn breaches(path: &str, source: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !source.starts_with("//!") {
        found.push("does not begin with //! and what it is".into());
    }
    let lines = source.lines().count();
    if path.ends_with("src/main.rs") && lines >= MAIN_LINES_MAX {
        found.push(format!("{lines} lines; a main.rs has fewer than {MAIN_LINES_MAX}"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_comment_and_a_long_main_are_found() {
        assert_eq!(breaches("crates/a/src/lib.rs", "pub mod b;\n").len(), 1);
        let long = format!("//! Words.\n{}", "\n".repeat(79));
        assert_eq!(breaches("crates/a/src/main.rs", &long).len(), 1);
        assert!(breaches("crates/a/src/lib.rs", &long).is_empty());
    }
}
