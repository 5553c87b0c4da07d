//! A kernel's loadable modules: where they lie, and what must be loaded before what.
//!
//! ```no_run
//! use pickfs_guest::modules::ModuleTree;
//! let tree = ModuleTree::read("/lib/modules/6.1.0-50-amd64".as_ref())?;
//! let files = tree.with_needed(&["f2fs", "nls_cp437"]);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A name that has no file is left out: the kernel may have it built in, and where it has not, the mount
//! says so. Charset modules stand in no list of dependencies and must be named. Source: modules.dep(5).

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

/// The modules of one kernel.
#[derive(Debug, Clone)]
pub struct ModuleTree {
    folder: PathBuf,
    /// By name: the file, and those that it needs, each with those that it needs in turn, last first.
    rows: HashMap<String, (String, Vec<String>)>,
}

impl ModuleTree {
    /// The tree of a folder that holds `modules.dep`.
    ///
    /// # Errors
    /// When that cannot be read.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = std::fs::read_to_string(folder.join("modules.dep"))?;
        Ok(Self { folder: folder.to_owned(), rows: rows(&text) })
    }

    /// Takes a rebuilt module in the place of the kernel's own, which needs what that needed.
    pub fn put(&mut self, name: &str, file: &Path) {
        let needs = self.rows.remove(&plain(name)).map(|(_, needs)| needs).unwrap_or_default();
        self.rows.insert(plain(name), (file.to_string_lossy().into_owned(), needs));
    }

    /// A kernel without modules.
    pub fn none() -> Self {
        Self { folder: PathBuf::new(), rows: HashMap::new() }
    }

    /// Whether there is a module of this name.
    pub fn has(&self, name: &str) -> bool {
        self.rows.contains_key(&plain(name))
    }

    /// Files to load, in order, each once: these modules and all that they need.
    pub fn with_needed(&self, names: &[&str]) -> Vec<PathBuf> {
        let mut order: Vec<PathBuf> = Vec::new();
        for (file, needs) in names.iter().filter_map(|name| self.rows.get(&plain(name))) {
            for path in needs.iter().rev().chain([file]) {
                let path = self.folder.join(path);
                if !order.contains(&path) {
                    order.push(path);
                }
            }
        }
        order
    }
}

fn rows(text: &str) -> HashMap<String, (String, Vec<String>)> {
    let row = |line: &str| {
        let (file, needs) = line.split_once(':')?;
        let needs = needs.split_whitespace().map(str::to_owned).collect();
        Some((module_name(file), (file.to_owned(), needs)))
    };
    text.lines().filter_map(row).collect()
}

/// `kernel/fs/nls/nls_iso8859-1.ko.xz` is `nls_iso8859_1`.
fn module_name(file: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or_default();
    plain(file.split('.').next().unwrap_or_default())
}

fn plain(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let text = "kernel/a.ko:\nkernel/b.ko: kernel/a.ko\n\
                    kernel/nls_iso8859-1.ko.xz:\nkernel/c.ko: kernel/b.ko kernel/a.ko\n";
        let tree = ModuleTree { folder: "/m".into(), rows: rows(text) };
        let names = |wanted: &[&str]| -> Vec<String> {
            let files = tree.with_needed(wanted);
            files
                .iter()
                .map(|f| f.strip_prefix("/m/kernel").unwrap().display().to_string())
                .collect()
        };
        assert_eq!(names(&["c", "b"]), ["a.ko", "b.ko", "c.ko"]);
        assert_eq!(names(&["nls-iso8859_1", "builtin"]), ["nls_iso8859-1.ko.xz"]);
        assert!(tree.has("nls_iso8859-1") && !tree.has("builtin"));
        let mut tree = tree;
        tree.put("b", Path::new("/rebuilt/b.ko"));
        let expected = [PathBuf::from("/m/kernel/a.ko"), PathBuf::from("/rebuilt/b.ko")];
        assert_eq!(tree.with_needed(&["b"]), expected);
    }
}
