//! ReiserFS in its two formats. Two rows, one program and one driver, which
//! left the kernel in Linux 6.13. Source: mkreiserfs(8).
//!
//! The driver of late kernels refuses a freshly made 3.5 volume: its leaf
//! check counts directory entries too large. Such a trial fails at the mount
//! step, with the kernel's words.

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Lack, Needs, Period, Place, recipe};

/// The rows of ReiserFS.
pub enum Reiserfs {
    /// `reiserfs-3.5`: files up to 2 GiB.
    V35,
    /// `reiserfs-3.6`.
    V36,
}

impl FileSystem for Reiserfs {
    fn name(&self) -> &'static str {
        match self {
            Reiserfs::V35 => "reiserfs-3.5",
            Reiserfs::V36 => "reiserfs-3.6",
        }
    }

    fn origin(&self) -> &'static str {
        "From Namesys (2001), in Linux from 2.4.1 to 6.12; served by the reiserfs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["reiserfs"],
            "no kernel module reiserfs; it left the kernel in Linux 6.13, Debian 12's stock \
             kernel has it",
            "mkreiserfs",
            "reiserfsprogs",
        )
        .at_least(64 << 20)
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let format = match self {
            Reiserfs::V35 => "3.5",
            Reiserfs::V36 => "3.6",
        };
        let mut args = recipe::make_args(&["-q", "-f", "-f", "--format", format], &[], spec);
        args.push(place.device.clone());
        args.extend(place.make_units(4096));
        vec![recipe::exec("make", "mkreiserfs", args)]
    }

    fn lacks(&self) -> &'static [Lack] {
        &[Lack::Fallocate]
    }

    fn periods(&self, options: &[String]) -> Vec<Period> {
        vec![Period::from_option("journal commit", options, "commit", 30.0)]
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        if recipe::option_value(options, "barrier") == Some("none") {
            (Durability::KernelCrash, "barriers are off: fsync does not flush the device's cache")
        } else {
            (Durability::PowerLoss, "fsync ends with a flush of the device")
        }
    }
}
