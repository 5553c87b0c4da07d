use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use pickfs_record::{BackingSpec, CandidateSpec};
use pickfs_sys::{mount::mount_of, mount_table::MountEntry};

pub fn places(dirs: &[PathBuf]) -> anyhow::Result<(Vec<CandidateSpec>, BackingSpec)> {
    let found: Vec<(PathBuf, MountEntry)> =
        dirs.iter().map(|dir| place(dir)).collect::<Result<_, _>>()?;
    let mut candidates = Vec::new();
    let mut places = BTreeMap::new();
    for (at, (path, mount)) in found.iter().enumerate() {
        if found[..at].iter().any(|(other, _)| other == path) {
            bail!("--dir {} stands twice; name two different directories", path.display());
        }
        let shares = |(_, other): &&(PathBuf, MountEntry)| {
            (&other.mount_point, &other.fs_type) == (&mount.mount_point, &mount.fs_type)
        };
        let is_alone = found.iter().filter(shares).count() == 1;
        let name = if is_alone { &mount.mount_point } else { path };
        let label = format!("{} on {}", mount.fs_type, name.display());
        places.insert(label.clone(), path.clone());
        candidates.push(CandidateSpec {
            label,
            fs: mount.fs_type.clone(),
            mount_options: Vec::new(),
            mkfs_options: Vec::new(),
        });
    }
    let path = found.first().context("--dir names no directory")?.0.clone();
    if places.len() == 1 {
        places.clear();
    }
    Ok((candidates, BackingSpec::Directory { path, places }))
}

fn place(dir: &Path) -> anyhow::Result<(PathBuf, MountEntry)> {
    let path = fs::canonicalize(dir).map_err(|error| {
        anyhow!("--dir {}: {error}; name a directory that exists", dir.display())
    })?;
    let mount = mount_of(&path)?;
    Ok((path, mount))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_by_what_they_are_and_told_apart_by_path() {
        let (shm, disk) = (tempfile::tempdir_in("/dev/shm").unwrap(), tempfile::tempdir().unwrap());
        let (a, b) = (disk.path().join("a"), disk.path().join("b"));
        fs::create_dir(&a).and(fs::create_dir(&b)).unwrap();
        let (alone, backing) = places(&[shm.path().to_owned()]).unwrap();
        assert_eq!(alone[0].label, "tmpfs on /dev/shm");
        assert_eq!(backing.directories(), [shm.path().canonicalize().unwrap()]);
        let (three, backing) = places(&[shm.path().into(), a.clone(), b.clone()]).unwrap();
        assert_eq!(three[0].label, "tmpfs on /dev/shm");
        let path = b.canonicalize().unwrap();
        assert_eq!(three[2].label, format!("{} on {}", three[2].fs, path.display()));
        assert_eq!(backing.directory_of(&three[2].label), Some(path.as_path()));
        let twice = places(&[a.clone(), a]).unwrap_err().to_string();
        assert!(twice.ends_with("stands twice; name two different directories"), "{twice}");
    }
}
