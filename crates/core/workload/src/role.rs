//! Roles of a trial that are processes of their own: the tailer of a queue, the secondary of a pair.
//!
//! The worker that measures is one role, `appender`. It starts its own program again for each other one, with the
//! same trial under the name of that role, and says words to it, one a line; what comes back are answers in JSON, one
//! a line too. Neither side says anything while it measures, unless the trial is over.
//!
//! ```text
//! worker     its TrialSpec, with role "tailer"  ->  hello; prepares
//!                                               <-  answer: it is ready
//!            words                              ->
//!                                               <-  answers
//!            end of the words                   ->  it ends
//! ```
//!
//! A role dies with its worker (prctl(2), PR_SET_PDEATHSIG), and a worker never ends before its roles.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::OnceLock,
    thread,
};

use pickfs_record::{TrialSpec, WorkerMessage, trial::WORKER};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{fault::Fault, workload::Session};

pub const MEASURING: &str = "appender";

/// Longest answer of a role.
const ANSWER_BYTES_MAX: u64 = 16 << 20;

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// From now on this program is started for roles, as a worker: the own one.
pub fn roles_are_played_by(program: PathBuf) {
    let _ = PROGRAM.set(program);
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Answer { answer: Value },
    Worker(WorkerMessage),
}

/// What a role says that was asked.
#[derive(Serialize)]
struct Answer<'a, T> {
    answer: &'a T,
}

pub struct Player {
    role: String,
    process: Child,
    words: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Player {
    pub fn start(
        session: &Session,
        role: &str,
        hand_over: impl FnOnce(&mut Command),
    ) -> Result<Player, Fault> {
        let unknown = || Fault::Failed {
            reason: format!("no program is known for the role {role}; choose a thread"),
        };
        let mut command = Command::new(PROGRAM.get().ok_or_else(unknown)?);
        hand_over(&mut command);
        Player::start_by(command, TrialSpec { role: role.into(), ..session.spec.clone() })
    }

    /// By whatever starts this program and carries its standard streams: `ssh HOST pickfs`.
    pub fn start_by(mut command: Command, spec: TrialSpec) -> Result<Player, Fault> {
        let role = &spec.role;
        command.arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(Fault::io("start a process for", role))?;
        let (words, lines) = (process.stdin.take(), process.stdout.take());
        let lines = BufReader::new(lines.expect("standard output was piped"));
        let mut player = Player { role: role.clone(), process, words, lines };
        let spec = serde_json::to_string(&spec).map_err(|error| player.odd(error.to_string()))?;
        player.say(&spec)?;
        Ok(player)
    }

    fn odd(&self, what: String) -> Fault {
        Fault::Failed { reason: format!("the process of the role {}: {what}", self.role) }
    }

    pub fn say(&mut self, words: &str) -> Result<(), Fault> {
        let Some(pipe) = &mut self.words else { return Err(self.odd("it was ended".into())) };
        match writeln!(pipe, "{words}") {
            Ok(()) => Ok(()),
            // Why it is gone stands in what it has said last.
            Err(_) => Err(self.hear::<Value>().err().unwrap_or_else(|| self.odd("gone".into()))),
        }
    }

    pub fn hear<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        loop {
            let mut line = String::new();
            let mut bounded = self.lines.by_ref().take(ANSWER_BYTES_MAX);
            let read = bounded.read_line(&mut line).map_err(Fault::io("read from", &self.role));
            if read? == 0 {
                return Err(self.odd("it ended without a word".into()));
            }
            match serde_json::from_str(&line) {
                Ok(Line::Answer { answer }) => {
                    return serde_json::from_value(answer)
                        .map_err(|error| self.odd(format!("its answer is malformed: {error}")));
                }
                Ok(Line::Worker(WorkerMessage::Failed { reason })) => return Err(self.odd(reason)),
                Ok(Line::Worker(WorkerMessage::Skipped { reason })) => {
                    return Err(Fault::Skipped { reason });
                }
                Ok(Line::Worker(_)) => {}
                Err(error) => {
                    let begin: String = line.trim_end().chars().take(200).collect();
                    return Err(self.odd(format!("{begin:?} is no line of ours: {error}")));
                }
            }
        }
    }

    pub fn end<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        self.words = None;
        let last = self.hear()?;
        self.process.wait().map_err(Fault::io("wait for", &self.role))?;
        Ok(last)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.words = None;
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// In a role: hands every word to `each` on a thread of its own, and `None` when there are no more.
pub fn listen(mut each: impl FnMut(Option<&str>) + Send + 'static) -> Result<(), Fault> {
    let body = move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            each(Some(line.trim()));
        }
        each(None);
    };
    let thread = thread::Builder::new().name("words".into()).spawn(body);
    thread.map(drop).map_err(Fault::io("start a thread for", "the words of a role"))
}

pub fn answer(value: &impl Serialize) -> Result<(), Fault> {
    let failed = |error: io::Error| Fault::Failed { reason: format!("answer: {error}") };
    let line = serde_json::to_string(&Answer { answer: value }).map_err(|e| failed(e.into()))?;
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(failed)
}
