/// Lines of the longest `main.rs`.
pub const MAIN_LINES_MAX: usize = 80;

/// What is wrong with the length of a `main.rs`, in words.
pub fn breach(path: &str, source: &str) -> Option<String> {
    let lines = source.lines().count();
    let long = path.ends_with("src/main.rs") && lines >= MAIN_LINES_MAX;
    long.then(|| format!("{lines} lines; a main.rs has fewer than {MAIN_LINES_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_main_is_found() {
        let long = "\n".repeat(80);
        assert!(breach("crates/a/src/main.rs", &long).is_some());
        assert_eq!(breach("crates/a/src/lib.rs", &long), None);
    }
}
