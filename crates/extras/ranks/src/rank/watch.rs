//! Who has nobody left to work for goes: a rank whose launcher is gone, one whose lab is gone (`words.rs`), and one that is in
//! the way of an end. MPI's own ways out may hang, so that the last one is a signal to oneself.

use std::{process::id, thread, time::Duration};

use rustix::process::{Signal, getpid, getppid, kill_process};

use crate::mpi::Mpi;

const LOOK_EACH: Duration = Duration::from_millis(500);
/// So long the lab has to hear why, and the launcher to end us.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// From now on, until this process ends.
pub(super) fn watch_the_launcher() {
    let parent = getppid();
    thread::spawn(move || {
        while getppid() == parent {
            thread::sleep(LOOK_EACH);
        }
        go()
    });
}

/// At once. Workers below us are killed with us (prctl(2), PR_SET_PDEATHSIG).
pub(super) fn go() -> ! {
    let _ = kill_process(getpid(), Signal::KILL);
    // The signal is there before the call returns to us.
    unreachable!("process {} outlived its own SIGKILL", id())
}

/// Ends the ranks of all hosts, after a failure that has been told.
pub(super) fn leave(mpi: &dyn Mpi) -> ! {
    thread::sleep(LAST_WORDS);
    thread::spawn(|| {
        thread::sleep(LAST_WORDS);
        go()
    });
    mpi.abort();
    go()
}
