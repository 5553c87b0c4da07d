//! A daemon that serves a mount: started by a step, ended by a step. The
//! kernel ends it too when this process goes, because it is a child in our pid
//! namespace; dropping ends it otherwise.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pickfs_sys::ended::{KILLED_WITHIN, ended_within};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::{Pid, Signal, kill_process};

use crate::availability::find_program;
use crate::carry_out::not_found;
use crate::error::TargetError;

const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(crate) struct Daemon {
    program: String,
    child: Child,
    said: File,
}

impl Daemon {
    /// It stays in the foreground; waits until `socket` exists.
    pub(crate) fn start(
        program: &str,
        socket: &Path,
        args: &[String],
    ) -> Result<Self, TargetError> {
        let path = find_program(program).ok_or_else(|| not_found(program))?;
        let unwritable = TargetError::io("keep the output of", &path);
        let (said, output) = output_file().map_err(unwritable)?;
        let child = Command::new(&path)
            .process_group(0)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()
            .map_err(TargetError::io("start", &path))?;
        let mut daemon = Self { program: program.into(), child, said };
        daemon.wait_for(socket)?;
        Ok(daemon)
    }

    fn wait_for(&mut self, socket: &Path) -> Result<(), TargetError> {
        let deadline = Instant::now() + START_LIMIT;
        while !socket.exists() {
            let ended = matches!(self.child.try_wait(), Ok(Some(_)));
            if ended || Instant::now() > deadline {
                return Err(self.failure("did not answer", START_LIMIT));
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// After twenty seconds it is killed, which is an error.
    pub(crate) fn stop(mut self) -> Result<(), TargetError> {
        let asked = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = Instant::now() + STOP_LIMIT;
        while asked.is_ok() && Instant::now() < deadline {
            if let Ok(Some(_)) = self.child.try_wait() {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        Err(self.failure("did not end", STOP_LIMIT))
    }

    fn failure(&mut self, what: &'static str, limit: Duration) -> TargetError {
        let _ = self.child.kill();
        let mut output = String::new();
        let _ = self.said.rewind().and_then(|()| self.said.read_to_string(&mut output));
        let (output, seconds) = (output.trim(), limit.as_secs());
        TargetError::Other(format!("{} {what} within {seconds} s; {output}", self.program))
    }
}

/// A file in memory: a daemon that says much never waits for a reader, as it would at a pipe.
fn output_file() -> std::io::Result<(File, File)> {
    let file = File::from(memfd_create("daemon-output", MemfdFlags::CLOEXEC)?);
    let output = file.try_clone()?;
    Ok((file, output))
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            // One that waits for a dead disk cannot be killed, and is left.
            ended_within(&self.child, KILLED_WITHIN);
            let _ = self.child.try_wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daemon_that_dies_at_once_tells_why() {
        let args = ["-c".to_string(), "echo no device node >&2; exit 1".to_string()];
        let error = Daemon::start("sh", Path::new("/no/such/socket"), &args).unwrap_err();
        let text = error.to_string();
        assert_eq!(text, "sh did not answer within 20 s; no device node");
    }

    #[test]
    fn a_daemon_that_is_asked_to_end_ends() {
        let args = ["60".to_string()];
        let daemon = Daemon::start("sleep", Path::new("/proc"), &args).unwrap();
        assert_eq!(daemon.program(), "sleep");
        daemon.stop().unwrap();
    }
}
