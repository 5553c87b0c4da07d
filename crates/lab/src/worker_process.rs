//! One worker process: told on standard input, watched, and listened to.
//!
//! A worker that dies, hangs or talks nonsense is an error with its reason, never a
//! failure of the lab. Its whole process group ends with it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use pickfs_model::{FORMAT, TrialSpec, WorkerMessage};
use pickfs_sys::live_page::LivePage;
use thiserror::Error;

use crate::interrupt::{INTERRUPTED, Interrupt};

/// A worker that gave no result.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The program could not be started.
    #[error("worker {program} not started: {source}; it is built beside pickfs")]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It ended without a result.
    #[error("worker ended in its {phase} phase by {how}{said}")]
    Died {
        /// `prepare` or `measure`.
        phase: &'static str,
        /// Signal or exit code.
        how: String,
        /// The end of what it said on standard error.
        said: String,
    },
    /// It took longer than it may.
    #[error("worker still in its {phase} phase after {limit_s:.0} s; ended")]
    Hung {
        /// `prepare` or `measure`.
        phase: &'static str,
        /// The limit.
        limit_s: f64,
    },
    /// It said something that is not the protocol.
    #[error("worker said `{line}`, which is not the protocol ({why})")]
    Nonsense {
        /// The line, shortened.
        line: String,
        /// Why it was not understood.
        why: String,
    },
    /// It was built from other sources.
    #[error("worker is build {found}, the lab is {expected}; build both again")]
    OtherBuild {
        /// The worker's.
        found: String,
        /// The lab's.
        expected: String,
    },
    /// Somebody asked the run to end.
    #[error("{}", INTERRUPTED)]
    Interrupted,
}

/// What a watched worker is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It prepares and warms up; called several times a second.
    Preparing,
    /// It has been told to go: the measurement begins.
    Going,
    /// It measures; called several times a second.
    Measuring,
}

/// Longest time for preparation beyond the warm-up itself (zero-filling files, heating).
const PREPARE_LIMIT: Duration = Duration::from_secs(180);
/// Longest time for verification and hand-over beyond the measured time.
const VERIFY_LIMIT: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(200);

/// Runs one worker to its end. `observe` is called as it goes.
pub fn run_worker(
    program: &Path,
    spec: &TrialSpec,
    page: Option<&LivePage>,
    interrupt: &Interrupt,
    observe: &mut dyn FnMut(Moment),
) -> Result<Vec<WorkerMessage>, WorkerError> {
    let mut worker = Worker::start(program, spec, page)?;
    let prepare_limit = PREPARE_LIMIT + 3 * Duration::from_nanos(spec.warmup_ns);
    let mut messages = Vec::new();
    worker.listen("prepare", prepare_limit, interrupt, &mut messages, &mut || {
        observe(Moment::Preparing)
    })?;
    if !matches!(messages.last(), Some(WorkerMessage::Ready { .. })) {
        return Ok(messages);
    }
    observe(Moment::Going);
    worker.say_go()?;
    let measure_limit = VERIFY_LIMIT + 2 * Duration::from_nanos(spec.measure_ns);
    worker.listen("measure", measure_limit, interrupt, &mut messages, &mut || {
        observe(Moment::Measuring)
    })?;
    Ok(messages)
}

struct Worker {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Receiver<String>,
    build: String,
}

impl Worker {
    fn start(
        program: &Path,
        spec: &TrialSpec,
        page: Option<&LivePage>,
    ) -> Result<Worker, WorkerError> {
        let not_started = |source| WorkerError::NotStarted { program: program.into(), source };
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(page) = page {
            page.hand_to(&mut command);
        }
        let mut child = command.process_group(0).spawn().map_err(not_started)?;
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let text = serde_json::to_string(spec).expect("a trial is plain data");
        let lines = reading(child.stdout.take().expect("standard output is piped"));
        let said = reading(child.stderr.take().expect("standard error is piped"));
        // A worker that died at once shows as an end of its output, not here.
        let _ = writeln!(stdin, "{text}").and_then(|()| stdin.flush());
        Ok(Worker { child, stdin: Some(stdin), lines, said, build: spec.build.clone() })
    }

    fn say_go(&mut self) -> Result<(), WorkerError> {
        if let Some(mut stdin) = self.stdin.take() {
            let _ = stdin.write_all(b"go\n");
        }
        Ok(())
    }

