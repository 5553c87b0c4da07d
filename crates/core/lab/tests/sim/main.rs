//! Runs and races by a script: order, repeats, what is stored when, and how they end, without a kernel.

mod race;
mod run;

use std::path::{Path, PathBuf};

use pickfs_lab::{
    interrupt::Interrupt,
    referee::Referee,
    run::{RunParts, carry_out},
    stage::{Stage, TrialOrder},
};
use pickfs_record::{
    Event, Outcome, RunRecord, TrialRecord,
    record::{Disturbance, SettleRecord},
};
use pickfs_store::RunFile;

/// Plays the trials of a fake run, each ten seconds long; `disturbed` and `stop_at` name trial numbers.
#[derive(Default)]
struct Script {
    run: Option<RunRecord>,
    disturbed: Vec<u32>,
    /// In every trial of these blocks, repeats too.
    disturbed_blocks: Vec<u32>,
    fails: Vec<u32>,
    stop_at: Option<u32>,
    sticks_at: Option<u32>,
    stuck: Option<String>,
    interrupt: Interrupt,
    clock_s: f64,
    seeds: Vec<(u32, u64)>,
    /// Where it looks, at each wait and at each trial, how many are stored of those that it made.
    looks_at: Option<PathBuf>,
    at_settle: Vec<(usize, usize)>,
    at_trial: Vec<(usize, usize)>,
}

impl Script {
    fn made_and_stored(&self) -> Option<(usize, usize)> {
        let stored = RunFile::open(self.looks_at.as_ref()?).expect("open").read().expect("read");
        Some((self.seeds.len(), stored.trials.len()))
    }
}

impl Stage for Script {
    fn now_s(&self) -> f64 {
        self.clock_s
    }

    fn stuck(&self) -> Option<String> {
        self.stuck.clone()
    }

    fn settle(&mut self) -> SettleRecord {
        self.at_settle.extend(self.made_and_stored());
        SettleRecord::default()
    }

    fn perform(&mut self, order: &TrialOrder<'_>, _tell: &mut dyn FnMut(Event)) -> TrialRecord {
        self.at_trial.extend(self.made_and_stored());
        self.seeds.push((order.block, order.seed));
        let run = self.run.as_ref().expect("a script");
        let of_cell = || run.trials.iter().filter(|trial| trial.cell == order.cell.id);
        let like = of_cell().find(|trial| trial.block == order.block).or_else(|| of_cell().next());
        let mut trial = TrialRecord {
            number: order.number,
            block: order.block,
            attempt: order.attempt,
            settle: Some(order.settle),
            started_s: self.clock_s,
            elapsed_s: 10.0,
            ..like.expect("a trial").clone()
        };
        self.clock_s += trial.elapsed_s;
        let disturbed =
            self.disturbed.contains(&order.number) || self.disturbed_blocks.contains(&order.block);
        trial.disturbance = Some(Disturbance {
            foreign_user_share: if disturbed { 0.5 } else { 0.0 },
            takers: vec![("rustc".into(), 0.9), ("ld".into(), 0.3)],
            ..Disturbance::default()
        });
        if self.fails.contains(&order.number) {
            trial.outcome = Outcome::Failed { reason: "scripted".into() };
        }
        if self.sticks_at == Some(order.number) {
            self.stuck = Some("unmount mnt: busy".into());
        }
        if self.stop_at == Some(order.number) {
            self.interrupt.raise();
        }
        trial
    }
}

fn disturbed(trial: &TrialRecord) -> bool {
    trial.disturbance.as_ref().is_some_and(|disturbance| disturbance.foreign_user_share > 0.1)
}

/// Goes on with the run of a file that is there.
fn play(
    path: &Path,
    record: RunRecord,
    referee: &mut dyn Referee,
    script: &mut Script,
) -> (RunRecord, Vec<Event>) {
    let mut file = match path.exists() {
        true => RunFile::open_to_write(path).expect("open"),
        false => RunFile::create(path, &record).expect("create"),
    };
    let mut events = Vec::new();
    let interrupt = script.interrupt.clone();
    let parts = RunParts {
        stage: script,
        file: &mut file,
        sink: &mut |event: &Event| events.push(event.clone()),
        referee,
        interrupt: &interrupt,
        disturbed,
    };
    (carry_out(record, parts).expect("runs"), events)
}

fn empty(run: &RunRecord) -> RunRecord {
    RunRecord { trials: vec![], ended: None, ..run.clone() }
}
