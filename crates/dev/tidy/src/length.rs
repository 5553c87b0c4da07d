//! A file has at most 500 lines, its tests included. It may be longer when its first comment says why, in a sentence
//! with the words of [`REASON`].

pub const FILE_LINES_MAX: usize = 500;
pub const REASON: &str = "over 500 lines because";

pub fn breach(source: &str) -> Option<String> {
    let comment: Vec<_> = source.lines().take_while(|line| line.starts_with("//")).collect();
    let gives_a_reason = comment.join(" ").to_lowercase().contains(REASON);
    let lines = source.lines().count();
    (lines > FILE_LINES_MAX && !gives_a_reason)
        .then(|| format!("{lines} lines, of 500; split it, or say in its first comment: {REASON}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_501_lines_needs_a_reason() {
        let body = "\n".repeat(499);
        assert!(breach(&format!("//! A table.\n{body}")).is_none());
        assert!(breach(&format!("//! A table.\n\n{body}")).is_some());
        let said = format!("//! A table,\n//! over 500 lines because it is one.\n{body}");
        assert!(breach(&said).is_none());
    }
}
