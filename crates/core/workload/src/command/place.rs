use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use pickfs_record::TrialSpec;
use pickfs_sys::account::Account;

use super::needs::started_in;
use crate::fault::Fault;

const DIRECTORY: &str = "{dir}";
/// A lane has its number behind it; a rank on another host must not find the folder of this one.
const NAME: &str = "work";

#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) directory: PathBuf,
    /// Who runs there; who we are when absent.
    pub(crate) account: Option<Account>,
    variables: Vec<(String, OsString)>,
}

impl Place {
    /// An empty `user` means who called sudo, where somebody did.
    pub(crate) fn make(spec: &TrialSpec, user: &str, variables: &[String]) -> Result<Place, Fault> {
        let account = account(user)?;
        let directory = spec.directory.join(match spec.lanes {
            0 | 1 => NAME.into(),
            _ => format!("{NAME}-{}", spec.lane),
        });
        fs::create_dir(&directory).map_err(Fault::io("create", &directory))?;
        if let Some(account) = &account {
            let (user, group) = (Some(account.user_id), Some(account.group_id));
            std::os::unix::fs::chown(&directory, user, group)
                .map_err(Fault::io("give away", &directory))?;
            reachable(account, &directory)?;
        }
        let mut place = Place { directory, account, variables: Vec::new() };
        let program = std::env::current_exe().unwrap_or_default();
        let told = [
            ("PICKFS_DIR", place.directory.clone()),
            ("PICKFS_FROM", started_in()),
            ("PICKFS_PROGRAM", program),
        ];
        let told = told.map(|(name, path)| (name.to_owned(), path.into_os_string()));
        let own = variables.iter().filter_map(|text| text.split_once('='));
        let own: Vec<_> = own.map(|(name, value)| (name.into(), place.filled(value))).collect();
        place.variables = told.into_iter().chain(own).collect();
        Ok(place)
    }

    pub(crate) fn filled(&self, word: &str) -> OsString {
        let mut filled = OsString::new();
        for (index, part) in word.split(DIRECTORY).enumerate() {
            if index > 0 {
                filled.push(&self.directory);
            }
            filled.push(part);
        }
        filled
    }

    pub(crate) fn variables(&self) -> &[(String, OsString)] {
        &self.variables
    }
}

fn account(user: &str) -> Result<Option<Account>, Fault> {
    let is_root = rustix::process::geteuid().is_root();
    let not_read = Fault::io("look up a user in", "/etc/passwd");
    let found = match (user, is_root) {
        ("", false) => return Ok(None),
        ("", true) => match std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok()) {
            Some(0) | None => return Ok(None),
            Some(id) => Account::numbered(id).map_err(not_read)?,
        },
        (name, _) => Account::named(name).map_err(not_read)?,
    };
    let unknown = || Fault::Failed {
        reason: format!("user `{user}` is not known on this machine; see getent passwd"),
    };
    let found = found.ok_or_else(unknown)?;
    let is_us = found.user_id == rustix::process::geteuid().as_raw();
    match (is_root, is_us) {
        (_, true) => Ok(None),
        (true, false) => Ok(Some(found)),
        (false, false) => Err(Fault::Failed {
            reason: format!("only root can run a command as {}; leave --user out", found.name),
        }),
    }
}

fn reachable(account: &Account, directory: &Path) -> Result<(), Fault> {
    match account.barred_from(directory) {
        None => Ok(()),
        Some(folder) => Err(Fault::Failed {
            reason: format!(
                "user {} may not pass {} on the way to the mount; keep the runs elsewhere, as \
                 with --out /var/tmp/pickfs-runs, or run the command as root with --user root",
                account.name,
                folder.display()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::fake_spec;

    use super::*;

    fn place(folder: &Path, user: &str, variables: &[String]) -> Result<Place, Fault> {
        Place::make(&fake_spec("command", folder, serde_json::Map::new()), user, variables)
    }

    #[test]
    fn lanes_have_a_directory_each() {
        let folder = tempfile::tempdir().unwrap();
        let spec = fake_spec("command", folder.path(), serde_json::Map::new());
        let names = [(0, 1), (0, 2), (1, 2)].map(|(lane, lanes)| {
            let place = Place::make(&TrialSpec { lane, lanes, ..spec.clone() }, "", &[]).unwrap();
            place.directory.strip_prefix(folder.path()).unwrap().to_owned()
        });
        assert_eq!(names, ["work", "work-0", "work-1"].map(PathBuf::from));
    }

    #[test]
    fn the_directory_is_filled_in_wherever_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path(), "", &["TMPDIR={dir}/t".into()]).unwrap();
        let directory = place.directory.display().to_string();
        assert_eq!(place.filled("a{dir}b{dir}"), *format!("a{directory}b{directory}"));
        assert_eq!(place.filled("plain"), "plain");
        let expected = (String::from("TMPDIR"), OsString::from(format!("{directory}/t")));
        assert!(place.variables().contains(&expected));
        assert!(place.directory.is_dir());
    }

    #[test]
    fn a_user_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = place(folder.path(), "nobody-of-that-name", &[]).unwrap_err();
        assert!(error.to_string().contains("`nobody-of-that-name`"), "{error}");
    }
}
