//! One row of the table of file systems. The steps are data, and `carry_out` does them.

use std::path::Path;

use pickfs_record::origin::Origin;
use pickfs_record::{CandidateSpec, Durability, Step};
use pickfs_sys::block::BlockDevice;

use super::{facts, limits::Limits, recipe, words::Words};

/// Every constant begins with [`FileSystem::BLOCK`], [`FileSystem::FUSE`] or [`FileSystem::MEMORY`].
#[derive(Debug, Clone, Copy)]
pub struct FileSystem {
    /// In candidates, in lower case.
    pub name: &'static str,
    /// One sentence.
    pub origin: &'static str,
    /// In /proc/filesystems; it is what is mounted.
    pub kernel_type: &'static str,
    /// What helps when the type is not known: a module and where it comes from. Empty for a module of
    /// Debian's stock kernel.
    pub kernel_remedy: &'static str,
    pub formatter: Formatter,
    pub helpers: &'static [Program],
    pub minimum_bytes: u64,
    pub ground: Ground,
    pub words: Words,
    pub make: Make,
    pub mount: StepsOf,
    /// And end what `mount` and `make` began.
    pub unmount: StepsOf,
    /// Empties the caches that the kernel's own switch does not reach, on a mounted file system of which
    /// nothing is open.
    pub cool: Option<StepsOf>,
    /// Whether its log (journal) goes to the log device of a run: `None` for a file system that cannot put
    /// it on another device, false where the candidate's own options keep it inside.
    pub log_apart: Option<fn(&CandidateSpec) -> bool>,
    /// Whether it holds on to metadata that neither a sync nor dropped caches free, so that only a fresh
    /// mount is cold: the buffers of a transaction stay until jbd2's checkpoint, and are clean by then.
    pub holds_metadata: bool,
    /// What it is known not to do, for a reader; the program asks the mounted file system.
    pub lacks: &'static str,
    pub limits: Limits,
    /// Work that it does by the clock.
    pub timers: &'static [Timer],
    /// The most that one fsync can promise, and why.
    pub fsync: (Durability, &'static str),
    /// Mount options by which fsync flushes no device.
    pub no_barrier: &'static [&'static str],
    /// What serves a mount, where it is not named as the type is.
    pub driver: &'static str,
    /// Another driver, which serves the type where it has a folder in /sys/fs for the device.
    pub other_driver: &'static str,
    pub guest: Guest,
    /// What a file of it, as it holds the image of a run, is like.
    pub as_host: HostKind,
    /// The command that prints a histogram of its free extents; SOURCE and MOUNT are replaced.
    pub free_extents: &'static str,
    /// The command that finds damage of an unmounted one and writes nothing; empty where there is none. SOURCE is replaced.
    pub checker: &'static str,
    /// The command that replays the journal of an unmounted one, where the driver does not.
    pub replayer: &'static str,
    /// Mount options for an image of anybody, perhaps a copy of one that is mounted.
    pub of_copy: &'static [&'static str],
}

pub type StepsOf = fn(&FileSystem, &CandidateSpec, &Place) -> Vec<Step>;

#[derive(Debug, Clone, Copy)]
pub enum Make {
    /// It lives in memory.
    Nothing,
    /// Its formatter with these words, those that keep it from discarding, the candidate's, the device and the size.
    Tool { ours: &'static [&'static str], no_discard: &'static [&'static str], size: Size },
    /// `pickfs-mkfs`; false where it needs the whole device.
    Own { is_sized: bool },
    /// False where it needs the whole device.
    Steps { steps: StepsOf, is_sized: bool },
}

