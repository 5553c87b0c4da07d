//! Words to write origins with: a statement, where it is written, and when that
//! was looked up. The statements stand in each file system's own file.

use pickfs_model::features::Fact;

/// The month in which all origins were looked up.
pub const LOOKED_UP: &str = "2026-11";

/// A statement and where it is written.
pub const fn fact(text: &'static str, source: &'static str) -> Fact {
    Fact { text, source }
}
