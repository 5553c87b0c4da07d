//! Debian packages without installing them: downloaded as whoever we are, unpacked into a folder
//! of the user's cache, one folder a version. Nothing of the system is changed, and what is there is
//! not asked for again.
//!
//! ```no_run
//! use pickfs_guest::packages::PackageCache;
//! let uml = PackageCache::open_default()?.get("user-mode-linux")?;
//! println!("{}", uml.folder.join("usr/bin/linux.uml").display());
//! # Ok::<(), pickfs_guest::packages::PackageError>(())
//! ```
//!
//! `apt-get download` checks what it fetched against the signed lists of the release (apt-secure(8)).

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use thiserror::Error;

/// A package that could not be had.
#[derive(Debug, Error)]
pub enum PackageError {
    /// No folder for it.
    #[error(
        "no folder for guest kernels: neither PICKFS_CACHE_DIR nor XDG_CACHE_HOME nor HOME is set; \
         set PICKFS_CACHE_DIR"
    )]
    NoFolder,
    /// The cache could not be written.
    #[error("cannot {what} {path}: {cause}; set PICKFS_CACHE_DIR to a folder of yours")]
    Cache {
        /// What was being done.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        cause: io::Error,
    },
    /// apt-get or dpkg is not there.
    #[error(
        "{program} not found, and {package} is not in {cache}; this needs Debian or Ubuntu, or a folder \
         {package}_VERSION copied there from one"
    )]
    NoProgram {
        /// Which.
        program: &'static str,
        /// For what.
        package: String,
        /// The cache.
        cache: PathBuf,
    },
    /// It ran and failed.
    #[error(
        "`{program} {package}` failed: {said}; {package} is not in {cache}, so this needs the network and \
         the lists of `apt-get update` once"
    )]
    Failed {
        /// With its first word.
        program: &'static str,
        /// For what.
        package: String,
        /// The end of what it said.
        said: String,
        /// The cache.
        cache: PathBuf,
    },
    /// There is a kernel, and another one is wanted.
    #[error(
        "no kernel {wanted} for {engine}, which has {found}; leave guest.kernel out, or name that one"
    )]
    OtherKernel {
        /// The engine.
        engine: &'static str,
        /// What is wanted.
        wanted: String,
        /// What is there.
        found: String,
    },
    /// Neither installed nor to be had.
    #[error("no QEMU: {why}; apt-get install qemu-system-x86, or use --engine uml")]
    NoQemu {
        /// What was tried and came of it.
        why: String,
    },
    /// KVM runs no guest here.
    #[error("no qemu-kvm: {why}")]
    NoKvm {
        /// What was tried and came of it.
        why: String,
    },
    /// It unpacked, and what we need of it is not there.
    #[error("{package} has no {what}; this version of it is not known to pickfs")]
    Strange {
        /// Which.
        package: String,
        /// What is missing.
        what: String,
    },
}

/// A package, unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// Its name.
    pub name: String,
    /// Its version, as Debian writes it.
    pub version: String,
    /// The folder that stands for `/`.
    pub folder: PathBuf,
}

/// A folder of unpacked packages.
#[derive(Debug, Clone)]
pub struct PackageCache {
    cache: PathBuf,
    folder: PathBuf,
}

impl PackageCache {
    /// `$PICKFS_CACHE_DIR`, `$XDG_CACHE_HOME/pickfs` or `~/.cache/pickfs`.
    ///
    /// # Errors
    /// [`PackageError::NoFolder`].
    pub fn open_default() -> Result<Self, PackageError> {
        Ok(Self::at(&cache_folder().ok_or(PackageError::NoFolder)?))
    }

    /// A cache in a folder, which need not be there.
    pub fn at(cache: &Path) -> Self {
        Self { cache: cache.to_owned(), folder: cache.join("packages") }
    }

    /// The folder of the cache, which holds rebuilt modules too.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The newest version that is there already; asks nobody.
    pub fn held(&self, name: &str) -> Option<Unpacked> {
        let folders = fs::read_dir(&self.folder).ok()?.flatten();
        let mut versions: Vec<(std::time::SystemTime, Unpacked)> = folders
            .filter_map(|entry| {
                let of = entry.file_name().into_string().ok()?;
                let version = of.strip_prefix(name)?.strip_prefix('_')?.to_owned();
                let unpacked = Unpacked { name: name.into(), version, folder: entry.path() };
                Some((entry.metadata().ok()?.modified().ok()?, unpacked))
            })
            .collect();
        versions.sort_by_key(|(when, _)| *when);
        versions.pop().map(|(_, unpacked)| unpacked)
    }

