//! Words to write origins with: a statement, where it is written, and when that was looked up.

use pickfs_record::features::Fact;

pub const LOOKED_UP: &str = "2026-11";

pub const fn fact(text: &'static str, source: &'static str) -> Fact {
    Fact { text, source }
}
