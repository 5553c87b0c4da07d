//! One lane of a trial, a process of its own: workloads, clock and histograms, and nothing else. It is the
//! program `pickfs` with `worker` as its first word.
//!
//! It reads one `TrialSpec` from standard input, answers on standard output one JSON value a line
//! (see `pickfs_record::trial`), and writes nothing while it measures. To try it:
//!
//! ```text
//! (echo "$SPEC"; echo go) | pickfs worker
//! ```
//!
//! As the first program of a guest kernel it is the agent, which starts lanes; on the host it keeps guests.

mod agent;
mod conversation;
mod lab_line;
mod lane;
mod last_words;

use std::{ffi::OsString, process::ExitCode};

use pickfs_guest::keeper::{BECOME_GUEST, KEEP_GUEST, become_guest, keep};
use pickfs_record::trial::WORKER;
use rustix::thread::set_name;

/// What this process was started for: `None` where it is no worker. To be called before anything else,
/// as a worker does nothing that it need not.
pub fn run() -> Option<ExitCode> {
    if agent::is_asked() {
        agent::run();
    }
    let mut words = std::env::args_os().skip(1);
    words.next().filter(|word| word == WORKER)?;
    // By this name it stands in lists of processes and in what `explain` says.
    let _ = set_name(c"pickfs-worker");
    Some(work(&words.collect::<Vec<_>>()))
}

fn work(words: &[OsString]) -> ExitCode {
    let is_first = |wanted: &str| words.first().is_some_and(|word| word == wanted);
    if is_first(KEEP_GUEST) {
        return keep(&words[1..]);
    }
    if is_first(BECOME_GUEST) {
        return become_guest(&words[1..]);
    }
    last_words::arrange();
    match lane::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => {
            ending.tell();
            ExitCode::FAILURE
        }
    }
}
