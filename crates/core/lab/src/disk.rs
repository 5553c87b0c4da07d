//! What others moved on the disk under a candidate: its own counters less those of the candidate's device.

use std::{collections::BTreeMap, path::Path};

use pickfs_candidate::fs::{self, HostKind};
use pickfs_sys::{
    block::{BlockDevice, BlockStatistics},
    proc_root::ProcRoot,
    process,
};

/// What a host that copies on write may write for one flush of an image on it: a commit of its log (btrfs: 70 KiB). Others
/// were seen to write nothing.
const HOST_BYTES_PER_FLUSH: u64 = 128 << 10;

#[derive(Debug, Clone)]
pub struct Disk {
    host: BlockDevice,
    own: BlockDevice,
    bytes_per_flush: u64,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Moved {
    all_bytes: u64,
    own_bytes: u64,
}

impl Disk {
    /// Nothing where the candidate has all of the disk, and in a directory, where nobody counts its share.
    pub fn under(own: Option<&Path>, hosts: &[BlockDevice]) -> Option<Disk> {
        let (own, host) = (BlockDevice::at(own?).ok()?, hosts.first()?.clone());
        (host.disk_sysfs() != own.sysfs()).then_some(Disk { host, own, bytes_per_flush: 0 })
    }

    /// The image lies on such a file system.
    pub fn on(self, host_type: &str) -> Disk {
        let copies = fs::serving(host_type).is_some_and(|row| {
            matches!(row.as_host, HostKind::CopyOnWrite | HostKind::CopyOnWriteAlways)
        });
        Disk { bytes_per_flush: if copies { HOST_BYTES_PER_FLUSH } else { 0 }, ..self }
    }

    pub fn read(&self) -> Option<Moved> {
        let bytes = |moved: &BlockStatistics| moved.read_bytes + moved.written_bytes;
        let own = self.own.statistics()?;
        let own_bytes = bytes(&own) + self.bytes_per_flush * own.flush_count;
        Some(Moved { all_bytes: bytes(&self.host.disk_statistics()?), own_bytes })
    }
}

impl Moved {
    /// Bytes of others since then, and their share of all.
    pub fn foreign_since(&self, then: &Moved) -> (u64, f64) {
        let all = self.all_bytes.saturating_sub(then.all_bytes);
        let foreign = all.saturating_sub(self.own_bytes.saturating_sub(then.own_bytes));
        (foreign, foreign as f64 / all.max(1) as f64)
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
    fn what_is_not_ours_is_foreign() {
        let then = Moved { all_bytes: 100, own_bytes: 50 };
        let now = |all_bytes, own_bytes| Moved { all_bytes, own_bytes }.foreign_since(&then);
        assert_eq!(now(500, 150), (300, 0.75));
        assert_eq!(now(150, 150), (0, 0.0), "a host that caches writes less than we do");
        assert_eq!(now(100, 50), (0, 0.0));
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
