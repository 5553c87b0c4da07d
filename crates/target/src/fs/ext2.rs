//! ext2. Its commands stand in `e2fsprogs`, which it shares with its kin.

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Lack, Needs, Place, e2fsprogs};

/// The row of ext2.
pub struct Ext2;

impl FileSystem for Ext2 {
    fn name(&self) -> &'static str {
        "ext2"
    }

    fn origin(&self) -> &'static str {
        "The second extended file system, without a journal; mainline kernels serve it by the ext4 driver, only a kernel with CONFIG_EXT2_FS has its own."
    }

    fn needs(&self) -> Needs {
        e2fsprogs::needs(&["ext2"], "mkfs.ext2")
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        e2fsprogs::make("mkfs.ext2", spec, place)
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        e2fsprogs::durability(options)
    }

    fn driver(&self, fs_type: &str, device: &str) -> String {
        e2fsprogs::driver(fs_type, device)
    }
}
