//! The interlock: whether a device that the user named may be destroyed. Asked
//! when it is named and again before every step that destroys.
//!
//! It answers no unless it has looked everywhere and found nothing. A loop
//! device is asked all of it once more for what it stands on. `--erase` changes
//! one answer only: an inactive file system's signature, or unknown bytes at
//! the ends or at sampled places, may then be overwritten. It is no lock: another program
//! may still take the device in the moment between question and step; those
//! steps open it exclusively, so that the kernel refuses one of the two.

use std::{
    path::{Path, PathBuf},
    thread::sleep,
    time::{Duration, Instant},
};

use pickfs_record::quantity::bytes_text;
use pickfs_sys::block::{self, BlockDevice, BlockFacts, ExclusiveProbe};
use pickfs_sys::device_users::{self, DeviceUsers};
use pickfs_sys::mount;
use pickfs_sys::proc_root::ProcRoot;
use thiserror::Error;

use crate::identity::Identity;
use crate::loops::{self, Behind, Footing};
use crate::signature::{self, Meaning, Signature};

/// Length of the device-mapper uuid of a volume that LVM shows to people: `LVM-`, the group's 32
/// characters, the volume's 32. Its inner parts have a suffix.
const VOLUME_UUID_LENGTH: usize = 68;
/// How the device-mapper uuids of volumes begin that people name: LVM, dm-crypt, multipath and its
/// partitions. Their members are refused as held.
const TOPS: [&str; 5] = ["LVM-", "CRYPT-LUKS", "CRYPT-PLAIN", "CRYPT-BITLK", "mpath-"];

/// A program that has a device open for longer uses it; udev and lsblk read every one in passing. One that may
/// write is not waited for.
const GLANCE: Duration = Duration::from_secs(1);
const POLL: Duration = Duration::from_millis(20);

/// Why a device is not touched. Every message names the device, the finding and the way out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[allow(missing_docs)] // each field is named in its message
pub enum Refusal {
    /// The path leads nowhere, or the device does not answer.
    #[error("{}: {reason}; name a device that is there", .device.display())]
    NotThere { device: PathBuf, reason: String },
    #[error(
        "{} is not a block device; for a directory use --dir, for an image leave --device out",
        .device.display()
    )]
    NotABlockDevice { device: PathBuf },
    #[error("{}: cannot be examined, {program} not found; install util-linux", .device.display())]
    NoProgram { device: PathBuf, program: &'static str },
    #[error(
        "{}: {count} processes could not be examined, one may use it; run as root",
        .device.display()
    )]
    CannotSeeAll { device: PathBuf, count: usize },
    /// Since it was named.
    #[error(
        "{}: is not the device that was named: {what} was {was}, is {now}; name it again",
        .device.display()
    )]
    Changed { device: PathBuf, what: &'static str, was: String, now: String },
    #[error("{}: is read-only; name a device that can be written", .device.display())]
    ReadOnly { device: PathBuf },
    /// Here or in another mount namespace.
    #[error(
        "{}: is mounted on {} (seen by process {process}); unmount it, or name another device",
        .device.display(), .at.display()
    )]
    Mounted { device: PathBuf, at: PathBuf, process: u32 },
    #[error("{}: belongs to a mounted btrfs; name another device", .device.display())]
    BtrfsMember { device: PathBuf },
    #[error("{}: is swap space in use; name another device", .device.display())]
    ActiveSwap { device: PathBuf },
    #[error(
        "{}: has partitions ({partitions}); name an unused partition, or remove the table \
         yourself", .device.display()
    )]
    Partitioned { device: PathBuf, partitions: String },
    #[error("{}: is used by {holders}; take those down, or name another device", .device.display())]
    Held { device: PathBuf, holders: String },
    /// From other devices, in a way that is not known.
    #[error(
        "{}: is built from {slaves} and is no RAID, logical, encrypted or multipath volume; name \
         one of these, a disk or a partition", .device.display()
    )]
    Built { device: PathBuf, slaves: String },
    #[error("{}: is an inner part of LVM; name the volume itself", .device.display())]
    InnerVolume { device: PathBuf },
    #[error("{}: is open in {program} (pid {process}); end that program", .device.display())]
    Open { device: PathBuf, program: String, process: u32, writes: bool },
    /// Another path leads to the same disk, and that one is in use.
    #[error(
        "{}: {other} has the same world-wide name {wwn} and is in use: two ways to one disk; \
         name another device", .device.display()
    )]
    SharedName { device: PathBuf, other: String, wwn: String },
    #[error("{}: is held by the kernel or a program; name another device", .device.display())]
    Busy { device: PathBuf },
    /// Never overwritten, whatever is said.
    #[error(
        "{}: holds {what} ({signature}); --erase does not cover that: if it is no longer needed, \
         remove it with its own tool or `wipefs -a`", .device.display()
    )]
    Precious { device: PathBuf, what: &'static str, signature: String },
    #[error(
        "{}: holds a file system ({signature}); add --erase if it may be lost",
        .device.display()
    )]
    FileSystem { device: PathBuf, signature: String },
    #[error(
        "{}: holds unknown data {} from its start; add --erase if it may be lost",
        .device.display(), bytes_text(*.at_bytes)
    )]
    UnknownData { device: PathBuf, at_bytes: u64 },
    /// What a loop device stands on is refused.
    #[error("{} stands on {below}", .device.display())]
    Below { device: PathBuf, below: Box<Refusal> },
    /// A log that is said to lie on a second disk lies on the first.
    #[error(
        "{}: is on the same disk as {} ({disk}); name another disk for the log, or leave \
         --log-device out", .device.display(), .other.display()
    )]
    SameDisk { device: PathBuf, other: PathBuf, disk: String },
    #[error(
        "{}: {other} stands on the same {}; detach that, or name another device",
        .device.display(), .behind.display()
    )]
    SharedBelow { device: PathBuf, other: String, behind: PathBuf },
}

