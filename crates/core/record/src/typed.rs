//! Commands that a user reads in order to type them: what they begin with, and words as a shell
//! takes them.

use std::env;

/// The words that `./run` was started with; where it is set, pickfs is not in the user's path.
pub const TYPED: &str = "PICKFS_TYPED";

/// What the user started: `./run` or `pickfs`.
pub fn program() -> &'static str {
    match env::var_os(TYPED) {
        Some(_) => "./run",
        None => "pickfs",
    }
}

/// A word as a shell takes it: bare, unless a character in it means something there.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%^".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
