//! What real file systems refuse: needs root to mount ramfs (no fallocate, no O_DIRECT) and a small tmpfs.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use pickfs_journal::{
    Error, Fallback, Journal, Options, Preallocation, Sync, Way, WritePath, recover,
};
use pickfs_testkit::{may_run, only_if};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use tempfile::TempDir;

struct Mounted(TempDir);

impl Mounted {
    fn new(kind: &str, data: &std::ffi::CStr) -> Self {
        let dir = tempfile::tempdir().unwrap();
        mount("none", dir.path(), kind, MountFlags::empty(), Some(data)).unwrap();
        Self(dir)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = unmount(self.0.path(), UnmountFlags::DETACH);
    }
}

fn small() -> Options {
    Options { file_bytes: 1 << 20, sync: Sync::None, ..Options::default() }
}

#[test]
fn ramfs_has_no_fallocate_and_no_direct_writes() {
    only_if!(may_run(&[]));
    let ramfs = Mounted::new("ramfs", c"");
    let direct =
        Options { write_path: WritePath::Direct, preallocation: Preallocation::None, ..small() };
    let cases = [
        (
            Way::Fallocate,
            small(),
            "fallocate not supported on this file system: zero-filled instead",
        ),
        (Way::Direct, direct, "O_DIRECT not supported on this file system: pwrite instead"),
    ];
    for (way, options, note) in cases {
        let dir = ramfs.path().join(format!("{way}"));
        let strict = Options { fallback: Fallback::Refuse, ..options.clone() };
        let error = Journal::create(&dir, strict).err().unwrap();
        assert!(matches!(error, Error::Refused { way: named, .. } if named == way), "{error}");
        let mut journal = Journal::create(&dir, options).unwrap();
        assert_eq!(journal.notes(), [note]);
        journal.append(b"kept").unwrap();
        drop(journal);
        assert_eq!(recover(&dir).unwrap().last_sequence, 1);
    }
}

#[test]
fn a_full_disk_closes_the_journal_and_loses_nothing_that_was_appended() {
    only_if!(may_run(&[]));
    let tmpfs = Mounted::new("tmpfs", c"size=3m");
    let dir = tmpfs.path().join("journal");
    let options = Options { preallocation: Preallocation::None, ..small() };
    let mut journal = Journal::create(&dir, options).unwrap();
    let mut last = 0;
    let error = loop {
        match journal.append(&[7; 1000]) {
            Ok(appended) => last = appended.sequence,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("No space left on device"), "{error}");
    assert!(matches!(journal.append(b"x"), Err(Error::Latched(_))));
    drop(journal);
    assert_eq!(recover(&dir).unwrap().last_sequence, last);
}