impl Refusal {
    fn may_pass(&self) -> bool {
        match self {
            Refusal::Open { writes, .. } => !writes,
            Refusal::Below { below, .. } => below.may_pass(),
            _ => false,
        }
    }
}

/// The right to destroy one device, as long as the answers stay the same.
#[derive(Debug, Clone)]
pub struct Interlock {
    identity: Identity,
    erase: bool,
    is_for_log: bool,
    contents_are_ours: bool,
}

impl Interlock {
    pub fn pin(device: &Path, erase: bool) -> Result<Self, Refusal> {
        Self::pinned(device, erase, false)
    }

    /// Consent covers an inactive log too.
    pub fn pin_log(device: &Path, erase: bool) -> Result<Self, Refusal> {
        Self::pinned(device, erase, true)
    }

    fn pinned(device: &Path, erase: bool, is_for_log: bool) -> Result<Self, Refusal> {
        let identity = Identity::of(device)?;
        let interlock = Self { identity, erase, is_for_log, contents_are_ours: false };
        interlock.check()?;
        Ok(interlock)
    }

    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// What lies on it may be overwritten from now on.
    pub fn contents_are_ours(&mut self) {
        self.contents_are_ours = true;
    }

    /// What has it open for a moment, to read, is waited for, and all is asked again.
    pub fn check(&self) -> Result<(), Refusal> {
        let began = Instant::now();
        loop {
            same_device(&self.identity)?;
            match self.ask(&self.identity.path, None, self.contents_are_ours) {
                Err(refusal) if refusal.may_pass() && began.elapsed() < GLANCE => sleep(POLL),
                found => return found,
            }
        }
    }

    /// `over` is the loop device that is known to stand on it.
    fn ask(&self, device: &Path, over: Option<u32>, is_ours: bool) -> Result<(), Refusal> {
        let block = BlockDevice::at(device).map_err(|error| not_there(device, error))?;
        let (facts, host) = (block.facts(), ProcRoot::host());
        not_built_upon(device, &facts)?;
        if let Some(holders) = loops::over(block.device_number(), &facts, over) {
            return Err(Refusal::Held { device: device.to_owned(), holders });
        }
        not_swap(device, Behind::Device(block.device_number()))?;
        not_mounted(device, &facts, &host)?;
        let users = device_users::users_of(block.device_number(), &host);
        not_open(device, users)?;
        not_shared(device, &facts, &host)?;
        not_held(device, &block)?;
        self.ask_below(device, &facts, &host)?;
        let size_bytes = facts.size_bytes.unwrap_or(self.identity.size_bytes);
        if is_ours { Ok(()) } else { self.may_lose_contents(device, size_bytes) }
    }

