//! The steps of a candidate on a backing, in order, as data. What is printed
//! by a dry run is what a trial does: both come from here.

use std::path::Path;

use pickfs_record::{BackingSpec, CandidateSpec, DeviceState, Step};

use crate::availability;
use crate::error::TargetError;
use crate::fs::{self, FileSystem, Ground, LogPlace, Place, recipe, words};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bed {
    Image,
    Device(DeviceState),
    Directory,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Life {
    pub(crate) begin: Vec<Step>,
    /// Empties the caches that the kernel's switch does not reach.
    pub(crate) cool: Vec<Step>,
    /// Unmounts it and mounts it again; empty where that would lose it.
    pub(crate) anew: Vec<Step>,
    pub(crate) end: Vec<Step>,
}

/// Of one trial, with `/dev/loopN` and `MOUNT` where the real names are not known yet. Touches
/// nothing.
pub fn plan_steps(
    candidate: &CandidateSpec,
    backing: &BackingSpec,
) -> Result<Vec<Step>, TargetError> {
    let mut place = Place::example();
    let bed = match backing {
        BackingSpec::Loop { size_bytes, .. } | BackingSpec::Ram { size_bytes } => {
            place.memory_bytes = *size_bytes;
            Bed::Image
        }
        BackingSpec::Device { path, state, log_device, .. } => {
            place.device = path.to_string_lossy().into_owned();
            place.log = log_device.as_deref().map(LogPlace::on);
            Bed::Device(*state)
        }
        BackingSpec::Directory { .. } => {
            let path = backing.directory_of(&candidate.label).unwrap_or(Path::new("/"));
            place.at = path.join("pickfs-trial-NAME").to_string_lossy().into_owned();
            Bed::Directory
        }
    };
    let life = life(candidate, bed, &place)?;
    Ok(life.begin.into_iter().chain(life.end).collect())
}

pub(crate) fn row_of(candidate: &CandidateSpec) -> Result<&'static FileSystem, TargetError> {
    let name = &candidate.fs;
    fs::find(name).ok_or_else(|| {
        let remedy = availability::meant(name);
        TargetError::Other(format!("file system `{name}` not known; {remedy}"))
    })
}

pub(crate) fn life(
    candidate: &CandidateSpec,
    bed: Bed,
    place: &Place,
) -> Result<Life, TargetError> {
    if bed == Bed::Directory {
        return in_directory(candidate, place);
    }
    let row = row_of(candidate)?;
    words::check(candidate)?;
    Ok(match row.ground {
        Ground::Memory => {
            let (begin, end) = (row.mount(candidate, place), row.unmount(candidate, place));
            Life { begin, cool: Vec::new(), anew: Vec::new(), end }
        }
        Ground::BlockDevice => {
            let log = place.log.clone().filter(|_| row.log_apart(candidate) == Some(true));
            on_block_device(row, candidate, bed, &Place { log, ..place.clone() })
        }
    })
}

fn in_directory(candidate: &CandidateSpec, place: &Place) -> Result<Life, TargetError> {
    if !candidate.mount_options.is_empty() || !candidate.mkfs_options.is_empty() {
        return Err(TargetError::Other(format!(
            "options of `{candidate}` cannot be given to an existing directory; leave them out"
        )));
    }
    let at = [place.at.as_str()];
    Ok(Life {
        begin: vec![recipe::call("a folder of our own", "make-trial-folder", at)],
        cool: Vec::new(),
        anew: Vec::new(),
        end: vec![recipe::call("take it away", "remove-trial-folder", at)],
    })
}

