//! Settings of the machine and of the device that a plan may vary like any parameter. What was
//! there before is written down first, and put back after the trial; after a kill, by the next
//! start of pickfs or by `pickfs doctor --clean`.
//! A knob's name has a dot, a workload's parameter has none, so one plan holds both.
//! Source: Documentation/block/queue-sysfs.rst, Documentation/admin-guide/sysctl/vm.rst,
//! Documentation/ABI/testing/sysfs-class-bdi.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use pickfs_record::typed::program;
use pickfs_sys::{
    block::BlockDevice,
    mount::mount_of,
    refused::Refused,
    tunables::{Tunable, chosen_word},
};
use thiserror::Error;

use crate::undo::{Note, Undo, UndoError, UndoLog};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The device under the candidate, or its mount.
    Scratch,
    /// Every program of the machine: needs consent.
    Machine,
    /// The worker turns it.
    Worker,
    /// Chosen before the trial begins, not turned.
    Kernel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Values {
    /// Bounds, both included.
    Number(u64, u64),
    /// None given: whatever the kernel offers.
    Words(&'static [&'static str]),
    /// A version of a kernel or its package, or the first numbers of one.
    Version,
}

#[derive(Debug, Clone, Copy)]
pub struct Knob {
    pub name: &'static str,
    pub doc: &'static str,
    pub reach: Reach,
    pub values: Values,
}

const PERCENT: Values = Values::Number(0, 100);
const BYTES: Values = Values::Number(8192, 1 << 50);
const HUNDREDTHS: Values = Values::Number(0, 360_000);

pub static KNOBS: &[Knob] = &[
    scratch("device.scheduler", "I/O scheduler of the device's queue", Values::Words(&[])),
    scratch(
        "device.nr_requests",
        "requests that the device's queue holds",
        Values::Number(4, 65_536),
    ),
    scratch(
        "fs.read_ahead_kb",
        "how far the kernel reads ahead on the mount, in KiB",
        Values::Number(0, 1 << 20),
    ),
    machine("vm.dirty_ratio", "percent of memory that may be dirty before writers wait", PERCENT),
    machine("vm.dirty_background_ratio", "percent of memory from which write-back begins", PERCENT),
    machine("vm.dirty_bytes", "bytes that may be dirty before writers wait", BYTES),
    machine("vm.dirty_background_bytes", "bytes from which write-back begins", BYTES),
    machine("vm.dirty_expire_centisecs", "age at which dirty data is old, in 10 ms", HUNDREDTHS),
    machine("vm.dirty_writeback_centisecs", "how often write-back looks, in 10 ms", HUNDREDTHS),
    machine("vm.swappiness", "how willingly memory of programs is swapped", Values::Number(0, 200)),
    machine(
        "mm.transparent_hugepage",
        "huge pages for memory of programs",
        Values::Words(&["always", "madvise", "never"]),
    ),
    Knob {
        name: IO_PRIORITY,
        doc: "I/O priority of the measuring processes, for schedulers that look at it",
        reach: Reach::Worker,
        values: Values::Words(&["unset", "realtime", "best-effort", "idle"]),
    },
    Knob {
        name: ENGINE,
        doc: "what runs the kernel: this machine (native), a guest (qemu), or the first that can (auto)",
        reach: Reach::Kernel,
        values: Values::Words(&["native", "auto", "qemu", "qemu-kvm", "qemu-tcg"]),
    },
    Knob {
        name: KERNEL,
        doc: "kernel of the guest: a series, or the version of a Debian package",
        reach: Reach::Kernel,
        values: Values::Version,
    },
    Knob {
        name: MEMORY,
        doc: "memory of the guest in MiB, beside what a file system in memory may hold (else 512, OpenZFS 1024)",
        reach: Reach::Kernel,
        values: Values::Number(256, 1 << 20),
    },
];

pub const IO_PRIORITY: &str = "worker.io_priority";

pub const ENGINE: &str = "guest.engine";

pub const KERNEL: &str = "guest.kernel";

pub const MEMORY: &str = "guest.memory_mib";

/// Of guests, and of nothing else.
pub const OF_GUESTS: [&str; 3] = [ENGINE, KERNEL, MEMORY];

const fn scratch(name: &'static str, doc: &'static str, values: Values) -> Knob {
    Knob { name, doc, reach: Reach::Scratch, values }
}

