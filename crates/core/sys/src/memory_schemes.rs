//! What the kernel does with memory behind a program's back. A scheme that pages out "cold" memory
//! makes a hot file cold; a report must name it.

use crate::tunables::{chosen_word, names_in, text_if_any};
use std::path::{Path, PathBuf};

/// `None`: the kernel does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemorySchemes {
    pub huge_pages: Option<String>,
    pub tmpfs_huge_pages: Option<String>,
    pub numa_nodes: usize,
    pub numa_balancing: Option<String>,
    pub damon: Vec<DamonScheme>,
    pub same_page_merging: Option<String>,
    pub swappiness: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamonScheme {
    /// `kdamond 0`, or the name of a module (`damon_reclaim`).
    pub name: String,
    /// `on` or `off`; for a module `Y` or `N`.
    pub state: String,
    /// What is done with the memory it finds (`pageout`, `stat`, ...); empty: nothing, or not said.
    pub actions: Vec<String>,
}

impl MemorySchemes {
    pub fn now() -> Self {
        let huge = Path::new("/sys/kernel/mm/transparent_hugepage");
        let choice = |path: PathBuf| text_if_any(path).map(|text| chosen_word(&text).to_owned());
        let mut damon = damon_threads(Path::new("/sys/kernel/mm/damon/admin/kdamonds"));
        damon.extend(damon_modules(Path::new("/sys/module")));
        Self {
            huge_pages: choice(huge.join("enabled")),
            tmpfs_huge_pages: choice(huge.join("shmem_enabled")),
            numa_nodes: numa_nodes(Path::new("/sys/devices/system/node")),
            numa_balancing: text_if_any("/proc/sys/kernel/numa_balancing"),
            damon,
            same_page_merging: text_if_any("/sys/kernel/mm/ksm/run"),
            swappiness: text_if_any("/proc/sys/vm/swappiness"),
        }
    }
}

fn numa_nodes(folder: &Path) -> usize {
    names_in(folder).iter().filter(|name| folder.join(name).join("meminfo").exists()).count()
}

fn damon_threads(folder: &Path) -> Vec<DamonScheme> {
    let read = |name: String| {
        let thread = folder.join(&name);
        let state = text_if_any(thread.join("state"))?;
        Some(DamonScheme { name: format!("kdamond {name}"), state, actions: actions(&thread) })
    };
    names_in(folder).into_iter().filter_map(read).collect()
}

fn actions(thread: &Path) -> Vec<String> {
    let contexts = thread.join("contexts");
    let mut found = Vec::new();
    for context in names_in(&contexts) {
        let schemes = contexts.join(context).join("schemes");
        let read = |name: String| text_if_any(schemes.join(name).join("action"));
        found.extend(names_in(&schemes).into_iter().filter_map(read));
    }
    found
}

fn damon_modules(folder: &Path) -> Vec<DamonScheme> {
    let names = ["damon_reclaim", "damon_lru_sort", "damon_stat"];
    let read = |name: &&str| {
        let state = text_if_any(folder.join(name).join("parameters/enabled"))?;
        Some(DamonScheme { name: (*name).to_owned(), state, actions: Vec::new() })
    };
    names.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn damon_threads_and_modules_are_found_with_what_they_do() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "0/state", "on\n");
        write(folder.path(), "0/contexts/0/schemes/0/action", "pageout\n");
        write(folder.path(), "nr_kdamonds", "1\n");
        let threads = damon_threads(folder.path());
        assert_eq!(threads.len(), 1);
        assert_eq!((threads[0].name.as_str(), threads[0].state.as_str()), ("kdamond 0", "on"));
        assert_eq!(threads[0].actions, ["pageout"]);
        write(folder.path(), "damon_reclaim/parameters/enabled", "Y\n");
        assert_eq!(damon_modules(folder.path())[0].state, "Y");
    }

    #[test]
    fn nodes_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "node1/meminfo", "Node 1 MemTotal:  2 kB\n");
        write(folder.path(), "online", "1\n");
        assert_eq!(numa_nodes(folder.path()), 1);
    }
}
