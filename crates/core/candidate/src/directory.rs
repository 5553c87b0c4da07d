//! An existing directory as scratch: nothing is made or mounted, so it works
//! without root. What is written goes to a folder of our own in it, and only
//! that folder is deleted, never across a mount.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pickfs_record::record::RawProbe;
use pickfs_record::{CandidateSpec, Environment};
use pickfs_sys::{mount, mount_table};

use crate::availability::find_program;
use crate::card;
use crate::carry_out;
use crate::environment;
use crate::error::TargetError;
use crate::fs::serving;
use crate::image::write_noise;
use crate::raw_probe;

const PROBE_FILE_BYTES: u64 = 64 << 20;
/// The name that says "whatever is there".
const ANY: &str = "dir";

#[derive(Debug)]
pub(crate) struct Directory {
    path: PathBuf,
    fs_type: String,
    made: Option<OwnFolder>,
}

#[derive(Debug)]
pub(crate) struct Directories {
    all: Vec<(String, Directory)>,
    here: usize,
}

impl Directories {
    pub(crate) fn take(
        path: &Path,
        places: &BTreeMap<String, PathBuf>,
    ) -> Result<Self, TargetError> {
        let each = places.iter().map(|(label, path)| Ok((label.clone(), Directory::at(path)?)));
        let all = match places.is_empty() {
            true => vec![(String::new(), Directory::at(path)?)],
            false => each.collect::<Result<_, TargetError>>()?,
        };
        Ok(Self { all, here: 0 })
    }

    pub(crate) fn turn_to(&mut self, label: &str) {
        self.here = self.all.iter().position(|(one, _)| one == label).unwrap_or(0);
    }

    pub(crate) fn here(&self) -> &Directory {
        &self.all[self.here].1
    }

    pub(crate) fn here_mut(&mut self) -> &mut Directory {
        &mut self.all[self.here].1
    }

    /// Of several directories each has its own figures, under its label. The median flush in
    /// nanoseconds where there is one directory.
    pub(crate) fn card(
        &self,
        length: Duration,
        facts: &mut Environment,
    ) -> Result<Option<u64>, TargetError> {
        if let [(_, only)] = self.all.as_slice() {
            only.put_facts(facts);
            return only.card(length, facts).map(Some);
        }
        for (label, directory) in &self.all {
            let mut own = Environment::default();
            directory.card(length / self.all.len() as u32, &mut own)?;
            for (key, value) in &own.0 {
                let name = key.strip_prefix("card.").unwrap_or(key);
                facts.put(&format!("card.{label}.{name}"), value);
            }
        }
        Ok(None)
    }
}

/// A folder that we made: it is deleted only while it is still the same.
#[derive(Debug)]
struct OwnFolder {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl Directory {
    pub(crate) fn at(path: &Path) -> Result<Self, TargetError> {
        let path = fs::canonicalize(path).map_err(TargetError::io("find", path))?;
        fs::read_dir(&path).map_err(TargetError::io("read", &path))?;
        let fs_type = mount::mount_of(&path)?.fs_type;
        Ok(Self { path, fs_type, made: None })
    }

    /// It must be `dir` or what is there, without options.
    pub(crate) fn check(&self, candidate: &CandidateSpec) -> Result<(), TargetError> {
        if candidate.fs == ANY || candidate.fs == self.fs_type {
            return Ok(());
        }
        let (path, found, asked) = (self.path.display(), &self.fs_type, &candidate.fs);
        Err(TargetError::Other(format!(
            "{path} is {found}, not {asked}; name the candidate `dir` or `{found}`"
        )))
    }

    pub(crate) fn trial_folder(&self) -> PathBuf {
        let number = fastrand::u32(..);
        self.path.join(format!("pickfs-trial-{number:08x}"))
    }

    pub(crate) fn make(&mut self, folder: &Path) -> Result<(), TargetError> {
        fs::create_dir(folder).map_err(TargetError::io("create", folder))?;
        let facts = fs::symlink_metadata(folder).map_err(TargetError::io("look at", folder))?;
        let path = folder.to_owned();
        self.made = Some(OwnFolder { path, device: facts.dev(), inode: facts.ino() });
        Ok(())
    }

    pub(crate) fn clear(&mut self) -> Result<(), TargetError> {
        self.made.take().map_or(Ok(()), |folder| folder.delete())
    }

    /// In a file of its own; direct where the file system can.
    pub(crate) fn raw_probe(&self, length: Duration) -> Result<RawProbe, TargetError> {
        self.with_probe_file(|path| raw_probe::probe(path, PROBE_FILE_BYTES, length))
    }

    /// In a file of its own; the median flush in nanoseconds.
    pub(crate) fn card(
        &self,
        length: Duration,
        facts: &mut Environment,
    ) -> Result<u64, TargetError> {
        self.with_probe_file(|path| card::measure(path, PROBE_FILE_BYTES, length, facts))
    }

    fn with_probe_file<T>(
        &self,
        work: impl FnOnce(&Path) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        let path = self.path.join(format!("pickfs-probe-{:08x}", fastrand::u64(..)));
        let file = File::options().write(true).create_new(true).open(&path);
        let file = file.map_err(TargetError::io("create", &path))?;
        let answer =
            write_noise(&file, &path, PROBE_FILE_BYTES, &mut |_| {}).and_then(|()| work(&path));
        fs::remove_file(&path).map_err(TargetError::io("remove", &path))?;
        answer
    }

