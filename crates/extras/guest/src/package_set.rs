//! Several packages unpacked into one tree: a program with the libraries that this machine lacks,
//! or the headers of a kernel. What apt would install beside a package is asked of apt itself
//! (`apt-get --simulate`), which needs no right and changes nothing.

use std::{fs, path::Path, process::Command};

use crate::{
    apt::{NotDone, OwnLists, said},
    packages::{PackageCache, PackageError, Unpacked, archives_in, version_of},
};

/// Compressed, of main and contrib.
const LISTS_BYTES: u64 = 9_000_000;
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
        cache.within(|work| self.fetch_into(cache, work))
    }

    fn fetch_into(&self, cache: &PackageCache, work: &Path) -> Result<Unpacked, PackageError> {
        let apt = Apt { package: self.main, cache, work, lists: None };
        let apt = match apt.offers(self.main) {
            true => apt,
            false => Apt { lists: Some(lists_of_the_archive(cache, self.main)?), ..apt },
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
        cache.keep(&tree, &self.name(), version_of(self.main, &archives))
    }
}

/// Of Debian 12, from which guests have their kernel, for packages that the sources of this machine do not name.
fn lists_of_the_archive(cache: &PackageCache, package: &str) -> Result<OwnLists, PackageError> {
    let folder = cache.cache().join("archive");
    let (lists, whole) = (OwnLists::at(&folder), folder.join("whole"));
    if whole.is_file() {
        return Ok(lists);
    }
    let failed = |said: String| NotDone::Said(said).of("apt-get update", package, cache.cache());
    cache.allow(format!("lists of Debian 12's archive for {package}"), LISTS_BYTES)?;
    let prepared = lists.prepare(&["bookworm"], "main contrib");
    prepared.map_err(|error| failed(error.to_string()))?;
    lists.run("apt-get", &["-q", "update"]).map_err(|error| failed(error.to_string()))?;
    fs::write(whole, "").map_err(|error| failed(error.to_string()))?;
    Ok(lists)
}

struct Apt<'a> {
    package: &'a str,
    cache: &'a PackageCache,
    work: &'a Path,
    lists: Option<OwnLists>,
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
        command.args(words).current_dir(self.work);
        if let Some(lists) = &self.lists {
            command.env("APT_CONFIG", lists.configuration());
        }
        said(&mut command).map_err(|error| error.of(program, self.package, self.cache.cache()))
    }
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
}
