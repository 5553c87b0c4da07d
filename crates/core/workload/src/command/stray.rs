//! We are the parent of whatever loses its own ([`pickfs_sys::program::adopt_orphans`]), so all of
//! them stand below us.
//! Not seen: a process that somebody else starts on request, such as a unit of systemd or a
//! container.

use std::{
    collections::BTreeMap,
    iter::successors,
    thread,
    time::{Duration, Instant},
};

use pickfs_sys::{
    proc_root::ProcRoot,
    process::{Process, tree_of},
    program,
};
use rustix::process::{Pid, Signal, kill_process};

use crate::fault::Fault;

/// How long a process may take to end itself.
const GRACE: Duration = Duration::from_secs(2);
/// How long a killed one may take: it may be deep in the kernel.
const KILL: Duration = Duration::from_secs(5);

pub(super) fn living() -> Vec<Process> {
    let tree = tree_of(std::process::id(), &ProcRoot::own()).unwrap_or_default();
    tree.into_iter().skip(1).filter(|process| process.state != 'Z').collect()
}

/// Those that were not there before, nor were started by one that was: a server of the setup forks as
/// it works. One of these that gave up its parent is ours, and counts as new.
pub(super) fn new_since(before: &[Process]) -> Vec<Process> {
    not_of(before, living())
}

fn not_of(before: &[Process], living: Vec<Process>) -> Vec<Process> {
    let is_known = |process: &Process| {
        before.iter().any(|known| {
            (known.process_id, known.start_ticks) == (process.process_id, process.start_ticks)
        })
    };
    let by_id: BTreeMap<u32, &Process> =
        living.iter().map(|process| (process.process_id, process)).collect();
    let line = |process| {
        successors(Some(process), |below: &&Process| by_id.get(&below.parent_id).copied())
    };
    living
        .iter()
        .filter(|process| !line(*process).take(living.len()).any(is_known))
        .cloned()
        .collect()
}

/// Gives how many would not go after `grace`, and then `kill`. Each time anew: what one of them started meanwhile shall
/// end too.
fn end_all(grace: Duration, kill: Duration, reap: fn()) -> usize {
    for (signal, limit) in [(Signal::TERM, grace), (Signal::KILL, kill)] {
        let began = Instant::now();
        while began.elapsed() <= limit {
            let left = living();
            reap();
            if left.is_empty() {
                return 0;
            }
            left.iter().for_each(|process| send(process, signal));
            thread::sleep(Duration::from_millis(20));
        }
    }
    living().len()
}

pub(crate) fn end_strays() -> Result<(), Fault> {
    match end_all(GRACE, KILL, || while let Ok(Some(_)) = program::reap() {}) {
        0 => Ok(()),
        left => Err(Fault::Failed { reason: format!("{left} processes of it would not end") }),
    }
}

/// Kills everything below us, without reaping: for a thread that only ends what others wait for.
pub(super) fn kill_all() {
    end_all(Duration::from_secs(1), Duration::from_secs(1), || {});
}

fn send(process: &Process, signal: Signal) {
    if let Some(id) = i32::try_from(process.process_id).ok().and_then(Pid::from_raw) {
        let _ = kill_process(id, signal);
    }
}

/// Names of processes, each once with its number: `sleep (2), postgres`.
pub(super) fn names(processes: &[Process]) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for process in processes {
        match counted.iter_mut().find(|(name, _)| *name == process.name) {
            Some((_, count)) => *count += 1,
            None => counted.push((&process.name, 1)),
        }
    }
    let word = |(name, count): &(&str, usize)| match count {
        1 => (*name).to_owned(),
        count => format!("{name} ({count})"),
    };
    counted.iter().map(word).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(process_id: u32, parent_id: u32, name: &str) -> Process {
        let own = Process::read(std::process::id(), &ProcRoot::own()).unwrap();
        Process { process_id, parent_id, name: name.into(), start_ticks: 7, ..own }
    }

    /// Ids wrap, so a child may have a lower one than its parent.
    #[test]
    fn what_a_server_of_the_setup_started_was_not_left_by_the_command() {
        let before = [process(20, 1, "server")];
        let living = vec![
            process(9, 21, "grandchild"),
            process(20, 1, "server"),
            process(21, 20, "child"),
            process(30, 1, "stray"),
            process(31, 30, "its-child"),
        ];
        assert_eq!(names(&not_of(&before, living)), "stray, its-child");
    }

    #[test]
    fn an_id_that_was_given_anew_is_another_process() {
        let before = [Process { start_ticks: 3, ..process(20, 1, "gone") }];
        assert_eq!(names(&not_of(&before, vec![process(20, 1, "new")])), "new");
    }
}
