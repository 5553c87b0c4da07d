//! The threads of some processes, by both of their numbers: that of the machine, which events carry,
//! and that of their own pid namespace, which they know themselves.

use std::{collections::HashMap, io};

use pickfs_sys::{proc_root::ProcRoot, process};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// On this machine.
    pub id: u32,
    /// In its own pid namespace.
    pub own_id: u32,
    /// By its number on this machine.
    pub process: u32,
    pub name: String,
}

/// Those that have ended too.
#[derive(Debug)]
pub struct Threads {
    proc_root: ProcRoot,
    processes: Vec<u32>,
    seen: HashMap<u32, Thread>,
    by_own_id: HashMap<u32, u32>,
    /// Threads whose names may still change: a thread is named after it has begun.
    young: Vec<(u32, u8)>,
}

/// Looks in which the name of a new thread is read again.
const YOUNG_LOOKS: u8 = 5;

/// Threads that are remembered; beyond, no new ones are taken up.
const THREADS_MAX: usize = 4_096;

impl Threads {
    /// By their numbers on this machine.
    pub fn of(processes: Vec<u32>, proc_root: ProcRoot) -> Threads {
        Threads {
            proc_root,
            processes,
            seen: HashMap::new(),
            by_own_id: HashMap::new(),
            young: Vec::new(),
        }
    }

    pub fn add_processes(&mut self, processes: impl IntoIterator<Item = u32>) {
        for process in processes {
            if !self.processes.contains(&process) && self.processes.len() < THREADS_MAX {
                self.processes.push(process);
            }
        }
    }

    pub fn look(&mut self) -> bool {
        let before = self.seen.len();
        self.name_again();
        for process in self.processes.clone() {
            let folder = self.proc_root.process(process).join("task");
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let ids =
                entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            for id in ids {
                if !self.seen.contains_key(&id) && self.seen.len() < THREADS_MAX {
                    self.take(process, id);
                }
            }
        }
        self.seen.len() > before
    }

    fn name_again(&mut self) {
        let young = std::mem::take(&mut self.young);
        for (id, looks) in young {
            let Some(process) = self.seen.get(&id).map(|thread| thread.process) else { continue };
            if let Some(text) = self.status(process, id) {
                self.seen.entry(id).and_modify(|thread| thread.name = name(&text));
            }
            self.young.extend((looks > 1).then(|| (id, looks - 1)));
        }
    }

    fn status(&self, process: u32, id: u32) -> Option<String> {
        let path = self.proc_root.process(process).join(format!("task/{id}/status"));
        std::fs::read_to_string(path).ok()
    }

    fn take(&mut self, process: u32, id: u32) {
        let Some(text) = self.status(process, id) else { return };
        let own_id = own_id(&text).unwrap_or(id);
        self.by_own_id.insert(own_id, id);
        self.young.push((id, YOUNG_LOOKS));
        self.seen.insert(id, Thread { id, own_id, process, name: name(&text) });
    }

    pub fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.seen.keys().copied().collect();
        ids.sort_unstable();
        ids
    }

    /// By the number that the thread itself knows.
    pub fn by_own_id(&self, own_id: u32) -> Option<&Thread> {
        self.seen.get(self.by_own_id.get(&own_id)?)
    }

    /// By its number on this machine.
    pub fn get(&self, id: u32) -> Option<&Thread> {
        self.seen.get(&id)
    }

    /// Workers of io_uring of the same process: they do what it waits for.
    pub fn uring_workers(&self, process: u32) -> Vec<u32> {
        let of_process = self.seen.values().filter(|thread| thread.process == process);
        of_process
            .filter(|thread| thread.name.starts_with("iou-"))
            .map(|thread| thread.id)
            .collect()
    }

    pub fn count(&self) -> usize {
        self.seen.len()
    }
}

/// The numbers on this machine of children of ours, given by the numbers that we know them by.
pub fn on_machine(children: &[u32], proc_root: &ProcRoot) -> io::Result<Vec<u32>> {
    let own = std::fs::read_link(proc_root.path().join("self"))?;
    let own =
        own.to_str().and_then(|number| number.parse().ok()).ok_or(io::ErrorKind::InvalidData)?;
    if proc_root == &ProcRoot::own() {
        return Ok(children.to_vec());
    }
    let is_meant = |id: u32| {
        let text = std::fs::read_to_string(proc_root.process(id).join("status"));
        text.is_ok_and(|text| own_id(&text).is_some_and(|own| children.contains(&own)))
    };
    let tree = process::tree_of(own, proc_root)?;
    let ids = tree.iter().map(|process| process.process_id);
    Ok(ids.filter(|id| *id != own && is_meant(*id)).collect())
}

/// The innermost number of `NSpid:` (proc_pid_status(5)).
fn own_id(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

fn name(status: &str) -> String {
    let line = status.lines().find_map(|line| line.strip_prefix("Name:"));
    line.unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_threads_are_found_with_their_names() {
        let own = std::process::id();
        let mut threads = Threads::of(vec![own], ProcRoot::own());
        assert!(threads.look());
        let (go_on, wait) = std::sync::mpsc::channel::<()>();
        let body = move || assert!(wait.recv().is_err());
        let other = std::thread::Builder::new().name("iou-wrk-7".into()).spawn(body).unwrap();
        pickfs_testkit::until("the thread with its name", || {
            threads.look();
            (!threads.uring_workers(own).is_empty()).then_some(())
        });
        assert_eq!(threads.uring_workers(own).len(), 1);
        assert_eq!(threads.get(own).map(|thread| thread.process), Some(own));
        assert_eq!(threads.by_own_id(own).map(|thread| thread.id), Some(own));
        drop(go_on);
        other.join().unwrap();
    }

    #[test]
    fn a_thread_in_a_namespace_has_two_numbers() {
        let status = "Name:\tappender one\nPid:\t812\nNSpid:\t812\t7\n";
        assert_eq!((own_id(status), name(status).as_str()), (Some(7), "appender one"));
        assert_eq!(own_id("Name:\tx\n"), None);
    }

    #[test]
    fn without_a_namespace_children_keep_their_numbers() {
        assert_eq!(on_machine(&[5, 6], &ProcRoot::own()).unwrap(), [5, 6]);
    }
}
