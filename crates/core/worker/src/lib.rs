//! One lane of a trial, a process of its own: workloads, clock and histograms, and nothing else. It is the
//! program `pickfs` with `worker` as its first word.
//!
//! It reads one `TrialSpec` from standard input, answers on standard output one JSON value a line
//! (see `pickfs_record::trial`), and writes nothing while it measures. To try it:
//!
//! ```text
//! (echo "$SPEC"; echo go) | pickfs worker
//! ```

mod conversation;
mod lab_line;
mod lane;
mod last_words;

use std::process::ExitCode;

use pickfs_record::trial::WORKER;
use rustix::thread::set_name;

/// What this process was started for: `None` where it is no worker. To be called before anything else,
/// as a worker does nothing that it need not.
pub fn run() -> Option<ExitCode> {
    std::env::args_os().nth(1).filter(|word| word == WORKER)?;
    // By this name it stands in lists of processes and in what `explain` says.
    let _ = set_name(c"pickfs-worker");
    last_words::arrange();
    Some(match lane::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => {
            ending.tell();
            ExitCode::FAILURE
        }
    })
}