    /// Reads messages until `Ready` or the last one.
    fn listen(
        &mut self,
        phase: &'static str,
        limit: Duration,
        interrupt: &Interrupt,
        messages: &mut Vec<WorkerMessage>,
        observe: &mut dyn FnMut(),
    ) -> Result<(), WorkerError> {
        let began = Instant::now();
        loop {
            match self.lines.recv_timeout(POLL) {
                Ok(line) => {
                    let message = self.understand(&line)?;
                    let last = ends_phase(&message);
                    messages.push(message);
                    if last {
                        return Ok(());
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(self.died(phase)),
                Err(RecvTimeoutError::Timeout) => observe(),
            }
            if interrupt.is_raised() {
                return Err(WorkerError::Interrupted);
            }
            if began.elapsed() > limit {
                return Err(WorkerError::Hung { phase, limit_s: limit.as_secs_f64() });
            }
        }
    }

    fn understand(&self, line: &str) -> Result<WorkerMessage, WorkerError> {
        let message: WorkerMessage = serde_json::from_str(line).map_err(|error| {
            WorkerError::Nonsense { line: line.chars().take(80).collect(), why: error.to_string() }
        })?;
        match &message {
            WorkerMessage::Hello { build, format } if *build != self.build || *format != FORMAT => {
                let expected = format!("{} (format {FORMAT})", self.build);
                Err(WorkerError::OtherBuild {
                    found: format!("{build} (format {format})"),
                    expected,
                })
            }
            _ => Ok(message),
        }
    }

    fn died(&mut self, phase: &'static str) -> WorkerError {
        let how = match self.child.wait() {
            Ok(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => format!("signal {signal}"),
                (None, Some(code)) => format!("exit code {code}"),
                _ => "an unknown cause".into(),
            },
            Err(error) => error.to_string(),
        };
        let tail: Vec<String> = self.said.iter().collect();
        let tail = tail[tail.len().saturating_sub(3)..].join(" | ");
        let said = if tail.is_empty() { tail } else { format!("; it said: {tail}") };
        WorkerError::Died { phase, how, said }
    }
}

fn ends_phase(message: &WorkerMessage) -> bool {
    matches!(
        message,
        WorkerMessage::Ready { .. }
            | WorkerMessage::Failed { .. }
            | WorkerMessage::Skipped { .. }
            | WorkerMessage::Finished
    )
}

fn reading(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Drop for Worker {
    /// Whatever is left of the group ends here.
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.child);
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn spec() -> TrialSpec {
        TrialSpec {
            format: FORMAT,
            build: "b".into(),
            workload: pickfs_model::WorkloadSpec {
                name: "null".into(),
                version: 1,
                params: serde_json::Map::new(),
            },
            directory: "/tmp".into(),
            role: "appender".into(),
            lane: 0,
            lanes: 1,
            seed: 1,
            warmup_ns: 0,
            warmup_bytes: 0,
            measure_ns: 0,
            cpu: None,
            helper_cpu: None,
            spikes_max: 0,
            drop_caches: false,
        }
    }

    /// Runs a shell script as the worker.
    fn played(script: &str) -> Result<Vec<WorkerMessage>, WorkerError> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("worker");
        std::fs::write(&path, format!("#!/bin/sh\nread spec\n{script}\n")).expect("write");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
        run_worker(&path, &spec(), None, &Interrupt::default(), &mut |_| {})
    }

    const HELLO: &str = r#"echo '{"event":"hello","format":1,"build":"b"}'"#;
    const READY: &str = r#"echo '{"event":"ready","notes":[],"warmup_ns":5}'"#;

    #[test]
    fn a_worker_that_keeps_the_protocol_is_heard_to_its_end() {
        let script = format!(
            "{HELLO}; {READY}; read go; [ $go = go ] || exit 9\n\
             echo '{{\"event\":\"verified\",\"checked\":3}}'; echo '{{\"event\":\"finished\"}}'"
        );
        let messages = played(&script).expect("a good worker");
        assert_eq!(messages.len(), 4);
        assert_eq!(messages[2], WorkerMessage::Verified { checked: 3 });
    }

    #[test]
    fn a_worker_killed_by_a_signal_is_told_with_its_last_words() {
        let error = played(&format!("{HELLO}; echo no space >&2; kill -9 $$")).expect_err("died");
        assert_eq!(
            error.to_string(),
            "worker ended in its prepare phase by signal 9; it said: no space"
        );
        let error = played(&format!("{HELLO}; {READY}; read go; exit 3")).expect_err("died");
        assert_eq!(error.to_string(), "worker ended in its measure phase by exit code 3");
    }

    #[test]
    fn nonsense_and_other_builds_are_refused() {
        let error = played("echo hello").expect_err("nonsense");
        assert!(error.to_string().starts_with("worker said `hello`"), "{error}");
        let other = HELLO.replace("\"b\"", "\"old\"");
        let error = played(&format!("{other}; sleep 60")).expect_err("another build");
        assert!(error.to_string().contains("worker is build old (format 1)"), "{error}");
    }

    #[test]
    fn a_worker_that_is_not_there_is_named() {
        let none = Path::new("/nowhere/pickfs-worker");
        let error =
            run_worker(none, &spec(), None, &Interrupt::default(), &mut |_| {}).expect_err("no");
        assert!(error.to_string().starts_with("worker /nowhere/pickfs-worker not started"));
    }

    #[test]
    fn an_interrupt_ends_the_whole_group() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid_file = folder.path().join("pid");
        let path = folder.path().join("worker");
        let script =
            format!("#!/bin/sh\nread s\nsleep 100 & echo $! > {}\nwait", pid_file.display());
        std::fs::write(&path, script).expect("write");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("chmod");
        let interrupt = Interrupt::default();
        let error = run_worker(&path, &spec(), None, &interrupt, &mut |_| {
            if pid_file.exists() {
                interrupt.raise();
            }
        })
        .expect_err("interrupted");
        assert_eq!(error.to_string(), "interrupted");
        let pid = std::fs::read_to_string(&pid_file).expect("a pid");
        std::thread::sleep(Duration::from_millis(100));
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        assert!(stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")), "sleep lives on");
    }
}
