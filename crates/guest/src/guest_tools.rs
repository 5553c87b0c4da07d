//! Programs that run inside of a guest only, from packages that are unpacked and not installed: a host needs none
//! of OpenZFS to have a pool made, mounted and measured in a guest.
//!
//! ```
//! use pickfs_guest::guest_tools;
//! assert!(guest_tools::of("zpool").is_some() && guest_tools::of("ntfs-3g").is_none());
//! ```

use std::path::PathBuf;

use crate::{
    package_set::{Members, PackageSet},
    packages::{PackageCache, PackageError},
};

/// A program with the packages that hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestTool {
    /// Its name in steps.
    pub program: &'static str,
    /// Where it lies below the tree.
    pub path: &'static str,
    /// Its packages.
    pub set: PackageSet<'static>,
}

const TOOLS: &[GuestTool] = &[GuestTool {
    program: "zpool",
    path: "sbin/zpool",
    set: PackageSet {
        main: "zfsutils-linux",
        members: Members::Listed(&[
            "libzfs4linux",
            "libzpool5linux",
            "libnvpair3linux",
            "libuutil3linux",
        ]),
    },
}];

/// The tool of this name; `None` where a guest takes the host's own.
pub fn of(program: &str) -> Option<&'static GuestTool> {
    TOOLS.iter().find(|tool| tool.program == program)
}

impl GuestTool {
    /// Its tree and the program below it, fetched where it is not there.
    ///
    /// # Errors
    /// When it cannot be had.
    pub fn get(&self, cache: &PackageCache) -> Result<(PathBuf, PathBuf), PackageError> {
        let tree = self.set.get(cache)?.folder;
        if !tree.join(self.path).is_file() {
            let (package, what) = (self.set.main.into(), self.path.into());
            return Err(PackageError::Strange { package, what });
        }
        Ok((tree, self.path.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_is_unpacked_is_found_below_its_tree() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("packages/zfsutils-linux+set_2.1.11");
        let (cache, tool) = (PackageCache::at(folder.path()), of("zpool").unwrap());
        std::fs::create_dir_all(tree.join("sbin")).unwrap();
        assert!(matches!(tool.get(&cache), Err(PackageError::Strange { .. })));
        std::fs::write(tree.join("sbin/zpool"), "").unwrap();
        assert_eq!(tool.get(&cache).unwrap(), (tree, PathBuf::from("sbin/zpool")));
    }
}
