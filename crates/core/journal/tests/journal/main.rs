//! The journal without root. Tests that start processes are programs of their own: a child holds the locks of
//! all threads for a moment, between fork and exec.
#![allow(clippy::unwrap_used)]

mod damage;
mod group_commit;
mod live_replay;
mod no_allocation;
mod observe;
mod power_cut;
mod round_trip;

use std::ops::ControlFlow;
use std::path::Path;

use pickfs_journal::{Record, Replayed, Result, replay};

/// Of a disk and not of memory, where the target folder is on one.
fn on_disk() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Hands on every record from a number on.
fn read(dir: &Path, from: u64, mut take: impl FnMut(Record<'_>)) -> Result<Replayed> {
    replay(dir, from, |record| {
        take(record);
        ControlFlow::Continue(())
    })
}

#[test]
fn the_readme_says_what_survives_and_what_goes_together() {
    let readme = include_str!("../../README.md");
    for part in [pickfs_journal::durability_markdown(), pickfs_journal::compatibility::markdown()] {
        assert!(readme.contains(part.trim_end()), "put this into README.md:\n\n{part}");
    }
}
