//! Guests: small Linux kernels in which a cell runs where the host's own kernel cannot mount its
//! file system. No root, no installation: kernels come from Debian packages that are only unpacked. What
//! runs inside is the agent, the same program; what is measured is the workload's.
//!
//! ```text
//! packages ─► engine: kernel ─┐
//! modules, worker ─► first_files ─► Boot ─► guest ◄─ frames ─► agent
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod agent;
mod apt;
pub mod boot_image;
pub mod cpio;
pub mod deadline;
pub mod debian_kernel;
pub mod engine;
pub mod error;
pub mod first_files;
pub mod frame;
pub mod guest;
pub mod guest_tools;
pub mod keeper;
pub mod kvm;
pub mod message;
pub mod module_info;
pub mod modules;
pub mod package_set;
pub mod packages;
pub mod program_files;
pub mod qemu_program;
pub mod rebuilt;
pub mod suites;
pub mod trials;
pub mod version;

pub use deadline::{Deadlines, GuestPhase};
pub use engine::{Boot, ENGINES, Engine, Kernel};
pub use error::GuestError;
pub use first_files::FirstFiles;
pub use guest::{Guest, LaneLine, LaneSink, Start};
pub use guest_tools::Tool;
pub use message::{FromGuest, Order, ToGuest};
pub use packages::{Ask, Download, PackageCache};

use std::{ffi::OsString, process::ExitCode};

use keeper::{BECOME_GUEST, KEEP_GUEST, become_guest, keep};
use pickfs_record::trial::WORKER;
use rustix::thread::set_name;

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
    match second.to_str()? {
        KEEP_GUEST => Some(keep(rest)),
        BECOME_GUEST => Some(become_guest(rest)),
        _ => None,
    }
}
