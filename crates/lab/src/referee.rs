//! When a run stops and which cells go on: a fixed number of blocks, or an
//! always-valid test after each block (validity rule 9).

use pickfs_analysis::racing;
use pickfs_model::{CellId, RunRecord, quantity::span_text};

use crate::interrupt::is_interrupted;

/// What the referee says after a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// Run these cells in the next block.
    Continue(Vec<CellId>),
    /// Stop; `how` is a [`pickfs_model::record::RunEnd::how`].
    Stop {
        /// `completed`, `decided` or `budget-spent`.
        how: &'static str,
        /// In words.
        note: String,
    },
}

/// Interrupted blocks that a run makes up for; a run that loses more is given up.
const BLOCKS_LOST_MAX: u32 = 100;

/// Decides after each block.
pub trait Referee {
    /// `block` has ended (from 1; 0 before the first), `elapsed_s` after the start.
    fn rule(&mut self, run: &RunRecord, block: u32, elapsed_s: f64) -> Ruling;

    /// Blocks that will be run at most, for the time that is left.
    fn blocks_max(&self) -> u32;
}

/// A fixed number of complete blocks; one that was interrupted does not count.
#[derive(Debug, Clone, Copy)]
pub struct FixedBlocks(pub u32);

/// Blocks in which every cell of the run has a trial that was not interrupted.
pub fn complete_blocks(run: &RunRecord) -> u32 {
    let last = run.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
    let complete = |block: &u32| {
        run.cells.iter().all(|cell| {
            let whole = run.trials.iter().filter(|trial| !is_interrupted(trial));
            whole.clone().any(|trial| trial.block == *block && trial.cell == cell.id)
        })
    };
    (1..=last).filter(complete).count() as u32
}

impl Referee for FixedBlocks {
    fn rule(&mut self, run: &RunRecord, block: u32, _elapsed_s: f64) -> Ruling {
        let complete = complete_blocks(run);
        if complete < self.0 && block < self.0 + BLOCKS_LOST_MAX {
            return Ruling::Continue(run.cells.iter().map(|cell| cell.id.clone()).collect());
        }
        Ruling::Stop { how: "completed", note: format!("{complete} blocks") }
    }

    fn blocks_max(&self) -> u32 {
        self.0
    }
}

/// A race: after each block an always-valid test says who still runs, until the choice
/// is settled or the budget is spent.
#[derive(Debug, Clone, Copy)]
pub struct Race {
    blocks_max: u32,
    budget_s: f64,
}

impl Race {
    /// A race over at most `blocks_max` blocks and `budget_s` seconds.
    pub fn new(blocks_max: u32, budget_s: f64) -> Race {
        Race { blocks_max, budget_s }
    }
}

impl Referee for Race {
    fn rule(&mut self, run: &RunRecord, block: u32, elapsed_s: f64) -> Ruling {
        let next = racing::next_block(run);
        if next.decided {
            let note = format!("every comparison settled after {block} blocks");
            return Ruling::Stop { how: "decided", note };
        }
        if elapsed_s >= self.budget_s || block >= self.blocks_max {
            let note = format!("{block} blocks in {}", span_text(elapsed_s));
            return Ruling::Stop { how: "budget-spent", note };
        }
        Ruling::Continue(next.cells)
    }

    fn blocks_max(&self) -> u32 {
        self.blocks_max
    }
}

#[cfg(test)]
mod tests {
    use pickfs_model::Outcome;
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;
    use crate::interrupt::INTERRUPTED;

    #[test]
    fn a_block_that_was_cut_short_is_made_up_for_and_a_failed_trial_is_not() {
        let mut run = fake_run(&FakeRun { blocks: 2, ..FakeRun::default() });
        let goes_on =
            |run: &RunRecord| matches!(FixedBlocks(2).rule(run, 2, 0.0), Ruling::Continue(_));
        assert!(!goes_on(&run));
        let last = run.trials.len() - 1;
        run.trials[last].outcome = Outcome::Failed { reason: "no space".into() };
        assert!(!goes_on(&run));
        run.trials[last].outcome = Outcome::Failed { reason: INTERRUPTED.into() };
        assert!(goes_on(&run));
    }
}
