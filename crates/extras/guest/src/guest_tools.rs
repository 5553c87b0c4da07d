//! Programs that make or serve file systems of guests, from packages that are unpacked and not installed. On the host
//! they run with the libraries of their own tree, as whoever we are; what a mount needs goes into the guest.
//!
//! ```
//! use pickfs_guest::{guest_tools::Tool, packages::PackageCache};
//! assert_eq!(Tool::held(&PackageCache::at("/nowhere".as_ref()), "mkfs.f2fs", "f2fs-tools"), None);
//! ```

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use crate::{
    packages::{Beside, PackageCache, PackageError},
    program_files::TREE_LIBRARIES,
};

const FOLDERS: [&str; 4] = ["sbin", "usr/sbin", "bin", "usr/bin"];
/// zpool's package with libraries: its dependencies name Python, which it does not need.
const OPENZFS: &str = "zfsutils-linux";
const OF_OPENZFS: Beside<'_> =
    Beside::Listed(&["libzfs4linux", "libzpool5linux", "libnvpair3linux", "libuutil3linux"]);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// It stands for `/`.
    pub tree: PathBuf,
    /// Below the tree.
    pub path: PathBuf,
}

/// A section behind the name of its package does not matter.
fn name_of(package: &str) -> &str {
    package.split(' ').next().unwrap_or(package)
}

impl Tool {
    /// Asks nobody.
    pub fn held(cache: &PackageCache, program: &str, package: &str) -> Option<Tool> {
        Self::of_tree(cache.held_set(name_of(package))?.folder, program)
    }

    /// Its package is fetched where it is not there.
    pub fn get(cache: &PackageCache, program: &str, package: &str) -> Result<Tool, PackageError> {
        let main = name_of(package);
        let beside = if main == OPENZFS { OF_OPENZFS } else { Beside::Missing };
        let unpacked = cache.get_set(main, beside)?;
        let strange = || PackageError::Strange { package: package.into(), what: program.into() };
        Self::of_tree(unpacked.folder, program).ok_or_else(strange)
    }

    fn of_tree(tree: PathBuf, program: &str) -> Option<Tool> {
        let paths = FOLDERS.map(|folder| Path::new(folder).join(program));
        let path = paths.into_iter().find(|path| tree.join(path).exists())?;
        Some(Tool { tree, path })
    }

    /// Another of its package.
    pub(crate) fn beside(&self, program: &str) -> Option<Tool> {
        Self::of_tree(self.tree.clone(), program)
    }

    pub fn words(&self) -> Vec<OsString> {
        let libraries = TREE_LIBRARIES.map(|folder| self.tree.join(folder));
        let program = self.tree.join(&self.path).into_os_string();
        let mut path = libraries[0].clone().into_os_string();
        path.push(":");
        path.push(&libraries[1]);
        // A C library of its own goes with no other loader.
        let mut loaders = libraries.iter().map(|folder| folder.join("ld-linux-x86-64.so.2"));
        if let Some(loader) = loaders.find(|loader| loader.is_file()) {
            return vec![loader.into(), "--library-path".into(), path, program];
        }
        let mut variable = OsString::from("LD_LIBRARY_PATH=");
        variable.push(path);
        vec!["/usr/bin/env".into(), variable, program]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::install;
    use std::{fs, process::Command};

    #[test]
    fn a_tool_that_is_unpacked_is_found_below_its_tree() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("packages/zfsutils-linux+set_2.1.11");
        let cache = PackageCache::at(folder.path());
        let get = || Tool::get(&cache, "zpool", "zfsutils-linux (section contrib)");
        fs::create_dir_all(tree.join("sbin")).unwrap();
        assert!(matches!(get(), Err(PackageError::Strange { .. })));
        fs::write(tree.join("sbin/zpool"), "").unwrap();
        assert_eq!(get().unwrap(), Tool { tree, path: "sbin/zpool".into() });
    }

    #[test]
    fn an_unpacked_program_runs_with_its_own_libraries_and_its_own_loader() {
        let tree = tempfile::tempdir().unwrap();
        let at = |path: &str| tree.path().join(path);
        fs::create_dir_all(at("usr/bin")).unwrap();
        install(&at("usr/bin/say"), &fs::read("/bin/echo").unwrap());
        let tool = Tool::of_tree(tree.path().into(), "say").unwrap();
        let said = |words: &[OsString]| {
            let output = Command::new(&words[0]).args(&words[1..]).arg("so").output().unwrap();
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert_eq!(said(&tool.words()), "so\n");
        fs::create_dir_all(at(TREE_LIBRARIES[0])).unwrap();
        let loader = at(TREE_LIBRARIES[0]).join("ld-linux-x86-64.so.2");
        install(&loader, &fs::read("/lib64/ld-linux-x86-64.so.2").unwrap());
        assert_eq!(tool.words()[0], loader.into_os_string());
        assert_eq!(said(&tool.words()), "so\n");
    }
}