    /// All that is asked of a device is asked of the file or device behind a loop device too. Its
    /// contents are those of the loop device, unless that shows only a part of them.
    fn ask_below(&self, device: &Path, facts: &BlockFacts, host: &ProcRoot) -> Result<(), Refusal> {
        let Some(footing) = Footing::of(facts) else { return Ok(()) };
        let footing = footing.map_err(|error| not_there(device, error))?;
        let unreachable = || not_there(device, "what it stands on cannot be reached from here");
        let behind = footing.path.as_ref().ok_or_else(unreachable)?;
        if let Some(other) = footing.neighbour() {
            let (device, behind) = (device.to_owned(), behind.clone());
            return Err(Refusal::SharedBelow { device, other, behind });
        }
        let is_ours = self.contents_are_ours || !footing.is_part;
        let asked = match footing.behind {
            Behind::Device(_) => self.ask(behind, Some(footing.number), is_ours),
            Behind::File(on, inode) => {
                let users = device_users::users_of_file((on, inode), host);
                let unused =
                    not_swap(behind, footing.behind).and_then(|()| not_open(behind, users));
                unused.and_then(|()| if is_ours { Ok(()) } else { self.may_lose_file(behind) })
            }
        };
        asked.map_err(|below| Refusal::Below { device: device.into(), below: Box::new(below) })
    }

    fn may_lose_file(&self, file: &Path) -> Result<(), Refusal> {
        let facts = file.metadata().map_err(|error| not_there(file, error))?;
        self.may_lose_contents(file, facts.len())
    }

    fn may_lose_contents(&self, device: &Path, size_bytes: u64) -> Result<(), Refusal> {
        let found = signature::signatures(device)?;
        for signature in &found {
            judge(device, signature, self.erase, self.is_for_log)?;
        }
        if self.erase || !found.is_empty() {
            return Ok(());
        }
        match signature::place_in_use(device, size_bytes) {
            Ok(None) => Ok(()),
            Ok(Some(at_bytes)) => Err(Refusal::UnknownData { device: device.to_owned(), at_bytes }),
            Err(cause) => Err(not_there(device, cause)),
        }
    }
}

fn not_there(device: &Path, reason: impl ToString) -> Refusal {
    Refusal::NotThere { device: device.to_owned(), reason: reason.to_string() }
}

/// In this boot or another program's. [`Refusal::Changed`] after a reboot too: the user is to name
/// the device again.
pub fn same_device(pinned: &Identity) -> Result<(), Refusal> {
    let now = Identity::of(&pinned.path)?;
    match pinned.difference(&now) {
        None => Ok(()),
        Some((what, was, now)) => {
            Err(Refusal::Changed { device: pinned.path.clone(), what, was, now })
        }
    }
}

fn not_built_upon(device: &Path, facts: &BlockFacts) -> Result<(), Refusal> {
    let device = device.to_owned();
    if facts.read_only == Some(true) {
        return Err(Refusal::ReadOnly { device });
    }
    if !facts.partitions.is_empty() {
        return Err(Refusal::Partitioned { device, partitions: facts.partitions.join(", ") });
    }
    if !facts.holders.is_empty() {
        return Err(Refusal::Held { device, holders: facts.holders.join(", ") });
    }
    let uuid = facts.dm_uuid.as_deref().unwrap_or_default();
    if uuid.starts_with("LVM-") && uuid.len() > VOLUME_UUID_LENGTH {
        return Err(Refusal::InnerVolume { device });
    }
    let is_known = match facts.dm_uuid {
        Some(_) => {
            let is_part = uuid.starts_with("part") && uuid.contains("-mpath-");
            is_part || TOPS.iter().any(|top| uuid.starts_with(top))
        }
        None => facts.md_level.is_some() || facts.slaves.is_empty(),
    };
    match is_known {
        true => Ok(()),
        false => Err(Refusal::Built { device, slaves: facts.slaves.join(", ") }),
    }
}

fn not_swap(device: &Path, what: Behind) -> Result<(), Refusal> {
    let table = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    let same = |path: &str| what.is_at(Path::new(path)) || Path::new(path) == device;
    if swap_paths(&table).iter().any(|path| same(path)) {
        return Err(Refusal::ActiveSwap { device: device.to_owned() });
    }
    Ok(())
}

/// The first column below the heading; see proc_swaps(5).
fn swap_paths(table: &str) -> Vec<String> {
    let first = |line: &str| line.split_whitespace().next().map(str::to_owned);
    table.lines().skip(1).filter_map(first).collect()
}

