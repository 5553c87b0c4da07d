//! What a profile, a scale and the word of `fsync` decide, as data.
//!
//! | scale | one file | by characters | seeks | small files | saves | takes |
//! |---|---|---|---|---|---|---|
//! | `tiny` | 4 MiB | 64 KiB | 256 | 256 | 16 | seconds |
//! | `small` | 64 MiB | 256 KiB | 1024 | 4096 | 64 | under half a minute on an ordinary disk |
//! | `full` | 2000 MiB | none | 8192 | 512,000 | 1024 | as the article's command: minutes to hours |

use serde_json::{Value, json};

/// Words that are not known decide as the default does: that they are not known is said by the
/// check of the word itself.
pub(super) fn decided(profile: &str, scale: &str, fsync: &str) -> Vec<(&'static str, Value)> {
    let mut all = by_scale(scale);
    all.extend(by_profile(profile));
    all.extend(by_fsync(fsync));
    all
}

fn by_scale(scale: &str) -> Vec<(&'static str, Value)> {
    let (size_mib, char_bytes, seeks, files, saves) = match scale {
        "tiny" => (4, 64 << 10, 256, 256, 16),
        "full" => (2000, 0, 8192, 512_000, 1024),
        _ => (64, 256 << 10, 1024, 4096, 64),
    };
    vec![
        ("size", json!(size_mib << 20)),
        ("char_size", json!(char_bytes)),
        ("seeks", json!(seeks)),
        ("files", json!(files)),
        ("saves", json!(saves)),
    ]
}

fn by_profile(profile: &str) -> Vec<(&'static str, Value)> {
    match profile {
        "bonnie" => vec![
            ("settle", json!("3s")),
            ("sync_after", json!("sync")),
            ("cache", json!("left")),
            ("data", json!("bonnie")),
            ("further", json!("off")),
        ],
        _ => vec![
            ("settle", json!(0)),
            ("sync_after", json!("syncfs")),
            ("cache", json!("cold")),
            ("data", json!("random")),
            ("further", json!("on")),
        ],
    }
}

fn by_fsync(fsync: &str) -> Vec<(&'static str, Value)> {
    match fsync {
        "each" => vec![
            ("fsync_updates", json!("on")),
            ("fsync_creates", json!("both")),
            ("fsync_deletes", json!("directory")),
        ],
        _ => vec![
            ("fsync_updates", json!("off")),
            ("fsync_creates", json!("none")),
            ("fsync_deletes", json!("none")),
        ],
    }
}
