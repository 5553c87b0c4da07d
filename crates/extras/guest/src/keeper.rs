//! The keeper: a process between the lab and a guest that starts it, waits for it, and ends all
//! of it when the lab is gone. A lab that was killed cannot end anything itself, and a guest may be more
//! than one process.
//!
//! ```text
//! pickfs worker keep-guest LAB-PID PROGRAM WORD...
//! ```
//!
//! The guest is a process group of its own, which the keeper ends as a whole: when the guest's first process
//! ends (helpers of an engine live on after it), when the lab sends SIGTERM, and when the lab is gone. When the keeper
//! itself is killed, the kernel ends the guest's first process (PR_SET_PDEATHSIG(2const)): it asks for that
//! before it becomes the engine.

use std::{
    ffi::{OsStr, OsString},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::Path,
    process::{Child, Command, ExitCode, ExitStatus},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use pickfs_record::trial::WORKER;
use rustix::process::{Pid, Signal, getppid, kill_process_group, set_parent_process_death_signal};

pub const KEEP_GUEST: &str = "keep-guest";
pub const BECOME_GUEST: &str = "become-guest";
const LOOK: Duration = Duration::from_millis(50);

pub(crate) fn keeper(worker: &Path, guest: &[OsString]) -> Command {
    let mut command = Command::new(worker);
    command.args([WORKER, KEEP_GUEST]).arg(std::process::id().to_string()).args(guest);
    command
}

/// `words` are those behind [`KEEP_GUEST`].
pub fn keep(words: &[OsString]) -> ExitCode {
    let [lab, program, rest @ ..] = words else {
        eprintln!("{KEEP_GUEST} needs the lab's process and a program");
        return ExitCode::FAILURE;
    };
    let lab = lab.to_str().and_then(|text| text.parse().ok()).unwrap_or_default();
    let asked = Arc::new(AtomicBool::new(false));
    let listens = signal_hook::flag::register(signal_hook::consts::SIGTERM, asked.clone());
    let guest = listens.and_then(|_| start(program, rest));
    match guest {
        Ok(guest) => stand_by(guest, lab, asked),
        Err(error) => {
            eprintln!("{} not started: {error}", program.to_string_lossy());
            ExitCode::from(127)
        }
    }
}

fn start(program: &OsStr, words: &[OsString]) -> std::io::Result<Child> {
    let mut guest = Command::new("/proc/self/exe");
    guest.args([WORKER, BECOME_GUEST]).arg(std::process::id().to_string());
    guest.arg(program).args(words).process_group(0).spawn()
}

/// `words` are those behind [`BECOME_GUEST`]. Comes back when that fails.
pub fn become_guest(words: &[OsString]) -> ExitCode {
    let [keeper, program, rest @ ..] = words else {
        eprintln!("{BECOME_GUEST} needs the keeper's process and a program");
        return ExitCode::FAILURE;
    };
    let keeper: i32 = keeper.to_str().and_then(|text| text.parse().ok()).unwrap_or_default();
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    // A keeper that ended before that has told nobody.
    if asked.is_err() || getppid().is_none_or(|parent| parent.as_raw_nonzero().get() != keeper) {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(rest).exec();
    eprintln!("{} not started: {error}", program.to_string_lossy());
    ExitCode::from(127)
}

fn stand_by(mut guest: Child, lab: i32, asked: Arc<AtomicBool>) -> ExitCode {
    let group = Pid::from_child(&guest);
    std::thread::spawn(move || end_when_unwanted(group, lab, &asked));
    let status = guest.wait();
    let _ = kill_process_group(group, Signal::KILL);
    ExitCode::from(status.map_or(1, code_of))
}

/// As a shell tells it: a signal is 128 and its number.
fn code_of(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn end_when_unwanted(group: Pid, lab: i32, asked: &AtomicBool) {
    let is_lab = |parent: Pid| parent.as_raw_nonzero().get() == lab;
    while getppid().is_some_and(is_lab) && !asked.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
    }
    let _ = kill_process_group(group, Signal::KILL);
}
