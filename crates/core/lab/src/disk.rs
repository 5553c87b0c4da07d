//! What others moved on the disk under a candidate: its own counters less those of the candidate's device.

use std::{collections::BTreeMap, path::Path};

use pickfs_candidate::fs::{self, HostKind};
use pickfs_record::BackingSpec;
use pickfs_sys::{
    block::{BlockDevice, BlockStatistics},
    mount::mount_of,
    mount_table::MountEntry,
    proc_root::ProcRoot,
    process,
};

use crate::{machine::stands_on_a_device, settle::Quiet};

/// What a host that copies on write, or with a log of data, may write for one flush of an image on it: a commit (btrfs:
/// 70 KiB).
const COPYING_BYTES_PER_FLUSH: u64 = 128 << 10;

/// What any other host writes for its metadata of the image: as much of what strangers write is not seen. Seen at 2,000 to
/// 4,600 flushes a second, on average: ext4 5.1 KiB, without a journal 1.7, XFS 1.2.
const BYTES_PER_FLUSH: u64 = 8 << 10;

#[derive(Debug, Clone)]
pub struct Disk {
    host: BlockDevice,
    own: BlockDevice,
    writes: Amplified,
}

/// What a byte and a flush of the candidate are on its host's disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Amplified {
    times: u64,
    bytes_per_flush: u64,
}

/// What is under a candidate, as far as others may use it.
#[derive(Debug, Clone)]
pub enum Under {
    /// Memory, or a disk that is the candidate's alone.
    Own,
    Shared(Disk),
    /// Nobody counts what the candidate moved of it: a directory, a guest, a host without a disk of its own.
    Unread,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    read: Share,
    written: Share,
}

/// Bytes of all, and what the candidate accounts for.
#[derive(Debug, Clone, Copy, Default)]
struct Share {
    all_bytes: u64,
    own_bytes: u64,
}

impl Under {
    /// `own` is the device of a candidate of this file system.
    pub fn of(fs: &str, own: Option<&Path>, quiet: &Quiet, backing: &BackingSpec) -> Under {
        let hosts: Vec<MountEntry> =
            quiet.host_folders.iter().filter_map(|folder| mount_of(folder).ok()).collect();
        let is_in_memory = || hosts.iter().all(|host| !stands_on_a_device(&host.fs_type));
        let host = match backing {
            BackingSpec::Ram { .. } => return Under::Own,
            _ if !stands_on_a_device(fs) => return Under::Own,
            BackingSpec::Device { .. } => None,
            _ if is_in_memory() => return Under::Own,
            BackingSpec::Directory { .. } => return Under::Unread,
            BackingSpec::Loop { .. } => hosts.first(),
        };
        let own = own.and_then(|own| BlockDevice::at(own).ok());
        match own.zip(quiet.devices.first().cloned()) {
            None => Under::Unread,
            Some((own, disk)) if disk.disk_sysfs() == own.sysfs() => Under::Own,
            Some((own, disk)) => Under::Shared(Disk { host: disk, own, writes: amplified(host) }),
        }
    }
}

/// A host that copies on write keeps its metadata beside the data; ext4 with a journal of data writes all of it twice.
fn amplified(host: Option<&MountEntry>) -> Amplified {
    let kind = host.and_then(|host| fs::serving(&host.fs_type)).map(|row| row.as_host);
    let copies = matches!(kind, Some(HostKind::CopyOnWrite | HostKind::CopyOnWriteAlways));
    let options = host.iter().flat_map(|host| host.super_options.split(','));
    let is_twice = options.into_iter().any(|option| option == "data=journal");
    Amplified {
        times: if is_twice { 2 } else { 1 },
        bytes_per_flush: match host {
            None => 0,
            Some(_) if copies || is_twice => COPYING_BYTES_PER_FLUSH,
            Some(_) => BYTES_PER_FLUSH,
        },
    }
}

impl Disk {
    pub fn read(&self) -> Option<Moved> {
        let BlockStatistics { read_bytes, written_bytes, flush_count, .. } =
            self.own.statistics()?;
        let Amplified { times, bytes_per_flush } = self.writes;
        let own_written = times * written_bytes + bytes_per_flush * flush_count;
        let all = self.host.disk_statistics()?;
        Some(Moved {
            read: Share { all_bytes: all.read_bytes, own_bytes: read_bytes },
            written: Share { all_bytes: all.written_bytes, own_bytes: own_written },
        })
    }
}

impl Moved {
    /// Bytes of others since then, and their share of all.
    pub fn foreign_since(&self, then: &Moved) -> (u64, f64) {
        let (read, written) = (self.read.since(&then.read), self.written.since(&then.written));
        let foreign = read.foreign_bytes() + written.foreign_bytes();
        (foreign, foreign as f64 / (read.all_bytes + written.all_bytes).max(1) as f64)
    }
}

