//! What fits: the files of all lanes into a share of the free space, and what they need of memory
//! into a share of what is available. Where the scale that was asked for does not fit, all that
//! follows the scale is reduced by one factor; where not even the smallest does, the trial is
//! refused. Nothing has been written by then.

use pickfs_record::quantity::bytes_text;
use pickfs_sys::{cgroup::CgroupLimits, mount::file_system_use, vm_state::Memory};

use super::{
    params::{Settings, Suite},
    sizes::{BINARY_REPEATS, RANDOM_FILES, SCALE_MIN, Sizes},
};
use crate::{
    fault::Fault,
    workload::{Scratch, TooLarge},
};

/// tmpfs and ramfs; see statfs(2).
const TYPES_IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Machine {
    /// Free space of the mount, in bytes; `None` where it does not say (ramfs).
    pub(super) space_bytes: Option<u64>,
    /// Memory that programs could get.
    pub(super) available_bytes: u64,
    pub(super) memory_bytes: u64,
    pub(super) is_in_memory: bool,
}

impl Machine {
    pub(super) fn at(directory: &std::path::Path) -> Result<Machine, Fault> {
        let file_system = file_system_use(directory)
            .map_err(|error| Fault::Failed { reason: error.to_string() })?;
        let space_bytes = (file_system.total_bytes > 0).then_some(file_system.available_bytes);
        Machine::with(space_bytes, TYPES_IN_MEMORY.contains(&file_system.type_number))
    }

    fn with(space_bytes: Option<u64>, is_in_memory: bool) -> Result<Machine, Fault> {
        let memory = Memory::now().map_err(|error| Fault::Failed { reason: error.to_string() })?;
        let limit = CgroupLimits::of_self().memory_bytes_max.unwrap_or(u64::MAX);
        Ok(Machine {
            space_bytes,
            available_bytes: memory.available_bytes.min(limit),
            memory_bytes: memory.total_bytes.min(limit),
            is_in_memory,
        })
    }

    /// The same for every candidate and every block, where that is honest: the scratch's size instead
    /// of what each file system leaves of it, and the machine's memory instead of what is free just now.
    pub(super) fn alike(self, scratch_bytes: Option<u64>) -> Machine {
        let near = |real: u64, common: u64| real >= common / 100 * 80;
        let space = |real: u64| scratch_bytes.filter(|common| near(real, *common)).unwrap_or(real);
        let is_free = near(self.available_bytes, self.memory_bytes);
        Machine {
            space_bytes: self.space_bytes.map(space),
            available_bytes: if is_free { self.memory_bytes } else { self.available_bytes },
            ..self
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) files_bytes: u64,
    pub(super) memory_bytes: u64,
}

impl Room {
    pub(super) fn needed(sizes: &Sizes, settings: &Settings, is_in_memory: bool) -> Room {
        const GATHERED_BYTES: u64 = 32 << 20;
        let (rows, symbol_bytes) = (sizes.rows(), settings.symbols.element_bytes());
        let (symbols, floats) = (rows * symbol_bytes, 8 * rows);
        let table = symbols + 4096 + floats;
        let lists = 8 * (sizes.tiny + sizes.small + sizes.medium + sizes.huge);
        let random = RANDOM_FILES * 8 * sizes.random_file();
        let binary = 8 * sizes.small * BINARY_REPEATS;
        let prepared = binary + 8 * (2 * sizes.small + sizes.large);
        let has_sort = settings.has(Suite::Sort);
        let rewritten = if has_sort { floats.max(symbols + 4096) } else { 0 };
        // Data that do not compress take a little more.
        let packed = if settings.has(Suite::Packed) { 9 * sizes.large } else { 0 };
        let files_bytes = lists + table + random + prepared + rewritten + packed;
        let heap_and_cache = |suite: &Suite| match suite {
            Suite::Write => (8 * sizes.huge.max(sizes.large).max(4 * sizes.small), 0),
            Suite::Meta => (8 * sizes.large, 0),
            Suite::Read | Suite::Reread => (binary, lists + floats + binary),
            Suite::Random => (16 * 125_000, random),
            Suite::Sort => (symbols + floats + GATHERED_BYTES, 2 * table),
            Suite::Mix => (symbols, table),
            Suite::Packed => (16 * sizes.large, 8 * sizes.large),
        };
        let uses = settings.suites.iter().map(heap_and_cache);
        let memory_bytes = if is_in_memory {
            files_bytes + uses.map(|(heap, _)| heap).max().unwrap_or(0)
        } else {
            uses.map(|(heap, cache)| heap + cache).max().unwrap_or(0)
        };
        let lanes = u64::from(sizes.lanes);
        Room { files_bytes: lanes * files_bytes, memory_bytes: lanes * memory_bytes }
    }

