//! Who a program may be run as: one row of the machine's list of users, with all its groups.
//!
//! ```
//! let root = pickfs_sys::account::Account::named("root")?.expect("every machine has root");
//! assert_eq!(root.user_id, 0);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Source: getpwnam(3), getpwuid(3), getgrouplist(3).
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, OsStr},
    io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    ptr::null_mut,
};

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// Its number.
    pub user_id: u32,
    /// Its own group.
    pub group_id: u32,
    /// Every group, its own one too.
    pub groups: Vec<u32>,
    /// Its home.
    pub home: PathBuf,
    /// Its shell.
    pub shell: PathBuf,
}

/// Longest row of the list that is read.
const ROW_BYTES: usize = 64 << 10;
/// Most groups of one user (`NGROUPS_MAX` of Linux).
const GROUPS_MAX: usize = 65_536;

impl Account {
    /// The user of a name; none when there is no such user.
    pub fn named(name: &str) -> io::Result<Option<Account>> {
        let name = CString::new(name)?;
        row(|row, bytes, found| {
            // SAFETY: all pointers are to values of ours that outlive the call; the name ends in 0.
            unsafe { libc::getpwnam_r(name.as_ptr(), row, bytes.as_mut_ptr(), bytes.len(), found) }
        })
    }

    /// The user of a number; none when there is no such user.
    pub fn numbered(user_id: u32) -> io::Result<Option<Account>> {
        row(|row, bytes, found| {
            // SAFETY: all pointers are to values of ours that outlive the call.
            unsafe { libc::getpwuid_r(user_id, row, bytes.as_mut_ptr(), bytes.len(), found) }
        })
    }

    /// The first folder on the way to `path` that this user may not pass, by owner and mode alone;
    /// none where the way is free.
    pub fn barred_from(&self, path: &Path) -> Option<PathBuf> {
        if self.user_id == 0 {
            return None;
        }
        let mut way: Vec<&Path> = path.ancestors().collect();
        way.reverse();
        way.into_iter().find(|folder| !self.may_pass(folder)).map(Path::to_path_buf)
    }

    fn may_pass(&self, folder: &Path) -> bool {
        let Ok(found) = std::fs::metadata(folder) else { return true };
        let mode = found.mode();
        let bit = match (found.uid() == self.user_id, self.groups.contains(&found.gid())) {
            (true, _) => 0o100,
            (false, true) => 0o010,
            (false, false) => 0o001,
        };
        mode & bit != 0
    }
}

type Found = *mut *mut libc::passwd;

fn row(
    ask: impl Fn(*mut libc::passwd, &mut [libc::c_char], Found) -> libc::c_int,
) -> io::Result<Option<Account>> {
    // SAFETY: a row is numbers and pointers, for which zeros are valid.
    let mut row: libc::passwd = unsafe { std::mem::zeroed() };
    let mut bytes = vec![0; ROW_BYTES];
    let mut found = null_mut();
    match ask(&mut row, &mut bytes, &mut found) {
        0 if found.is_null() => Ok(None),
        0 => account(&row).map(Some),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

fn account(row: &libc::passwd) -> io::Result<Account> {
    // SAFETY: the library filled the row; its texts end in 0 and lie in our bytes.
    let (name, home, shell) = unsafe {
        (CStr::from_ptr(row.pw_name), CStr::from_ptr(row.pw_dir), CStr::from_ptr(row.pw_shell))
    };
    let path = |text: &CStr| PathBuf::from(OsStr::from_bytes(text.to_bytes()));
    Ok(Account {
        name: name.to_string_lossy().into_owned(),
        user_id: row.pw_uid,
        group_id: row.pw_gid,
        groups: groups(name, row.pw_gid)?,
        home: path(home),
        shell: path(shell),
    })
}

fn groups(name: &CStr, own: u32) -> io::Result<Vec<u32>> {
    let mut groups = vec![0; 64];
    loop {
        let mut count = groups.len() as libc::c_int;
        // SAFETY: the list has room for `count` numbers; the name ends in 0.
        let written =
            unsafe { libc::getgrouplist(name.as_ptr(), own, groups.as_mut_ptr(), &mut count) };
        if written >= 0 {
            groups.truncate(count.max(0) as usize);
            return Ok(groups);
        }
        if groups.len() >= GROUPS_MAX {
            return Err(io::Error::other("a user with more groups than Linux allows"));
        }
        groups.resize(groups.len() * 2, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_by_name_and_by_number_and_nobody_else_is_made_up() {
        let named = Account::named("root").unwrap().unwrap();
        assert_eq!(Account::numbered(0).unwrap(), Some(named.clone()));
        assert!(named.groups.contains(&0));
        assert_eq!(Account::named("no-such-user-here").unwrap(), None);
    }

    #[test]
    fn a_closed_folder_bars_a_user_and_not_root() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let closed = std::fs::Permissions::from_mode(0o700);
        std::fs::set_permissions(folder.path().join("a"), closed).unwrap();
        let root = Account::named("root").unwrap().unwrap();
        assert_eq!(root.barred_from(&inner), None);
        let stranger =
            Account { user_id: 4_294_000_000, groups: vec![4_294_000_000], ..root.clone() };
        let barred = stranger.barred_from(&inner).unwrap();
        assert!(inner.starts_with(&barred) && barred != inner, "{}", barred.display());
    }
}