/// Says where it is mounted. A namespace that cannot be read hides the place, not the fact: a mount
/// holds its device exclusively, and [`not_held`] asks for that.
fn not_mounted(device: &Path, facts: &BlockFacts, host: &ProcRoot) -> Result<(), Refusal> {
    let everywhere =
        mount::mounts_of_device(device, host).map_err(|error| not_there(device, error))?;
    if let Some(found) = everywhere.mounts.first() {
        return Err(Refusal::Mounted {
            device: device.to_owned(),
            at: found.entry.mount_point.clone(),
            process: found.process_id,
        });
    }
    if block::btrfs_members().contains(&facts.name) {
        return Err(Refusal::BtrfsMember { device: device.to_owned() });
    }
    Ok(())
}

fn not_open(device: &Path, users: std::io::Result<DeviceUsers>) -> Result<(), Refusal> {
    let unseen = |cause| not_there(device, format!("cannot list processes: {cause}"));
    let found = users.map_err(unseen)?;
    if let Some(user) = found.users.first() {
        let (program, process) = (user.name.clone(), user.process_id);
        let writes = found.users.iter().any(|user| user.writes);
        return Err(Refusal::Open { device: device.to_owned(), program, process, writes });
    }
    match found.unreadable_process_count {
        0 => Ok(()),
        count => Err(Refusal::CannotSeeAll { device: device.to_owned(), count }),
    }
}

/// Another disk with the same world-wide name is another way to the same disk.
fn not_shared(device: &Path, facts: &BlockFacts, host: &ProcRoot) -> Result<(), Refusal> {
    let Some(wwn) = &facts.wwn else { return Ok(()) };
    let own = facts.partition_of.as_ref().unwrap_or(&facts.name);
    for other in block::disks().into_iter().filter(|other| other != own) {
        let path = Path::new("/dev").join(&other);
        let Ok(disk) = BlockDevice::at(&path) else { continue };
        if disk.facts().wwn.as_ref() == Some(wwn) && in_use(&disk, host) {
            let (device, wwn) = (device.to_owned(), wwn.clone());
            return Err(Refusal::SharedName { device, other, wwn });
        }
    }
    Ok(())
}

/// A disk is in use when it or a partition of it is held or open; what cannot be told counts too.
fn in_use(disk: &BlockDevice, host: &ProcRoot) -> bool {
    let free = matches!(disk.probe_exclusive(), Ok(ExclusiveProbe::Free));
    let users = device_users::users_of(disk.device_number(), host);
    let open = users.map_or(true, |found| !found.users.is_empty());
    !free || open || !disk.facts().holders.is_empty()
}

/// Opens it exclusively and lets go at once: mkfs and mount want it for themselves.
fn not_held(device: &Path, block: &BlockDevice) -> Result<(), Refusal> {
    let device = device.to_owned();
    match block.probe_exclusive() {
        Ok(ExclusiveProbe::Free) => Ok(()),
        Ok(ExclusiveProbe::Held) => Err(Refusal::Busy { device }),
        Err(error) => Err(Refusal::NotThere { device, reason: error.to_string() }),
    }
}

