//! Debian packages without installing them: downloaded as whoever we are, unpacked into a folder
//! of the user's cache, one folder a version. `apt-get download` checks what it fetched against
//! the signed lists of the release (apt-secure(8)).

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use pickfs_candidate::packages::Family;
use thiserror::Error;

use crate::{
    apt::said,
    qemu_program,
    suites::{LISTS_BYTES, Offer, Suites, offers_of},
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
        match self.held(name) {
            Some(held) => Ok(held),
            None => self.fetch(name),
        }
    }

    /// The package of a series or version: what is there, else what this machine's release has, else the newest
    /// that a suite of Debian offers.
    ///
    /// # Errors
    /// [`PackageError::NoLevel`] names what there is.
    pub fn get_level(&self, name: &str, level: &str) -> Result<Unpacked, PackageError> {
        if let Some(held) = self.held_level(name, level) {
            return Ok(held);
        }
        self.may_fetch(name)?;
        if own_offer(name).is_some_and(|offer| offer.version.fits(level)) {
            return self.fetch(name);
        }
        let offer = self.offer(name, level)?;
        self.allow(format!("{name} {}", offer.version), offer.bytes)?;
        self.within(|work| {
            let archive = Suites::at(&self.cache).download(&offer, work)?;
            self.unpack(name, &archive, work)
        })
    }

    /// What a suite offers at a level, the lists read anew where they are old and lack it.
    pub(crate) fn offer(&self, name: &str, level: &str) -> Result<Offer, PackageError> {
        let fits = |offer: &Offer| offer.version.fits(level);
        if let Some(offer) = self.offers(name)?.into_iter().rfind(fits) {
            return Ok(offer);
        }
        let suites = Suites::at(&self.cache);
        if !suites.is_fresh() {
            self.refresh(&suites)?;
        }
        suites.offers(name).into_iter().rfind(fits).ok_or_else(|| self.no_level(name, level))
    }

    fn offers(&self, name: &str) -> Result<Vec<Offer>, PackageError> {
        let suites = Suites::at(&self.cache);
        if suites.offers(name).is_empty() {
            self.refresh(&suites)?;
        }
        Ok(suites.offers(name))
    }

    fn refresh(&self, suites: &Suites) -> Result<(), PackageError> {
        self.allow("lists of Debian's suites".into(), LISTS_BYTES)?;
        suites.refresh()
    }

    fn no_level(&self, name: &str, level: &str) -> PackageError {
        let known = |offer: &Offer| format!("{} ({})", offer.version, offer.suites);
        let offers = Suites::at(&self.cache).offers(name);
        let known: Vec<String> = offers.iter().map(known).collect();
        PackageError::NoLevel {
            package: name.into(),
            level: level.into(),
            known: if known.is_empty() { "none".into() } else { known.join(", ") },
        }
    }

    pub(crate) fn allow(&self, what: String, bytes: u64) -> Result<(), PackageError> {
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

    /// From this machine's own release.
    fn fetch(&self, name: &str) -> Result<Unpacked, PackageError> {
        self.may_fetch(name)?;
        let offer = own_offer(name);
        let version = offer.as_ref().map_or(String::new(), |offer| format!(" {}", offer.version));
        self.allow(format!("{name}{version}"), offer.map_or(0, |offer| offer.bytes))?;
        self.within(|work| {
            self.run("apt-get", &["-q", "download", name], name, work)?;
            let archive = archives_in(work).pop().ok_or_else(|| PackageError::Strange {
                package: name.into(),
                what: "archive after its download".into(),
            })?;
            self.unpack(name, &archive, work)
        })
    }

    /// It is gone afterwards.
    pub(crate) fn within(
        &self,
        what: impl FnOnce(&Path) -> Result<Unpacked, PackageError>,
    ) -> Result<Unpacked, PackageError> {
        let work = self.folder.join(format!(".fetching-{}", std::process::id()));
        fs::create_dir_all(&work).map_err(cannot("make", &work))?;
        let fetched = what(&work);
        let _ = fs::remove_dir_all(&work);
        fetched
    }

    fn unpack(&self, name: &str, archive: &Path, work: &Path) -> Result<Unpacked, PackageError> {
        let tree = work.join("tree");
        self.run("dpkg", &["-x", &archive.to_string_lossy(), &tree.to_string_lossy()], name, work)?;
        self.keep(&tree, name, version_of(name, &[archive.to_owned()]))
    }

    /// Puts an unpacked tree in its place.
    pub(crate) fn keep(
        &self,
        tree: &Path,
        name: &str,
        version: String,
    ) -> Result<Unpacked, PackageError> {
        let folder = self.folder.join(format!("{name}_{version}"));
        match fs::rename(tree, &folder) {
            Ok(()) => {}
            // Somebody else was faster.
            Err(_) if folder.is_dir() => {}
            Err(cause) => return Err(cannot("make", &folder)(cause)),
        }
        Ok(Unpacked { name: name.into(), version, folder })
    }

    fn run(
        &self,
        program: &'static str,
        words: &[&str],
        package: &str,
        work: &Path,
    ) -> Result<String, PackageError> {
        let done = said(Command::new(program).args(words).current_dir(work));
        done.map_err(|error| error.of(program, package, &self.folder))
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

/// As far as apt knows.
pub(crate) fn own_offer(name: &str) -> Option<Offer> {
    let mut apt = Command::new("apt-cache");
    let text = said(apt.args(["show", "--no-all-versions", name])).ok()?;
    offers_of(&text, "").into_iter().next()
}

pub(crate) fn cannot(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PackageError {
    let path = path.to_owned();
    move |cause| PackageError::Cache { what, path, cause }
}

pub(crate) fn archives_in(work: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(work).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect();
    found.sort();
    found
}

/// `qemu-system-x86_1%3a7.2_amd64.deb` is `1%3a7.2`.
pub(crate) fn version_of(name: &str, archives: &[PathBuf]) -> String {
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
    fn a_package_that_no_release_has_is_told_with_the_way_out() {
        let cache = tempfile::tempdir().unwrap();
        let error = PackageCache::at(cache.path()).get("pickfs-no-such-package").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("pickfs-no-such-package") && text.contains("not in"), "{text}");
        let left: Vec<_> = fs::read_dir(cache.path().join("packages")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn the_version_is_that_of_the_first_package() {
        let archives = ["libfdt1_1.6.1-4+b1_amd64.deb", "qemu_1%3a7.2+b3_amd64.deb"];
        let archives = archives.map(PathBuf::from);
        assert_eq!(version_of("qemu", &archives), "1%3a7.2+b3");
        assert_eq!(version_of("libfdt", &archives), "unknown");
    }
}
