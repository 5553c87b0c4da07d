//! Debian packages without installing them: downloaded as whoever we are, unpacked into a folder of the user's cache,
//! one folder a version; or several of them in one tree: a program with the libraries that this machine lacks, or the
//! headers of a kernel. `apt-get download` checks what it fetched against signed lists (apt-secure(8)).

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use pickfs_candidate::packages::Family;
use thiserror::Error;

use crate::{
    apt::{Apt, Lists, NotDone, Offer, RELEASE, SUITES, said},
    qemu_program,
    version::Version,
};

#[derive(Debug, Error)]
pub enum PackageError {
    #[error(
        "no folder for guest kernels: neither PICKFS_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set; \
         set PICKFS_CACHE_DIR"
    )]
    NoFolder,
    #[error("cannot {what} {path}: {cause}; set PICKFS_CACHE_DIR to a folder of yours")]
    Cache { what: &'static str, path: PathBuf, cause: io::Error },
    #[error(
        "{program} not found, and {package} is not in {cache}; this needs Debian or Ubuntu, or a folder \
         {package}_VERSION copied there from one"
    )]
    NoProgram { program: &'static str, package: String, cache: PathBuf },
    #[error(
        "`{program} {package}` failed: {said}; {package} is not in {cache}, so this needs the network and \
         the lists of `apt-get update` once"
    )]
    Failed {
        /// With its first word.
        program: &'static str,
        package: String,
        /// The end of what it said.
        said: String,
        cache: PathBuf,
    },
    #[error("no QEMU: {why}; {}", Family::here().install_of(qemu_program::PACKAGE))]
    NoQemu { why: String },
    #[error("no qemu-kvm: {why}")]
    NoKvm { why: String },
    #[error("{what}{} not fetched; allow it with --yes or PICKFS_FETCH=yes", size_text(*bytes))]
    Refused {
        what: String,
        /// 0 where it was not asked.
        bytes: u64,
    },
    #[error(
        "what Debian's suites offer cannot be known: {said}; this needs the network once, or a folder \
         PACKAGE_VERSION in `packages` of the cache"
    )]
    NoSuites { said: String },
    #[error("no {package} has kernel {level}; there are {known}")]
    NoLevel {
        package: String,
        level: String,
        /// With their suites.
        known: String,
    },
    #[error("{package} has no {what}; this version of it is not known to pickfs")]
    Strange { package: String, what: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    pub name: String,
    /// As Debian writes it.
    pub version: String,
    /// It stands for `/`.
    pub folder: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// With its version.
    pub what: String,
    /// About.
    pub bytes: u64,
}

/// Who says whether something may be fetched; without a download, whether anything may.
pub type Ask = Arc<dyn Fn(Option<&Download>) -> bool + Send + Sync>;

fn size_text(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { format!(" (about {} MB)", bytes / 1_000_000) }
}

/// What lies in a tree beside a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside<'a> {
    Nothing,
    Listed(&'a [&'a str]),
    /// What it needs and is not installed here.
    Missing,
}

/// Ends the name of a set's folder, so that it is nobody's single package.
const SET: &str = "+set";

#[derive(Clone)]
pub struct PackageCache {
    cache: PathBuf,
    folder: PathBuf,
    ask: Ask,
}

impl PackageCache {
    /// `$PICKFS_CACHE_DIR`, `$XDG_CACHE_HOME/pickfs` or `~/.cache/pickfs`.
    ///
    /// # Errors
    /// [`PackageError::NoFolder`].
    pub fn open_default() -> Result<Self, PackageError> {
        Ok(Self::at(&cache_folder().ok_or(PackageError::NoFolder)?))
    }

    /// It need not be there.
    pub fn at(cache: &Path) -> Self {
        let (cache, folder) = (cache.to_owned(), cache.join("packages"));
        Self { cache, folder, ask: Arc::new(|_| true) }
    }

    /// Before it fetches anything.
    #[must_use]
    pub fn asking(self, ask: Ask) -> Self {
        Self { ask, ..self }
    }