/// Around the row's own steps: the interlock before each that destroys, clean ends (so that no
/// signature of the candidate before is found), and the image mended before the mount.
fn on_block_device(row: &FileSystem, candidate: &CandidateSpec, bed: Bed, place: &Place) -> Life {
    let devices = [Some(&place.device), place.log.as_ref().map(|log| &log.device)];
    let each = |purpose: &str, name: &str| -> Vec<Step> {
        devices.iter().flatten().map(|&device| recipe::call(purpose, name, [device])).collect()
    };
    let guard = |begin: &mut Vec<Step>| {
        if let Bed::Device(_) = bed {
            begin.extend(each("may it be touched?", "check-interlock"));
        }
    };
    let mut begin = Vec::new();
    if bed == Bed::Device(DeviceState::Discarded) {
        guard(&mut begin);
        let discard = |device: &String| recipe::exec("discard all", "blkdiscard", ["-f", device]);
        begin.extend(devices.iter().flatten().map(|device| discard(device)));
    }
    guard(&mut begin);
    begin.extend(each("remove old signatures", "clear-ends"));
    guard(&mut begin);
    begin.extend(row.make(candidate, place));
    begin.extend(each("write the device's pages out", "flush-device"));
    if bed == Bed::Image {
        let name = "repair-image-extents";
        begin.push(recipe::call("write again what mkfs un-wrote", name, [""; 0]));
    }
    guard(&mut begin);
    begin.extend(row.mount(candidate, place));
    let is_free = each("wait until nobody has it open", "wait-device-free");
    let mut end = row.unmount(candidate, place);
    end.extend(is_free.clone());
    let mut cool = row.cool(candidate, place);
    let mut anew = cool.clone();
    if cool.is_empty() {
        anew.extend(row.unmount(candidate, place));
        anew.extend(is_free);
        guard(&mut anew);
        anew.extend(row.mount(candidate, place));
    }
    // The caches of a program end with it, and no switch reaches them.
    if cool.is_empty() && (row.is_program() || row.holds_metadata) {
        cool.clone_from(&anew);
    }
    Life { begin, cool, anew, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(candidate: &str, backing: &BackingSpec) -> Vec<String> {
        let steps = plan_steps(&candidate.parse().unwrap(), backing).unwrap();
        steps.iter().map(|step| step.action.to_string().trim().to_owned()).collect()
    }

    #[test]
    fn a_loop_image_is_mended_between_make_and_mount() {
        let backing = BackingSpec::Loop { size_bytes: 1 << 30, directory: None };
        assert_eq!(
            text("xfs:noatime", &backing),
            [
                "[clear-ends] /dev/loopN",
                "mkfs.xfs -q -f -K /dev/loopN",
                "[flush-device] /dev/loopN",
                "[repair-image-extents]",
                "mount -t xfs -o noatime /dev/loopN MOUNT",
                "umount MOUNT",
                "[wait-device-free] /dev/loopN",
            ]
        );
    }

    #[test]
    fn a_device_is_checked_before_every_step_that_destroys() {
        let path = "/dev/sdx".into();
        let backing = BackingSpec::Device {
            path,
            erase: true,
            state: DeviceState::Discarded,
            size_bytes: None,
            log_device: None,
        };
        let steps = text("btrfs", &backing);
        let destroys = |step: &String| {
            ["blkdiscard", "[clear-ends]", "mkfs.btrfs", "mount -t"]
                .iter()
                .any(|w| step.starts_with(w))
        };
        let destructive: Vec<_> = (0..steps.len()).filter(|&at| destroys(&steps[at])).collect();
        assert_eq!(destructive.len(), 4);
        assert!(destructive.iter().all(|&at| steps[at - 1] == "[check-interlock] /dev/sdx"));
    }

    #[test]
    fn a_log_device_is_guarded_and_made_with_its_file_system_where_the_candidate_puts_its_log_there()
     {
        let backing = BackingSpec::Device {
            path: "/dev/sdx".into(),
            erase: true,
            state: DeviceState::Filled,
            size_bytes: None,
            log_device: Some("/dev/sdy".into()),
        };
        let guard = ["[check-interlock] /dev/sdx", "[check-interlock] /dev/sdy"];
        let steps = text("xfs:noatime", &backing);
        assert_eq!(steps[..2], guard);
        assert_eq!(steps[2..4], ["[clear-ends] /dev/sdx", "[clear-ends] /dev/sdy"]);
        assert_eq!(steps[4..6], guard);
        assert_eq!(steps[6], "mkfs.xfs -q -f -K -l logdev=/dev/sdy,size=1073741824 /dev/sdx");
        assert_eq!(steps[9..11], guard);
        assert_eq!(steps[11], "mount -t xfs -o noatime,logdev=/dev/sdy /dev/sdx MOUNT");
        assert_eq!(steps[14], "[wait-device-free] /dev/sdy");
        let steps = text("ext4;mkfs=-b 1024", &backing);
        let options = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        let journal = format!("-O journal_dev -b 1024 -E {options} /dev/sdy 1048576");
        assert_eq!(steps[6], format!("mkfs.ext4 -q -F {journal}"));
        assert_eq!(
            steps[7],
            format!("mkfs.ext4 -q -F -E {options} -b 1024 -J device=/dev/sdy /dev/sdx")
        );
        assert!(text("xfs;mkfs=-l size=64m", &backing)[6].contains("-l logdev=/dev/sdy /dev/sdx"));
        for inside in [
            "xfs;mkfs=-l size=64m,internal",
            "ext3;mkfs=-J size=8",
            "ext4;mkfs=-O ^has_journal",
            "ext2",
        ] {
            let steps = text(inside, &backing);
            assert!(steps.iter().all(|step| !step.contains("/dev/sdy")), "{inside}: {steps:?}");
        }
    }

    #[test]
    fn a_directory_is_neither_made_nor_mounted() {
        let backing = BackingSpec::directory("/srv");
        let steps = text("dir", &backing);
        assert_eq!(steps[0], "[make-trial-folder] /srv/pickfs-trial-NAME");
        let error = plan_steps(&"ext4:noatime".parse().unwrap(), &backing).unwrap_err();
        assert_eq!(
            error.to_string(),
            "options of `ext4:noatime` cannot be given to an existing directory; leave them out"
        );
    }

    #[test]
    fn memory_gets_the_size_that_an_image_would_have() {
        let backing = BackingSpec::Ram { size_bytes: 1 << 20 };
        assert_eq!(
            text("tmpfs", &backing),
            ["mount -t tmpfs -o size=1048576 tmpfs MOUNT", "umount MOUNT"]
        );
    }

    #[test]
    fn what_dropped_caches_leave_in_memory_goes_with_the_mount() {
        let cooled = |candidate: &str| -> Vec<String> {
            let life = life(&candidate.parse().unwrap(), Bed::Image, &Place::example()).unwrap();
            life.cool.iter().map(|step| step.action.to_string().trim().to_owned()).collect()
        };
        assert_eq!(cooled("xfs"), Vec::<String>::new());
        for name in ["ext3", "ext4", "ntfs-3g", "exfat-fuse", "ext4-fuse2fs"] {
            let steps = cooled(name);
            assert!(steps[0].ends_with("MOUNT"), "{name}: {steps:?}");
            assert!(steps.iter().any(|step| step.starts_with("[wait-device-free]")), "{name}");
            assert!(steps.last().unwrap().contains(" MOUNT"), "{name}: {steps:?}");
        }
        assert!(!cooled("zfs-fuse").is_empty());
    }

    #[test]
    fn an_unknown_file_system_names_the_one_that_was_meant_or_all() {
        let backing = BackingSpec::Ram { size_bytes: 1 << 20 };
        for (name, remedy) in [("ext5", "did you mean `ext4`?"), ("zzz", "known are ext4, xfs")] {
            let error = plan_steps(&name.parse().unwrap(), &backing).unwrap_err().to_string();
            assert!(error.starts_with(&format!("file system `{name}` not known; {remedy}")));
        }
    }
}
