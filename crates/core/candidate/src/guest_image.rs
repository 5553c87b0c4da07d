//! The scratch of a guest: the same fully written image, as a plain file, so without root and
//! without a loop device. The file has a name, which a guest needs to open it; a run that is
//! killed leaves it in its folder, with an undo record where one can be written.

use std::{
    collections::HashMap,
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use pickfs_record::{
    Action, BackingKind, BackingSpec, CandidateSpec, Environment, Step, StepRecord,
    record::{ImageRecord, RawProbe},
};
use pickfs_sys::{extents, residency};

use crate::availability::Unavailable;
use crate::{
    calls::clear_ends,
    card,
    carry_out::{self, Calls},
    environment,
    error::TargetError,
    fs::{FileSystem, Ground, MadeInside, Place, recipe, words},
    host_folder::HostFolder,
    image::{fill, forbid_copy_on_write, state_of},
    mounted::Promise,
    own_format, partition, plan, raw_probe,
    scratch::{Progress, promise},
    undo::{Note, Undo, UndoLog},
};

#[derive(Debug)]
pub struct GuestImage {
    file: File,
    path: PathBuf,
    size_bytes: u64,
    kind: BackingKind,
    host: HostFolder,
    note: Option<Note>,
    brought: HashMap<String, Vec<OsString>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Inside {
    pub needs_disk: bool,
    /// Where that is left to the guest.
    pub make: Vec<Action>,
    pub mount: Vec<Action>,
    pub unmount: Vec<Action>,
    pub promise: Promise,
    pub backing: BackingKind,
}

impl GuestImage {
    pub fn prepare(
        backing: &BackingSpec,
        run_dir: &Path,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Self, TargetError> {
        let (directory, size_bytes) = match backing {
            BackingSpec::Loop { size_bytes, directory } => {
                (directory.as_deref().unwrap_or(run_dir), *size_bytes)
            }
            BackingSpec::Ram { size_bytes } => (Path::new("/dev/shm"), *size_bytes),
            BackingSpec::Device { .. } | BackingSpec::Directory { .. } => {
                let text = "a guest's candidates are made on an image: leave --device and --dir out, or --engine";
                return Err(TargetError::Other(text.into()));
            }
        };
        let (host, kind) = HostFolder::of_image(directory, size_bytes, BackingKind::GuestImage)?;
        let path = directory.join(format!("pickfs-guest-{:016x}.img", fastrand::u64(..)));
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(TargetError::io("create the image", &path))?;
        let noted = Undo::image(&path).and_then(|undo| UndoLog::open_default().note(&undo));
        let (note, brought) = (noted.ok(), HashMap::new());
        let image = Self { file, path, size_bytes, kind, host, note, brought };
        forbid_copy_on_write(&image.file, directory, &image.host)?;
        fill(&image.file, size_bytes, progress)?;
        extents::rewrite_unwritten(&image.file)?;
        Ok(image)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// With the words that run each, where this machine has not installed them.
    pub fn bring(&mut self, programs: impl Iterator<Item = (String, Vec<OsString>)>) {
        self.brought.extend(programs);
    }

    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    pub fn kind(&self) -> BackingKind {
        self.kind
    }

    /// Direct 4 KiB writes, each with a flush; whatever was on the image is gone.
    pub fn raw_probe(&self, seconds: f64) -> Result<RawProbe, TargetError> {
        raw_probe::probe(&self.path, self.size_bytes, Duration::from_secs_f64(seconds))
    }

    /// As `card.*`, as the host writes it; whatever was on the image is gone.
    pub fn card(&self, seconds: f64) -> Result<Environment, TargetError> {
        let mut facts = self.facts();
        let length = Duration::from_secs_f64(seconds);
        card::measure(&self.path, self.size_bytes, length, &mut facts)?;
        Ok(facts)
    }

    pub fn facts(&self) -> Environment {
        let mut facts = Environment::default();
        environment::put_host(&mut facts, &self.host);
        facts
    }

    /// `disk` is the guest's name of the scratch. The first step that failed, or why it cannot be
    /// tried ([`TargetError::skip`]).
    pub fn make(
        &mut self,
        candidate: &CandidateSpec,
        disk: &str,
        at: &str,
        log: &mut Vec<StepRecord>,
    ) -> Result<Inside, TargetError> {
        let row = plan::row_of(candidate)?;
        words::check(candidate)?;
        if self.size_bytes < row.minimum_bytes {
            return Err(Unavailable::too_small(row, self.size_bytes).into());
        }
        let needs_disk = row.ground == Ground::BlockDevice;
        if needs_disk {
            let steps = making(row, candidate, &self.place(&self.path.to_string_lossy(), at));
            carry_out::carry_out_all(&steps, self, log)?;
        }
        let place = self.place(disk, at);
        let MadeInside { make, mount, unmount } = match row.guest.made_inside {
            Some(made) => made(candidate, &self.place(&format!("{disk}{}", partition::BEHIND), at)),
            None => MadeInside {
                make: Vec::new(),
                mount: row.mount(candidate, &place),
                unmount: row.unmount(candidate, &place),
            },
        };
        let actions = |steps: Vec<Step>| -> Vec<Action> {
            steps.into_iter().map(|step| inside_a_guest(row, step.action)).collect()
        };
        let backing = if needs_disk { self.kind } else { BackingKind::Memory };
        Ok(Inside {
            needs_disk,
            make: actions(make),
            mount: actions(mount),
            unmount: actions(unmount),
            promise: promise(Some(row), candidate, backing),
            backing,
        })
    }

    pub fn record(&self) -> Result<ImageRecord, TargetError> {
        state_of(&self.file)
    }

    /// What a guest has made cold would be read from this machine's cache otherwise. An image in
    /// memory stays where it is.
    pub fn cool(&self) -> Result<(), TargetError> {
        self.file.sync_data().map_err(TargetError::io("write back", &self.path))?;
        let forgotten = residency::forget(&self.file).map_err(io::Error::other);
        forgotten.map_err(TargetError::io("let go of the cached", &self.path))
    }

    pub fn remove(mut self) -> Result<(), TargetError> {
        let removed = fs::remove_file(&self.path);
        removed.map_err(TargetError::io("remove the image", &self.path))?;
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        if let Some(note) = self.note.take() {
            let _ = UndoLog::open_default().forget(&note);
        }
    }

    fn place(&self, device: &str, at: &str) -> Place {
        Place {
            device: device.into(),
            at: at.into(),
            make_bytes: None,
            memory_bytes: self.size_bytes,
            sector_bytes: 512,
            unique_name: format!("pickfs-{:012x}", fastrand::u64(..) >> 16),
            log: None,
        }
    }

    fn clear_ends(&self) -> Result<(), TargetError> {
        // A formatter of image files may have cut the file.
        self.file.set_len(self.size_bytes).map_err(TargetError::io("size", &self.path))?;
        clear_ends(&self.file, &self.path, self.size_bytes)
    }

    /// A partition of all but the first mebibyte: a tool that is given a whole disk would label it and wait
    /// for a daemon that no guest has.
    fn put_partition(&self) -> Result<(), TargetError> {
        let table = partition::only_one(self.size_bytes);
        let written = self.file.write_all_at(&table, partition::TABLE_AT);
        written.map_err(TargetError::io("write a partition table to", &self.path))
    }

    fn flush(&self) -> Result<(), TargetError> {
        self.file.sync_all().map_err(TargetError::io("sync", &self.path))
    }
}

fn making(row: &FileSystem, candidate: &CandidateSpec, place: &Place) -> Vec<Step> {
    let device = [place.device.as_str()];
    let mut steps = vec![recipe::call("remove old signatures", "clear-ends", device)];
    match row.is_made_inside() {
        true => steps.push(recipe::call("put one partition on it", "put-partition", [""; 0])),
        false => steps.extend(row.make(candidate, place)),
    }
    steps.push(recipe::call("write the image's pages out", "flush-device", device));
    steps.push(recipe::call("write again what mkfs un-wrote", "repair-image-extents", [""; 0]));
    steps
}

pub fn inside_a_guest(row: &FileSystem, action: Action) -> Action {
    match (action, row.guest.fs_type) {
        (Action::Mount { source, options, at, .. }, Some(fs_type)) => {
            Action::Mount { source, fs_type: fs_type.into(), options, at }
        }
        (action, _) => action,
    }
}

impl Calls for GuestImage {
    fn brought(&self, program: &str) -> Option<Vec<OsString>> {
        self.brought.get(program).cloned()
    }

    fn call(&mut self, name: &str, args: &[String]) -> Result<String, TargetError> {
        let done = match name {
            "clear-ends" => self.clear_ends(),
            "put-partition" => self.put_partition(),
            "format" => {
                let kind = args.first().map_or("", String::as_str);
                let mut words = args.get(2..).unwrap_or_default().to_vec();
                words.push(format!("size={}", self.size_bytes));
                return own_format::format(kind, &self.path, &words);
            }
            "flush-device" => self.flush(),
            "repair-image-extents" => {
                let repaired_bytes = extents::rewrite_unwritten(&self.file)?.total_bytes();
                self.flush()?;
                return Ok(format!("{repaired_bytes} bytes rewritten"));
            }
            _ => Err(TargetError::unknown_call(name, args)),
        };
        done.map(|()| String::new())
    }
}

impl Drop for GuestImage {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(size_bytes: u64) -> (tempfile::TempDir, GuestImage) {
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let backing = BackingSpec::Loop { size_bytes, directory: None };
        let image = GuestImage::prepare(&backing, folder.path(), &mut |_| {}).unwrap();
        (folder, image)
    }

    #[test]
    fn a_candidate_is_made_without_root_and_the_image_goes_with_its_run() {
        let (folder, mut image) = image(32 << 20);
        let mut log = Vec::new();
        let made = image.make(&"ext4:noatime".parse().unwrap(), "/dev/vda", "/mnt", &mut log);
        let made = match made {
            Err(why @ TargetError::NoProgram { .. }) => return println!("SKIPPED(unit): {why}"),
            made => made.unwrap(),
        };
        let mounts: Vec<String> = made.mount.iter().map(ToString::to_string).collect();
        assert!(mounts[0].starts_with("mount -t ext4 -o noatime"), "{mounts:?}");
        assert!(mounts[0].ends_with("/dev/vda /mnt"), "{mounts:?}");
        assert_eq!(made.unmount[0].to_string(), "umount /mnt");
        let record = image.record().unwrap();
        assert_eq!(record.holes_before_bytes, 0, "mkfs un-wrote some and it was written again");
        let mut magic = [0; 2];
        image.file.read_exact_at(&mut magic, 1024 + 56).unwrap();
        assert_eq!(magic, [0x53, 0xef]);
        image.cool().unwrap();
        let pages = residency::resident_pages(&image.file).unwrap();
        assert!(pages.resident_count < pages.page_count / 10, "{pages:?}");
        drop(image);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_lives_in_memory_needs_no_disk() {
        let (_folder, mut image) = image(32 << 20);
        let made = image.make(&"tmpfs".parse().unwrap(), "/dev/vda", "/mnt", &mut Vec::new());
        let made = made.unwrap();
        assert!(!made.needs_disk && made.backing == BackingKind::Memory);
        assert_eq!(made.mount[0].to_string(), "mount -t tmpfs -o size=33554432 tmpfs /mnt");
    }

    #[test]
    fn a_guest_makes_its_pool_itself_on_a_partition() {
        let (_folder, mut image) = image(64 << 20);
        let candidate = "zfs:compression=on".parse().unwrap();
        let mut log = Vec::new();
        let made = image.make(&candidate, "/dev/vda", "/mnt", &mut log).unwrap();
        let text = |steps: &[Action]| steps.iter().map(Action::to_string).collect::<Vec<_>>();
        let make = text(&made.make);
        assert!(
            make[0].starts_with("zpool create -f") && make[0].ends_with(" /dev/vda1"),
            "{make:?}"
        );
        assert!(
            make[0].contains("-O compression=on -m")
                || make[0].contains("-m /mnt -O compression=on")
        );
        assert!(make[1].starts_with("zpool export pickfs-"), "{make:?}");
        assert!(text(&made.mount)[0].contains("-d /dev/vda1 pickfs-"), "{made:?}");
        assert_eq!(text(&made.unmount), make[1..]);
        let mut signature = [0; 2];
        image.file.read_exact_at(&mut signature, 510).unwrap();
        assert_eq!(signature, [0x55, 0xaa]);
        assert!(log.iter().any(|step| step.step.action.to_string().contains("put-partition")));
    }

    #[test]
    fn a_device_is_no_backing_of_a_guest() {
        let backing = BackingSpec::directory("/srv");
        let error = GuestImage::prepare(&backing, Path::new("/tmp"), &mut |_| {}).unwrap_err();
        assert!(
            error.to_string().starts_with("a guest's candidates are made on an image"),
            "{error}"
        );
    }
}