fn judge(
    device: &Path,
    signature: &Signature,
    erase: bool,
    is_for_log: bool,
) -> Result<(), Refusal> {
    let what = match signature.meaning() {
        Meaning::FileSystem if erase => return Ok(()),
        Meaning::Log if erase && is_for_log => return Ok(()),
        Meaning::Log if !is_for_log => "the log of a file system on another device",
        Meaning::FileSystem | Meaning::Log => {
            let (device, signature) = (device.to_owned(), signature.name.clone());
            return Err(Refusal::FileSystem { device, signature });
        }
        Meaning::PartitionTable => "a partition table",
        Meaning::Raid => "a member of a RAID",
        Meaning::Lvm => "a physical volume of LVM",
        Meaning::Encrypted => "encrypted data",
        Meaning::Zfs => "a member of a ZFS pool",
        Meaning::Bcache => "a bcache device",
        Meaning::Multipath => "a path of a multipath device",
        Meaning::Swap => "swap space",
        Meaning::Other => "something that is no file system",
    };
    let (device, signature) = (device.to_owned(), signature.name.clone());
    Err(Refusal::Precious { device, what, signature })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(facts: BlockFacts) -> Result<(), Refusal> {
        not_built_upon(Path::new("/dev/x"), &facts)
    }

    fn volume(uuid_length: usize, slaves: &[&str]) -> BlockFacts {
        let dm_uuid = Some(format!("LVM-{}", "a".repeat(uuid_length - 4)));
        let slaves = slaves.iter().map(|name| name.to_string()).collect();
        BlockFacts { dm_uuid, slaves, ..BlockFacts::default() }
    }

    #[test]
    fn a_logical_volume_may_be_named_and_its_inner_parts_may_not() {
        assert_eq!(built(volume(68, &["sda"])), Ok(()));
        assert!(matches!(built(volume(74, &["sda"])), Err(Refusal::InnerVolume { .. })));
    }

    #[test]
    fn the_top_of_a_raid_a_dm_crypt_or_a_multipath_may_be_named_and_its_members_may_not() {
        let slaves = vec!["sda".to_string(), "sdb".into()];
        for uuid in ["CRYPT-LUKS2-1f-data", "CRYPT-PLAIN-swap", "mpath-3600", "part1-mpath-3600"] {
            let (dm_uuid, slaves) = (Some(uuid.to_string()), slaves.clone());
            assert_eq!(built(BlockFacts { dm_uuid, slaves, ..BlockFacts::default() }), Ok(()));
        }
        let md_level = Some("raid1".to_string());
        let array = BlockFacts { md_level, slaves, ..BlockFacts::default() };
        assert_eq!(built(array.clone()), Ok(()));
        let holders = vec!["dm-0".to_string()];
        assert!(matches!(built(BlockFacts { holders, ..array }), Err(Refusal::Held { .. })));
        let holders = vec!["md0".to_string()];
        let member = BlockFacts { holders, ..BlockFacts::default() };
        assert!(matches!(built(member), Err(Refusal::Held { .. })));
        let dm_uuid = Some("CRYPT-TEMP-x".to_string());
        let inner = BlockFacts { dm_uuid, ..BlockFacts::default() };
        assert!(matches!(built(inner), Err(Refusal::Built { .. })));
    }

    #[test]
    fn what_is_built_or_built_upon_is_refused() {
        let names = |name: &str| vec![name.to_string()];
        let facts = BlockFacts { holders: names("dm-0"), ..BlockFacts::default() };
        assert_eq!(
            built(facts).unwrap_err().to_string(),
            "/dev/x: is used by dm-0; take those down, or name another device"
        );
        let facts = BlockFacts { slaves: names("sda"), ..BlockFacts::default() };
        assert!(matches!(built(facts), Err(Refusal::Built { .. })));
        let snapshot = Some("multipathd-like".to_string());
        let facts = BlockFacts { dm_uuid: snapshot, ..BlockFacts::default() };
        assert!(matches!(built(facts), Err(Refusal::Built { .. })));
        let facts = BlockFacts { partitions: names("x1"), ..BlockFacts::default() };
        assert!(matches!(built(facts), Err(Refusal::Partitioned { .. })));
    }

    #[test]
    fn consent_covers_a_file_system_and_nothing_else() {
        let device = Path::new("/dev/x");
        let sign = |name: &str, usage: &str| Signature { name: name.into(), usage: usage.into() };
        let ext4 = sign("ext4", "filesystem");
        assert!(judge(device, &ext4, true, false).is_ok());
        assert_eq!(
            judge(device, &ext4, false, true).unwrap_err().to_string(),
            "/dev/x: holds a file system (ext4); add --erase if it may be lost"
        );
        for precious in [sign("zfs_member", "filesystem"), sign("x", "raid"), sign("swap", "other")]
        {
            assert!(matches!(judge(device, &precious, true, true), Err(Refusal::Precious { .. })));
        }
        for log in [sign("jbd", "other"), sign("xfs_external_log", "other")] {
            assert!(judge(device, &log, true, true).is_ok(), "a log that its file system left");
            assert!(matches!(judge(device, &log, false, true), Err(Refusal::FileSystem { .. })));
            assert!(matches!(judge(device, &log, true, false), Err(Refusal::Precious { .. })));
        }
    }

    #[test]
    fn the_swap_table_has_a_heading() {
        let table = "Filename\t\t\tType\n/dev/zram0   partition 1 0 100\n/swapfile file 1 0 -2\n";
        assert_eq!(swap_paths(table), ["/dev/zram0", "/swapfile"]);
        assert!(swap_paths("").is_empty());
    }
}
