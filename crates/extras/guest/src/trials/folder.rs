//! The folder of a run's guests for small files: a short path, as an engine's sockets need one.
//!
//! ```text
//! $TMPDIR/pickfs-guest-1a2b3c4d/owner        locked while the run lives
//!                              /first-files.cpio
//! ```

use std::{
    fs::{self, File},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

const PREFIX: &str = "pickfs-guest-";
const OWNER: &str = "owner";

pub(crate) struct GuestFolder {
    path: PathBuf,
    /// Its lock tells that the run lives.
    _owner: File,
}

impl GuestFolder {
    pub(crate) fn make() -> io::Result<GuestFolder> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> io::Result<GuestFolder> {
        let path = parent.join(format!("{PREFIX}{:08x}", fastrand::u32(..)));
        fs::create_dir(&path)?;
        let owner = File::create(path.join(OWNER))?;
        flock(&owner, FlockOperation::NonBlockingLockExclusive)?;
        Ok(GuestFolder { path, _owner: owner })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for GuestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders that killed runs of this user left in the folder for temporary files; gives each with
/// what came of it.
pub fn clean_left() -> Vec<(PathBuf, io::Result<()>)> {
    clean_left_in(&std::env::temp_dir())
}

fn clean_left_in(parent: &Path) -> Vec<(PathBuf, io::Result<()>)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let left = entries.map(|entry| entry.path()).filter(|path| is_left(path));
    left.map(|path| (path.clone(), fs::remove_dir_all(&path))).collect()
}

/// A folder of our name and our user, with its owner's file and nobody who holds it. One without that
/// file is of a run in its first moment, or not ours.
fn is_left(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_prefix(PREFIX).unwrap_or_default();
    let is_named = number.len() == 8 && number.chars().all(|c| c.is_ascii_hexdigit());
    let user = rustix::process::geteuid().as_raw();
    let is_ours = |facts: fs::Metadata| facts.is_dir() && facts.uid() == user;
    if !is_named || !fs::symlink_metadata(path).is_ok_and(is_ours) {
        return false;
    }
    let owner = File::open(path.join(OWNER));
    owner.is_ok_and(|owner| flock(&owner, FlockOperation::NonBlockingLockExclusive).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_run_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a folder");
        let lives = GuestFolder::make_in(parent.path()).expect("made");
        let killed = parent.path().join("pickfs-guest-0000abcd");
        fs::create_dir_all(killed.join("inner")).expect("made");
        fs::write(killed.join(OWNER), "").expect("written");
        let others = ["pickfs-guest-notes", "pickfs-guest-00001111", "something"];
        for name in others {
            fs::create_dir(parent.path().join(name)).expect("made");
        }
        let cleaned = clean_left_in(parent.path());
        assert_eq!(cleaned.len(), 1, "{cleaned:?}");
        assert!(cleaned[0].0 == killed && cleaned[0].1.is_ok() && !killed.exists());
        assert!(lives.path().exists());
        assert!(others.iter().all(|name| parent.path().join(name).exists()));
        let path = lives.path().to_owned();
        drop(lives);
        assert!(!path.exists() && clean_left_in(parent.path()).is_empty());
    }
}
