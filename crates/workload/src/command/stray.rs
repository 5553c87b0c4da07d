//! Processes that a program left behind, and their end. We are the parent of whatever loses its own
//! ([`pickfs_sys::program::adopt_orphans`]), so all of them stand below us.
//!
//! Not seen: a process that somebody else starts on request, such as a unit of systemd or a
//! container. It is not below us, and would keep the mount busy.

use std::{
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

/// Everything below us that lives, one row a process.
pub(super) fn living() -> Vec<Process> {
    let tree = tree_of(std::process::id(), &ProcRoot::own()).unwrap_or_default();
    tree.into_iter().skip(1).filter(|process| process.state != 'Z').collect()
}

/// Those that were not there before.
pub(super) fn new_since(before: &[Process]) -> Vec<Process> {
    let is_known = |process: &Process| {
        before.iter().any(|known| {
            (known.process_id, known.start_ticks) == (process.process_id, process.start_ticks)
        })
    };
    living().into_iter().filter(|process| !is_known(process)).collect()
}

/// Ends everything below us, asked first. Gives how many would not go.
fn end_all() -> usize {
    for (signal, limit) in [(Signal::TERM, GRACE), (Signal::KILL, KILL)] {
        let began = Instant::now();
        loop {
            let left = living();
            while let Ok(Some(_)) = program::reap() {}
            if left.is_empty() {
                return 0;
            }
            if began.elapsed() > limit {
                break;
            }
            // Each time anew: what one of them started meanwhile shall end too.
            left.iter().for_each(|process| send(process, signal));
            thread::sleep(Duration::from_millis(20));
        }
    }
    living().len()
}

/// Ends everything below us; a fault where something would not go.
pub(crate) fn end_strays() -> Result<(), Fault> {
    match end_all() {
        0 => Ok(()),
        left => Err(Fault::Failed { reason: format!("{left} processes of it would not end") }),
    }
}

/// Kills everything below us, without reaping: for a thread that only ends what others wait for.
pub(super) fn kill_all() {
    for signal in [Signal::TERM, Signal::KILL] {
        for _ in 0..50 {
            let left = living();
            if left.is_empty() {
                return;
            }
            left.iter().for_each(|process| send(process, signal));
            thread::sleep(Duration::from_millis(20));
        }
    }
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
