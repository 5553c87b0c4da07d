//! A kernel's loadable modules: where they lie, and what must be loaded before what, which each module says itself. A
//! name that has no file is left out: the kernel may have it built in, and where it has not, the mount says so. Charset
//! modules and algorithms stand in no list of needs and must be named.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use crate::module_info;

#[derive(Debug, Clone, Default)]
pub struct ModuleTree {
    files: HashMap<String, PathBuf>,
    /// Where unpacked copies of packed modules are kept.
    unpacked: PathBuf,
    /// What needs no module, where the folder tells.
    built_in: Option<HashSet<String>>,
}

impl ModuleTree {
    /// Packed modules are unpacked into another folder when they are wanted.
    pub fn scan(folder: &Path, unpacked: &Path) -> io::Result<Self> {
        // The list stands beside the folder of modules.
        let list = fs::read_to_string(folder.with_file_name("modules.builtin")).ok();
        let built_in = list.map(|list| list.lines().map(module_name).collect());
        let mut tree = Self { files: HashMap::new(), unpacked: unpacked.to_owned(), built_in };
        tree.scan_into(folder)?;
        Ok(tree)
    }

    fn scan_into(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type()?.is_dir() {
                self.scan_into(&path)?;
            } else if name.ends_with(".ko") || name.contains(".ko.") {
                self.files.insert(module_name(&name), path);
            }
        }
        Ok(())
    }

    /// Takes a rebuilt module in the place of the kernel's own.
    pub fn put(&mut self, name: &str, file: &Path) {
        self.files.insert(plain(name), file.to_owned());
    }

    pub fn has(&self, name: &str) -> bool {
        self.files.contains_key(&plain(name))
    }

    /// Whether the kernel has neither a module of this name nor its like built in. Where the folder does not
    /// say what is built in, nothing is known to be lacking.
    pub fn lacks(&self, name: &str) -> bool {
        let built_in = self.built_in.as_ref();
        !self.has(name) && built_in.is_some_and(|built_in| !built_in.contains(&plain(name)))
    }

    /// In order, each once: these modules and all that they need.
    pub fn with_needed(&self, names: &[&str]) -> Vec<PathBuf> {
        let mut order = Vec::new();
        for name in names {
            self.add(&plain(name), &mut order, &mut Vec::new());
        }
        order
    }

    /// `open` are those that wait for this one: modules that need each other are no endless way.
    fn add(&self, name: &str, order: &mut Vec<PathBuf>, open: &mut Vec<String>) {
        let Some(file) = self.files.get(name).filter(|_| !open.iter().any(|one| one == name))
        else {
            return;
        };
        let file = self.plain_file(file);
        if order.contains(&file) {
            return;
        }
        open.push(name.to_owned());
        let needed = fs::read(&file).ok().and_then(|elf| module_info::needs(&elf));
        for needed in needed.unwrap_or_default() {
            self.add(&plain(&needed), order, open);
        }
        open.pop();
        order.push(file);
    }

    /// What cannot be unpacked is told when it is to be read.
    fn plain_file(&self, file: &Path) -> PathBuf {
        module_info::plain_file(file, &self.unpacked).unwrap_or_else(|_| file.to_owned())
    }
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

    fn names(tree: &ModuleTree, wanted: &[&str]) -> Vec<String> {
        let files = tree.with_needed(wanted);
        files.iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_a_module_needs_comes_first_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("kernel/fs");
        fs::create_dir_all(&deep).unwrap();
        let module = |name: &str, needs: &str| {
            let elf = module_info::tests::module(&format!("depends={needs}\0"));
            fs::write(deep.join(name), elf).unwrap();
        };
        module("xfs.ko", "libcrc32c");
        module("libcrc32c.ko", "crc-generic,builtin");
        module("crc_generic.ko", "");
        module("one.ko", "other");
        module("other.ko", "one");
        module("nls_iso8859-1.ko", "");
        fs::write(deep.join("notes.txt"), "").unwrap();
        let kernel = folder.path().join("kernel");
        let scan = || ModuleTree::scan(&kernel, &folder.path().join("plain")).unwrap();
        assert!(!scan().lacks("reiserfs"), "nothing is known of it");
        fs::write(folder.path().join("modules.builtin"), "kernel/lib/builtin.ko\n").unwrap();
        let mut tree = scan();
        let order = names(&tree, &["xfs", "libcrc32c"]);
        assert_eq!(order, ["crc_generic.ko", "libcrc32c.ko", "xfs.ko"]);
        assert_eq!(names(&tree, &["one"]), ["other.ko", "one.ko"]);
        assert_eq!(names(&tree, &["nls-iso8859_1", "builtin"]), ["nls_iso8859-1.ko"]);
        assert!(!tree.has("notes") && !tree.has("builtin"));
        assert!(!tree.lacks("builtin") && !tree.lacks("xfs") && tree.lacks("reiserfs"));
        let rebuilt = folder.path().join("rebuilt.ko");
        fs::copy(deep.join("xfs.ko"), &rebuilt).unwrap();
        tree.put("xfs", &rebuilt);
        assert_eq!(names(&tree, &["xfs"]), ["crc_generic.ko", "libcrc32c.ko", "rebuilt.ko"]);
    }
}