    /// It holds rebuilt modules too.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The newest version; asks nobody.
    pub fn held(&self, name: &str) -> Option<Unpacked> {
        self.all_held(name).pop()
    }

    /// The newest last.
    pub fn all_held(&self, name: &str) -> Vec<Unpacked> {
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut held: Vec<Unpacked> = folders
            .filter_map(|entry| {
                let of = entry.file_name().into_string().ok()?;
                let version = of.strip_prefix(name)?.strip_prefix('_')?.to_owned();
                Some(Unpacked { name: name.into(), version, folder: entry.path() })
            })
            .collect();
        held.sort_by_key(|unpacked| Version::new(&unpacked.version));
        held
    }

    /// The newest of a series, or the version asked for.
    pub fn held_level(&self, name: &str, level: &str) -> Option<Unpacked> {
        let fits = |held: &Unpacked| Version::new(&held.version).fits(level);
        self.all_held(name).into_iter().rfind(fits)
    }

    pub fn get(&self, name: &str) -> Result<Unpacked, PackageError> {
        self.held(name).map_or_else(|| self.fetch(name, None, Beside::Nothing), Ok)
    }

    /// The package of a series or version: what is there, else what this machine's release has, else the newest
    /// that a suite of Debian offers.
    ///
    /// # Errors
    /// [`PackageError::NoLevel`] names what there is.
    pub fn get_level(&self, name: &str, level: &str) -> Result<Unpacked, PackageError> {
        let held = self.held_level(name, level);
        held.map_or_else(|| self.fetch(name, Some(level), Beside::Nothing), Ok)
    }

    /// Asks nobody.
    pub fn held_set(&self, main: &str) -> Option<Unpacked> {
        self.held(&format!("{main}{SET}"))
    }

    /// From this machine's sources, or Debian's archive where those lack it.
    pub fn get_set(&self, main: &str, beside: Beside<'_>) -> Result<Unpacked, PackageError> {
        self.held_set(main).map_or_else(|| self.fetch(main, None, beside), Ok)
    }

    /// The set of one version of its package.
    ///
    /// # Errors
    /// [`PackageError::NoLevel`] names what there is.
    pub fn get_set_level(
        &self,
        main: &str,
        level: &str,
        beside: Beside<'_>,
    ) -> Result<Unpacked, PackageError> {
        let held = self.held_level(&format!("{main}{SET}"), level);
        held.map_or_else(|| self.fetch(main, Some(level), beside), Ok)
    }

    /// What is offered at a level, or would be installed: by this machine's sources, else by lists of Debian's, which
    /// are read anew where they are old and lack it.
    pub(crate) fn offer(
        &self,
        name: &str,
        level: Option<&str>,
        lists: Option<&Lists>,
    ) -> Result<(Offer, Apt), PackageError> {
        self.may_fetch(name)?;
        let failed = |error: NotDone| error.of("apt-cache show", name, &self.folder);
        let fits = |offer: &Offer| level.is_none_or(|level| offer.version.fits(level));
        let find = |apt: &Apt| {
            let offers = apt.offers(name, level.is_some()).map_err(failed)?;
            Ok(offers.into_iter().rfind(fits))
        };
        let own = Apt::default();
        if let Some(offer) = find(&own)? {
            return Ok((offer, own));
        }
        let no_package = || NotDone::Said("no release that apt knows has it".into());
        let lists = lists.ok_or_else(|| failed(no_package()))?;
        let apt = Apt::of(lists, &self.cache);
        if let Some(offer) = find(&apt)? {
            return Ok((offer, apt));
        }
        if !lists.are_fresh(&self.cache) {
            self.allow(format!("lists of Debian's suites for {name}"), lists.bytes)?;
            let updated = lists.update(&self.cache);
            match (find(&apt)?, updated) {
                (Some(offer), _) => return Ok((offer, apt)),
                (None, Err(error)) => {
                    return Err(PackageError::NoSuites { said: error.to_string() });
                }
                (None, Ok(())) => {}
            }
        }
        let (package, level) = (name.into(), level.unwrap_or("any").into());
        Err(PackageError::NoLevel { package, level, known: apt.known(name) })
    }

