//! Sleeps in tests: a test waits for a state with `pickfs_testkit::until`, which has a deadline and names the
//! step. Where a time is what the test is about, a comment says so.

use crate::code::{blanked, line_of, word_offsets};

/// Lines above a sleep that may hold its reason.
const REASON_LINES: usize = 4;

pub fn breaches(path: &str, source: &str) -> Vec<String> {
    let text = blanked(source);
    let tests_begin = if path.contains("/tests/") { Some(0) } else { text.find("#[cfg(test)]") };
    let Some(tests_begin) = tests_begin else { return Vec::new() };
    let lines: Vec<&str> = source.lines().collect();
    let called = |at: &usize| *at > tests_begin && text[*at..].starts_with("sleep(");
    word_offsets(&text, "sleep")
        .filter(called)
        .filter(|at| text[..*at].ends_with("thread::"))
        .map(|at| line_of(&text, at))
        .filter(|line| {
            let above = &lines[line.saturating_sub(REASON_LINES + 1)..*line];
            !above.iter().any(|line| line.contains("// SLEEP: "))
        })
        .map(|line| {
            format!(
                "line {line}: a test sleeps; wait with testkit::until, or say why: `// SLEEP: `"
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_of_a_test_needs_a_reason() {
        let sleep = "fn f() {\n    std::thread::sleep(LONG);\n}\n";
        assert_eq!(breaches("crates/a/tests/b.rs", sleep).len(), 1);
        let in_module = format!("//! Words.\n{sleep}#[cfg(test)]\nmod tests {{\n{sleep}}}\n");
        assert_eq!(breaches("crates/a/src/b.rs", &in_module).len(), 1);
        assert!(breaches("crates/a/src/b.rs", sleep).is_empty(), "it is no test");
        let reasoned = sleep.replace("    std", "    // SLEEP: the disk's own.\n    std");
        assert!(breaches("crates/a/tests/b.rs", &reasoned).is_empty());
        assert!(breaches("crates/a/tests/b.rs", "fn f() { thread.sleep(); }").is_empty());
    }
}
