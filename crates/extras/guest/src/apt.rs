//! apt and dpkg, run as whoever we are: with the lists of this machine, or with lists of Debian's suites that are kept in
//! the cache and have a configuration of their own. Signatures are checked as ever (apt-secure(8)), and nothing of the
//! machine's apt changes.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use crate::{packages::PackageError, version::Version};

const MIRROR: &str = "http://deb.debian.org/debian";
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/debian-archive-keyring.gpg",
    "/usr/share/keyrings/debian-archive-keyring.pgp",
];

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotDone {
    #[error(transparent)]
    NoProgram(io::Error),
    /// The last line of its errors.
    #[error("{0}")]
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
            NotDone::NoProgram(_) => {
                let program = program.split(' ').next().unwrap_or(program);
                PackageError::NoProgram { program, package, cache }
            }
            NotDone::Said(said) => PackageError::Failed { program, package, said, cache },
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

/// Lists of Debian's suites in a folder of the cache.
#[derive(Debug)]
pub(crate) struct Lists {
    folder: &'static str,
    suites: &'static [&'static str],
    /// About, compressed.
    pub(crate) bytes: u64,
}

/// Of Debian 12, from which guests have their kernel.
pub(crate) const RELEASE: Lists =
    Lists { folder: "archive", suites: &["bookworm"], bytes: 9_000_000 };
/// Suites that hold kernels for guests. From forky on a kernel's image is in a package of its own.
pub(crate) const SUITES: Lists = Lists {
    folder: "suites",
    suites: &["bullseye", "bookworm", "trixie", "bookworm-backports", "trixie-backports"],
    bytes: 40_000_000,
};
/// How old lists may be where they lack what is asked for.
const FRESH: Duration = Duration::from_secs(86_400);
/// Its age is that of the lists.
const STAMP: &str = "whole";

impl Lists {
    /// Updated within the last day.
    pub(crate) fn are_fresh(&self, cache: &Path) -> bool {
        let made = fs::metadata(cache.join(self.folder).join(STAMP)).and_then(|it| it.modified());
        made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < FRESH))
    }

    /// A suite that is gone is no reason to do without the others: what counts is what comes of it.
    pub(crate) fn update(&self, cache: &Path) -> Result<(), NotDone> {
        let folder = cache.join(self.folder);
        let prepared = fs::create_dir_all(&folder).and_then(|()| self.prepare(&folder));
        prepared.map_err(|error| NotDone::Said(error.to_string()))?;
        let apt = Apt { lists: Some(folder.clone()) };
        let updated = apt.run("apt-get", &["-q", "update"], &folder);
        fs::write(folder.join(STAMP), "").map_err(|error| NotDone::Said(error.to_string()))?;
        updated.map(drop)
    }

    fn prepare(&self, folder: &Path) -> io::Result<()> {
        let keyring = KEYRINGS.into_iter().find(|path| Path::new(path).exists());
        let keyring = keyring.ok_or_else(|| {
            io::Error::other("Debian's keys are not here; install debian-archive-keyring")
        })?;
        for part in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part))?;
        }
        fs::write(folder.join("sources.list"), sources(keyring, self.suites))?;
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join(CONFIGURATION), configuration(folder))
    }
}

const CONFIGURATION: &str = "apt.conf";

/// A package as lists have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) version: Version,
    /// Of its archive.
    pub(crate) bytes: u64,
    pub(crate) depends: String,
}

/// With the lists of a folder, or those of this machine.
#[derive(Debug, Default)]
pub(crate) struct Apt {
    lists: Option<PathBuf>,
}

impl Apt {
    /// They need not be there.
    pub(crate) fn of(lists: &Lists, cache: &Path) -> Apt {
        let folder = cache.join(lists.folder);
        if folder.is_dir() {
            let _ = lists.prepare(&folder);
        }
        Apt { lists: Some(folder) }
    }

