//! One lane of a trial, a process of its own: workloads, clock and histograms, and nothing else.
//!
//! It reads one `TrialSpec` from standard input, answers on standard output one JSON value a line
//! (see `pickfs_model::trial`), and writes nothing while it measures. To try it:
//!
//! ```text
//! (echo "$SPEC"; echo go) | pickfs-worker
//! ```
//!
//! As the first program of a guest kernel it is the agent, which starts lanes; on the host it keeps guests.

mod agent;
mod conversation;
mod lab_line;
mod lane;
mod last_words;

use std::{ffi::OsString, process::ExitCode};

use pickfs_guest::keeper::{KEEP_GUEST, keep};

fn main() -> ExitCode {
    if agent::is_asked() {
        agent::run();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if words.first().is_some_and(|word| word == KEEP_GUEST) {
        return keep(&words[1..]);
    }
    if words.iter().any(|word| word == "--version") {
        println!("pickfs-worker {}", pickfs_workload::BUILD);
        return ExitCode::SUCCESS;
    }
    agent::take_clock();
    last_words::arrange();
    match lane::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => {
            ending.tell();
            ExitCode::FAILURE
        }
    }
}
