//! Roles of a trial that are processes of their own: the tailer of a queue, the secondary of a pair, who reads back what
//! another host wrote.
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
//! A role dies with its worker (prctl(2), PR_SET_PDEATHSIG), and a worker never ends before its roles. One on another
//! host may be a stranger, and its line may be held by nobody: what it says is bounded, and when it must have said it.

use std::{
    fmt::Display,
    io::{self, BufRead, BufReader, Read, Write},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        OnceLock,
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use pickfs_record::{FORMAT, TrialSpec, WorkerMessage, quantity::span_text, trial::WORKER};
use pickfs_sys::{ended::ended_within, last_words::LastWords};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{BUILD, fault::Fault, workload::Session};

pub const MEASURING: &str = "appender";

/// Longest answer of a role: its histograms.
const ANSWER_BYTES_MAX: u64 = 16 << 20;
/// And of one on another host: a number, an address, why it failed.
const ANSWER_THERE_BYTES_MAX: u64 = 64 << 10;
/// Of what it says, in a reason.
const TOLD_CHARS_MAX: usize = 300;
/// Lines that wait for somebody; a role that says more is slowed down.
const LINES_WAITING: usize = 1;
/// For a line that closed, to tell why.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);
/// One that waits for a dead disk cannot be killed, and is left.
const KILLED_WITHIN: Duration = Duration::from_secs(60);

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
    lines: Receiver<Vec<u8>>,
    has_greeted: bool,
    /// For an answer; of a role on this host, without an end.
    patience: Duration,
    /// Before its last answer a role may read all that it kept in that time.
    measure: Duration,
    /// Of a role on another host.
    last_words: LastWords,
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
        let spec = TrialSpec { role: role.into(), ..session.spec.clone() };
        Player::begin(command, spec, Duration::MAX, ANSWER_BYTES_MAX)
    }

    /// By whatever starts this program and carries its standard streams: `ssh HOST pickfs`.
    pub fn start_by(
        mut command: Command,
        spec: TrialSpec,
        patience: Duration,
    ) -> Result<Player, Fault> {
        command.stderr(Stdio::piped());
        Player::begin(command, spec, patience, ANSWER_THERE_BYTES_MAX)
    }

    fn begin(
        mut command: Command,
        spec: TrialSpec,
        patience: Duration,
        answer_bytes_max: u64,
    ) -> Result<Player, Fault> {
        let role = &spec.role;
        command.arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(Fault::io("start a process for", role))?;
        let output = process.stdout.take().expect("standard output was piped");
        let mut player = Player {
            role: role.clone(),
            words: process.stdin.take(),
            lines: read_lines(output, answer_bytes_max),
            has_greeted: false,
            patience,
            measure: Duration::from_nanos(spec.measure_ns),
            last_words: LastWords::of(process.stderr.take()),
            process,
        };
        let spec = serde_json::to_string(&spec).map_err(|error| player.odd(error))?;
        player.say(&spec)?;
        Ok(player)
    }

    fn odd(&self, what: impl Display) -> Fault {
        Fault::Failed { reason: format!("the process of the role {}: {what}", self.role) }
    }

    pub fn say(&mut self, words: &str) -> Result<(), Fault> {
        let Some(pipe) = &mut self.words else { return Err(self.odd("it was ended")) };
        match writeln!(pipe, "{words}") {
            Ok(()) => Ok(()),
            // Why it is gone stands in what it has said last.
            Err(_) => Err(self.hear::<Value>().err().unwrap_or_else(|| self.odd("gone"))),
        }
    }

    pub fn hear<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        self.hear_within(self.patience)
    }

    fn hear_within<T: DeserializeOwned>(&mut self, time: Duration) -> Result<T, Fault> {
        loop {
            let line = self.line(time)?;
            match serde_json::from_slice(&line) {
                Ok(Line::Answer { answer }) => {
                    let malformed = |error| {
                        self.odd(format!("its answer is malformed; it said: {}", begin_of(error)))
                    };
                    return serde_json::from_value(answer).map_err(malformed);
                }
                Ok(Line::Worker(WorkerMessage::Hello { build, format })) if !self.has_greeted => {
                    self.has_greeted = true;
                    self.check(&build, format)?;
                }
                Ok(Line::Worker(WorkerMessage::Failed { reason })) => {
                    return Err(self.odd(format!("it failed; it said: {}", begin_of(reason))));
                }
                Ok(Line::Worker(WorkerMessage::Skipped { reason })) => {
                    return Err(Fault::Skipped { reason: begin_of(reason) });
                }
                // Nothing else is said by a role: nobody listens to it for ever.
                Ok(Line::Worker(_)) => return Err(self.no_line_of_ours(&line, "not of a role")),
                Err(error) => return Err(self.no_line_of_ours(&line, error)),
            }
        }
    }

    /// It comes within that time, or never.
    fn line(&self, time: Duration) -> Result<Vec<u8>, Fault> {
        let (how, patience) = match self.lines.recv_timeout(time) {
            Ok(line) => return Ok(line),
            Err(RecvTimeoutError::Timeout) => {
                (format!("it was silent for {}", span_text(time.as_secs_f64())), Duration::ZERO)
            }
            Err(RecvTimeoutError::Disconnected) => {
                ("it ended before its answer".into(), LAST_WORDS_WITHIN)
            }
        };
        Err(self.odd(self.last_words.behind(&how, "; it said: ", patience)))
    }

    fn check(&self, build: &str, format: u32) -> Result<(), Fault> {
        match (build, format) == (BUILD, FORMAT) {
            true => Ok(()),
            false => Err(self.odd(format!(
                "it is {} (format {format}), and this is {BUILD} (format {FORMAT}); install the same build there",
                begin_of(build)
            ))),
        }
    }

    fn no_line_of_ours(&self, line: &[u8], why: impl Display) -> Fault {
        let line = begin_of(String::from_utf8_lossy(line).trim_end());
        self.odd(format!("a line is none of ours: {}; it said: {line:?}", begin_of(why)))
    }

    pub fn end<T: DeserializeOwned>(&mut self) -> Result<T, Fault> {
        self.words = None;
        let last = self.hear_within(self.patience.saturating_add(self.measure))?;
        // It says nothing more until its output closes: then it has taken away what it made.
        let _ = self.lines.recv_timeout(self.patience);
        Ok(last)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.words = None;
        let _ = self.process.kill();
        ended_within(&self.process, KILLED_WITHIN);
        let _ = self.process.try_wait();
    }
}

