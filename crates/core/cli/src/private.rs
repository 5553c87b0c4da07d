//! Entering the private namespaces in which file systems are mounted, and a word when what ran there was
//! ended from outside: it could not say one itself.

use std::{ffi::OsString, os::unix::process::ExitStatusExt};

use pickfs_record::Plan;
use pickfs_sys::namespace;

use crate::terminal;

/// The plan as the program outside read, checked and agreed to it: inside nothing is read a second time.
pub fn plan() -> anyhow::Result<Option<Plan>> {
    let handed = namespace::handed()?;
    Ok(if handed.is_empty() { None } else { Some(serde_json::from_slice(&handed)?) })
}

/// Runs this program again in private namespaces, and ends as that ended; goes on where this is
/// there already. `way_on` says what to do after a violent end.
pub fn enter(plan: Option<&Plan>, way_on: impl FnOnce() -> String) -> anyhow::Result<()> {
    if namespace::is_private() {
        return Ok(());
    }
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let handed = plan.map(serde_json::to_vec).transpose()?.unwrap_or_default();
    let status = namespace::run_private(words, &handed)?;
    if let Some(signal) = status.signal() {
        let likely = match signal {
            9 => " (SIGKILL: somebody, or the kernel for want of memory; see dmesg)",
            6 | 7 | 11 => " (a bug in pickfs, or bad memory)",
            _ => "",
        };
        terminal::tell(&format!(
            "pickfs: the lab was ended by signal {signal}{likely}{}",
            way_on()
        ));
    }
    std::process::exit(namespace::exit_code(status));
}
