//! Several packages unpacked into one tree: a program with the libraries that this machine lacks,
//! or the headers of a kernel. What apt would install beside a package is asked of apt itself
//! (`apt-get --simulate`), which needs no right and changes nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    archive::Archive,
    packages::{PackageCache, PackageError, Unpacked, cannot},
};

/// Ends the name of a set's folder, so that it is nobody's single package.
const SET: &str = "+set";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageSet<'a> {
    pub main: &'a str,
    pub members: Members<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members<'a> {
    Listed(&'a [&'a str]),
    /// Those that the first needs and that are not installed here.
    WithMissing,
}

impl PackageSet<'_> {
    /// The newest that is there; asks nobody.
    pub fn held(&self, cache: &PackageCache) -> Option<Unpacked> {
        cache.held(&self.name())
    }

    /// From this machine's sources, or Debian's archive where those lack it.
    pub fn get(&self, cache: &PackageCache) -> Result<Unpacked, PackageError> {
        match self.held(cache) {
            Some(held) => Ok(held),
            None => self.fetch(cache),
        }
    }

    fn name(&self) -> String {
        format!("{}{SET}", self.main)
    }

    fn fetch(&self, cache: &PackageCache) -> Result<Unpacked, PackageError> {
        cache.may_fetch(self.main)?;
        let folder = cache.cache().join("packages");
        let work = folder.join(format!(".set-{}", std::process::id()));
        fs::create_dir_all(&work).map_err(cannot("make", &work))?;
        let fetched = self.fetch_into(cache, &folder, &work);
        let _ = fs::remove_dir_all(&work);
        fetched
    }

    fn fetch_into(
        &self,
        cache: &PackageCache,
        folder: &Path,
        work: &Path,
    ) -> Result<Unpacked, PackageError> {
        let apt = Apt { package: self.main, cache: folder, work, archive: None };
        let apt = match apt.offers(self.main) {
            true => apt,
            false => Apt { archive: Some(Archive::open(cache, self.main)?), ..apt },
        };
        let mut names = vec![self.main.to_owned()];
        match self.members {
            Members::Listed(listed) => names.extend(listed.iter().map(|name| (*name).to_owned())),
            Members::WithMissing => names.extend(apt.missing_beside(self.main)?),
        }
        names.dedup();
        cache.allow(format!("{} with what it needs", self.main), apt.size_bytes(&names))?;
        let tree = work.join("tree");
        apt.download(&names)?;
        let archives = archives_in(work);
        for archive in &archives {
            apt.run("dpkg", &["-x", &archive.to_string_lossy(), &tree.to_string_lossy()])?;
        }
        let version = version_of(self.main, &archives).unwrap_or_else(|| "unknown".into());
        let place = folder.join(format!("{}_{version}", self.name()));
        match fs::rename(&tree, &place) {
            Ok(()) => {}
            // Somebody else was faster.
            Err(_) if place.is_dir() => {}
            Err(cause) => return Err(cannot("make", &place)(cause)),
        }
        Ok(Unpacked { name: self.name(), version, folder: place })
    }
}

struct Apt<'a> {
    package: &'a str,
    cache: &'a Path,
    work: &'a Path,
    archive: Option<Archive>,
}

impl Apt<'_> {
    fn offers(&self, name: &str) -> bool {
        let shown = self.run("apt-cache", &["policy", name]).unwrap_or_default();
        let candidate = shown.lines().find_map(|line| line.trim().strip_prefix("Candidate: "));
        candidate.is_some_and(|version| version != "(none)")
    }

    /// Lines of `Inst NAME (VERSION ...)`.
    fn missing_beside(&self, name: &str) -> Result<Vec<String>, PackageError> {
        let words = ["-q", "--simulate", "--no-install-recommends", "install", name];
        let said = self.run("apt-get", &words)?;
        let installed = said.lines().filter_map(|line| line.strip_prefix("Inst "));
        let names = installed.filter_map(|line| line.split_whitespace().next());
        Ok(names.filter(|one| *one != name).map(str::to_owned).collect())
    }

    /// Of all archives together, as the lists say.
    fn size_bytes(&self, names: &[String]) -> u64 {
        let mut words = vec!["show", "--no-all-versions"];
        words.extend(names.iter().map(String::as_str));
        let shown = self.run("apt-cache", &words).unwrap_or_default();
        let sizes = shown.lines().filter_map(|line| line.strip_prefix("Size: "));
        sizes.filter_map(|size| size.parse::<u64>().ok()).sum()
    }

    fn download(&self, names: &[String]) -> Result<(), PackageError> {
        let mut words = vec!["-q", "download"];
        words.extend(names.iter().map(String::as_str));
        self.run("apt-get", &words).map(drop)
    }

    fn run(&self, program: &'static str, words: &[&str]) -> Result<String, PackageError> {
        let mut command = Command::new(program);
        command.args(words).current_dir(self.work).stdin(Stdio::null()).env("LC_ALL", "C");
        if let Some(archive) = &self.archive {
            command.env("APT_CONFIG", archive.configuration());
        }
        let (package, cache) = (self.package.to_owned(), self.cache.to_owned());
        match command.output() {
            Ok(output) if output.status.success() => {
                Ok(String::from_utf8_lossy(&output.stdout).into_owned())
            }
            Ok(output) => {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                let said = text.lines().rfind(|line| !line.trim().is_empty());
                let said = said.unwrap_or("it said nothing").trim().to_owned();
                Err(PackageError::Failed { program, package, said, cache })
            }
            Err(_) => Err(PackageError::NoProgram { program, package, cache }),
        }
    }
}

fn archives_in(work: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(work).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "deb")).collect();
    found.sort();
    found
}

/// `qemu-system-x86_1%3a7.2_amd64.deb` is `1%3a7.2`.
fn version_of(name: &str, archives: &[PathBuf]) -> Option<String> {
    let version = |path: &PathBuf| {
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let rest = stem.strip_prefix(name)?.strip_prefix('_')?;
        Some(rest.split('_').next().unwrap_or(rest).to_owned())
    };
    archives.iter().find_map(version)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn what_was_refused_reads_no_lists() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path()).asking(Arc::new(|_| false));
        let set = PackageSet { main: "pickfs-no-such-package", members: Members::WithMissing };
        let refused = set.get(&cache);
        assert!(matches!(refused, Err(PackageError::Refused { .. })), "{refused:?}");
        assert!(!folder.path().join("packages").exists(), "apt was asked for sizes");
        let asked = cache.asking(Arc::new(|download| download.is_none()));
        assert!(matches!(set.get(&asked), Err(PackageError::Refused { .. })));
        assert!(!folder.path().join("archive").exists(), "apt was asked for its lists");
    }

    #[test]
    fn a_set_that_is_there_is_not_fetched_and_is_no_single_package() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PackageCache::at(folder.path());
        let tree = folder.path().join("packages/qemu-system-x86+set_7.2");
        fs::create_dir_all(&tree).unwrap();
        let set = PackageSet { main: "qemu-system-x86", members: Members::WithMissing };
        let got = set.get(&cache).unwrap();
        assert_eq!((got.version.as_str(), got.folder), ("7.2", tree));
        assert_eq!(cache.held("qemu-system-x86"), None);
    }

    #[test]
    fn the_version_is_that_of_the_first_package() {
        let archives = ["libfdt1_1.6.1-4+b1_amd64.deb", "qemu_1%3a7.2+b3_amd64.deb"];
        let archives = archives.map(PathBuf::from);
        assert_eq!(version_of("qemu", &archives).as_deref(), Some("1%3a7.2+b3"));
        assert_eq!(version_of("libfdt", &archives), None);
    }
}
