//! One lane of a trial, a process of its own: workloads, clock and histograms, and nothing else.
//!
//! It reads one `TrialSpec` from standard input, answers on standard output one JSON value a line
//! (see `pickfs_model::trial`), and writes nothing while it measures. To try it:
//!
//! ```text
//! (echo "$SPEC"; echo go) | pickfs-worker
//! ```

mod conversation;
mod lab_line;
mod lane;
mod last_words;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args().any(|word| word == "--version") {
        println!("pickfs-worker {}", pickfs_workload::BUILD);
        return ExitCode::SUCCESS;
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