const fn machine(name: &'static str, doc: &'static str, values: Values) -> Knob {
    Knob { name, doc, reach: Reach::Machine, values }
}

#[derive(Debug, Error)]
pub enum KnobError {
    #[error("knob `{name}` not known; known are {known}")]
    Unknown { name: String, known: String },
    #[error("knob {name} = {value}: {wanted}")]
    Value { name: &'static str, value: String, wanted: String },
    #[error("{name} has no place here: {why}")]
    NoPlace { name: String, why: String },
    #[error(transparent)]
    System(#[from] Refused),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("{first}; and then: {then}")]
    Stuck { first: Box<KnobError>, then: String },
}

pub fn is_knob(name: &str) -> bool {
    name.contains('.')
}

pub fn find(name: &str) -> Result<&'static Knob, KnobError> {
    KNOBS.iter().find(|knob| knob.name == name).ok_or_else(|| KnobError::Unknown {
        name: name.into(),
        known: KNOBS.iter().map(|knob| knob.name).collect::<Vec<_>>().join(", "),
    })
}

impl Knob {
    pub fn check(&self, value: &str) -> Result<(), KnobError> {
        let (good, wanted) = match self.values {
            Values::Number(low, high) => (
                value.parse::<u64>().is_ok_and(|number| (low..=high).contains(&number)),
                format!("a whole number from {low} to {high}"),
            ),
            Values::Words(_) if self.name == ENGINE && value == "uml" => {
                (false, "user-mode Linux was retired; use --engine qemu".into())
            }
            Values::Words([]) => (!value.is_empty(), "a word that the kernel offers".into()),
            Values::Words(words) => {
                (words.contains(&value), format!("one of {}", words.join(", ")))
            }
            Values::Version => {
                let good = |c: char| c.is_ascii_alphanumeric() || "+-.~:".contains(c);
                let begins = value.starts_with(|first: char| first.is_ascii_digit());
                (
                    begins && value.chars().all(good),
                    "a series as 6.1, or a package's version".into(),
                )
            }
        };
        match good {
            true => Ok(()),
            false => Err(KnobError::Value { name: self.name, value: value.into(), wanted }),
        }
    }

    pub fn values_text(&self) -> String {
        match self.values {
            Values::Number(low, high) => format!("{low} to {high}"),
            Values::Words([]) => "what the kernel offers".into(),
            Values::Words(words) => words.join(", "),
            Values::Version => "a series as 6.1, or a package's version".into(),
        }
    }

