//! How cold many small files are when a phase begins, and how that is known. Their directory entries and
//! inodes are in no page that mincore(2) could count.
//!
//! | caches of the machine | bytes of the files | names and inodes |
//! |---|---|---|
//! | may be dropped | dropped; the phase must have fetched nine tenths of them from devices | dropped; it must have fetched as many bytes as the names have |
//! | may not | each file is forgotten, a sample is counted | stay in memory: `not-cold` |
//!
//! What FUSE programs and threads of the kernel fetch is not counted for this process: then nothing is
//! known, and the row says so.

use std::fs::File;

use pickfs_sys::{
    own_usage::OwnReads,
    residency::{ResidentPages, forget, resident_pages},
};

use super::{
    content::Data,
    interrupt,
    lane::Lane,
    many_files::Set,
    names::NameBuffer,
    phases::Phase,
    settings::{Settings, Small},
};
use crate::fault::Fault;

/// Bytes of our names on average: no format stores less for a file.
const NAME_BYTES: u64 = 16;
/// Files whose pages are counted, at most.
const SAMPLE_FILES: u32 = 256;

pub(super) struct Began {
    /// Pages of a sample of the files, where caches could not be dropped.
    sample: Option<ResidentPages>,
    reads: OwnReads,
}

pub(super) fn begin(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<Option<Began>, Fault> {
    let is_cold = phase.is_cold(lane.settings);
    let by_hand = is_cold && !lane.may_drop_caches && has_bytes(lane.settings);
    let sample = if by_hand { forget_all(set)? } else { None };
    // Caches cannot be dropped of what is open.
    if let Some(tree) = &mut set.tree {
        tree.close();
    }
    lane.make_cold(phase, &[])?;
    Ok(is_cold.then(|| Began { sample, reads: OwnReads::now() }))
}

pub(super) fn tell(lane: &mut Lane, began: Option<&Began>, files: u32, file_bytes: u64) {
    let Some(began) = began else { return };
    let fetched = OwnReads::now().since(&began.reads).device_bytes;
    if let Some(bytes) = fetched {
        lane.runner.value_last("device_read_bytes", bytes as f64);
    }
    if !lane.may_drop_caches {
        tell_sample(lane, began.sample);
        return;
    }
    let file_bytes = if lane.settings.data == Data::Random { file_bytes } else { 0 };
    if let Some(text) = doubt(fetched, files, file_bytes) {
        lane.runner.flag_last("cold-not-verified", text);
    }
}

/// Names were left as they were.
fn tell_sample(lane: &mut Lane, sample: Option<ResidentPages>) {
    let mut text =
        String::from("names and inodes may be in memory: the machine's caches may not be dropped");
    if let Some(sample) = sample {
        lane.runner.value_last("resident_share", sample.share());
        if !sample.is_cold() {
            let percent = 100.0 * sample.share();
            text.push_str(&format!("; so are {percent:.0} % of the bytes of the files"));
        }
    }
    lane.runner.flag_last("not-cold", text);
}

/// Why nobody knows that the caches were cold after they were dropped: too little came from devices.
fn doubt(fetched_bytes: Option<u64>, files: u32, file_bytes: u64) -> Option<String> {
    let expected_bytes = (NAME_BYTES * u64::from(files)).max(file_bytes / 10 * 9);
    let Some(fetched_bytes) = fetched_bytes else {
        return Some("cold by dropped caches; this kernel does not count what was fetched".into());
    };
    (fetched_bytes < expected_bytes).then(|| {
        format!(
            "cold by dropped caches, which {fetched_bytes} bytes fetched from devices do not show \
             ({expected_bytes} at least were needed): others may have read them for this process, as \
             FUSE programs do, or they were in memory"
        )
    })
}

fn has_bytes(settings: &Settings) -> bool {
    matches!(settings.small, Small::Bytes(sizes) if !sizes.are_zero())
}

/// Writes the files out and has each one forgotten; gives what a sample of them still has in memory.
fn forget_all(set: &mut Set) -> Result<Option<ResidentPages>, Fault> {
    let Some(tree) = &mut set.tree else { return Ok(None) };
    tree.open()?;
    let (count, top) = (set.names.count(), tree.top());
    top.syncfs()?;
    let sampled = count.div_ceil(SAMPLE_FILES).max(1);
    let (mut name, mut sum) = (NameBuffer::new(), ResidentPages::default());
    for index in 0..count {
        set.names.path(index, &mut name);
        let file = File::from(top.read(name.as_c_str())?);
        let failed = |error: pickfs_sys::refused::Refused| {
            let path = top.path_of(name.as_c_str()).display().to_string();
            Fault::Failed { reason: format!("{path}: {error}") }
        };
        forget(&file).map_err(failed)?;
        if index % sampled == 0 {
            sum += resident_pages(&file).map_err(failed)?;
        }
        interrupt::check()?;
    }
    Ok(Some(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_fetched_was_perhaps_not_cold() {
        assert_eq!(doubt(Some(1 << 20), 4096, 0), None);
        assert!(doubt(Some(4096), 4096, 0).unwrap().contains("65536 at least were needed"));
        assert!(doubt(Some(1 << 20), 4096, 16 << 20).unwrap().contains("1048576 bytes fetched"));
        assert_eq!(doubt(Some(16 << 20), 4096, 16 << 20), None);
        assert!(doubt(None, 1, 0).unwrap().contains("does not count"));
    }
}
