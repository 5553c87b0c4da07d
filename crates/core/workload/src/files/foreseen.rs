//! The times are those of a virtual disk of a gigabyte a second with half a millisecond a flush;
//! there the plans `files` and `article-004` at `scale = small` took 0.7 and 0.8 of what is
//! foreseen.

use pickfs_record::quantity::bytes_text;

use pickfs_candidate::fs::limits_of;

use super::{content::Data, phases::Phase, settings::Settings};
use crate::workload::{Scratch, TooLarge};

const START_S: f64 = 0.3;
/// A byte of the one file: written, read and written again, and read.
const BYTE_S: f64 = 5e-9;
/// A byte that is written and read by itself.
const CHARACTER_S: f64 = 1.7e-6;
const SEEK_S: f64 = 1e-4;
/// A small file: created, looked at and deleted, twice.
const FILE_S: f64 = 1.4e-4;
/// A small file in the further phases: a directory, a name read, another name, a second one.
const FURTHER_FILE_S: f64 = 1.6e-4;
const FLUSH_S: f64 = 5e-4;
/// Writing out and dropping before a cold phase.
const COLD_S: f64 = 0.1;

/// Seconds of a trial with so many lanes; two of them run at once.
pub(super) fn expected_s(settings: &Settings, lanes: u32) -> f64 {
    let asked = Phase::asked(settings);
    let cold = asked.iter().filter(|phase| phase.is_cold(settings)).count();
    let pause_s = if asked.contains(&Phase::Seeks) { settings.settle_ns as f64 / 1e9 } else { 0.0 };
    let at_once = f64::from(lanes.div_ceil(2).max(1));
    START_S + pause_s + COLD_S * cold as f64 + at_once * lane_s(settings, &asked)
}

fn lane_s(settings: &Settings, asked: &[Phase]) -> f64 {
    let has = |phase: Phase, seconds: f64| if asked.contains(&phase) { seconds } else { 0.0 };
    let files = f64::from(settings.spread.files);
    has(Phase::BlockWrite, settings.size_bytes as f64 * BYTE_S)
        + has(Phase::CharWrite, settings.char_bytes as f64 * CHARACTER_S)
        + has(Phase::Seeks, f64::from(settings.seeks) * SEEK_S)
        + has(Phase::SeqCreate, files * (FILE_S + 2.0 * FLUSH_S * f64::from(flushes(settings))))
        + has(Phase::Rename, files * FURTHER_FILE_S)
        // A name with its directory; a save with its file, and perhaps its directory.
        + has(Phase::SafeSave, f64::from(settings.saves) * 3.0 * FLUSH_S)
}

fn flushes(settings: &Settings) -> u32 {
    let (creates, deletes) = (settings.fsync_creates, settings.fsync_deletes);
    [creates.file, creates.directory, deletes.directory].into_iter().map(u32::from).sum()
}

/// That the one file of every lane is longer than all of the scratch; only what does not compress, and
/// what no file system compresses, is known to be.
pub(super) fn too_large(settings: &Settings, lanes: u32, scratch: &Scratch) -> Option<TooLarge> {
    let may_shrink = settings.data == Data::Bonnie && limits_of(scratch.fs).compresses;
    let needed_bytes = settings.size_bytes.saturating_mul(u64::from(lanes));
    if may_shrink || needed_bytes < scratch.size_bytes || settings.size_bytes == 0 {
        return None;
    }
    let (size, all) = (bytes_text(settings.size_bytes), bytes_text(scratch.size_bytes));
    Some(TooLarge {
        reason: format!("size is {size} in each of {lanes} lanes, and the whole scratch has {all}"),
        remedy: "choose a smaller scale or size, fewer lanes, or a larger size under [backing]"
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(asked: serde_json::Value) -> Settings {
        Settings::new(&super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap(), 1, 0)
    }

    #[test]
    fn each_scale_takes_its_time_and_a_sync_each_takes_more() {
        let took_s = |asked| expected_s(&settings(asked), 1);
        let tiny_s = took_s(json!({ "scale": "tiny" }));
        let small_s = took_s(json!({ "scale": "small" }));
        assert!((0.5..3.0).contains(&tiny_s), "{tiny_s}");
        assert!(small_s > tiny_s && small_s < 30.0, "{small_s}");
        let full = json!({ "profile": "bonnie", "scale": "full", "char_size": 0 });
        let plain_s = took_s(full.clone());
        assert!((60.0..300.0).contains(&plain_s), "{plain_s}");
        let mut each = full;
        each["fsync"] = json!("each");
        assert!(took_s(each) > 10.0 * plain_s);
    }

    #[test]
    fn a_file_longer_than_the_scratch_is_refused_unless_it_may_shrink() {
        let scratch = |fs| Scratch { fs, size_bytes: 1 << 30, is_in_memory: false };
        let refused = |asked, lanes, fs| too_large(&settings(asked), lanes, &scratch(fs));
        let two = json!({ "size": 2_u64 << 30 });
        let reason = refused(two.clone(), 1, "ext4").unwrap().reason;
        assert_eq!(reason, "size is 2 GiB in each of 1 lanes, and the whole scratch has 1 GiB");
        assert!(refused(two, 1, "btrfs").is_some(), "what does not compress");
        let zeros = json!({ "size": 2_u64 << 30, "data": "bonnie" });
        assert!(refused(zeros.clone(), 1, "btrfs").is_none());
        assert!(refused(zeros.clone(), 1, "zfs-fuse").is_none());
        assert!(refused(zeros, 1, "xfs").is_some());
        let half = json!({ "size": 512 << 20 });
        assert!(refused(half.clone(), 1, "xfs").is_none());
        assert!(refused(half, 2, "xfs").is_some());
    }
}
