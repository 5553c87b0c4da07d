//! It never measures and never touches the machine; a [`Stage`] does.

use std::collections::{BTreeMap, BTreeSet};

use pickfs_analysis::{
    disturbed::{is_throttled, others},
    ending::DISTURBED,
    panels::applies,
    summary::metric_value,
};
use pickfs_record::{
    Cell, CellId, Event, Headline, Outcome, RunRecord, TrialRecord,
    plan::{Metric, Statistic, View},
    record::{OpRecord, RunEnd},
};
use pickfs_store::{RunFile, StoreError};

use crate::{
    interrupt::Interrupt,
    order::block_order,
    referee::{Referee, Ruling},
    sink::Sink,
    stage::{Stage, TrialOrder},
};

pub struct RunParts<'a> {
    pub stage: &'a mut dyn Stage,
    pub file: &'a mut RunFile,
    pub sink: &'a mut dyn Sink,
    pub referee: &'a mut dyn Referee,
    pub interrupt: &'a Interrupt,
    pub disturbed: fn(&TrialRecord) -> bool,
}

/// Runs (or goes on with) `record`: trials that it holds already are kept, and the next
/// block is a new one.
pub fn carry_out(record: RunRecord, parts: RunParts<'_>) -> Result<RunRecord, StoreError> {
    // A run that goes on counts from where it was interrupted: budgets and times are of the whole.
    let ends_s = record.trials.iter().map(|trial| trial.started_s + trial.elapsed_s);
    let spent_s = ends_s.fold(0.0, f64::max);
    let began_s = parts.stage.now_s();
    let mut run = Run { record, parts, began_s, spent_s, pending: None };
    let end = run.blocks();
    run.keep_pending()?;
    let end = end?;
    run.parts.sink.accept(&Event::RunFinished { how: end.how.clone(), note: end.note.clone() });
    run.parts.file.end(&end)?;
    run.record.ended = Some(end);
    Ok(run.record)
}

struct Run<'a> {
    record: RunRecord,
    parts: RunParts<'a>,
    began_s: f64,
    /// Seconds that the run took before it was interrupted.
    spent_s: f64,
    /// Finished but not yet in the file: nothing is committed before the machine has
    /// settled (validity rule 12).
    pending: Option<TrialRecord>,
}