impl Share {
    fn since(&self, then: &Share) -> Share {
        Share {
            all_bytes: self.all_bytes.saturating_sub(then.all_bytes),
            own_bytes: self.own_bytes.saturating_sub(then.own_bytes),
        }
    }

    fn foreign_bytes(&self) -> u64 {
        self.all_bytes.saturating_sub(self.own_bytes)
    }
}

/// What each program has moved, by its number and start.
pub type Movers = BTreeMap<(u32, u64), (String, u64)>;

pub fn movers() -> Movers {
    let host = ProcRoot::host();
    let programs = process::all(&host).unwrap_or_default().into_iter();
    let programs = programs.filter(|program| !program.is_kernel_thread);
    let moved = programs.filter_map(|program| {
        let bytes = process::moved_bytes(program.process_id, &host)?;
        Some(((program.process_id, program.start_ticks), (program.name, bytes)))
    });
    moved.collect()
}

/// By name, without those that are ours.
pub fn moved_by_name(
    before: &Movers,
    after: Movers,
    mut is_ours: impl FnMut(u32) -> bool,
) -> BTreeMap<String, u64> {
    let mut by_name = BTreeMap::new();
    for (key, (name, bytes)) in after {
        let moved = bytes.saturating_sub(before.get(&key).map_or(0, |was| was.1));
        if moved > 0 && !is_ours(key.0) {
            *by_name.entry(name).or_default() += moved;
        }
    }
    by_name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_commits_at_each_flush_and_one_that_journals_data_writes_a_byte_twice() {
        let on = |line: &str| {
            let entry = pickfs_sys::mount_table::parse_line(line.as_bytes());
            let Amplified { times, bytes_per_flush } = amplified(entry.as_ref());
            (times, bytes_per_flush)
        };
        assert_eq!(on("63 43 8:1 / /data rw - ext4 /dev/sda1 rw,data=journal"), (2, 128 << 10));
        assert_eq!(on("63 43 8:1 / /data rw - ext4 /dev/sda1 rw"), (1, 8 << 10));
        assert_eq!(on("63 43 0:40 / /data rw - btrfs /dev/sda1 rw"), (1, 128 << 10));
        assert_eq!(on(""), (1, 0));
    }

    #[test]
    fn where_nobody_counts_the_candidates_share_of_a_disk_that_is_told() {
        let quiet = |folder: &str| Quiet { host_folders: vec![folder.into()], devices: Vec::new() };
        let directory = |path: &str| BackingSpec::directory(path);
        let under = |fs: &str, folder: &str, backing: &BackingSpec| {
            Under::of(fs, None, &quiet(folder), backing)
        };
        let here = env!("CARGO_MANIFEST_DIR");
        let image = BackingSpec::Loop { size_bytes: 1, directory: None };
        assert!(matches!(under("dir", here, &directory(here)), Under::Unread));
        assert!(matches!(under("dir", "/dev/shm", &directory("/dev/shm")), Under::Own));
        assert!(matches!(under("tmpfs", here, &image), Under::Own));
        assert!(matches!(under("ext4", here, &image), Under::Unread));
        assert!(matches!(under("ext4", here, &BackingSpec::Ram { size_bytes: 1 }), Under::Own));
    }

    #[test]
    fn what_is_not_ours_is_foreign() {
        let moved = |all_bytes, own_bytes| Share { all_bytes, own_bytes };
        let then = Moved { read: moved(0, 0), written: moved(100, 50) };
        let now = |read, written| Moved { read, written }.foreign_since(&then);
        let unread = moved(0, 0);
        assert_eq!(now(unread, moved(500, 150)), (300, 0.75));
        assert_eq!(
            now(unread, moved(150, 150)),
            (0, 0.0),
            "a host that caches writes less than we do"
        );
        assert_eq!(now(unread, moved(100, 50)), (0, 0.0));
        assert_eq!(now(moved(50, 0), moved(150, 950)), (50, 0.5), "our flushes hide no reads");
    }

    #[test]
    fn who_moved_is_named_and_our_own_are_left_out() {
        let of = |number, name: &str, bytes| ((number, 7), (name.to_owned(), bytes));
        let before = Movers::from([of(1, "cp", 100), of(2, "pickfs", 5)]);
        let after = Movers::from([of(1, "cp", 400), of(2, "pickfs", 900), of(3, "cp", 50)]);
        let moved = moved_by_name(&before, after, |number| number == 2);
        assert_eq!(moved, BTreeMap::from([("cp".into(), 350)]));
    }
}