    pub(crate) fn put_facts(&self, facts: &mut Environment) {
        let Ok(entry) = mount::mount_of(&self.path) else { return };
        environment::put_device(facts, "device", &entry.source);
        if let Ok(space) = mount::file_system_use(&self.path) {
            let used = space.total_bytes.saturating_sub(space.available_bytes);
            let share = used as f64 / space.total_bytes.max(1) as f64;
            facts.put("directory.fill_share", format!("{share:.3}"));
        }
        let free = free_extents(&entry.fs_type, &entry.source, &entry.mount_point);
        facts.put("directory.free_extents", free);
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = self.clear();
    }
}

/// The histogram of free extents as the file system's own tool prints it, or why there is none.
fn free_extents(fs_type: &str, source: &Path, mount_point: &Path) -> String {
    let command = serving(fs_type).map_or("", |row| row.free_extents);
    let Some((program, words)) = command.split_once(' ') else {
        return format!("not available: no tool reads the free extents of {fs_type}");
    };
    let word = |word: &str| match word {
        "SOURCE" => source.to_string_lossy().into_owned(),
        "MOUNT" => mount_point.to_string_lossy().into_owned(),
        word => word.to_owned(),
    };
    let args: Vec<String> = words.split(' ').map(word).collect();
    if find_program(program).is_none() {
        return format!("not available: {program} not found");
    }
    carry_out::run(program, &args).unwrap_or_else(|error| format!("not available: {error}"))
}

impl OwnFolder {
    fn delete(self) -> Result<(), TargetError> {
        let facts = fs::symlink_metadata(&self.path);
        let facts = facts.map_err(TargetError::io("look at", &self.path))?;
        let same = facts.dev() == self.device && facts.ino() == self.inode && facts.is_dir();
        let is_inside = |entry: mount_table::MountEntry| entry.mount_point.starts_with(&self.path);
        if !same || mount::mounts()?.into_iter().any(is_inside) {
            let cause = std::io::Error::other("it is not as we made it; remove it by hand");
            return Err(TargetError::Io { what: "delete", path: self.path, cause });
        }
        delete_within(&self.path, self.device)
    }
}

/// Links are removed, not followed; other devices are left alone.
fn delete_within(folder: &Path, device: u64) -> Result<(), TargetError> {
    let entries = fs::read_dir(folder).map_err(TargetError::io("read", folder))?;
    for entry in entries {
        let path = entry.map_err(TargetError::io("read", folder))?.path();
        let facts = fs::symlink_metadata(&path).map_err(TargetError::io("look at", &path))?;
        if facts.dev() != device {
            let cause = std::io::Error::other("another file system is mounted there");
            return Err(TargetError::Io { what: "delete", path, cause });
        }
        if facts.is_dir() {
            delete_within(&path, device)?;
        } else {
            fs::remove_file(&path).map_err(TargetError::io("delete", &path))?;
        }
    }
    fs::remove_dir(folder).map_err(TargetError::io("delete", folder))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn directory() -> (tempfile::TempDir, Directory) {
        let folder = tempfile::tempdir().unwrap();
        let directory = Directory::at(folder.path()).unwrap();
        (folder, directory)
    }

    #[test]
    fn only_our_own_folder_is_deleted_and_links_are_not_followed() {
        let (folder, mut directory) = directory();
        fs::write(folder.path().join("theirs"), b"keep").unwrap();
        let trial = directory.trial_folder();
        directory.make(&trial).unwrap();
        fs::create_dir(trial.join("sub")).unwrap();
        fs::write(trial.join("sub/file"), b"x").unwrap();
        symlink(folder.path(), trial.join("sub/link")).unwrap();
        directory.clear().unwrap();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1);
        assert_eq!(fs::read(folder.path().join("theirs")).unwrap(), b"keep");
    }

    #[test]
    fn a_folder_that_was_exchanged_is_left_alone() {
        let (_folder, mut directory) = directory();
        let trial = directory.trial_folder();
        directory.make(&trial).unwrap();
        fs::rename(&trial, trial.with_extension("ours")).unwrap();
        fs::create_dir(&trial).unwrap();
        fs::write(trial.join("theirs"), b"keep").unwrap();
        let text = directory.clear().unwrap_err().to_string();
        assert!(text.ends_with("it is not as we made it; remove it by hand"), "{text}");
        assert!(trial.join("theirs").exists());
    }

    #[test]
    fn a_candidate_must_be_what_is_there() {
        let (_folder, directory) = directory();
        assert!(directory.check(&"dir".parse().unwrap()).is_ok());
        let text = directory.check(&"nosuchfs".parse().unwrap()).unwrap_err().to_string();
        assert!(text.contains(", not nosuchfs; name the candidate `dir` or `"), "{text}");
    }

    #[test]
    fn the_probe_leaves_no_file() {
        let (folder, directory) = directory();
        let probe = directory.raw_probe(Duration::from_millis(20)).unwrap();
        assert!(probe.count > 0);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
