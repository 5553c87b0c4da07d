//! File systems, one per file, and the one table of them. Each says what it
//! needs, and writes down the steps that make, mount and unmount it. Nothing
//! here touches the machine, except to read a period or a size from /proc or /sys.
//!
//! ```
//! use pickfs_target::fs::{self, Place};
//! let ext4 = fs::find("ext4").unwrap();
//! let place = Place::example();
//! for step in ext4.make(&"ext4".parse()?, &place) {
//!     println!("{}", step.action);
//! }
//! # Ok::<(), pickfs_model::CandidateError>(())
//! ```

mod affs;
mod bcachefs;
mod btrfs;
mod e2fsprogs;
mod exfat;
mod exfat_fuse;
mod ext2;
mod ext3;
mod ext4;
mod f2fs;
mod facts;
mod fat;
mod fuse2fs;
mod hfs;
mod hfsplus;
mod hpfs;
mod jfs;
mod nilfs2;
mod ntfs3;
mod ntfs_3g;
mod ramfs;
pub mod recipe;
mod reiserfs;
pub mod row;
pub mod table;
mod tmpfs;
mod ufs;
pub mod words;
mod xfs;
mod zfs;
mod zfs_fuse;

pub use row::{
    FileSystem, Formatter, Ground, Lack, LogPlace, MadeInside, Needs, Period, Place, Program,
};
pub use table::{FILE_SYSTEMS, find};
