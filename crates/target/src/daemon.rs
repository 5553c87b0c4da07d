//! A daemon that serves a mount: started by a step, ended by a step. The
//! kernel ends it too when this process goes, because it is a child in our pid
//! namespace; dropping ends it otherwise.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::availability::find_program;
use crate::error::TargetError;

const START_LIMIT: Duration = Duration::from_secs(20);
const STOP_LIMIT: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(10);

/// A running daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    program: String,
    child: Child,
}

impl Daemon {
    /// Starts a program that stays in the foreground, and waits until `socket` exists.
    pub(crate) fn start(
        program: &str,
        socket: &Path,
        args: &[String],
    ) -> Result<Self, TargetError> {
        let path = find_program(program).ok_or_else(|| TargetError::NoProgram {
            program: program.into(),
            package: crate::fs::table::package_of(program).unwrap_or(program).into(),
        })?;
        let child = Command::new(&path)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(TargetError::io("start", &path))?;
        let mut daemon = Self { program: program.into(), child };
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

    /// The program's name.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// Asks it to end, and waits; after twenty seconds it is killed, which is an error.
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
        let _ = self.child.wait();
        let mut output = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut output);
        }
        let program = self.program.clone();
        TargetError::Daemon { program, what, seconds: limit.as_secs(), output }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
