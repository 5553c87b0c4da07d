//! A phase is made smaller and that is noted, or it is skipped with its reason.

use std::path::Path;

use pickfs_candidate::fs::{Limits, limits_of};
use pickfs_record::quantity::bytes_text;
use pickfs_sys::mount::mount_of;
use rustix::{
    fs::{StatVfs, statvfs},
    process::{Resource, Rlimit, getrlimit, setrlimit},
};

use super::{
    calls,
    names::{MARKED_NAME_BYTES, NAME_BYTES_MAX},
    phases::Phase,
    probing::{self, Refused},
    settings::{Settings, Small},
    spread::Spread,
};
use crate::fault::Fault;

/// Most directories: their names have five digits.
const DIRECTORIES_MAX: u32 = 99_999;
/// Inodes that are left to directories and others.
const SPARE_INODES: u64 = 64;
/// Descriptors that are left to everything else.
const SPARE_DESCRIPTORS: u64 = 128;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fitted {
    pub(super) one_file: Option<String>,
    pub(super) many_files: Option<String>,
    pub(super) links: Option<String>,
    /// The most directories that the `mkdir` phase makes in one directory.
    pub(super) directories_max: u32,
    pub(super) notes: Vec<String>,
}

impl Fitted {
    pub(super) fn reason(&self, phase: Phase) -> Option<&str> {
        match phase {
            phase if phase.is_on_one_file() => self.one_file.as_deref(),
            Phase::MakeDirectories | Phase::SyncDirectory | Phase::SafeSave => None,
            Phase::Link => self.links.as_deref().or(self.many_files.as_deref()),
            _ => self.many_files.as_deref(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Room {
    limits: Limits,
    available_bytes: u64,
    block_bytes: u64,
    /// `None` where inodes are made as they are needed.
    inodes: Option<u64>,
    name_bytes_max: u64,
}

pub(super) fn fit(settings: &mut Settings, directory: &Path, lanes: u32) -> Result<Fitted, Fault> {
    let mount = mount_of(directory).map_err(|error| Fault::Failed { reason: error.to_string() })?;
    let space = statvfs(directory).map_err(calls::fault("ask for space in", directory))?;
    let room = Room::new(limits_of(&mount.fs_type), &space, lanes);
    let mut fitted = fit_to(settings, &mount.fs_type, room);
    refuse(&mut fitted, settings, &mount.fs_type, probing::probe(settings, directory)?);
    if fitted.many_files.is_none() {
        fitted.many_files = too_many_open(settings);
    }
    Ok(fitted)
}

impl Room {
    fn new(limits: Limits, space: &StatVfs, lanes: u32) -> Room {
        let lanes = u64::from(lanes.max(1));
        Room {
            limits,
            available_bytes: space.f_bavail * space.f_frsize / lanes,
            block_bytes: space.f_frsize.max(1),
            inodes: (space.f_files > 0).then_some(space.f_ffree / lanes),
            name_bytes_max: space.f_namemax,
        }
    }
}

fn fit_to(settings: &mut Settings, fs_type: &str, room: Room) -> Fitted {
    let mut fitted = Fitted {
        one_file: one_file(settings, fs_type, room),
        links: no_links(fs_type, room),
        directories_max: directories_max(room),
        ..Fitted::default()
    };
    fitted.many_files = no_names(settings, fs_type, room);
    if fitted.many_files.is_none() && settings.spread.files > 0 {
        fitted.notes.extend(fewer_links(settings, fs_type, room));
        fitted.notes.extend(fewer_files(settings, fs_type, room));
        fitted.notes.extend(more_directories(settings, fs_type, room));
        fitted.notes.extend(fewer_directories(settings, fs_type, room));
        if settings.spread.files == 0 {
            // Its phases are asked for all the same, and told as skipped.
            settings.spread.files = 1;
            fitted.many_files = Some(format!("{fs_type} has no room for a single file here"));
        }
    }
    if room.limits.is_case_blind && settings.spread.files > 0 {
        fitted.notes.push(format!("{fs_type} does not tell case apart; names differ without it"));
    }
    fitted
}

fn one_file(settings: &Settings, fs_type: &str, room: Room) -> Option<String> {
    let size_bytes = settings.size_bytes;
    if let Some(max_bytes) = room.limits.file_bytes_max.filter(|max| size_bytes > *max) {
        let asked = bytes_text(size_bytes);
        return Some(format!("{fs_type} holds files up to {max_bytes} bytes, and size is {asked}"));
    }
    let is_full = size_bytes > room.available_bytes && !room.limits.compresses;
    is_full.then(|| {
        let (asked, free) = (bytes_text(size_bytes), bytes_text(room.available_bytes));
        format!("size is {asked}, and {free} are free for a lane; choose a smaller scale or size")
    })
}

fn no_links(fs_type: &str, room: Room) -> Option<String> {
    (room.limits.hard_links_max == Some(0)).then(|| format!("{fs_type} has no hard links"))
}

/// By the format, and by half of the free space where each takes a block.
fn directories_max(room: Room) -> u32 {
    let by_format = room.limits.subdirectories_max.unwrap_or(u32::MAX);
    let by_names = room.limits.directory.names_max(MARKED_NAME_BYTES).unwrap_or(u32::MAX);
    let by_space = (room.available_bytes / 2 / room.block_bytes).min(u64::from(u32::MAX)) as u32;
    by_format.min(by_names).min(by_space)
}

fn no_names(settings: &Settings, fs_type: &str, room: Room) -> Option<String> {
    let longest = NAME_BYTES_MAX as u64 + u64::from(settings.has_further);
    if longest > room.name_bytes_max {
        let max = room.name_bytes_max;
        return Some(format!("{fs_type} has names up to {max} bytes, and ours have {longest}"));
    }
    match settings.small {
        Small::HardLinks => no_links(fs_type, room),
        Small::SymbolicLinks if !room.limits.has_symbolic_links => {
            Some(format!("{fs_type} has no symbolic links"))
        }
        _ => None,
    }
}

fn fewer_links(settings: &mut Settings, fs_type: &str, room: Room) -> Option<String> {
    let max = room.limits.hard_links_max?;
    let is_too_many = settings.small == Small::HardLinks && settings.spread.files > max;
    is_too_many.then(|| {
        let asked = std::mem::replace(&mut settings.spread.files, max);
        format!("{max} links instead of {asked}: {fs_type} allows no more names for one file")
    })
}

fn fewer_files(settings: &mut Settings, fs_type: &str, room: Room) -> Option<String> {
    let asked = settings.spread.files;
    let needed = u64::from(settings.spread.directories) + SPARE_INODES;
    let by_inodes = match settings.small {
        Small::HardLinks => u64::MAX,
        _ => room.inodes.map_or(u64::MAX, |inodes| inodes.saturating_sub(needed)),
    };
    let by_space = match settings.small {
        Small::Bytes(sizes) if !sizes.are_zero() => {
            let file_bytes = sizes.expected_bytes(1).next_multiple_of(room.block_bytes);
            room.available_bytes / 10 * 9 / file_bytes.max(1)
        }
        _ => u64::MAX,
    };
    let max = by_inodes.min(by_space);
    (u64::from(asked) > max).then(|| {
        settings.spread.files = max as u32;
        let what = if by_inodes < by_space { "inodes" } else { "bytes" };
        format!("{max} files instead of {asked}: {fs_type} has no more free {what} here")
    })
}

fn more_directories(settings: &mut Settings, fs_type: &str, room: Room) -> Option<String> {
    let most = room.limits.directory.names_max(MARKED_NAME_BYTES)?;
    let spread = settings.spread;
    if spread.files_per_directory() <= most {
        return None;
    }
    let directories = Spread::directories_for(spread.files, most).min(DIRECTORIES_MAX);
    let asked = std::mem::replace(&mut settings.spread.directories, directories);
    Some(format!(
        "{directories} directories instead of {asked}: a directory of {fs_type} holds {most} of \
         these names"
    ))
}

fn fewer_directories(settings: &mut Settings, fs_type: &str, room: Room) -> Option<String> {
    let max = room.limits.subdirectories_max?;
    (settings.spread.directories > max).then(|| {
        let asked = std::mem::replace(&mut settings.spread.directories, max);
        format!("{max} directories instead of {asked}: {fs_type} allows no more in one directory")
    })
}

/// What was tried and refused, where the table did not know it.
fn refuse(fitted: &mut Fitted, settings: &Settings, fs_type: &str, refused: Refused) {
    let or = |known: &mut Option<String>, is_refused: bool, what: &str| {
        if is_refused && known.is_none() {
            *known = Some(format!("{fs_type} refuses {what}"));
        }
    };
    or(&mut fitted.one_file, refused.direct, "O_DIRECT; set direct = off");
    or(&mut fitted.links, refused.hard_links, "hard links");
    let is_linked = settings.small == Small::HardLinks && refused.hard_links;
    or(&mut fitted.many_files, is_linked, "hard links");
    or(&mut fitted.many_files, refused.symbolic_links, "symbolic links");
}

/// All directories of a set are open at once.
fn too_many_open(settings: &Settings) -> Option<String> {
    let needed = u64::from(settings.spread.directories) + SPARE_DESCRIPTORS;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| needed <= current) {
        return None;
    }
    let raised = Rlimit { current: Some(needed), maximum: limit.maximum };
    setrlimit(Resource::Nofile, raised).err().map(|error| {
        let directories = settings.spread.directories;
        format!("{directories} directories cannot be open at once ({error}); raise ulimit -n")
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(asked: serde_json::Value) -> Settings {
        Settings::new(&super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap(), 1, 0)
    }

    fn room(fs_type: &str) -> Room {
        Room {
            limits: limits_of(fs_type),
            available_bytes: 8 << 30,
            block_bytes: 4096,
            inodes: None,
            name_bytes_max: 255,
        }
    }

    #[test]
    fn half_a_million_files_are_spread_over_directories_of_fat() {
        let mut settings = settings(json!({ "scale": "full" }));
        let fitted = fit_to(&mut settings, "vfat", room("vfat"));
        assert_eq!((fitted.one_file.as_ref(), fitted.many_files.as_ref()), (None, None));
        assert_eq!((settings.spread.files, settings.spread.directories), (512_000, 24));
        assert!(settings.spread.files_per_directory() <= 21_844);
        assert!(fitted.notes[0].starts_with("24 directories instead of 1: a directory of vfat"));
        assert_eq!(fitted.reason(Phase::Link), Some("vfat has no hard links"));
        assert_eq!(fitted.reason(Phase::SeqCreate), None);
    }

    #[test]
    fn links_stop_where_the_file_system_stops() {
        let mut settings = settings(json!({ "content": "hard-links", "files": 65_536 }));
        let fitted = fit_to(&mut settings, "ext4", room("ext4"));
        assert_eq!(settings.spread.files, 65_000);
        assert!(fitted.notes[0].contains("65000 links instead of 65536"), "{fitted:?}");
        let fitted = fit_to(&mut settings, "exfat", room("exfat"));
        assert_eq!(fitted.many_files.as_deref(), Some("exfat has no hard links"));
    }

    #[test]
    fn a_file_that_does_not_fit_is_told_with_both_sizes() {
        let mut large = settings(json!({ "size": 5_u64 << 30 }));
        let fitted = fit_to(&mut large, "vfat", room("vfat"));
        assert_eq!(
            fitted.reason(Phase::BlockRead),
            Some("vfat holds files up to 4294967295 bytes, and size is 5 GiB")
        );
        let small = Room { available_bytes: 1 << 30, ..room("xfs") };
        let reason = fit_to(&mut large, "xfs", small).one_file.unwrap();
        assert!(reason.starts_with("size is 5 GiB, and 1 GiB are free"), "{reason}");
        let small = Room { available_bytes: 1 << 30, ..room("btrfs") };
        assert_eq!(fit_to(&mut large, "btrfs", small).one_file, None);
    }

    #[test]
    fn without_room_for_a_single_file_the_phases_say_so() {
        let mut settings = settings(json!({}));
        let none = Room { inodes: Some(3), ..room("ext2") };
        let fitted = fit_to(&mut settings, "ext2", none);
        assert!(Phase::asked(&settings).contains(&Phase::SeqCreate));
        let reason = fitted.reason(Phase::SeqCreate).unwrap();
        assert_eq!(reason, "ext2 has no room for a single file here");
    }

    #[test]
    fn directories_stop_at_links_names_and_space() {
        let most = |fs_type, available_bytes| {
            let room = Room { available_bytes, ..room(fs_type) };
            fit_to(&mut settings(json!({})), fs_type, room).directories_max
        };
        assert_eq!(most("ext2", 8 << 30), 31_998);
        assert_eq!(most("vfat", 8 << 30), 21_844);
        assert_eq!(most("xfs", 80 << 20), (40 << 20) / 4096);
    }

    #[test]
    fn inodes_bytes_and_names_make_it_smaller_or_impossible() {
        let mut many = settings(json!({ "scale": "full" }));
        let few = Room { inodes: Some(131_072), ..room("ext4") };
        let fitted = fit_to(&mut many, "ext4", few);
        assert_eq!(many.spread.files, 131_072 - 65);
        assert!(fitted.notes[0].contains("no more free inodes"), "{fitted:?}");

        let mut fat = settings(json!({ "files": 100_000, "file_min": 4096, "file_max": 4096 }));
        let little = Room { available_bytes: 64 << 20, ..room("xfs") };
        assert!(fit_to(&mut fat, "xfs", little).notes[0].contains("no more free bytes"));
        assert_eq!(fat.spread.files, (64 << 20) / 10 * 9 / 4096);

        let short = Room { name_bytes_max: 14, ..room("minix") };
        let reason = fit_to(&mut settings(json!({})), "minix", short).many_files.unwrap();
        assert_eq!(reason, "minix has names up to 14 bytes, and ours have 23");
    }
}
