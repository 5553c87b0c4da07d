//! Modules that were built again, by kernel: what Debian builds without writing (UFS), or with a check that
//! refuses a good volume (Reiser 3.5). They lie beside the packages, one folder a kernel release:
//!
//! ```text
//! CACHE/modules/6.1.176/ufs-1.ko
//! CACHE/modules/6.1.176/reiserfs35-1.ko
//! ```
//!
//! The number is that of the recipe; the highest counts. The crate `modules` builds them.

use std::path::{Path, PathBuf};

use crate::packages::cache_folder;

pub fn folder(cache: &Path, release: &str) -> PathBuf {
    cache.join("modules").join(release)
}

/// Those of a later recipe last.
pub fn modules(cache: &Path, release: &str) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(folder(cache, release)).into_iter().flatten().flatten();
    let mut found: Vec<(u32, String, PathBuf)> = entries
        .filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let (name, recipe) = file.strip_suffix(".ko")?.rsplit_once('-')?;
            Some((recipe.parse().ok()?, name.to_owned(), entry.path()))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name, path)| (name, path)).collect()
}

/// In the default cache.
pub fn is_there(name: &str, release: &str) -> bool {
    let cache = cache_folder();
    cache.is_some_and(|cache| modules(&cache, release).iter().any(|(module, _)| module == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_recipe_comes_last_and_other_files_are_none() {
        let cache = tempfile::tempdir().unwrap();
        let at = folder(cache.path(), "6.1.1");
        std::fs::create_dir_all(&at).unwrap();
        for name in ["ufs-10.ko", "ufs-9.ko", "reiserfs35-1.ko", "tree", "notes.ko"] {
            std::fs::write(at.join(name), "").unwrap();
        }
        let found = modules(cache.path(), "6.1.1");
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["reiserfs35", "ufs", "ufs"]);
        assert!(found[2].1.ends_with("ufs-10.ko"));
    }
}
