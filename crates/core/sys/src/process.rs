//! Single processes and the processor time that they took: proc_pid_stat(5).
//! The user time of a machine less that of our own tree of processes is what strangers took;
//! kernel threads have no user time, so the candidate's own workers do not count as strangers.

use crate::proc_root::ProcRoot;
use std::collections::BTreeSet;
use std::io;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    /// In the /proc that was asked.
    pub process_id: u32,
    /// At most 15 bytes.
    pub name: String,
    /// One letter: `R` runs, `S` sleeps, `D` waits for a disk, `Z` has ended, ...
    pub state: char,
    /// 0: none that this /proc shows.
    pub parent_id: u32,
    /// Of all its threads.
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Of those that were waited for.
    pub ended_children_user_ticks: u64,
    /// Since boot: with the pid, its identity.
    pub start_ticks: u64,
    pub is_kernel_thread: bool,
    pub processor: Option<u32>,
}

impl Process {
    /// `NotFound` when there is none with this id; `InvalidData` when the text is not understood.
    pub fn read(process_id: u32, proc_root: &ProcRoot) -> io::Result<Self> {
        let path = proc_root.process(process_id).join("stat");
        let bytes = std::fs::read(path)?;
        let text = String::from_utf8_lossy(&bytes);
        parse(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, text.into_owned()))
    }

    pub fn user_ticks_with_ended_children(&self) -> u64 {
        self.user_ticks + self.ended_children_user_ticks
    }
}

/// What a process read from and wrote to storage since it began: proc_pid_io(5). Absent without the right to look.
pub fn moved_bytes(process_id: u32, proc_root: &ProcRoot) -> Option<u64> {
    let text = std::fs::read_to_string(proc_root.process(process_id).join("io")).ok()?;
    let number = |name| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some(number("read_bytes:").unwrap_or(0) + number("write_bytes:").unwrap_or(0))
}

/// Each as if it were a process; those that end meanwhile are left out.
pub fn threads(process_id: u32, proc_root: &ProcRoot) -> io::Result<Vec<Process>> {
    all(&ProcRoot::at(proc_root.process(process_id).join("task")))
}

/// Those that end meanwhile are left out.
pub fn all(proc_root: &ProcRoot) -> io::Result<Vec<Process>> {
    let ids = proc_root.process_ids()?;
    Ok(ids.into_iter().filter_map(|id| Process::read(id, proc_root).ok()).collect())
}

/// A process and all below it, in order of their ids after the first; empty when there is none.
pub fn tree_of(process_id: u32, proc_root: &ProcRoot) -> io::Result<Vec<Process>> {
    Ok(select_tree(process_id, all(proc_root)?))
}

fn select_tree(root_id: u32, everybody: Vec<Process>) -> Vec<Process> {
    let mut inside = BTreeSet::from([root_id]);
    loop {
        let before = inside.len();
        let below = everybody.iter().filter(|p| inside.contains(&p.parent_id));
        let below: Vec<_> = below.map(|p| p.process_id).collect();
        inside.extend(below);
        if inside.len() == before {
            break;
        }
    }
    let (mut tree, rest): (Vec<_>, Vec<_>) =
        everybody.into_iter().partition(|p| p.process_id == root_id);
    tree.extend(rest.into_iter().filter(|p| inside.contains(&p.process_id)));
    tree
}

/// The name stands in parentheses and may itself hold spaces and parentheses.
fn parse(text: &str) -> Option<Process> {
    let open = text.find('(')?;
    let close = text.rfind(')').filter(|close| *close > open)?;
    let fields: Vec<&str> = text[close + 1..].split_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(Process {
        process_id: text[..open].trim().parse().ok()?,
        name: text[open + 1..close].to_owned(),
        state: fields.first()?.chars().next()?,
        parent_id: u32::try_from(number(1)?).ok()?,
        is_kernel_thread: number(6)? & KERNEL_THREAD_FLAG != 0,
        user_ticks: number(11)?,
        system_ticks: number(12)?,
        ended_children_user_ticks: number(13)?,
        start_ticks: number(19)?,
        processor: number(36).and_then(|number| u32::try_from(number).ok()),
    })
}

/// `PF_KTHREAD` in `include/linux/sched.h`.
const KERNEL_THREAD_FLAG: u64 = 0x0020_0000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(id: u32, name: &str, parent: u32) -> String {
        format!("{id} ({name}) S {parent} 1 1 0 -1 4194560 1 2 3 4 50 60 7 8 20 0 3 0 999 1 2\n")
    }

    #[test]
    fn a_name_with_parentheses_and_spaces_is_read() {
        let process = parse(&line(42, "a) S 1 (b", 7)).unwrap();
        assert_eq!((process.process_id, process.name.as_str()), (42, "a) S 1 (b"));
        assert_eq!((process.state, process.parent_id), ('S', 7));
        assert_eq!((process.user_ticks, process.system_ticks), (50, 60));
        assert_eq!(process.user_ticks_with_ended_children(), 57);
        assert_eq!(process.start_ticks, 999);
        assert!(!process.is_kernel_thread);
    }

    #[test]
    fn a_tree_has_grandchildren_and_no_strangers() {
        let of = |id, parent| parse(&line(id, "x", parent)).unwrap();
        let everybody = vec![of(1, 0), of(3, 9), of(5, 1), of(9, 5), of(12, 2)];
        let tree: Vec<_> = select_tree(5, everybody).iter().map(|p| p.process_id).collect();
        assert_eq!(tree, [5, 3, 9]);
    }

    #[test]
    fn we_are_a_process_of_ours() {
        let own = Process::read(std::process::id(), &ProcRoot::own()).unwrap();
        assert_eq!(own.process_id, std::process::id());
        assert!(!own.is_kernel_thread && own.processor.is_some());
        let threads = threads(std::process::id(), &ProcRoot::own()).unwrap();
        assert!(threads.iter().any(|thread| thread.process_id == own.process_id));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[0-9]{0,11} ?\\(?[^\n]{0,8}\\)?[ A-Z0-9-]*") {
            let _ = parse(&text);
        }
    }
}
