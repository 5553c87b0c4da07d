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
mod lane;

use std::process::ExitCode;

use pickfs_record::{WorkerMessage, trial::WORKER};
use rustix::{
    process::{Signal, set_parent_process_death_signal},
    thread::set_name,
};

/// What this process was started for: `None` where it is no worker. To be called before anything else,
/// as a worker does nothing that it need not.
pub fn run() -> Option<ExitCode> {
    std::env::args_os().nth(1).filter(|word| word == WORKER)?;
    // By this name it stands in lists of processes and in what `explain` says.
    let _ = set_name(c"pickfs-worker");
    arrange_last_words();
    Some(match lane::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(ending) => {
            ending.tell();
            ExitCode::FAILURE
        }
    })
}

fn arrange_last_words() {
    std::panic::set_hook(Box::new(|panic| {
        let reason = format!("the worker panicked, a bug in pickfs: {panic}");
        let _ = conversation::say(&WorkerMessage::Failed { reason });
        std::process::exit(101);
    }));
    // A lab that was killed cannot end its workers (prctl(2), PR_SET_PDEATHSIG).
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}
