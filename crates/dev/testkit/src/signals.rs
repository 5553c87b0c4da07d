//! Programs that tests send signals to. A test that was started with `nohup` or in the background of a script
//! ignores SIGHUP or SIGINT, and whatever it starts inherits that.
#![allow(unsafe_code)]

use std::{io, os::unix::process::CommandExt, process::Command};

/// The program ends by SIGHUP, SIGINT and SIGQUIT, as one that was started from a terminal does.
pub fn with_default_signals(command: &mut Command) -> &mut Command {
    with_signals(command, libc::SIG_DFL)
}

/// The program ignores them, as one that was started by nohup in the background does, and the ends of its children.
pub fn with_ignored_signals(command: &mut Command) -> &mut Command {
    with_signals(command, libc::SIG_IGN)
}

fn with_signals(command: &mut Command, how: libc::sighandler_t) -> &mut Command {
    let set = move || {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGCHLD] {
            // SAFETY: no handler is installed.
            if unsafe { libc::signal(signal, how) } == libc::SIG_ERR {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    };
    // SAFETY: signal(2) is async-signal-safe, and nothing else is called between fork and exec.
    unsafe { command.pre_exec(set) }
}