    fn allow(&self, what: String, bytes: u64) -> Result<(), PackageError> {
        let download = Download { what, bytes };
        match (self.ask)(Some(&download)) {
            true => Ok(()),
            false => Err(PackageError::Refused { what: download.what, bytes }),
        }
    }

    /// Refuses where nothing may be fetched, before lists and sizes are read.
    pub(crate) fn may_fetch(&self, what: &str) -> Result<(), PackageError> {
        match (self.ask)(None) {
            true => Ok(()),
            false => Err(PackageError::Refused { what: what.into(), bytes: 0 }),
        }
    }

    fn fetch(
        &self,
        name: &str,
        level: Option<&str>,
        beside: Beside<'_>,
    ) -> Result<Unpacked, PackageError> {
        let lists = match (level, beside) {
            (Some(_), _) => Some(&SUITES),
            (None, Beside::Nothing) => None,
            (None, _) => Some(&RELEASE),
        };
        let (offer, apt) = self.offer(name, level, lists)?;
        let failed = |error: NotDone| error.of("apt-get download", name, &self.folder);
        let others: Vec<String> = match beside {
            Beside::Nothing => Vec::new(),
            Beside::Listed(listed) => listed.iter().map(|name| (*name).to_owned()).collect(),
            Beside::Missing => apt.missing_beside(name).map_err(failed)?,
        };
        let (what, folder) = match beside {
            Beside::Nothing => (format!("{name} {}", offer.version), name.to_owned()),
            _ => (format!("{name} with what it needs"), format!("{name}{SET}")),
        };
        let others_bytes = if others.is_empty() { 0 } else { apt.size_bytes(&others) };
        self.allow(what, offer.bytes + others_bytes)?;
        let mut packages = vec![format!("{name}={}", offer.version)];
        packages.extend(others);
        let work = &self.folder.join(format!(".fetching-{}", std::process::id()));
        fs::create_dir_all(work).map_err(cannot("make", work))?;
        let unpacked = || {
            apt.download(&packages, work).map_err(failed)?;
            let (archives, tree) = (archives_in(work), work.join("tree"));
            for archive in &archives {
                let unpacked = said(Command::new("dpkg").arg("-x").args([archive, &tree]));
                unpacked.map_err(|error| error.of("dpkg -x", name, &self.folder))?;
            }
            self.keep(&tree, &folder, version_of(name, &archives))
        };
        let kept = unpacked();
        let _ = fs::remove_dir_all(work);
        kept
    }

    /// Puts an unpacked tree in its place.
    fn keep(&self, tree: &Path, name: &str, version: String) -> Result<Unpacked, PackageError> {
        let folder = self.folder.join(format!("{name}_{version}"));
        match fs::rename(tree, &folder) {
            Ok(()) => {}
            // Somebody else was faster.
            Err(_) if folder.is_dir() => {}
            Err(cause) => return Err(cannot("make", &folder)(cause)),
        }
        Ok(Unpacked { name: name.into(), version, folder })
    }
}

/// Everything in it may be fetched again.
pub fn cache_folder() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PICKFS_CACHE_DIR")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("pickfs")))
        .or_else(|| Some(set("HOME")?.join(".cache/pickfs")))
}

impl std::fmt::Debug for PackageCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PackageCache").field("cache", &self.cache).finish_non_exhaustive()
    }
}