/// Each, or as much of it as is allowed, until the end of the stream, which may be after that of its program.
fn read_lines(stream: impl Read + Send + 'static, bytes_max: u64) -> Receiver<Vec<u8>> {
    let (to, lines) = sync_channel(LINES_WAITING);
    thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        loop {
            let mut line = Vec::new();
            let read = stream.by_ref().take(bytes_max).read_until(b'\n', &mut line);
            if !matches!(read, Ok(1..)) || to.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn begin_of(said: impl Display) -> String {
    said.to_string().chars().take(TOLD_CHARS_MAX).collect()
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

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Instant};

    use pickfs_testkit::{PATIENCE, fake_spec, params};
    use serde_json::json;

    use super::*;

    /// A host that answers whatever is said to it by these words of a shell.
    fn on_a_host(words: &str, patience: Duration) -> Player {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("read trial; {words}")]);
        let spec = TrialSpec {
            role: "secondary-2".into(),
            ..fake_spec("pair", Path::new(""), params(json!({})))
        };
        Player::start_by(command, spec, patience).expect("a shell")
    }

    fn refused(words: &str) -> String {
        let heard = on_a_host(words, PATIENCE).hear::<Vec<u64>>();
        let reason = heard.expect_err("no answer").to_string();
        assert!(reason.starts_with("the process of the role secondary-2: "), "{reason}");
        assert!(reason.chars().count() < 1_000, "{reason}");
        reason
    }

    fn hello(build: &str) -> String {
        format!(r#"echo '{{"event":"hello","format":{FORMAT},"build":"{build}"}}'"#)
    }

    #[test]
    fn a_role_on_another_host_answers_where_it_is_of_our_build_alone() {
        let answers = |build: &str| format!("{}; echo '{{\"answer\":[7]}}'", hello(build));
        let mut same = on_a_host(&answers(BUILD), PATIENCE);
        assert_eq!(same.end::<Vec<u64>>().expect("an answer"), [7]);
        let reason = refused(&answers("another"));
        assert!(reason.contains("it is another (format "), "{reason}");
        assert!(reason.ends_with("; install the same build there"), "{reason}");
        let reason =
            refused(&answers(BUILD).replace(&format!("\"format\":{FORMAT}"), "\"format\":0"));
        assert!(reason.contains("(format 0), and this is "), "{reason}");
    }

    #[test]
    fn a_line_that_nobody_holds_any_more_is_given_up() {
        let began = Instant::now();
        let silent = format!("echo the link is down >&2; {}; exec sleep 600", hello(BUILD));
        let mut silent = on_a_host(&silent, Duration::from_millis(200));
        let reason = silent.end::<u64>().expect_err("nothing comes").to_string();
        assert!(reason.contains("secondary-2: it was silent for "), "{reason}");
        drop(silent);
        assert!(began.elapsed() < PATIENCE);
        let reason = refused("echo 'ssh: no route to host' >&2");
        assert!(reason.ends_with("before its answer; it said: ssh: no route to host"), "{reason}");
    }

    #[test]
    fn what_another_host_says_is_bounded() {
        let long = "head -c 1000000 /dev/zero | tr '\\0' a";
        let without_end = "while :; do echo '{\"event\":\"finished\"}'; done";
        let greets = format!("while :; do {}; done", hello(BUILD));
        let failed = format!(
            "printf '{{\"event\":\"failed\",\"reason\":\"'; {} | head -c 9000; echo '\"}}'",
            long
        );
        for words in [long, without_end, &greets] {
            assert!(refused(words).contains("a line is none of ours: "), "{words}");
        }
        assert!(refused(&failed).ends_with("aaa"));
        let told = refused(&format!("{long} >&2"));
        assert!(told.contains("it ended before its answer; it said: aaa"), "{told}");
    }
}