/// How a formatter is told a size under that of the device.
#[derive(Debug, Clone, Copy)]
pub enum Size {
    Whole,
    /// Behind the device, in units of so many bytes.
    Units(u64),
    /// Behind the device.
    Sectors,
    /// Before the device, with the bytes in place of {}.
    Words(&'static str),
}

/// How a guest has it.
#[derive(Debug, Clone, Copy)]
pub struct Guest {
    pub support: Support,
    /// The type that it mounts there, where that is another driver than this machine's: one that was rebuilt.
    pub fs_type: Option<&'static str>,
    /// Modules of which one must be there; empty for that of the type.
    pub modules: &'static [&'static str],
    /// Loaded before them, where they are there and the modules do not name them.
    pub modules_before: &'static [&'static str],
    /// It makes it itself, by a tool that need not be on this machine; on a partition.
    pub made_inside: Option<fn(&CandidateSpec, &Place) -> MadeInside>,
    /// It keeps a cache of its own beside the kernel's.
    pub has_own_cache: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    None,
    /// Debian's stock kernel mounts it writable, by modules of its package or built in.
    Stock,
    /// With a module that can be built.
    Rebuilt,
    /// The program behind it is for the host.
    HostProgram,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MadeInside {
    pub make: Vec<Step>,
    pub mount: Vec<Step>,
    pub unmount: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostKind {
    InPlace,
    /// Copies on write unless a file is told not to.
    CopyOnWrite,
    CopyOnWriteAlways,
    Memory,
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

pub(super) const fn packaged(name: &'static str, package: &'static str) -> Formatter {
    Formatter::Packaged(Program { name, package })
}

impl FileSystem {
    /// Made on a block device, mounted by a driver of the kernel.
    pub const BLOCK: FileSystem = FileSystem {
        name: "",
        origin: "",
        kernel_type: "",
        kernel_remedy: "",
        formatter: Formatter::Own,
        helpers: &[],
        minimum_bytes: 16 << 20,
        ground: Ground::BlockDevice,
        words: Words { alone: "", valued: "", text: "", outside: "" },
        make: Make::Own { is_sized: true },
        mount: |row, spec, place| {
            recipe::mount_device(row.kernel_type, spec.mount_options.clone(), place)
        },
        unmount: |_, _, place| vec![recipe::unmount(&place.at)],
        cool: None,
        log_apart: None,
        holds_metadata: false,
        lacks: "",
        limits: Limits::NONE,
        timers: &[],
        fsync: (Durability::PowerLoss, "fsync ends with a flush of the device"),
        no_barrier: &[],
        driver: "",
        other_driver: "",
        guest: Guest {
            support: Support::Stock,
            fs_type: None,
            modules: &[],
            modules_before: &[],
            made_inside: None,
            has_own_cache: false,
        },
        as_host: HostKind::InPlace,
        free_extents: "",
        checker: "",
        replayer: "",
        of_copy: &[],
    };

    /// Of a driver that was seen to send no flush under Linux 6.1 (`pickfs features`).
    pub const UNFLUSHED: (Durability, &'static str) =
        (Durability::KernelCrash, "fsync writes to the device, and asks for no flush of its cache");

    /// Served by a program, which opens the device itself.
    pub const FUSE: FileSystem = FileSystem {
        kernel_type: "fuseblk",
        kernel_remedy: "the kernel module fuse is in every Debian kernel; load it with modprobe fuse",
        guest: Guest {
            support: Support::HostProgram,
            modules: &["fuse"],
            ..FileSystem::BLOCK.guest
        },
        ..FileSystem::BLOCK
    };

    pub const MEMORY: FileSystem = FileSystem {
        formatter: Formatter::None,
        minimum_bytes: 1 << 20,
        ground: Ground::Memory,
        make: Make::Nothing,
        fsync: (Durability::ProcessCrash, "files live in memory: fsync reaches no device"),
        as_host: HostKind::Memory,
        ..FileSystem::BLOCK
    };

    pub fn facts(&self) -> Option<Origin> {
        facts::of(self.name)
    }

    pub fn kernel_remedy(&self) -> String {
        match (self.kernel_remedy, self.kernel_type) {
            ("", name) => format!(
                "the kernel module {name} is in Debian's stock kernel; load it with modprobe {name}"
            ),
            (remedy, _) => remedy.into(),
        }
    }

    /// Whether it can be told a size under that of the device.
    pub fn is_sized(&self) -> bool {
        match self.make {
            Make::Nothing => true,
            Make::Tool { size, .. } => !matches!(size, Size::Whole),
            Make::Own { is_sized } | Make::Steps { is_sized, .. } => is_sized,
        }
    }

    /// Whether a program serves it through FUSE.
    pub fn is_program(&self) -> bool {
        self.kernel_type.starts_with("fuse")
    }

    /// Empty for those that live in memory.
    pub fn make(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        match (self.make, self.formatter) {
            (Make::Steps { steps, .. }, _) => steps(self, spec, place),
            (Make::Own { is_sized }, _) => recipe::own_format(self.name, spec, place, is_sized),
            (Make::Tool { ours, no_discard, size }, Formatter::Packaged(program)) => {
                let args = recipe::make_args(ours, no_discard, spec);
                vec![recipe::exec("make", program.name, recipe::with_device(args, size, place))]
            }
            (Make::Nothing | Make::Tool { .. }, _) => Vec::new(),
        }
    }

    pub fn mount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        (self.mount)(self, spec, place)
    }

    pub fn unmount(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        (self.unmount)(self, spec, place)
    }

    pub fn cool(&self, spec: &CandidateSpec, place: &Place) -> Vec<Step> {
        self.cool.map_or_else(Vec::new, |cool| cool(self, spec, place))
    }

    pub fn log_apart(&self, spec: &CandidateSpec) -> Option<bool> {
        self.log_apart.map(|is_apart| is_apart(spec))
    }

    pub fn type_in_a_guest(&self) -> &'static str {
        self.guest.fs_type.unwrap_or(self.kernel_type)
    }

    /// Modules of which a guest needs one.
    pub fn guest_modules(&self) -> Vec<&'static str> {
        match (self.ground, self.guest.modules) {
            (Ground::Memory, _) => Vec::new(),
            (Ground::BlockDevice, []) => vec![self.type_in_a_guest()],
            (Ground::BlockDevice, modules) => modules.to_vec(),
        }
    }

    pub fn is_made_inside(&self) -> bool {
        self.guest.made_inside.is_some()
    }

    pub fn periods(&self, options: &[String]) -> Vec<Period> {
        self.timers.iter().map(|timer| timer.period(options)).collect()
    }

    pub fn durability(&self, options: &[String]) -> (Durability, &'static str) {
        let is_set = |option: &&str| match option.split_once('=') {
            Some((key, value)) => recipe::option_value(options, key) == Some(value),
            None => recipe::has_option(options, option),
        };
        if self.no_barrier.iter().any(is_set) {
            return (
                Durability::KernelCrash,
                "barriers are off: fsync does not flush the device's cache",
            );
        }
        self.fsync
    }

    /// Serves a mount of type `fs_type` on `device` (`loop0`).
    pub fn driver(&self, fs_type: &str, device: &str) -> String {
        let folder = Path::new("/sys/fs").join(self.other_driver).join(device);
        match (self.driver, self.other_driver) {
            ("", "") => fs_type.into(),
            ("", other) if folder.exists() => other.into(),
            ("", _) => fs_type.into(),
            (program, _) => program.into(),
        }
    }
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

/// Work that is done by the clock: a trial shorter than twice this has not seen it.
#[derive(Debug, Clone, PartialEq)]
pub struct Period {
    /// `ext4 commit`
    pub what: String,
    pub seconds: f64,
}

/// Where a period is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timer {
    pub what: &'static str,
    pub default_s: f64,
    /// The mount option with the period; 0 or no number means the driver's own.
    pub option: &'static str,
    /// The kernel's file with the period; the default when it is not there.
    pub kernel: &'static str,
    /// Of both.
    pub unit_s: f64,
}

impl Timer {
    pub const fn new(what: &'static str, default_s: f64) -> Timer {
        Timer { what, default_s, option: "", kernel: "", unit_s: 1.0 }
    }

    pub fn period(&self, options: &[String]) -> Period {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let given = recipe::option_value(options, self.option).and_then(number);
        let held = || number(&std::fs::read_to_string(self.kernel).ok()?);
        let told = given.filter(|&number| number > 0.0).or_else(held);
        let seconds = told.map_or(self.default_s, |told| told * self.unit_s);
        Period { what: self.what.into(), seconds }
    }
}

/// Work by the clock of a file system and of the page cache over it; a directory's is not known by its row.
pub fn periods(row: Option<&FileSystem>, options: &[String]) -> Vec<Period> {
    if row.is_some_and(|row| row.ground == Ground::Memory) {
        return Vec::new();
    }
    let kernel = "/proc/sys/vm/dirty_expire_centisecs";
    let expiry = Timer { kernel, unit_s: 0.01, ..Timer::new("dirty pages expire", 30.0) };
    let mut periods = row.map(|row| row.periods(options)).unwrap_or_default();
    periods.push(expiry.period(&[]));
    periods
}