fn cannot(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PackageError {
    let path = path.to_owned();
    move |cause| PackageError::Cache { what, path, cause }
}

fn archives_in(work: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(work).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect();
    found.sort();
    found
}

/// `qemu-system-x86_1%3a7.2_amd64.deb` is `1%3a7.2`.
fn version_of(name: &str, archives: &[PathBuf]) -> String {
    let version = |path: &PathBuf| {
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let rest = stem.strip_prefix(name)?.strip_prefix('_')?;
        Some(rest.split('_').next().unwrap_or(rest).to_owned())
    };
    archives.iter().find_map(version).unwrap_or_else(|| "unknown".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_fetched_again() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("packages/some-kernel_1.2+b3");
        fs::create_dir_all(&folder).unwrap();
        let got = PackageCache::at(cache.path()).get("some-kernel").unwrap();
        assert_eq!((got.version.as_str(), got.folder), ("1.2+b3", folder));
        assert_eq!(PackageCache::at(cache.path()).held("some"), None);
    }

    #[test]
    fn the_newest_is_so_by_its_version_and_a_level_is_the_newest_of_its_series() {
        let cache = tempfile::tempdir().unwrap();
        for version in ["6.12um1+b21", "6.1um4+b13", "6.1um4+b9"] {
            fs::create_dir_all(cache.path().join("packages").join(format!("k_{version}"))).unwrap();
        }
        let packages = PackageCache::at(cache.path());
        let version = |held: Option<Unpacked>| held.map(|held| held.version);
        assert_eq!(version(packages.held("k")).as_deref(), Some("6.12um1+b21"));
        assert_eq!(version(packages.held_level("k", "6.1")).as_deref(), Some("6.1um4+b13"));
        let exact = packages.get_level("k", "6.1um4+b9").unwrap();
        assert_eq!(exact.version, "6.1um4+b9");
        assert_eq!(packages.held_level("k", "7.2"), None);
    }

    #[test]
    fn nothing_is_fetched_that_was_refused() {
        let cache = tempfile::tempdir().unwrap();
        let refused = |ask: Ask, name| {
            let packages = PackageCache::at(cache.path()).asking(ask);
            packages.get_level(name, "6.1").unwrap_err().to_string()
        };
        let never = refused(Arc::new(|_| false), "linux-image-amd64");
        assert!(never.starts_with("linux-image-amd64 not fetched; allow it"), "{never}");
        let no = refused(Arc::new(|download| download.is_none()), "pickfs-no-such-kernel");
        assert!(no.contains("--yes") && no.contains("40 MB"), "{no}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_was_refused_reads_no_lists() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path()).asking(Arc::new(|_| false));
        let refused = cache.get_set("pickfs-no-such-package", Beside::Missing);
        assert!(matches!(refused, Err(PackageError::Refused { .. })), "{refused:?}");
        let asked = cache.asking(Arc::new(|download| download.is_none()));
        let refused = asked.get_set("pickfs-no-such-package", Beside::Missing);
        assert!(matches!(refused, Err(PackageError::Refused { .. })), "{refused:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "apt was asked for its lists");
    }

    #[test]
    fn a_set_that_is_there_is_not_fetched_and_is_no_single_package() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path());
        let tree = folder.path().join("packages/qemu-system-x86+set_7.2");
        fs::create_dir_all(&tree).unwrap();
        let got = cache.get_set("qemu-system-x86", Beside::Missing).unwrap();
        assert_eq!((got.version.as_str(), got.folder), ("7.2", tree));
        assert_eq!(cache.held("qemu-system-x86"), None);
    }

    #[test]
    fn a_set_of_another_version_is_not_the_one_that_is_wanted() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path()).asking(Arc::new(|_| false));
        for version in ["6.1.192-2", "6.1.192-3"] {
            let tree = folder.path().join(format!("packages/linux-source-6.1+set_{version}"));
            fs::create_dir_all(tree).unwrap();
        }
        let of = |level| cache.get_set_level("linux-source-6.1", level, Beside::Listed(&[]));
        assert_eq!(of("6.1.192-2").unwrap().version, "6.1.192-2");
        assert!(matches!(of("6.1.192-1"), Err(PackageError::Refused { .. })));
    }

    #[test]
    fn a_package_that_no_release_has_is_told_with_the_way_out() {
        let cache = tempfile::tempdir().unwrap();
        let error = PackageCache::at(cache.path()).get("pickfs-no-such-package").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("pickfs-no-such-package") && text.contains("not in"), "{text}");
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_version_is_that_of_the_first_package() {
        let archives = ["libfdt1_1.6.1-4+b1_amd64.deb", "qemu_1%3a7.2+b3_amd64.deb"];
        let archives = archives.map(PathBuf::from);
        assert_eq!(version_of("qemu", &archives), "1%3a7.2+b3");
        assert_eq!(version_of("libfdt", &archives), "unknown");
    }
}