    fn place(&self, mounted_at: &Path) -> Result<PathBuf, KnobError> {
        match self.name {
            "device.scheduler" => queue_file(self.name, mounted_at, "scheduler"),
            "device.nr_requests" => queue_file(self.name, mounted_at, "nr_requests"),
            "fs.read_ahead_kb" => read_ahead_file(self.name, mounted_at),
            "mm.transparent_hugepage" => Ok("/sys/kernel/mm/transparent_hugepage/enabled".into()),
            name => Ok(Tunable::sysctl(name).path().to_owned()),
        }
    }
}

fn no_place(name: &str, why: impl ToString) -> KnobError {
    KnobError::NoPlace { name: name.into(), why: why.to_string() }
}

fn device_of(name: &str, mounted_at: &Path) -> Result<BlockDevice, KnobError> {
    let entry = mount_of(mounted_at).map_err(|error| no_place(name, error))?;
    BlockDevice::at(&entry.source)
        .map_err(|_| no_place(name, format!("{} stands on no block device", entry.fs_type)))
}

fn queue_file(name: &str, mounted_at: &Path, file: &str) -> Result<PathBuf, KnobError> {
    Ok(device_of(name, mounted_at)?.disk_sysfs().join("queue").join(file))
}

/// Read-ahead belongs to the mount: that of its device, or of the file system where it has one of
/// its own (btrfs, FUSE).
fn read_ahead_file(name: &str, mounted_at: &Path) -> Result<PathBuf, KnobError> {
    let facts = fs::metadata(mounted_at).map_err(|error| no_place(name, error))?;
    let number = format!("{}:{}", rustix::fs::major(facts.dev()), rustix::fs::minor(facts.dev()));
    let own = [format!("{number}-fuseblk"), format!("{number}-fuse"), number]
        .map(|folder| Path::new("/sys/class/bdi").join(folder).join("read_ahead_kb"));
    if let Some(found) = own.into_iter().find(|path| path.exists()) {
        return Ok(found);
    }
    let device = device_of(name, mounted_at)?;
    let disk = device.sysfs().file_name().unwrap_or_default().to_owned();
    let systems = fs::read_dir("/sys/fs/btrfs").into_iter().flatten().flatten();
    let found = systems
        .map(|entry| entry.path())
        .find(|path| path.join("devices").join(&disk).exists())
        .map(|path| path.join("bdi/read_ahead_kb"));
    found.ok_or_else(|| no_place(name, "the kernel shows no read-ahead for it"))
}

/// Dropping it puts them back too; what fails then is said on standard error, as nobody is there
/// to hear it.
#[derive(Debug, Default)]
pub struct Turned {
    undone: Vec<(Undo, Note)>,
    pub values: BTreeMap<String, String>,
}

/// Every knob that is not the worker's. A knob that fails puts the others back.
/// All are noted before the first one is turned, as one may change another: a new scheduler resets
/// the length of its queue, so it is turned first.
pub fn turn(knobs: &BTreeMap<String, String>, mounted_at: &Path) -> Result<Turned, KnobError> {
    let mut turned = Turned::default();
    match turned.turn_all(knobs, mounted_at) {
        Ok(()) => Ok(turned),
        Err(error) => Err(turned.given_up(error)),
    }
}

const SCHEDULER: &str = "device.scheduler";

fn in_order(knobs: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    let (first, rest): (Vec<_>, Vec<_>) = knobs.iter().partition(|(name, _)| *name == SCHEDULER);
    first.into_iter().chain(rest)
}

/// Setting one of a pair (bytes, percent) sets the other to zero, and zero cannot be written back:
/// the one in force is what is put back.
fn undo_of(path: &Path) -> Result<Undo, KnobError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let twin = match name.strip_suffix("_bytes") {
        Some(stem) => Some(format!("{stem}_ratio")),
        None => name.strip_suffix("_ratio").map(|stem| format!("{stem}_bytes")),
    };
    let twin = twin.map(|twin| path.with_file_name(twin)).filter(|twin| twin.exists());
    let in_force = match (twin, Tunable::at(path).read()?.as_str()) {
        (Some(twin), "0") => twin,
        _ => path.to_owned(),
    };
    match Undo::tunable(&in_force)? {
        Undo::Tunable { path, before } => {
            Ok(Undo::Tunable { path, before: chosen_word(&before).to_owned() })
        }
        other => Ok(other),
    }
}

impl Turned {
    fn turn_all(
        &mut self,
        knobs: &BTreeMap<String, String>,
        mounted_at: &Path,
    ) -> Result<(), KnobError> {
        let mut tunables = Vec::new();
        for (name, value) in in_order(knobs) {
            let knob = find(name)?;
            knob.check(value)?;
            if !matches!(knob.reach, Reach::Worker | Reach::Kernel) {
                let tunable = Tunable::at(knob.place(mounted_at)?);
                self.note(name, tunable.path())?;
                tunables.push((name, value, tunable));
            }
        }
        for (name, value, tunable) in &tunables {
            tunable.write(value)?;
            self.values.insert((*name).clone(), chosen_word(&tunable.read()?).to_owned());
        }
        for (name, _, tunable) in &tunables {
            let now = tunable.read()?;
            let (turned, now) = (&self.values[*name], chosen_word(&now));
            if turned != now {
                let why = format!("it was turned to {turned}, and another knob made it {now}");
                return Err(no_place(name, why));
            }
        }
        Ok(())
    }

    fn note(&mut self, name: &str, path: &Path) -> Result<(), KnobError> {
        let reset = path.with_file_name("nr_requests");
        let reset = (name == SCHEDULER && reset.exists()).then_some(reset);
        for path in std::iter::once(path.to_owned()).chain(reset) {
            let undo = undo_of(&path)?;
            let note = UndoLog::open_default().note(&undo)?;
            self.undone.push((undo, note));
        }
        Ok(())
    }

    fn given_up(self, error: KnobError) -> KnobError {
        match self.put_back() {
            Ok(()) => error,
            Err(then) => KnobError::Stuck { first: Box::new(error), then },
        }
    }

