//! What the kernel knows about a block device, and the few requests that it gets from us. Source:
//! `Documentation/ABI/stable/sysfs-block`, `Documentation/block/stat.rst`, `linux/fs.h`.
#![allow(unsafe_code)]

use crate::ioctl;
use crate::refused::{Refused, cannot};
use crate::tunables::{chosen_word, names_in, number_if_any, text_if_any};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const BLKFLSBUF: u64 = 0x1261;
const BLKGETSIZE64: u64 = 0x8008_1272;
const NEEDS: &str = "read access to the device (root or group disk)";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockDevice {
    path: PathBuf,
    major: u32,
    minor: u32,
    sysfs: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteCache {
    /// It has a volatile cache: a flush is needed and is sent.
    WriteBack,
    /// It says that it has none: the kernel sends no flush.
    WriteThrough,
}

/// Facts from sysfs. `None`: this kernel or device does not say. For a partition the queue, identity
/// and model are those of its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockFacts {
    /// The kernel's name: `sda1`, `loop0`, `dm-3`.
    pub name: String,
    /// `None` for a whole disk.
    pub partition_of: Option<String>,
    pub size_bytes: Option<u64>,
    pub read_only: Option<bool>,
    /// The least that can be addressed.
    pub logical_sector_bytes: Option<u32>,
    /// The least that is written without reading first.
    pub physical_sector_bytes: Option<u32>,
    pub rotational: Option<bool>,
    pub write_cache: Option<WriteCache>,
    /// Single writes can be forced through the cache.
    pub fua: Option<bool>,
    pub read_ahead_bytes: Option<u64>,
    pub scheduler: Option<String>,
    /// The largest discard; 0: none.
    pub discard_bytes_max: Option<u64>,
    pub queue_requests: Option<u32>,
    /// Latency target of write-back throttling; 0: off.
    pub writeback_target_us: Option<i64>,
    /// Counts every appearance of a disk since boot; another number, another disk.
    pub disk_sequence: Option<u64>,
    pub wwn: Option<String>,
    pub serial: Option<String>,
    pub model: Option<String>,
    /// Devices built on top of it (dm, md, bcache).
    pub holders: Vec<String>,
    pub slaves: Vec<String>,
    pub partitions: Vec<String>,
    /// Device-mapper uuid; begins with `LVM-`, `CRYPT-`, `mpath-` and so on.
    pub dm_uuid: Option<String>,
    pub md_level: Option<String>,
    pub loop_backing_file: Option<PathBuf>,
    /// How it hangs on the machine: the names along its sysfs path (`pci...`, `virtio0`, `usb1`).
    pub link: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockStatistics {
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub in_flight_count: u64,
    /// Linux 5.5.
    pub flush_count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExclusiveProbe {
    /// Nobody holds it: not mounted, no swap, not part of another device.
    Free,
    Held,
}

impl BlockDevice {
    /// Symbolic links are followed.
    pub fn at(path: &Path) -> Result<Self, Refused> {
        let look = |path: &Path| cannot(format!("look at {}", path.display()), NEEDS);
        let metadata = fs::metadata(path).map_err(look(path))?;
        if !metadata.file_type().is_block_device() {
            let text =
                format!("{} is not a block device; for a directory use --dir", path.display());
            return Err(Refused::new(text, Some(libc::ENOTBLK)));
        }
        let major = rustix::fs::major(metadata.rdev());
        let minor = rustix::fs::minor(metadata.rdev());
        let link = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
        let sysfs = fs::canonicalize(&link).map_err(look(&link))?;
        Ok(Self { path: path.to_owned(), major, minor, sysfs })
    }

    pub fn device_number(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    pub fn sysfs(&self) -> &Path {
        &self.sysfs
    }

    /// The sysfs directory of the whole disk: its own, or that of the disk of a partition.
    pub fn disk_sysfs(&self) -> &Path {
        let parent = self.sysfs.parent().filter(|_| self.sysfs.join("partition").exists());
        parent.unwrap_or(&self.sysfs)
    }

    pub fn facts(&self) -> BlockFacts {
        facts_in(&self.sysfs, self.disk_sysfs(), (self.major, self.minor))
    }

    pub fn size_bytes(&self) -> Result<u64, Refused> {
        let mut answer = 0u64;
        let file = self.open_to_read()?;
        // SAFETY: BLKGETSIZE64 writes one 64-bit number.
        unsafe { ioctl::with_pointer(file.as_fd(), BLKGETSIZE64, &mut answer) }
            .map_err(cannot(format!("ask the size of {}", self.path.display()), "root"))?;
        Ok(answer)
    }

    /// Writes out and drops what the page cache holds of the device itself.
    pub fn flush_buffers(&self) -> Result<(), Refused> {
        let file = self.open_to_read()?;
        // SAFETY: BLKFLSBUF ignores its argument.
        unsafe { ioctl::with_value(file.as_fd(), BLKFLSBUF, 0) }
            .map_err(cannot(format!("flush the buffers of {}", self.path.display()), "root"))?;
        Ok(())
    }

    /// Opens the device exclusively and lets go of it at once. A program that has it open without
    /// `O_EXCL` goes unnoticed: see `device_users`.
    pub fn probe_exclusive(&self) -> Result<ExclusiveProbe, Refused> {
        let opened = File::options().read(true).custom_flags(libc::O_EXCL).open(&self.path);
        match opened {
            Ok(_) => Ok(ExclusiveProbe::Free),
            Err(cause) if cause.raw_os_error() == Some(libc::EBUSY) => Ok(ExclusiveProbe::Held),
            Err(cause) => Err(cannot(format!("open {}", self.path.display()), NEEDS)(cause)),
        }
    }

    /// `None` where the kernel does not count.
    pub fn statistics(&self) -> Option<BlockStatistics> {
        parse_statistics(&text_if_any(self.sysfs.join("stat"))?)
    }

    pub fn disk_statistics(&self) -> Option<BlockStatistics> {
        parse_statistics(&text_if_any(self.disk_sysfs().join("stat"))?)
    }

    fn open_to_read(&self) -> Result<File, Refused> {
        File::open(&self.path).map_err(cannot(format!("open {}", self.path.display()), NEEDS))
    }
}

/// Kernel names, whole disks only.
pub fn disks() -> Vec<String> {
    names_in(Path::new("/sys/block"))
}

/// Kernel names of the devices that mounted btrfs file systems are made of; a mount table shows only
/// one of them.
pub fn btrfs_members() -> Vec<String> {
    let top = Path::new("/sys/fs/btrfs");
    names_in(top).iter().flat_map(|uuid| names_in(&top.join(uuid).join("devices"))).collect()
}

fn facts_in(sysfs: &Path, disk: &Path, number: (u32, u32)) -> BlockFacts {
    let queue = disk.join("queue");
    let flag = |path: PathBuf| number_if_any::<u8>(path).map(|value| value != 0);
    BlockFacts {
        name: last_name(sysfs),
        partition_of: (sysfs != disk).then(|| last_name(disk)),
        size_bytes: number_if_any::<u64>(sysfs.join("size")).map(|sectors| sectors * 512),
        read_only: flag(sysfs.join("ro")),
        logical_sector_bytes: number_if_any(queue.join("logical_block_size")),
        physical_sector_bytes: number_if_any(queue.join("physical_block_size")),
        rotational: flag(queue.join("rotational")),
        write_cache: text_if_any(queue.join("write_cache")).and_then(|text| write_cache(&text)),
        fua: flag(queue.join("fua")),
        read_ahead_bytes: number_if_any::<u64>(queue.join("read_ahead_kb")).map(|kib| kib * 1024),
        scheduler: text_if_any(queue.join("scheduler")).map(|text| chosen_word(&text).to_owned()),
        discard_bytes_max: number_if_any(queue.join("discard_max_bytes")),
        queue_requests: number_if_any(queue.join("nr_requests")),
        writeback_target_us: number_if_any(queue.join("wbt_lat_usec")),
        disk_sequence: number_if_any(disk.join("diskseq")),
        wwn: wwn(disk, number),
        serial: serial(disk, number),
        model: text_if_any(disk.join("device/model"))
            .or_else(|| text_if_any(disk.join("device/name"))),
        holders: names_in(&sysfs.join("holders")),
        slaves: names_in(&sysfs.join("slaves")),
        partitions: partitions(sysfs),
        dm_uuid: text_if_any(disk.join("dm/uuid")),
        md_level: text_if_any(disk.join("md/level")),
        loop_backing_file: text_if_any(disk.join("loop/backing_file")).map(PathBuf::from),
        link: link(disk),
    }
}

fn last_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn write_cache(text: &str) -> Option<WriteCache> {
    match text {
        "write back" => Some(WriteCache::WriteBack),
        "write through" => Some(WriteCache::WriteThrough),
        _ => None,
    }
}

fn partitions(disk: &Path) -> Vec<String> {
    let is_partition = |name: &String| disk.join(name).join("partition").exists();
    names_in(disk).into_iter().filter(is_partition).collect()
}

/// `pci0000:00/0000:00:04.0/nvme/nvme0`
fn link(disk: &Path) -> Option<String> {
    let way = disk.strip_prefix("/sys/devices").ok()?.to_string_lossy().into_owned();
    let end = way.find("/block/")?;
    Some(way[..end].to_owned())
}

/// NVMe says it itself, SCSI by its device, ATA by udev.
fn wwn(disk: &Path, number: (u32, u32)) -> Option<String> {
    text_if_any(disk.join("wwid"))
        .or_else(|| text_if_any(disk.join("device/wwid")))
        .or_else(|| udev_property(number, "ID_WWN_WITH_EXTENSION"))
        .or_else(|| udev_property(number, "ID_WWN"))
}

/// virtio and NVMe say it themselves, SCSI in page 0x80 of its product data, ATA by udev.
fn serial(disk: &Path, number: (u32, u32)) -> Option<String> {
    text_if_any(disk.join("serial"))
        .or_else(|| text_if_any(disk.join("device/serial")))
        .or_else(|| unit_serial(&fs::read(disk.join("device/vpd_pg80")).ok()?))
        .or_else(|| udev_property(number, "ID_SERIAL_SHORT"))
}

/// Product data page 0x80: four bytes of head, the fourth being the length, then the text.
fn unit_serial(page: &[u8]) -> Option<String> {
    let length = usize::from(*page.get(3)?);
    let text = String::from_utf8_lossy(page.get(4..)?.get(..length)?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn udev_property((major, minor): (u32, u32), name: &str) -> Option<String> {
    let text = text_if_any(format!("/run/udev/data/b{major}:{minor}"))?;
    let wanted = |line: &str| {
        Some(line.strip_prefix("E:")?.strip_prefix(name)?.strip_prefix('=')?.to_owned())
    };
    text.lines().find_map(wanted)
}

/// The seventeen numbers of `stat`; older kernels have eleven or fifteen.
fn parse_statistics(text: &str) -> Option<BlockStatistics> {
    let numbers: Vec<u64> =
        text.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    if numbers.len() < 11 {
        return None;
    }
    let at = |index: usize| numbers.get(index).copied().unwrap_or(0);
    let bytes = |index: usize| at(index).saturating_mul(512);
    Some(BlockStatistics {
        read_bytes: bytes(2),
        written_bytes: bytes(6),
        in_flight_count: at(8),
        flush_count: at(15),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folder_with(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn facts_of_a_partition_mix_its_own_and_those_of_its_disk() {
        let folder = folder_with(&[
            ("sda/queue/rotational", "1\n"),
            ("sda/queue/write_cache", "write back\n"),
            ("sda/queue/scheduler", "none [mq-deadline] kyber\n"),
            ("sda/queue/read_ahead_kb", "128\n"),
            ("sda/device/model", "SLOW DISK   \n"),
            ("sda/diskseq", "9\n"),
            ("sda/sda1/partition", "1\n"),
            ("sda/sda1/size", "2048\n"),
            ("sda/sda1/holders/dm-0/x", ""),
        ]);
        let disk = folder.path().join("sda");
        let facts = facts_in(&disk.join("sda1"), &disk, (8, 1));
        assert_eq!((facts.name.as_str(), facts.partition_of.as_deref()), ("sda1", Some("sda")));
        assert_eq!((facts.size_bytes, facts.disk_sequence), (Some(1 << 20), Some(9)));
        assert_eq!(facts.rotational, Some(true));
        assert_eq!(facts.write_cache, Some(WriteCache::WriteBack));
        assert_eq!(facts.scheduler.as_deref(), Some("mq-deadline"));
        assert_eq!(facts.read_ahead_bytes, Some(131_072));
        assert_eq!(facts.model.as_deref(), Some("SLOW DISK"));
        assert_eq!(facts.holders, ["dm-0"]);
        assert_eq!(facts.fua, None);
        assert_eq!(partitions(&disk), ["sda1"]);
    }

    #[test]
    fn statistics_of_new_and_old_kernels_are_read() {
        let new = "91192 13994 8850315 59839 33723 23066 10105459 41580 2 21632 103041 \
                   10102 50 7775168 1443 4311 178";
        let s = parse_statistics(new).unwrap();
        assert_eq!((s.read_bytes, s.written_bytes), (8_850_315 * 512, 10_105_459 * 512));
        assert_eq!((s.flush_count, s.in_flight_count), (4311, 2));
        let old = parse_statistics("1 2 3 4 5 6 7 8 9 10 11").unwrap();
        assert_eq!((old.flush_count, old.in_flight_count), (0, 9));
        assert_eq!(parse_statistics("1 2 3"), None);
    }

    #[test]
    fn a_serial_page_that_lies_about_its_length_is_no_serial() {
        assert_eq!(unit_serial(b"\0\x80\0\x04AB12").as_deref(), Some("AB12"));
        assert_eq!(unit_serial(b"\0\x80\0\xffAB12"), None);
        assert_eq!(unit_serial(b"\0\x80\0\x02  "), None);
    }

    #[test]
    fn a_file_is_not_a_block_device() {
        let text = BlockDevice::at(Path::new("/dev/null")).unwrap_err().to_string();
        assert_eq!(text, "/dev/null is not a block device; for a directory use --dir");
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text: String, bytes: Vec<u8>) {
            let _ = (parse_statistics(&text), unit_serial(&bytes));
        }
    }
}
