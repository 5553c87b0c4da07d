//! The worker of a rank: a process of its own, which knows nothing of ranks. Its gate has two: the worker, and this rank, which
//! stands for all others.

use std::{
    mem::ManuallyDrop,
    path::Path,
    sync::mpsc::{Receiver, channel},
};

use pickfs_lab::{
    crew::is_last,
    worker_process::{Heard, Inheritance, Worker, Workplace},
};
use pickfs_record::{TrialSpec, WorkerMessage};
use pickfs_sys::starting_gate::StartingGate;
use pickfs_workload::phase::GATE_BROKEN;

use crate::{error::RanksError, meeting::Step};

pub(super) struct Lane {
    /// The lab's way to be rid of one takes ten minutes where its server is dead. A rank has no such time: what is left is killed
    /// with it (prctl(2), PR_SET_PDEATHSIG).
    worker: ManuallyDrop<Worker>,
    heard: Receiver<Heard>,
    gate: StartingGate,
    host: String,
    phase: &'static str,
    /// Said and not yet handed on.
    kept: Vec<WorkerMessage>,
}

impl Lane {
    pub(super) fn start(program: &Path, spec: &TrialSpec, host: &str) -> Result<Lane, RanksError> {
        let failed = |why: String| RanksError::Told(format!("lane {}: {why}", spec.lane));
        let gate = StartingGate::create(2).map_err(|error| failed(format!("no gate: {error}")))?;
        let (inbox, heard) = channel();
        let inherits = Inheritance { page: None, slow_operations: None, gate: Some(&gate) };
        let worker = program.start(spec, &inherits, &inbox);
        let worker = ManuallyDrop::new(worker.map_err(|error| failed(error.to_string()))?);
        let (host, kept) = (host.to_owned(), Vec::new());
        Ok(Lane { worker, heard, gate, host, phase: "prepare", kept })
    }

    /// Where it stands now, or nothing while it works. `at_once` gets what the lab hears at once.
    pub(super) fn step(&mut self, at_once: &mut dyn FnMut(String)) -> Option<Step> {
        while let Ok(heard) = self.heard.try_recv() {
            let step = match heard.line {
                Some(line) => self.hear(line, at_once),
                None => {
                    let died = self.worker.died(self.phase).to_string();
                    Some(self.fail(died))
                }
            };
            if step.is_some() {
                return step;
            }
        }
        (self.gate.somebody_waits() && !self.gate.is_broken()).then_some(Step::AtGate)
    }

    fn hear(&mut self, line: String, at_once: &mut dyn FnMut(String)) -> Option<Step> {
        let message = match self.worker.understand(&line) {
            Ok(message) => message,
            Err(error) => return Some(self.fail(error.to_string())),
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
                Some(Step::Broken)
            }
            message => {
                if matches!(message, WorkerMessage::Ready { .. }) {
                    self.phase = "measure";
                }
                let step = match message {
                    WorkerMessage::Ready { .. } => Some(Step::Ready),
                    WorkerMessage::Finished => Some(Step::Ended),
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
        Step::Broken
    }

    /// As if the worker said so.
    pub(super) fn tell(&mut self, message: WorkerMessage) {
        self.kept.push(message);
    }

    pub(super) fn process(&self) -> Option<u32> {
        self.worker.process_id()
    }

    pub(super) fn say_go(&mut self) {
        self.worker.say_go();
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
        self.worker.ask_to_end();
        if !self.kept.last().is_some_and(is_last) {
            self.fail(GATE_BROKEN.into());
        }
    }

    pub(super) fn take_words(&mut self) -> Vec<WorkerMessage> {
        std::mem::take(&mut self.kept)
    }

    /// It has said its last word, or is not to say another one.
    pub(super) fn end(&mut self) {
        let _ = self.worker.died(self.phase);
    }
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{fake_spec, install, until};

    use super::*;

    /// Where a worker that says these lines and goes comes to stand, and what is kept of them.
    fn ended(lines: &str) -> (Step, Vec<String>, String) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("worker");
        let script =
            format!("#!/bin/sh\nread spec\ncat <<'END'\n{lines}\nEND\necho oh >&2\nexit 3\n");
        install(&program, script.as_bytes());
        let spec = fake_spec("journal", folder.path(), serde_json::Map::new());
        let mut lane = Lane::start(&program, &spec, "h2").unwrap();
        let mut at_once = Vec::new();
        let step = until("a step", || lane.step(&mut |line| at_once.push(line)));
        lane.give_up();
        let kept =
            lane.take_words().iter().map(|said| serde_json::to_string(said).unwrap()).collect();
        (step, kept, at_once.concat())
    }

    #[test]
    fn a_lane_ends_by_its_last_word_or_without_one_and_the_host_stands_in_every_reason() {
        let phase = r#"{"event":"phase-begins","phase":"write","number":1}"#;
        let cases = [
            (r#"{"event":"skipped","reason":"no room"}"#, r#""skipped","reason":"h2: no room""#),
            (r#"{"event":"failed","reason":"no room"}"#, r#""failed","reason":"h2: no room""#),
            ("what", r#""failed","reason":"h2: "#),
            (phase, r#""failed","reason":"h2: "#),
        ];
        for (said, reason) in cases {
            let (step, words, at_once) = ended(said);
            assert_eq!((step, words.len()), (Step::Broken, 1), "{said}: {words:?}");
            assert!(words[0].contains(reason), "{said}: {words:?}");
            assert_eq!(
                at_once,
                if said == phase { phase } else { "" },
                "only a phase is told at once"
            );
        }
    }
}