    /// The package, fetched when it is not there.
    ///
    /// # Errors
    /// [`PackageError`], with the way out.
    pub fn get(&self, name: &str) -> Result<Unpacked, PackageError> {
        match self.held(name) {
            Some(held) => Ok(held),
            None => self.fetch(name),
        }
    }

    fn fetch(&self, name: &str) -> Result<Unpacked, PackageError> {
        let work = self.folder.join(format!(".fetching-{}", std::process::id()));
        fs::create_dir_all(&work).map_err(cannot("make", &work))?;
        let fetched = self.fetch_into(name, &work);
        let _ = fs::remove_dir_all(&work);
        fetched
    }

    fn fetch_into(&self, name: &str, work: &Path) -> Result<Unpacked, PackageError> {
        self.run("apt-get", &["-q", "download"], name, &[name], work)?;
        let archive = archive_in(work).ok_or_else(|| PackageError::Strange {
            package: name.into(),
            what: "archive after its download".into(),
        })?;
        let tree = work.join("tree");
        let (from, to) = (archive.to_string_lossy(), tree.to_string_lossy());
        self.run("dpkg", &["-x"], name, &[&from, &to], work)?;
        let version = version_of(&archive);
        let folder = self.folder.join(format!("{name}_{version}"));
        match fs::rename(&tree, &folder) {
            Ok(()) => {}
            // Somebody else was faster.
            Err(_) if folder.is_dir() => {}
            Err(cause) => return Err(PackageError::Cache { what: "make", path: folder, cause }),
        }
        Ok(Unpacked { name: name.into(), version, folder })
    }

    fn run(
        &self,
        program: &'static str,
        words: &[&str],
        package: &str,
        rest: &[&str],
        work: &Path,
    ) -> Result<(), PackageError> {
        let mut command = Command::new(program);
        command.args(words).args(rest).current_dir(work).stdin(Stdio::null()).env("LC_ALL", "C");
        let (package, cache) = (package.to_owned(), self.folder.clone());
        match command.output() {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => {
                Err(PackageError::Failed { program, package, said: last_line(&output), cache })
            }
            Err(_) => Err(PackageError::NoProgram { program, package, cache }),
        }
    }
}

/// The folder of everything that pickfs may fetch again.
pub fn cache_folder() -> Option<PathBuf> {
    let set =
        |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("PICKFS_CACHE_DIR")
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("pickfs")))
        .or_else(|| Some(set("HOME")?.join(".cache/pickfs")))
}

fn cannot(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> PackageError {
    let path = path.to_owned();
    move |cause| PackageError::Cache { what, path, cause }
}

fn archive_in(work: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(work).ok()?.flatten().map(|entry| entry.path());
    entries.into_iter().find(|path| path.extension().is_some_and(|end| end == "deb"))
}

/// `user-mode-linux_6.1um4+b13_amd64.deb` is `6.1um4+b13`.
fn version_of(archive: &Path) -> String {
    let stem = archive.file_stem().unwrap_or_default().to_string_lossy();
    stem.split('_').nth(1).unwrap_or("unknown").to_owned()
}

fn last_line(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = text.lines().rev().filter(|line| !line.trim().is_empty());
    lines.into_iter().next().unwrap_or("it said nothing").trim().to_owned()
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
    fn a_package_that_no_release_has_is_told_with_the_way_out() {
        let cache = tempfile::tempdir().unwrap();
        let error = PackageCache::at(cache.path()).get("pickfs-no-such-package").unwrap_err();
        let text = error.to_string();
        assert!(text.contains("pickfs-no-such-package") && text.contains("not in"), "{text}");
        let left: Vec<_> = fs::read_dir(cache.path().join("packages")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }

    #[test]
    fn the_version_stands_in_the_name_of_the_archive() {
        assert_eq!(version_of(Path::new("/x/qemu_1%3a7.2+dfsg-7_amd64.deb")), "1%3a7.2+dfsg-7");
    }
}