    /// In the order in which it was noted: a scheduler before what it resets. The first failure is
    /// told; the others are put back all the same.
    pub fn put_back(mut self) -> Result<(), String> {
        self.undo_all()
    }

    fn undo_all(&mut self) -> Result<(), String> {
        let mut answer = Ok(());
        let log = UndoLog::open_default();
        for (undo, note) in self.undone.drain(..) {
            match undo.undo_now() {
                Ok(()) => drop(log.forget(&note)),
                Err(why) => answer = answer.and(Err(not_put_back(&undo, &why))),
            }
        }
        answer
    }
}

impl Drop for Turned {
    fn drop(&mut self) {
        // What cannot be put back stays noted: the next run says so, and `clean` tries again.
        let _ = self.undo_all();
    }
}

/// The note of it stays where `pickfs doctor --clean` finds it.
fn not_put_back(undo: &Undo, why: &str) -> String {
    let clean = format!("{} doctor --clean", program());
    format!("{undo}, not put back: {why}; it is noted, and `{clean}` tries again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_knob_has_a_dot_and_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> = KNOBS.iter().map(|knob| knob.name).collect();
        assert_eq!(names.len(), KNOBS.len());
        assert!(names.iter().all(|name| is_knob(name)));
    }

    #[test]
    fn the_scheduler_is_turned_before_what_it_resets() {
        let names = ["device.nr_requests", "device.scheduler", "vm.swappiness"];
        let knobs = names.map(|name| (name.to_owned(), String::new())).into();
        let order: Vec<&String> = in_order(&knobs).map(|(name, _)| name).collect();
        assert_eq!(order, ["device.scheduler", "device.nr_requests", "vm.swappiness"]);
    }

    #[test]
    fn names_and_values_are_checked_with_the_way_out() {
        let error = find("vm.dirty").unwrap_err().to_string();
        assert!(error.contains("vm.dirty_bytes"), "{error}");
        let error = find("vm.dirty_ratio").unwrap().check("101").unwrap_err().to_string();
        assert_eq!(error, "knob vm.dirty_ratio = 101: a whole number from 0 to 100");
        let error = find(IO_PRIORITY).unwrap().check("high").unwrap_err().to_string();
        assert!(error.ends_with("one of unset, realtime, best-effort, idle"), "{error}");
    }

    #[test]
    fn what_cannot_be_put_back_is_told_and_stays_noted() {
        let folder = tempfile::tempdir().unwrap();
        let broken = |name: &str| {
            let setting = folder.path().join(format!("{name}-setting"));
            fs::write(&setting, "1").unwrap();
            let undo = Undo::tunable(&setting).unwrap();
            let log = UndoLog::at(folder.path().join(name));
            let note = log.note(&undo).unwrap();
            fs::remove_file(&setting).unwrap();
            fs::create_dir(&setting).unwrap();
            Turned { undone: vec![(undo, note)], values: BTreeMap::new() }
        };
        let notes = |name: &str| fs::read_dir(folder.path().join(name)).unwrap().count();
        let why = broken("asked").put_back().unwrap_err();
        assert!(why.contains("asked-setting was 1, not put back: "), "{why}");
        assert!(why.ends_with("it is noted, and `pickfs doctor --clean` tries again"), "{why}");
        let error = broken("given-up").given_up(no_place("vm.x", "no such file")).to_string();
        assert!(error.contains("vm.x") && error.contains("; and then: "), "{error}");
        drop(broken("dropped"));
        assert_eq!([notes("asked"), notes("given-up"), notes("dropped")], [1, 1, 1]);
    }

    #[test]
    fn of_a_pair_the_one_in_force_is_put_back() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("dirty_bytes"), "0\n").unwrap();
        fs::write(at("dirty_ratio"), "20\n").unwrap();
        let of = |name: &str| match undo_of(&at(name)).unwrap() {
            Undo::Tunable { path, before } => (path, before),
            other => panic!("{other}"),
        };
        assert_eq!(of("dirty_bytes"), (at("dirty_ratio"), "20".into()));
        assert_eq!(of("dirty_ratio"), (at("dirty_ratio"), "20".into()));
        fs::write(at("scheduler"), "none [mq-deadline] bfq\n").unwrap();
        assert_eq!(of("scheduler"), (at("scheduler"), "mq-deadline".into()));
    }
}
