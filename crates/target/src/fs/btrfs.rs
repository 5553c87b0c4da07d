//! btrfs: copy on write, checksums, subvolumes.
//!
//! It discards by itself unless told `nodiscard` (`discard=async` is the
//! default since Linux 6.2), so that word is added where the candidate says
//! nothing of discard. Source: btrfs(5); mkfs.btrfs(8) `-K` and `-b`.

use pickfs_model::{CandidateSpec, Durability, Step};

use super::{FileSystem, Needs, Period, Place, recipe};

/// The row of btrfs.
pub struct Btrfs;

impl FileSystem for Btrfs {
    fn name(&self) -> &'static str {
        "btrfs"
    }

    fn origin(&self) -> &'static str {
        "Begun at Oracle (2007), in Linux since 2.6.29; served by the btrfs driver."
    }

    fn needs(&self) -> Needs {
        Needs::block(
            &["btrfs"],
            "the kernel module btrfs is in every Debian kernel; load it with modprobe btrfs",
            "mkfs.btrfs",
            "btrfs-progs",
        )
        .at_least(128 << 20)
    }

    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let mut args = recipe::make_args(&["-q", "-f"], &["-K"], spec);
        if let Some(bytes) = place.make_bytes {
            args.extend(["-b".into(), bytes.to_string()]);
        }
        args.push(place.device.clone());
        vec![recipe::exec("make", "mkfs.btrfs", args)]
    }

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        recipe::mount_device("btrfs", recipe::options_without_discard(spec), place)
    }

    fn periods(&self, options: &[String]) -> Vec<Period> {
        vec![Period::from_option("btrfs commit", options, "commit", 30.0)]
    }

    fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        if recipe::has_option(options, "nobarrier") {
            (Durability::KernelCrash, "barriers are off: fsync does not flush the device's cache")
        } else {
            (Durability::PowerLoss, "fsync ends with a flush of the device")
        }
    }
}
