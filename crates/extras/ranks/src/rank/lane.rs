//! The worker of a rank: a process of its own, which knows nothing of ranks. Its gate has two: the worker, and this rank, which
//! stands for all others.

use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::process::CommandExt,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{Receiver, TryRecvError, channel},
    thread,
    time::Duration,
};

use pickfs_record::{TrialSpec, WorkerMessage, trial::WORKER};
use pickfs_sys::{
    ended::{ended_within, how},
    last_words::LastWords,
    starting_gate::StartingGate,
};
use pickfs_workload::phase::GATE_BROKEN;
use rustix::process::{Pid, Signal, kill_process};

use crate::error::RanksError;

/// How long a worker may take away what it made.
const GRACE: Duration = Duration::from_secs(10);
/// For the last words of one that has ended, to be read.
const LAST_WORDS_WITHIN: Duration = Duration::from_secs(1);

/// Where a worker stands; the largest of all lanes says what happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Step {
    /// Warmed up, waiting for the word.
    Ready = 1,
    AtGate,
    /// The first lane wants caches dropped, while the others are at the gate.
    Cold,
    Ended,
    /// It failed, was skipped or died: what it said last says how.
    Broken,
}

impl Step {
    /// Of all lanes together. One that is elsewhere than the others cannot be helped.
    pub(super) fn of_all(words: &[u8]) -> u8 {
        let (least, most) = words
            .iter()
            .fold((u8::MAX, 0), |(least, most), word| (least.min(*word), most.max(*word)));
        let is_cold = (least, most) == (Step::AtGate as u8, Step::Cold as u8);
        match least == most || is_cold {
            true => most,
            false => Step::Broken as u8,
        }
    }
}

pub(super) struct Lane {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    last_words: LastWords,
    gate: StartingGate,
    host: String,
    /// Said and not yet handed on.
    kept: Vec<WorkerMessage>,
    has_said_all: bool,
}

impl Lane {
    pub(super) fn start(spec: &TrialSpec, host: &str) -> Result<Lane, RanksError> {
        let failed = |what: &str, error: std::io::Error| {
            RanksError::Told(format!("{what} of lane {} not made: {error}", spec.lane))
        };
        let gate = StartingGate::create(2).map_err(|error| failed("gate", error))?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("pickfs").arg(WORKER);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        gate.hand_to(&mut command);
        let mut child = command.spawn().map_err(|error| failed("worker", error))?;
        let mut input = child.stdin.take();
        let (lines, last_words) = (follow(child.stdout.take()), LastWords::of(child.stderr.take()));
        let text = serde_json::to_string(spec).unwrap_or_default();
        // One that has died already says so by the end of its lines.
        let _ = input.as_mut().map(|input| writeln!(input, "{text}"));
        let (host, kept) = (host.to_owned(), Vec::new());
        let has_said_all = false;
        Ok(Lane { child, input, lines, last_words, gate, host, kept, has_said_all })
    }

    /// Where it stands now, or nothing while it works. `at_once` gets what the lab hears at once.
    pub(super) fn step(&mut self, at_once: &mut dyn FnMut(String)) -> Option<Step> {
        loop {
            match self.lines.try_recv() {
                Ok(line) => {
                    if let Some(step) = self.hear(line, at_once) {
                        return Some(step);
                    }
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    let reason = format!("the worker ended by {}", self.how_it_ended());
                    return Some(self.fail(reason));
                }
            }
        }
        (self.gate.somebody_waits() && !self.gate.is_broken()).then_some(Step::AtGate)
    }

    fn hear(&mut self, line: String, at_once: &mut dyn FnMut(String)) -> Option<Step> {
        let message = match serde_json::from_str(&line) {
            Ok(message) => message,
            Err(error) => {
                let line: String = line.chars().take(80).collect();
                return Some(
                    self.fail(format!("the worker said `{line}`, no word of ours: {error}")),
                );
            }
        };
        match message {
            WorkerMessage::PhaseBegins { .. } => {
                at_once(line);
                None
            }
            WorkerMessage::ColdAsked => Some(Step::Cold),
            WorkerMessage::Failed { reason } => Some(self.fail(reason)),
            WorkerMessage::Skipped { reason } => {
                let reason = format!("{}: {reason}", self.host);
                self.tell(WorkerMessage::Skipped { reason });
                self.has_said_all = true;
                Some(Step::Broken)
            }
            message => {
                let step = match message {
                    WorkerMessage::Ready { .. } => Some(Step::Ready),
                    WorkerMessage::Finished => {
                        self.has_said_all = true;
                        Some(Step::Ended)
                    }
                    _ => None,
                };
                self.tell(message);
                step
            }
        }
    }

    /// The host stands in every reason.
    pub(super) fn fail(&mut self, reason: String) -> Step {
        let reason = format!("{}: {reason}", self.host);
        self.tell(WorkerMessage::Failed { reason });
        self.has_said_all = true;
        Step::Broken
    }

    /// As if the worker said so.
    pub(super) fn tell(&mut self, message: WorkerMessage) {
        self.kept.push(message);
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn say_go(&mut self) {
        let _ = self.input.as_mut().map(|input| writeln!(input, "go"));
    }

    /// The worker is at the gate, so that nobody waits here.
    pub(super) fn pass(&self) {
        let _ = self.gate.pass();
    }

    pub(super) fn tell_others_wait(&self) {
        self.gate.tell_others_wait();
    }

    /// Another lane cannot go on, or this one.
    pub(super) fn give_up(&mut self) {
        self.gate.break_open();
        self.input = None;
        let process = Pid::from_child(&self.child);
        // One that is stopped hears it only when it goes on.
        let _ =
            kill_process(process, Signal::TERM).and_then(|()| kill_process(process, Signal::CONT));
        if !self.has_said_all {
            self.fail(GATE_BROKEN.into());
        }
    }

    pub(super) fn take_words(&mut self) -> Vec<WorkerMessage> {
        std::mem::take(&mut self.kept)
    }

    /// It has said its last word, or is not to say another one. One that waits for a dead server cannot be killed, and is left.
    pub(super) fn end(&mut self) {
        self.input = None;
        if ended_within(&self.child, GRACE).is_none() {
            let _ = self.child.kill();
            ended_within(&self.child, GRACE);
        }
    }

    fn how_it_ended(&mut self) -> String {
        self.end();
        let ended = ended_within(&self.child, Duration::ZERO);
        let how = ended.map_or_else(|| "its silence, and cannot be killed".into(), how);
        self.last_words.behind(&how, "; it said: ", LAST_WORDS_WITHIN)
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        let _ = self.child.kill();
        self.end();
        let _ = self.child.try_wait();
    }
}

fn follow(stream: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    let read = move || {
        let lines = stream.map(BufReader::new).into_iter().flat_map(BufRead::lines);
        for line in lines.map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    thread::spawn(read);
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_that_stand_alike_go_on_and_one_that_stands_elsewhere_breaks_them() {
        let of_all = |steps: &[Step]| {
            Step::of_all(&steps.iter().map(|step| *step as u8).collect::<Vec<_>>())
        };
        use Step::{AtGate, Broken, Cold, Ended, Ready};
        for (steps, all) in [
            (&[Ready, Ready][..], Ready),
            (&[AtGate, AtGate], AtGate),
            (&[Cold, AtGate, AtGate], Cold),
            (&[Cold], Cold),
            (&[Ended, Ended], Ended),
            (&[Ready, Broken], Broken),
            (&[AtGate, Ended], Broken),
            (&[Cold, Ready], Broken),
        ] {
            assert_eq!(of_all(steps), all as u8, "{steps:?}");
        }
    }
}
