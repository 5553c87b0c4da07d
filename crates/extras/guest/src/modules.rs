//! A kernel's loadable modules: where they lie, and what must be loaded before what.
//! What a module needs stands in modules.dep(5), or, where the tree was never installed, in the
//! module itself. A name that has no file is left out: the kernel may have it built in, and where
//! it has not, the mount says so. Charset modules and algorithms stand in no list of needs and
//! must be named.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use crate::module_info;

/// Unpacked copies lie here in a tree with modules.dep.
const PLAIN: &str = ".plain";

#[derive(Debug, Clone)]
pub struct ModuleTree {
    rows: HashMap<String, Row>,
    /// Where unpacked copies of packed modules are kept.
    unpacked: PathBuf,
    /// What needs no module, where the folder tells.
    built_in: Option<HashSet<String>>,
}

#[derive(Debug, Clone)]
struct Row {
    file: PathBuf,
    needs: Needs,
}

#[derive(Debug, Clone)]
enum Needs {
    /// Files, with those that they need in turn, last first: as modules.dep has it.
    Files(Vec<PathBuf>),
    Asked,
}

impl ModuleTree {
    /// It holds `modules.dep`.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let text = fs::read_to_string(folder.join("modules.dep"))?;
        let (rows, built_in) = (rows(folder, &text), built_in(folder));
        Ok(Self { rows, unpacked: folder.join(PLAIN), built_in })
    }

    /// Only unpacked: every module in it is asked. Packed ones are unpacked into another folder
    /// when they are wanted.
    pub fn scan(folder: &Path, unpacked: &Path) -> io::Result<Self> {
        // The list stands beside the folder of modules.
        let built_in = folder.parent().and_then(built_in);
        let mut tree = Self { rows: HashMap::new(), unpacked: unpacked.to_owned(), built_in };
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
                self.rows.insert(module_name(&name), Row { file: path, needs: Needs::Asked });
            }
        }
        Ok(())
    }

    /// Takes a rebuilt module in the place of the kernel's own, which needs what that needed.
    pub fn put(&mut self, name: &str, file: &Path) {
        let needs = self.rows.remove(&plain(name)).map_or(Needs::Asked, |row| row.needs);
        self.rows.insert(plain(name), Row { file: file.to_owned(), needs });
    }

    pub fn none() -> Self {
        Self { rows: HashMap::new(), unpacked: PathBuf::new(), built_in: None }
    }

    pub fn has(&self, name: &str) -> bool {
        self.rows.contains_key(&plain(name))
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
        let Some(row) = self.rows.get(name).filter(|_| !open.iter().any(|one| one == name)) else {
            return;
        };
        let file = self.plain_file(&row.file);
        if order.contains(&file) {
            return;
        }
        match &row.needs {
            Needs::Files(files) => {
                for needed in files.iter().rev().map(|file| self.plain_file(file)) {
                    if !order.contains(&needed) {
                        order.push(needed);
                    }
                }
            }
            Needs::Asked => {
                open.push(name.to_owned());
                let asked = fs::read(&file).ok().and_then(|elf| module_info::needs(&elf));
                for needed in asked.unwrap_or_default() {
                    self.add(&plain(&needed), order, open);
                }
                open.pop();
            }
        }
        order.push(file);
    }

    /// What cannot be unpacked is told when it is to be read.
    fn plain_file(&self, file: &Path) -> PathBuf {
        module_info::plain_file(file, &self.unpacked).unwrap_or_else(|_| file.to_owned())
    }
}

/// `None` where there is no modules.builtin.
fn built_in(folder: &Path) -> Option<HashSet<String>> {
    let text = fs::read_to_string(folder.join("modules.builtin")).ok()?;
    Some(text.lines().map(module_name).collect())
}

fn rows(folder: &Path, text: &str) -> HashMap<String, Row> {
    let row = |line: &str| {
        let (file, needs) = line.split_once(':')?;
        let needs = needs.split_whitespace().map(|file| folder.join(file)).collect();
        let row = Row { file: folder.join(file), needs: Needs::Files(needs) };
        Some((module_name(file), row))
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

    fn names(tree: &ModuleTree, wanted: &[&str]) -> Vec<String> {
        let files = tree.with_needed(wanted);
        files.iter().map(|f| f.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn what_is_needed_comes_first_and_once() {
        let text = "kernel/a.ko:\nkernel/b.ko: kernel/a.ko\n\
                    kernel/nls_iso8859-1.ko.xz:\nkernel/c.ko: kernel/b.ko kernel/a.ko\n";
        let built_in = Some(HashSet::from(["builtin".to_owned()]));
        let rows = rows(Path::new("/m"), text);
        let mut tree = ModuleTree { rows, unpacked: PathBuf::new(), built_in };
        assert_eq!(names(&tree, &["c", "b"]), ["a.ko", "b.ko", "c.ko"]);
        assert_eq!(names(&tree, &["nls-iso8859_1", "builtin"]), ["nls_iso8859-1.ko.xz"]);
        assert!(tree.has("nls_iso8859-1") && !tree.has("builtin"));
        assert!(!tree.lacks("builtin") && !tree.lacks("a") && tree.lacks("reiserfs"));
        assert!(!ModuleTree::none().lacks("reiserfs"), "nothing is known of it");
        tree.put("b", Path::new("/rebuilt/b.ko"));
        let expected = [PathBuf::from("/m/kernel/a.ko"), PathBuf::from("/rebuilt/b.ko")];
        assert_eq!(tree.with_needed(&["b"]), expected);
    }

    #[test]
    fn modules_of_a_tree_that_was_never_installed_are_asked_themselves() {
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
        fs::write(deep.join("notes.txt"), "").unwrap();
        let tree = ModuleTree::scan(folder.path(), &folder.path().join("plain")).unwrap();
        let order = names(&tree, &["xfs", "libcrc32c"]);
        assert_eq!(order, ["crc_generic.ko", "libcrc32c.ko", "xfs.ko"]);
        assert_eq!(names(&tree, &["one"]), ["other.ko", "one.ko"]);
        assert!(!tree.has("notes"));
    }
}