impl Run<'_> {
    fn blocks(&mut self) -> Result<RunEnd, StoreError> {
        let first = self.record.last_block();
        for block in first.. {
            let elapsed_s = self.elapsed_s();
            let active = match self.parts.referee.rule(&self.record, block, elapsed_s) {
                Ruling::Stop { how, note } => return Ok(self.end(how, note)),
                Ruling::Continue(active) => self.cells(&active),
            };
            // Two blocks of this sitting, and not of a run that has all its blocks.
            if let Some(note) = self.disturbed(block).filter(|_| block > first + 1) {
                return Ok(self.end(DISTURBED, note));
            }
            if !self.block(block + 1, &active)? {
                if let Some(why) = self.parts.stage.stuck() {
                    let note = format!("{why}; no further trial can be made before that is mended");
                    return Ok(end("failed", note));
                }
                let note = "asked to stop; run --resume goes on in a new block".to_owned();
                return Ok(end("interrupted", note));
            }
        }
        Ok(self.end("completed", String::new()))
    }

    /// Why a run makes no sense at present: others, or a quota, disturbed every trial of this block and of the
    /// one before.
    fn disturbed(&self, block: u32) -> Option<String> {
        let first = block.checked_sub(1).filter(|first| *first > 0)?;
        let of = |block: u32| {
            let trials = self.record.trials.iter();
            trials.filter(move |t| t.block == block && t.outcome == Outcome::Finished)
        };
        let is_it = |trial: &TrialRecord| (self.parts.disturbed)(trial) || is_throttled(trial);
        let is_disturbed = |block| of(block).next().is_some() && of(block).all(is_it);
        if ![first, block].into_iter().all(is_disturbed) {
            return None;
        }
        let trials: Vec<&TrialRecord> = of(first).chain(of(block)).collect();
        if trials.iter().all(|trial| is_throttled(trial)) {
            return Some(format!(
                "a CPU quota stopped pickfs in every trial of blocks {first} and {block}; raise cpu.max of its control \
                 group, or run outside of it"
            ));
        }
        let (by, what, who) = others(&trials);
        let who = who.map_or_else(|| by.to_owned(), |who| format!("others ({who})"));
        Some(format!(
            "{who} {what} in every trial of blocks {first} and {block}; run it again when they are quiet"
        ))
    }

    /// Seconds from the beginning of the run, without the time between its sittings.
    fn elapsed_s(&self) -> f64 {
        self.spent_s + self.parts.stage.now_s() - self.began_s
    }

    /// An end that does not hide what failed: a run without one finished trial has failed.
    fn end(&self, how: &str, note: String) -> RunEnd {
        let all = self.record.trials.len();
        let finished =
            self.record.trials.iter().filter(|trial| trial.outcome == Outcome::Finished).count();
        let mut notes = vec![note];
        if finished < all {
            notes.push(format!("{} of {all} trials gave no result", all - finished));
        }
        notes.retain(|note| !note.is_empty());
        let how = if all > 0 && finished == 0 { "failed" } else { how };
        end(how, notes.join("; "))
    }

    fn cells(&self, active: &[CellId]) -> Vec<Cell> {
        let cells = self.record.cells.iter();
        cells.filter(|cell| active.contains(&cell.id)).cloned().collect()
    }

    /// One block: each cell once, then the disturbed ones once more. False when interrupted.
    fn block(&mut self, block: u32, cells: &[Cell]) -> Result<bool, StoreError> {
        let order = block_order(self.record.plan.design.seed, cells.len(), self.blocks_of(cells));
        let mut again = Vec::new();
        for index in order {
            if !self.trial(&cells[index], block, 1)? {
                return Ok(false);
            }
            if self.record.trials.last().is_some_and(self.parts.disturbed) {
                again.push(index);
            }
        }
        for index in again {
            if !self.trial(&cells[index], block, 2)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Blocks so far of these cells alone: whoever is left after others fell out begins a balanced order of its own.
    fn blocks_of(&self, cells: &[Cell]) -> u32 {
        let mut blocks: BTreeMap<u32, BTreeSet<&CellId>> = BTreeMap::new();
        for trial in &self.record.trials {
            blocks.entry(trial.block).or_default().insert(&trial.cell);
        }
        let cells: BTreeSet<&CellId> = cells.iter().map(|cell| &cell.id).collect();
        blocks.values().filter(|block| **block == cells).count() as u32
    }

    fn trial(&mut self, cell: &Cell, block: u32, attempt: u32) -> Result<bool, StoreError> {
        if self.parts.interrupt.is_raised() {
            return Ok(false);
        }
        let settle = self.parts.stage.settle();
        self.keep_pending()?;
        let number = self.record.trials.last().map_or(0, |trial| trial.number) + 1;
        self.tell_start(number, block, cell);
        let seed = self.record.plan.design.seed.wrapping_add(u64::from(block) << 32);
        let order = TrialOrder { number, block, attempt, cell, seed, settle };
        let RunParts { stage, sink, .. } = &mut self.parts;
        let mut trial = stage.perform(&order, &mut |event| sink.accept(&event));
        trial.started_s += self.spent_s;
        self.tell_finish(&trial);
        self.record.trials.push(trial.clone());
        self.pending = Some(trial);
        Ok(!self.parts.interrupt.is_raised() && self.parts.stage.stuck().is_none())
    }

    fn keep_pending(&mut self) -> Result<(), StoreError> {
        match self.pending.take() {
            Some(trial) => self.parts.file.add_trial(&trial),
            None => Ok(()),
        }
    }

    fn tell_start(&mut self, number: u32, block: u32, cell: &Cell) {
        self.parts.sink.accept(&Event::TrialStarted {
            number,
            block,
            cell: cell.id.clone(),
            candidate: cell.candidate.label.clone(),
            levels: cell.levels_text(),
        });
    }

    fn tell_finish(&mut self, trial: &TrialRecord) {
        let event = Event::TrialFinished {
            number: trial.number,
            outcome: trial.outcome.clone(),
            headline: headline(&self.record, trial).map(Box::new),
            left_s: self.left_s(trial),
        };
        self.parts.sink.accept(&event);
    }

    /// Time left if every block is run, within the budget, from the mean length of a trial with its repeats so far.
    fn left_s(&self, trial: &TrialRecord) -> f64 {
        let per_block = self.record.cells.len() as f64;
        let so_far = || self.record.trials.iter().chain([trial]).filter(|t| t.attempt == 1);
        let in_block = so_far().filter(|t| t.block == trial.block).count() as f64;
        let blocks = f64::from(self.parts.referee.blocks_max()) - f64::from(trial.block);
        let trials = (blocks * per_block + per_block - in_block).max(0.0);
        let left_s = trials * self.elapsed_s() / so_far().count().max(1) as f64;
        left_s.min((self.parts.referee.budget_s() - self.elapsed_s()).max(0.0))
    }
}

fn headline(run: &RunRecord, trial: &TrialRecord) -> Option<Headline> {
    if trial.outcome != Outcome::Finished {
        return None;
    }
    let cell = run.cells.iter().find(|cell| cell.id == trial.cell)?;
    let asked = run.plan.design.primary.iter().find(|metric| applies(metric, cell));
    let own = |metric: &Metric| Metric { view: View::Service, ..metric.clone() };
    let median = |op: &OpRecord| own(&Metric::new(&op.op, Statistic::Quantile(0.5)));
    let first = trial.ops.first().map(median);
    let metrics = [asked.cloned(), asked.map(own), first];
    let value = |metric| Some((metric_value(trial, &metric)?, metric));
    let (value, metric) = metrics.into_iter().flatten().find_map(value)?;
    let is_rate = metric.statistic == Statistic::Rate;
    let phase = metric.ops().find_map(|name| trial.phase(name)).filter(|_| is_rate);
    Some(Headline { unit: phase.map(|phase| phase.unit), metric, value })
}

fn end(how: &str, note: String) -> RunEnd {
    RunEnd { at: now_text(), how: how.into(), note }
}

pub fn now_text() -> String {
    let now = jiff::Timestamp::now();
    jiff::Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
