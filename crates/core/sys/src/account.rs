//! Who a program may be run as. A static program cannot load what a machine asks for its users
//! (LDAP, systemd), so getent(1) and id(1) are asked, and passwd(5) alone where they are missing.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub name: String,
    pub user_id: u32,
    pub group_id: u32,
    /// Every group, its own one too.
    pub groups: Vec<u32>,
    pub home: PathBuf,
    pub shell: PathBuf,
}

impl Account {
    pub fn named(name: &str) -> io::Result<Option<Account>> {
        found(name, |account| account.name == name)
    }

    pub fn numbered(user_id: u32) -> io::Result<Option<Account>> {
        found(&user_id.to_string(), |account| account.user_id == user_id)
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

/// The first folder on the way to `path` that not everybody may pass, as a home of mode 0700 is.
pub fn closed_on_the_way(path: &Path) -> Option<&Path> {
    let is_closed = |folder: &&Path| {
        std::fs::metadata(folder).is_ok_and(|found| found.is_dir() && found.mode() & 0o001 == 0)
    };
    path.ancestors().collect::<Vec<_>>().into_iter().rev().find(is_closed)
}

fn found(key: &str, is_it: impl Fn(&Account) -> bool) -> io::Result<Option<Account>> {
    let rows = match said_by("getent", &["passwd", key])? {
        Some(rows) => rows,
        None => fs::read_to_string("/etc/passwd")?,
    };
    let Some(mut account) = rows.lines().filter_map(account).find(is_it) else { return Ok(None) };
    let groups = said_by("id", &["-G", &account.name])?.unwrap_or_default();
    let groups = groups.split_whitespace().filter_map(|number| number.parse().ok());
    account.groups.extend(groups.filter(|group: &u32| *group != account.group_id));
    Ok(Some(account))
}

/// What a program prints; none where it is not installed.
fn said_by(program: &str, words: &[&str]) -> io::Result<Option<String>> {
    match Command::new(program).args(words).stderr(Stdio::null()).output() {
        Ok(output) => Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// `name:password:number:group:remark:home:shell`
fn account(row: &str) -> Option<Account> {
    let columns: Vec<&str> = row.split(':').collect();
    let [name, _, user_id, group_id, _, home, shell] = columns[..] else { return None };
    let group_id = group_id.parse().ok()?;
    Some(Account {
        name: name.into(),
        user_id: user_id.parse().ok()?,
        group_id,
        groups: vec![group_id],
        home: home.into(),
        shell: if shell.is_empty() { "/bin/sh".into() } else { shell.into() },
    })
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
    fn groups_are_those_that_id_prints() {
        let id = Command::new("id").args(["-G", "root"]).output().unwrap();
        let mut wanted: Vec<u32> = String::from_utf8_lossy(&id.stdout)
            .split_whitespace()
            .map(|number| number.parse().unwrap())
            .collect();
        let mut groups = Account::named("root").unwrap().unwrap().groups;
        wanted.sort_unstable();
        groups.sort_unstable();
        assert_eq!(groups, wanted);
        assert_eq!(account("half:x:7"), None);
    }

    #[test]
    fn a_closed_folder_bars_a_user_and_not_root() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let home = folder.path().join("a");
        std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700)).unwrap();
        let root = Account::named("root").unwrap().unwrap();
        assert_eq!(root.barred_from(&inner), None);
        let stranger =
            Account { user_id: 4_294_000_000, groups: vec![4_294_000_000], ..root.clone() };
        let closed = closed_on_the_way(&inner).unwrap();
        assert!(home.starts_with(closed), "{}", closed.display());
        let barred = stranger.barred_from(&inner).unwrap();
        assert!(inner.starts_with(&barred) && barred != inner, "{}", barred.display());
    }
}
