//! ext3. Its commands stand in `e2fsprogs`, which it shares with its kin.

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Lack, Needs, Period, Place, e2fsprogs};

/// The row of ext3.
pub struct Ext3;

impl FileSystem for Ext3 {
    fn name(&self) -> &'static str {
        "ext3"
    }

    fn origin(&self) -> &'static str {
        "ext2 with a journal; since Linux 4.3 there is no ext3 driver, ext4 serves it."
    }

    fn needs(&self) -> Needs {
        e2fsprogs::needs(&["ext3"], "mkfs.ext3")
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        e2fsprogs::make("mkfs.ext3", spec, place)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
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
