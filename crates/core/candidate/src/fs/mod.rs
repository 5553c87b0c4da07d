//! File systems, one per file, and the one table of them. Nothing here touches the machine, except
//! to read a period or a size from /proc or /sys.

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
