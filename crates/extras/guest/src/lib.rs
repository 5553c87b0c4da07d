//! Guests: small Linux kernels in which a cell runs where the host's own kernel cannot mount its
//! file system. No root, no installation: kernels come from Debian packages that are only unpacked. What
//! runs inside is the agent, the same program; what is measured is the workload's.
//!
//! ```text
//! packages ─► engine: kernel ─┐
//! modules, worker ─► first_files ─► Boot ─► guest ◄─ messages ─► agent
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent;
mod apt;
pub mod boot_image;
pub mod deadline;
pub mod debian_kernel;
pub mod engine;
pub mod error;
pub mod first_files;
pub mod guest;
pub mod guest_tools;
pub mod kvm;
pub mod message;
pub mod module_info;
pub mod modules;
pub mod packages;
pub mod program_files;
pub mod qemu_program;
pub mod rebuilt;
pub mod trials;
pub mod version;

pub use deadline::GuestPhase;
pub use engine::{Boot, ENGINES, Engine, Kernel};
pub use error::GuestError;
pub use first_files::FirstFiles;
pub use guest::{Guest, LaneLine, Start, Talk};
pub use guest_tools::Tool;
pub use message::{FromGuest, Order, ToGuest};
pub use packages::{Ask, Download, PackageCache};

use std::{
    ffi::OsString,
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
};

use pickfs_record::trial::WORKER;
use rustix::{
    process::{Signal, getppid, set_parent_process_death_signal},
    thread::set_name,
};

/// What this process was started for: `None` where that is no guest. To be called before anything else.
pub fn run() -> Option<ExitCode> {
    if agent::is_asked() {
        agent::run();
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [first, second, rest @ ..] = words.as_slice() else { return None };
    if first != WORKER {
        return None;
    }
    // By this name it stands in lists of processes.
    let _ = set_name(c"pickfs-worker");
    (second == BECOME_GUEST).then(|| become_guest(rest))
}

const BECOME_GUEST: &str = "become-guest";

/// `words` are the lab's process, the engine and its words: `pickfs worker become-guest 4711 qemu-system-x86_64 ...`. A lab
/// that was killed cannot end its guest, so the kernel is asked to (PR_SET_PDEATHSIG(2const)). Comes back when that
/// fails.
fn become_guest(words: &[OsString]) -> ExitCode {
    let [lab, program, rest @ ..] = words else {
        eprintln!("{BECOME_GUEST} needs the lab's process and a program");
        return ExitCode::FAILURE;
    };
    let lab: Option<i32> = lab.to_str().and_then(|text| text.parse().ok());
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    // A lab that ended before that has told nobody.
    if asked.is_err() || getppid().map(|parent| parent.as_raw_nonzero().get()) != lab {
        return ExitCode::FAILURE;
    }
    let error = Command::new(program).args(rest).exec();
    eprintln!("{} not started: {error}", program.to_string_lossy());
    ExitCode::from(127)
}