    fn allowed(machine: &Machine, settings: &Settings) -> Room {
        let share = |bytes: u64, percent: u64| (bytes as f64 * percent as f64 / 100.0) as u64;
        let space = machine.space_bytes.map(|bytes| share(bytes, settings.space_percent));
        Room {
            files_bytes: space.unwrap_or(u64::MAX).min(settings.files_bytes_max),
            memory_bytes: share(machine.available_bytes, settings.memory_percent),
        }
    }

    fn fits(&self, allowed: &Room) -> bool {
        self.files_bytes <= allowed.files_bytes && self.memory_bytes <= allowed.memory_bytes
    }

    fn text(&self) -> String {
        let (files, memory) = (bytes_text(self.files_bytes), bytes_text(self.memory_bytes));
        format!("{files} in files and {memory} of memory")
    }
}

/// The largest sizes that fit, at most those that were asked for, with what must be said of them.
pub(super) fn fitted(
    settings: &Settings,
    lanes: u32,
    machine: &Machine,
) -> Result<(Sizes, Vec<String>), Fault> {
    if let Some(refusal) = refusal(settings, lanes, machine) {
        return Err(Fault::Skipped { reason: format!("{refusal}; {REMEDY}") });
    }
    let sizes = |scale| Sizes::new(scale, lanes, machine.memory_bytes);
    let needed = |scale| Room::needed(&sizes(scale), settings, machine.is_in_memory);
    let allowed = Room::allowed(machine, settings);
    let (asked, mut scale) = (settings.scale, settings.scale);
    let mut notes = Vec::new();
    if !needed(asked).fits(&allowed) {
        scale = largest(SCALE_MIN, asked, |scale| needed(scale).fits(&allowed));
        notes.push(format!(
            "scale {asked} with {lanes} lanes asks for {}; allowed are {} ({} % of the free space, {} % of the \
             available memory, files_limit): all lengths and counts that follow the scale are reduced by \
             the factor {:.4}, to scale {scale:.4}",
            needed(asked).text(),
            allowed.text(),
            settings.space_percent,
            settings.memory_percent,
            scale / asked,
        ));
    }
    let sizes = sizes(scale);
    let whole = Sizes::new(scale, lanes, u64::MAX >> 1).huge;
    if sizes.huge < whole {
        notes.push(format!(
            "int huge has {} elements instead of {whole}: as in the original, memory ({}) below 16 bytes for each of \
             them in every lane shortens it to a 32nd of a lane's share",
            sizes.huge,
            bytes_text(machine.memory_bytes)
        ));
    }
    Ok((sizes, notes))
}

/// That not even the smallest scale fits on a scratch, before anything is made.
pub(super) fn too_large(settings: &Settings, lanes: u32, scratch: &Scratch) -> Option<TooLarge> {
    let machine = Machine::with(Some(scratch.size_bytes), scratch.is_in_memory).ok()?.alike(None);
    let reason = refusal(settings, lanes, &machine)?;
    Some(TooLarge { reason, remedy: REMEDY.into() })
}

/// The largest number at which `fits` still holds, to three digits; it holds at `low`.
fn largest(low: f64, high: f64, fits: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (low, high);
    while high / low > 1.002 {
        let middle = (low * high).sqrt();
        if fits(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

const REMEDY: &str = "use fewer lanes or a larger scratch, or raise space_percent, memory_percent, \
                      files_limit or, in a guest, guest.memory_mib";

/// Why not even the smallest scale fits, if it does not.
fn refusal(settings: &Settings, lanes: u32, machine: &Machine) -> Option<String> {
    let smallest = Sizes::new(SCALE_MIN, lanes, machine.memory_bytes);
    let needed = Room::needed(&smallest, settings, machine.is_in_memory);
    let allowed = Room::allowed(machine, settings);
    let space = machine.space_bytes.map_or("unknown".into(), bytes_text);
    let available = bytes_text(machine.available_bytes);
    let limit = bytes_text(settings.files_bytes_max);
    (!needed.fits(&allowed)).then(|| {
        format!(
            "{lanes} lanes need {} even at the smallest scale ({SCALE_MIN}); allowed are {}: {} % of {space} free \
             space, {} % of {available} available memory, and files_limit {limit}",
            needed.text(),
            allowed.text(),
            settings.space_percent,
            settings.memory_percent,
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sizes_are_derived_from_what_all_candidates_share() {
        let of = |space, memory| machine(space, memory).alike(Some(16 * GIB));
        assert_eq!(of(15, 20).space_bytes, Some(16 * GIB), "ext4 leaves 15 of 16");
        assert_eq!(of(3, 20).space_bytes, Some(3 * GIB), "a scratch that is full");
        assert_eq!(machine(15, 20).alike(None).space_bytes, Some(15 * GIB));
    }

    const GIB: u64 = 1 << 30;

    fn machine(space: u64, memory: u64) -> Machine {
        Machine {
            space_bytes: Some(space * GIB),
            available_bytes: memory * GIB,
            memory_bytes: memory * GIB,
            is_in_memory: false,
        }
    }

    #[test]
    fn the_articles_sizes_take_about_what_it_says() {
        let settings =
            Settings::asked(json!({ "scale": "full", "suites": "write,meta,read,reread,random" }));
        let gb = |lanes, memory| {
            let sizes = Sizes::new(1.0, lanes, memory * GIB);
            Room::needed(&sizes, &settings, false).files_bytes / 1_000_000_000
        };
        assert!((43..47).contains(&gb(1, 502)), "{}", gb(1, 502));
        assert!((480..520).contains(&gb(64, 502)), "{}", gb(64, 502));
        assert!((890..940).contains(&gb(64, 2_200)), "{}", gb(64, 2_200));
    }

    #[test]
    fn what_does_not_fit_is_reduced_by_one_factor_that_is_told() {
        let settings = Settings::asked(json!({ "scale": "full" }));
        let whole = fitted(&settings, 1, &machine(1000, 500)).unwrap();
        assert_eq!((whole.0.scale, whole.1.len()), (1.0, 0));
        for (space, memory) in [(20, 500), (1000, 8), (40, 24)] {
            let machine = machine(space, memory);
            let fitted = fitted(&settings, 64, &machine).unwrap();
            let allowed = Room::allowed(&machine, &settings);
            let room = Room::needed(&fitted.0, &settings, false);
            assert!(room.fits(&allowed), "{room:?} in {allowed:?}");
            let more = Sizes::new(fitted.0.scale * 1.05, 64, machine.memory_bytes);
            assert!(!Room::needed(&more, &settings, false).fits(&allowed), "room was left");
            assert!(fitted.1[0].contains("factor 0.0"), "{}", fitted.1[0]);
        }
    }

    #[test]
    fn a_limit_in_bytes_holds_as_well() {
        let settings = Settings::asked(json!({ "scale": "tiny", "files_limit": "200MiB" }));
        let fitted = fitted(&settings, 1, &machine(1000, 500)).unwrap();
        let room = Room::needed(&fitted.0, &settings, false);
        assert!((150 << 20..=200 << 20).contains(&room.files_bytes), "{room:?}");
    }

    #[test]
    fn where_nothing_fits_the_numbers_and_the_ways_out_are_told() {
        let machine = Machine { space_bytes: Some(1 << 20), ..machine(1, 24) };
        let fault = fitted(&Settings::asked(json!({})), 64, &machine).unwrap_err();
        let text = fault.to_string();
        assert!(fault.is_skip());
        for said in ["64 lanes need", "70 % of 1 MiB free", "fewer lanes", "space_percent"] {
            assert!(text.contains(said), "{said}: {text}");
        }
    }

    #[test]
    fn files_in_memory_count_as_memory() {
        let settings = Settings::asked(json!({ "scale": "small" }));
        let in_memory = Machine { is_in_memory: true, ..machine(20, 20) };
        let on_disk = fitted(&settings, 1, &machine(20, 20)).unwrap();
        assert!(fitted(&settings, 1, &in_memory).unwrap().0.scale <= on_disk.0.scale);
    }
}