    /// The newest last; only the one that would be installed where not `all` are asked for.
    pub(crate) fn offers(&self, package: &str, all: bool) -> Result<Vec<Offer>, NotDone> {
        let words = ["show", if all { "--all-versions" } else { "--no-all-versions" }, package];
        match self.run("apt-cache", &words, Path::new("/")) {
            Ok(shown) => Ok(offers_of(&shown)),
            Err(NotDone::Said(_)) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// `6.12.107-1 (trixie), 6.1.176-1 (bookworm)`, from lines of ` name | version | mirror suite/main amd64 Packages`.
    pub(crate) fn known(&self, package: &str) -> String {
        let listed = self.run("apt-cache", &["madison", package], Path::new("/"));
        let known = |line: &str| {
            let mut columns = line.split('|').map(str::trim).skip(1);
            let (version, place) = (columns.next()?, columns.next()?.split_whitespace().nth(1)?);
            Some(format!("{version} ({})", place.split('/').next().unwrap_or(place)))
        };
        let known: Vec<_> = listed.unwrap_or_default().lines().filter_map(known).collect();
        if known.is_empty() { "none".into() } else { known.join(", ") }
    }

    /// What an installation would bring beside it: lines of `Inst NAME (VERSION ...)`.
    pub(crate) fn missing_beside(&self, package: &str) -> Result<Vec<String>, NotDone> {
        let words = ["-q", "--simulate", "--no-install-recommends", "install", package];
        let said = self.run("apt-get", &words, Path::new("/"))?;
        let installed = said.lines().filter_map(|line| line.strip_prefix("Inst "));
        let names = installed.filter_map(|line| line.split_whitespace().next());
        Ok(names.filter(|one| *one != package).map(str::to_owned).collect())
    }

    /// Of their archives together.
    pub(crate) fn size_bytes(&self, packages: &[String]) -> u64 {
        let mut words = vec!["show", "--no-all-versions"];
        words.extend(packages.iter().map(String::as_str));
        let shown = self.run("apt-cache", &words, Path::new("/")).unwrap_or_default();
        offers_of(&shown).iter().map(|offer| offer.bytes).sum()
    }

    /// Into the folder; `name=version`.
    pub(crate) fn download(&self, packages: &[String], folder: &Path) -> Result<(), NotDone> {
        let mut words = vec!["-q", "download"];
        words.extend(packages.iter().map(String::as_str));
        self.run("apt-get", &words, folder).map(drop)
    }

    fn run(&self, program: &str, words: &[&str], folder: &Path) -> Result<String, NotDone> {
        let mut command = Command::new(program);
        command.args(words).current_dir(folder);
        if let Some(lists) = &self.lists {
            command.env("APT_CONFIG", lists.join(CONFIGURATION));
        }
        said(&mut command)
    }
}

/// From `apt-cache show`.
fn offers_of(shown: &str) -> Vec<Offer> {
    let offer = |stanza: &str| {
        let field = |name: &str| {
            stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        Some(Offer {
            version: Version::new(field("Version")?),
            bytes: field("Size")?.parse().ok()?,
            depends: field("Depends").unwrap_or_default().into(),
        })
    };
    let mut offers: Vec<Offer> = shown.split("\n\n").filter_map(offer).collect();
    offers.sort_by(|one, other| one.version.cmp(&other.version));
    offers
}

/// A mirror may be a frozen one, whose lists are past their date: they are signed all the same, and an old
/// kernel is what is asked for.
fn sources(keyring: &str, suites: &[&str]) -> String {
    let line = |suite: &&str| {
        format!("deb [check-valid-until=no signed-by={keyring}] {MIRROR} {suite} main contrib\n")
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
         APT::Architectures \"amd64\";\nAPT::Sandbox::User \"root\";\nAcquire::Languages \"none\";\n\
         Acquire::GzipIndexes \"true\";\n\
         Dir::Cache::pkgcache \"\";\nDir::Cache::srcpkgcache \"\";\n{}\n",
        proxies.collect::<Vec<_>>().join("\n")
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Lists as an update would leave them: nothing is fetched.
    pub(crate) fn keep_lists(cache: &Path, packages: &[(&str, &str, &str)]) {
        let folder = cache.join(SUITES.folder);
        fs::create_dir_all(folder.join("lists")).unwrap();
        let of_trixie = "lists/deb.debian.org_debian_dists_trixie_main_binary-amd64_Packages";
        let stanza = |(name, version, depends): &(&str, &str, &str)| {
            format!(
                "Package: {name}\nVersion: {version}\nArchitecture: amd64\nDepends: {depends}\nSize: 7\n\n"
            )
        };
        let text: String = packages.iter().map(stanza).collect();
        fs::write(folder.join(of_trixie), text).unwrap();
        fs::write(folder.join(STAMP), "").unwrap();
    }

    #[test]
    fn every_list_is_signed_and_nothing_of_the_machines_apt_is_written() {
        let lines = sources("/keys", &["bookworm", "trixie"]);
        assert_eq!(lines.lines().count(), 2);
        assert!(lines.lines().all(|line| line.contains("signed-by=/keys")), "{lines}");
        assert!(lines.ends_with("trixie main contrib\n"), "{lines}");
        let text = configuration(Path::new("/cache/archive"));
        let is_state =
            |line: &&str| line.starts_with("Dir::State") || line.starts_with("Dir::Cache");
        let is_ours = |line: &str| line.contains("\"/cache/archive") || line.ends_with("\"\";");
        assert!(text.lines().filter(is_state).all(is_ours), "{text}");
    }

    #[test]
    fn offers_are_read_from_kept_lists_the_newest_last() {
        let cache = tempfile::tempdir().unwrap();
        assert!(!SUITES.are_fresh(cache.path()));
        let rows =
            [("k", "6.12.107-1", "k-6.12 (= 1)"), ("k", "6.1.176-1", ""), ("other", "1", "")];
        keep_lists(cache.path(), &rows);
        let apt = Apt::of(&SUITES, cache.path());
        let Ok(offers) = apt.offers("k", true) else { return println!("SKIPPED(unit): no apt") };
        let versions: Vec<_> = offers.iter().map(|offer| offer.version.as_str()).collect();
        assert_eq!(versions, ["6.1.176-1", "6.12.107-1"]);
        assert_eq!((offers[1].bytes, offers[1].depends.as_str()), (7, "k-6.12 (= 1)"));
        assert_eq!(apt.known("k"), "6.12.107-1 (trixie), 6.1.176-1 (trixie)");
        assert!(SUITES.are_fresh(cache.path()) && !RELEASE.are_fresh(cache.path()));
    }
}
