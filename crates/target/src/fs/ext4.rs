//! ext4. Its commands stand in `e2fsprogs`, which it shares with its kin.

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Needs, Period, Place, e2fsprogs};

/// The row of ext4.
pub struct Ext4;

impl FileSystem for Ext4 {
    fn name(&self) -> &'static str {
        "ext4"
    }

    fn origin(&self) -> &'static str {
        "The fourth extended file system: extents, delayed allocation, a journal (jbd2)."
    }

    fn needs(&self) -> Needs {
        e2fsprogs::needs(&["ext4"], "mkfs.ext4")
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        e2fsprogs::make("mkfs.ext4", spec, place)
    }

    fn periods(&self, options: &[String]) -> Vec<Period> {
        e2fsprogs::commit(options)
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        e2fsprogs::durability(options)
    }

    fn driver(&self, fs_type: &str, device: &str) -> String {
        e2fsprogs::driver(fs_type, device)
    }
}
