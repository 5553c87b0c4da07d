//! A worker that dies, hangs or talks nonsense is an error with its reason, never a
//! failure of the lab. Its whole process group ends with it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::Sender,
    time::{Duration, Instant},
};

use pickfs_record::{FORMAT, INTERRUPTED, TrialSpec, WorkerMessage, trial::WORKER};
use pickfs_sys::{
    ended::{KILLED_WITHIN, ended_within, how},
    last_words::LastWords,
    live_page::LivePage,
    slow_operations::SlowOperations,
    starting_gate::StartingGate,
};
use rustix::process::{Pid, Signal, kill_process_group};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum WorkerError {
    #[error("worker {program} not started: {source}")]
    NotStarted { program: PathBuf, source: std::io::Error },
    #[error("gate for the lanes not made: {source}")]
    NoGate { source: std::io::Error },
    #[error("worker ended in its {phase} phase by {how}")]
    Died { phase: &'static str, how: String },
    #[error("worker still in its {phase} phase after {limit_s:.0} s; ended")]
    Hung { phase: &'static str, limit_s: f64 },
    #[error("worker said `{line}`, which is not the protocol ({why})")]
    Nonsense { line: String, why: String },
    #[error("worker is build {found}, the lab is {expected}; build both again")]
    OtherBuild { found: String, expected: String },
    #[error("caches not dropped: {reason}")]
    NotCold { reason: String },
    #[error("{}", INTERRUPTED)]
    Interrupted,
}

pub struct Heard {
    pub lane: usize,
    pub line: Option<String>,
}

pub struct Worker {
    hands: Box<dyn Hands>,
    build: String,
}

pub trait Hands {
    fn process_id(&self) -> Option<u32>;

    /// One that has died shows as the end of its output.
    fn say(&mut self, line: &str);

    fn ask_to_end(&mut self);

    /// What is left of a process when it had its time since it was asked. It may not be gone yet.
    fn kill(&mut self) {}

    /// With its last words.
    fn how_it_ended(&mut self) -> String;
}

pub trait Workplace {
    fn start(
        &self,
        spec: &TrialSpec,
        inherits: &Inheritance<'_>,
        inbox: &Sender<Heard>,
    ) -> Result<Worker, WorkerError>;

    /// Whether the lanes' gate is shared memory of this machine.
    fn shares_memory(&self) -> bool;
}

struct ProcessHands {
    child: Child,
    stdin: ChildStdin,
    last_words: LastWords,
    asked: Option<Instant>,
}

pub struct Inheritance<'a> {
    pub page: Option<&'a LivePage>,
    pub slow_operations: Option<&'a SlowOperations>,
    pub gate: Option<&'a StartingGate>,
}

impl Workplace for Path {
    fn start(
        &self,
        spec: &TrialSpec,
        inherits: &Inheritance<'_>,
        inbox: &Sender<Heard>,
    ) -> Result<Worker, WorkerError> {
        let not_started = |source| WorkerError::NotStarted { program: self.into(), source };
        let mut command = Command::new(self);
        command.arg0("pickfs").arg(WORKER);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(page) = inherits.page.filter(|_| spec.lane == 0) {
            page.hand_to(&mut command);
        }
        if let Some(operations) = inherits.slow_operations {
            operations.hand_to(&mut command);
        }
        if let Some(gate) = inherits.gate {
            gate.hand_to(&mut command);
        }
        let mut child = command.process_group(0).spawn().map_err(not_started)?;
        let stdin = child.stdin.take().expect("standard input is piped");
        let lane = spec.lane as usize;
        read_lines(child.stdout.take().expect("standard output is piped"), lane, inbox.clone());
        let last_words = LastWords::of(child.stderr.take());
        Ok(Worker::new(Box::new(ProcessHands { child, stdin, last_words, asked: None }), spec))
    }

    fn shares_memory(&self) -> bool {
        true
    }
}

impl Worker {
    pub fn new(hands: Box<dyn Hands>, spec: &TrialSpec) -> Worker {
        let mut worker = Worker { hands, build: spec.build.clone() };
        let text = serde_json::to_string(spec).expect("a trial is plain data");
        worker.hands.say(&text);
        worker
    }

    pub fn process_id(&self) -> Option<u32> {
        self.hands.process_id()
    }

    pub fn say_go(&mut self) {
        self.hands.say("go");
    }

    pub fn understand(&self, line: &str) -> Result<WorkerMessage, WorkerError> {
        let message: WorkerMessage = serde_json::from_str(line).map_err(|error| {
            WorkerError::Nonsense { line: line.chars().take(80).collect(), why: error.to_string() }
        })?;
        match &message {
            WorkerMessage::Hello { build, format } if *build != self.build || *format != FORMAT => {
                let told = |build: &str, format| format!("{build} (format {format})");
                let (found, expected) = (told(build, *format), told(&self.build, FORMAT));
                Err(WorkerError::OtherBuild { found, expected })
            }
            _ => Ok(message),
        }
    }

    pub fn ask_to_end(&mut self) {
        self.hands.ask_to_end();
    }

    pub fn kill(&mut self) {
        self.hands.kill();
    }

    pub fn died(&mut self, phase: &'static str) -> WorkerError {
        WorkerError::Died { phase, how: self.hands.how_it_ended() }
    }
}

impl Hands for ProcessHands {
    fn process_id(&self) -> Option<u32> {
        Some(self.child.id())
    }

    fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        let _ = self.stdin.write_all(line.as_bytes()).and_then(|()| self.stdin.flush());
    }

    fn ask_to_end(&mut self) {
        self.asked.get_or_insert_with(|| {
            // One that is stopped hears it only when it goes on.
            for signal in [Signal::TERM, Signal::CONT] {
                let _ = kill_process_group(Pid::from_child(&self.child), signal);
            }
            Instant::now()
        });
    }

    /// Whatever is left of the group ends here: asked first, as a worker may have files of its own to
    /// take away, and made to when it does not.
    fn kill(&mut self) {
        if ended_within(&self.child, Duration::ZERO).is_none() {
            self.ask_to_end();
        }
        let asked = self.asked.unwrap_or_else(Instant::now);
        ended_within(&self.child, GRACE.saturating_sub(asked.elapsed()));
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }

    fn how_it_ended(&mut self) -> String {
        let ended = ended_within(&self.child, GRACE);
        // What it started, as a line to another host, may hold its last words open.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let how = ended.map_or_else(|| "closing its output; it was killed".into(), how);
        self.last_words.behind(&how, "; it said: ", GRACE)
    }
}

fn read_lines(stream: impl Read + Send + 'static, lane: usize, inbox: Sender<Heard>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            if inbox.send(Heard { lane, line: Some(line) }).is_err() {
                return;
            }
        }
        let _ = inbox.send(Heard { lane, line: None });
    });
}

/// How long a worker that was asked to end may take away what it made.
const GRACE: Duration = Duration::from_secs(10);
const KILLED_AT_LEAST: Duration = Duration::from_secs(1);

impl Drop for ProcessHands {
    fn drop(&mut self) {
        self.kill();
        // One that waits for a dead server cannot be killed, and is left. All lanes that were asked at once have this time
        // together.
        let gone = self.asked.map_or(Duration::ZERO, |asked| asked.elapsed());
        ended_within(&self.child, KILLED_WITHIN.saturating_sub(gone).max(KILLED_AT_LEAST));
        let _ = self.child.try_wait();
    }
}
