//! One row of the table of file systems. The steps are data, and `carry_out` does them.

use std::path::Path;

use pickfs_record::features::Origin;
use pickfs_record::{CandidateSpec, Durability, Step};
use pickfs_sys::block::BlockDevice;

use super::{recipe, words::Words};

pub const SMALL_BYTES: u64 = 16 << 20;

pub trait FileSystem: Sync {
    /// In candidates, in lower case.
    fn name(&self) -> &'static str;

    fn origin(&self) -> &'static str;

    fn facts(&self) -> Origin;

    fn needs(&self) -> Needs;

    fn words(&self) -> Words {
        Words::default()
    }

    /// Empty for those that live in memory.
    fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step>;

    fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        let fs_type = self.needs().kernel_types.first().copied().unwrap_or(self.name());
        recipe::mount_device(fs_type, spec.mount_options.clone(), place)
    }

    /// And end what `mount` and `make` began.
    fn unmount(&self, _spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        vec![recipe::unmount(&place.at)]
    }

    /// The steps that empty the caches that the kernel's own switch does not reach, on a mounted file
    /// system of which nothing is open.
    fn cool(&self, _spec: &CandidateSpec, _place: &Place) -> Vec<Step> {
        Vec::new()
    }

    /// Whether its log (journal) goes to the log device of a run: `None` for a file system that cannot put
    /// it on another device, false where the candidate's own options keep it inside.
    fn log_apart(&self, _spec: &CandidateSpec) -> Option<bool> {
        None
    }

    /// Whether it holds on to metadata that neither a sync nor dropped caches free, so that only a fresh
    /// mount is cold: the buffers of a transaction stay until jbd2's checkpoint, and are clean by then.
    fn holds_metadata(&self) -> bool {
        false
    }

    /// The type that a guest mounts, where that is another driver than this machine's: one that was rebuilt.
    fn type_in_a_guest(&self) -> Option<&'static str> {
        None
    }

    fn types_in_a_guest(&self) -> Vec<&'static str> {
        match self.type_in_a_guest() {
            Some(fs_type) => vec![fs_type],
            None => self.needs().kernel_types.to_vec(),
        }
    }

    /// Whether a guest makes it itself, by a tool that need not be on this machine.
    fn is_made_inside(&self) -> bool {
        false
    }

    /// On a partition.
    fn made_inside(&self, _spec: &CandidateSpec, _place: &Place) -> Option<MadeInside> {
        None
    }

    /// What it is known not to do; all else must be asked of the mounted file system.
    fn lacks(&self) -> &'static [Lack] {
        &[]
    }

    /// Where it is under 255.
    fn name_bytes_max(&self) -> Option<u16> {
        None
    }

    /// Work that it does by the clock, with these mount options.
    fn periods(&self, _options: &[String]) -> Vec<Period> {
        Vec::new()
    }

    /// The most that one fsync can promise with these mount options, and why.
    fn durability(&self, _options: &[String]) -> (Durability, &'static str) {
        (Durability::PowerLoss, "fsync ends with a flush of the device")
    }

    /// Serves a mount of type `fs_type` on `device` (`loop0`).
    fn driver(&self, fs_type: &str, _device: &str) -> String {
        fs_type.to_owned()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct MadeInside {
    pub make: Vec<Step>,
    pub mount: Vec<Step>,
    pub unmount: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Unused on memory.
    pub device: String,
    pub at: String,
    /// Where it is less than the device; `None` takes the whole device.
    pub make_bytes: Option<u64>,
    /// Limit of a file system that lives in memory.
    pub memory_bytes: u64,
    pub sector_bytes: u32,
    pub unique_name: String,
    pub log: Option<LogPlace>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlace {
    pub device: String,
    /// From its start, whole mebibytes.
    pub bytes: u64,
    pub sector_bytes: u32,
}

impl LogPlace {
    /// The least that every file system takes: mkfs.xfs makes no smaller log.
    pub const BYTES_MIN: u64 = 64 << 20;
    /// The most that is used: mkfs writes all of it, in each trial.
    const BYTES_MAX: u64 = 1 << 30;

    /// As much of a device as is used; the most of one that is not there yet.
    pub fn on(device: &Path) -> Self {
        let facts = BlockDevice::at(device).map(|device| device.facts()).unwrap_or_default();
        let bytes = facts.size_bytes.unwrap_or(u64::MAX).min(Self::BYTES_MAX) >> 20 << 20;
        let sector_bytes = facts.logical_sector_bytes.unwrap_or(512);
        Self { device: device.to_string_lossy().into_owned(), bytes, sector_bytes }
    }
}

impl Place {
    /// A place for documentation and for plans that are printed before a device exists.
    pub fn example() -> Self {
        Self {
            device: "/dev/loopN".into(),
            at: "MOUNT".into(),
            make_bytes: None,
            memory_bytes: 1 << 30,
            sector_bytes: 512,
            unique_name: "pickfs-NAME".into(),
            log: None,
        }
    }

    /// In units of `unit_bytes`, where it is less than the device.
    pub fn make_units(&self, unit_bytes: u64) -> Option<String> {
        self.make_bytes.map(|bytes| (bytes / unit_bytes).to_string())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    BlockDevice,
    Memory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Formatter {
    None,
    Packaged(Program),
    Own,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Program {
    /// Looked for in PATH and in the `sbin` folders.
    pub name: &'static str,
    /// With its section where that is not `main`.
    pub package: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Types in /proc/filesystems: the first is mounted, all must be known.
    pub kernel_types: &'static [&'static str],
    /// What helps when a type is not known: a module and where it comes from.
    pub kernel_remedy: &'static str,
    pub formatter: Formatter,
    pub helpers: &'static [Program],
    pub minimum_bytes: u64,
    pub ground: Ground,
    /// The formatter can be told a size under that of the device.
    pub sized: bool,
}

impl Needs {
    pub const fn block(
        kernel_types: &'static [&'static str],
        kernel_remedy: &'static str,
        mkfs: &'static str,
        package: &'static str,
    ) -> Self {
        Self {
            kernel_types,
            kernel_remedy,
            formatter: Formatter::Packaged(Program { name: mkfs, package }),
            helpers: &[],
            minimum_bytes: SMALL_BYTES,
            ground: Ground::BlockDevice,
            sized: true,
        }
    }

    pub const fn at_least(mut self, minimum_bytes: u64) -> Self {
        self.minimum_bytes = minimum_bytes;
        self
    }

    pub const fn whole_device(mut self) -> Self {
        self.sized = false;
        self
    }

    pub const fn with_helpers(mut self, helpers: &'static [Program]) -> Self {
        self.helpers = helpers;
        self
    }

    /// The program and its package do not matter then.
    pub const fn own_formatter(mut self) -> Self {
        self.formatter = Formatter::Own;
        self
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lack {
    /// fallocate(2) without flags.
    Fallocate,
    /// fallocate(2) with FALLOC_FL_PUNCH_HOLE.
    PunchHole,
    /// ftruncate(2) to a larger size.
    GrowByTruncate,
    DirectIo,
    HardLinks,
    SymbolicLinks,
    /// Permissions that stay as they were set.
    Permissions,
    /// Extended attributes in the `user.` name space.
    UserAttributes,
    /// fsync(2) on a directory.
    FolderSync,
    /// Two names that differ only in case.
    CaseSensitivity,
}

/// Work that is done by the clock: a trial shorter than twice this has not seen it.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// `ext4 commit`
    pub what: String,
    pub seconds: f64,
}

impl Period {
    pub fn new(what: &str, seconds: f64) -> Self {
        Self { what: what.into(), seconds }
    }

    /// A commit period from `key=SECONDS`; 0 or no number means the driver's own.
    pub fn from_option(what: &str, options: &[String], key: &str, default_s: f64) -> Self {
        let given = recipe::option_value(options, key).and_then(|text| text.parse().ok());
        Self::new(what, given.filter(|&seconds: &f64| seconds > 0.0).unwrap_or(default_s))
    }

    /// A period that the kernel holds in a file as a number of `unit_s`; the default when the
    /// file is not there.
    pub fn from_kernel(what: &str, path: &str, unit_s: f64, default_s: f64) -> Self {
        let text = std::fs::read_to_string(Path::new(path)).ok();
        let number = text.and_then(|text| text.trim().parse::<f64>().ok());
        Self::new(what, number.map_or(default_s, |number| number * unit_s))
    }
}
