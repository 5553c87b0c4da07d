//! apt and dpkg, run as whoever we are: with the lists of this machine, or with a configuration of their own in
//! the cache. Signatures are checked as ever (apt-secure(8)), and nothing of the machine's apt changes.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::packages::PackageError;

pub(crate) const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

#[derive(Debug)]
pub(crate) enum NotDone {
    NoProgram(io::Error),
    /// The last line of its errors.
    Said(String),
}

impl NotDone {
    pub(crate) fn of(
        self,
        program: &'static str,
        package: impl Into<String>,
        cache: &Path,
    ) -> PackageError {
        let (package, cache) = (package.into(), cache.to_owned());
        match self {
            NotDone::NoProgram(_) => PackageError::NoProgram { program, package, cache },
            NotDone::Said(said) => PackageError::Failed { program, package, said, cache },
        }
    }
}

impl std::fmt::Display for NotDone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NotDone::NoProgram(error) => error.fmt(f),
            NotDone::Said(said) => f.write_str(said),
        }
    }
}

/// What it printed.
pub(crate) fn said(command: &mut Command) -> Result<String, NotDone> {
    let output = command.stdin(Stdio::null()).env("LC_ALL", "C").output();
    let output = output.map_err(NotDone::NoProgram)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let said = text.lines().rfind(|line| !line.trim().is_empty());
    Err(NotDone::Said(said.unwrap_or("it said nothing").trim().to_owned()))
}

/// Lists and all that apt keeps in a folder of our own.
#[derive(Debug)]
pub(crate) struct OwnLists {
    folder: PathBuf,
}

impl OwnLists {
    pub(crate) fn at(folder: &Path) -> OwnLists {
        OwnLists { folder: folder.to_owned() }
    }

    /// Before its first update; `parts` are those of the archive: `main contrib`.
    pub(crate) fn prepare(&self, suites: &[&str], parts: &str) -> io::Result<()> {
        let keyring = KEYRINGS.into_iter().find(|path| Path::new(path).exists());
        let keyring = keyring.ok_or_else(|| {
            io::Error::other("Debian's keys are not here; install debian-archive-keyring")
        })?;
        for folder in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(self.folder.join(folder))?;
        }
        fs::write(self.folder.join("sources.list"), sources(keyring, suites, parts))?;
        fs::write(self.folder.join("status"), "")?;
        fs::write(self.configuration(), configuration(&self.folder))
    }

    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join("apt.conf")
    }

    pub(crate) fn run(&self, program: &str, words: &[&str]) -> Result<String, NotDone> {
        said(Command::new(program).env("APT_CONFIG", self.configuration()).args(words))
    }
}

/// A mirror may be a frozen one, whose lists are past their date: they are signed all the same, and an old
/// kernel is what is asked for.
fn sources(keyring: &str, suites: &[&str], parts: &str) -> String {
    let line = |suite: &&str| {
        format!("deb [check-valid-until=no signed-by={keyring}] {MIRROR} {suite} {parts}\n")
    };
    suites.iter().map(line).collect()
}

/// Of the machine's own configuration only its proxies count.
fn configuration(folder: &Path) -> String {
    let at = folder.display();
    let proxies = said(Command::new("apt-config").args(["dump", "Acquire"])).unwrap_or_default();
    let proxies = proxies.lines().filter(|line| line.starts_with("Acquire::http"));
    format!(
        "Dir::State \"{at}\";\nDir::State::lists \"{at}/lists\";\nDir::State::status \"{at}/status\";\n\
         Dir::Cache \"{at}/cache\";\nDir::Etc::sourcelist \"{at}/sources.list\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\nDir::Etc::parts \"/dev/null\";\n\
         Dir::Etc::main \"/dev/null\";\nDir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\nAPT::Architecture \"amd64\";\n\
         APT::Architectures \"amd64\";\nAPT::Sandbox::User \"root\";\nAcquire::Languages \"none\";\n{}\n",
        proxies.collect::<Vec<_>>().join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_signed_and_nothing_of_the_machines_apt_is_written() {
        let lines = sources("/keys", &["bookworm", "trixie"], "main contrib");
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.lines().all(|line| line.contains("signed-by=/keys")), "{lines}");
        assert!(lines.ends_with("trixie main contrib\n"), "{lines}");
        let text = configuration(Path::new("/cache/archive"));
        let is_state =
            |line: &&str| line.starts_with("Dir::State") || line.starts_with("Dir::Cache");
        let mut state = text.lines().filter(is_state);
        assert!(state.all(|line| line.contains("\"/cache/archive")), "{text}");
    }
}
