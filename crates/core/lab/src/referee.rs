use pickfs_analysis::answers;
use pickfs_record::{
    CellId, RunRecord,
    quantity::{counted, span_text},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    Continue(Vec<CellId>),
    Stop {
        /// `completed`, `decided` or `budget-spent`.
        how: &'static str,
        note: String,
    },
}

/// Interrupted blocks that a run makes up for; a run that loses more is given up.
const BLOCKS_LOST_MAX: u32 = 100;

pub trait Referee {
    /// `block` has ended (from 1; 0 before the first), `elapsed_s` after the start.
    fn rule(&mut self, run: &RunRecord, block: u32, elapsed_s: f64) -> Ruling;

    fn blocks_max(&self) -> u32;

    /// When the run ends at the latest; without an end where only blocks end it.
    fn budget_s(&self) -> f64 {
        f64::INFINITY
    }
}

/// A fixed number of complete blocks; one that was interrupted does not count.
#[derive(Debug, Clone, Copy)]
pub struct FixedBlocks(pub u32);

fn blocks(count: u32) -> String {
    counted(count.into(), "block")
}

impl Referee for FixedBlocks {
    fn rule(&mut self, run: &RunRecord, block: u32, _elapsed_s: f64) -> Ruling {
        let complete = run.complete_blocks();
        if complete < self.0 && block < self.0 + BLOCKS_LOST_MAX {
            return Ruling::Continue(run.cells.iter().map(|cell| cell.id.clone()).collect());
        }
        Ruling::Stop { how: "completed", note: blocks(complete) }
    }

    fn blocks_max(&self) -> u32 {
        self.0
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Race {
    blocks_max: u32,
    budget_s: f64,
}

impl Race {
    pub fn new(blocks_max: u32, budget_s: f64) -> Race {
        Race { blocks_max, budget_s }
    }

    /// Why the next block is not begun, if it is not: a block that would end after the budget
    /// is left out, except the first.
    fn spent(
        &self,
        run: &RunRecord,
        cells: &[CellId],
        block: u32,
        elapsed_s: f64,
    ) -> Option<String> {
        if block >= self.blocks_max {
            return Some(format!("the most there may be, {}", blocks(block)));
        }
        let expected_s = elapsed_s + block_s(run, cells, elapsed_s);
        let (took, budget) = (span_text(elapsed_s), span_text(self.budget_s));
        match block {
            0 => None,
            _ if elapsed_s >= self.budget_s => Some(format!("{took} of {budget}")),
            _ if expected_s > self.budget_s => {
                Some(format!("{took} of {budget}, too little left for another block"))
            }
            _ => None,
        }
    }
}

/// What a block of these cells takes, by the time that the trials so far took with all that
/// lies between them.
fn block_s(run: &RunRecord, cells: &[CellId], elapsed_s: f64) -> f64 {
    cells.len() as f64 * elapsed_s / run.trials.len().max(1) as f64
}

impl Referee for Race {
    fn rule(&mut self, run: &RunRecord, block: u32, elapsed_s: f64) -> Ruling {
        let next = answers::next_block(run);
        let standing = match next.words.is_empty() {
            true => "nothing is raced by".to_string(),
            false => next.words.join("; "),
        };
        if next.decided {
            let note =
                format!("settled after {} in {}: {standing}", blocks(block), span_text(elapsed_s));
            return Ruling::Stop { how: "decided", note };
        }
        match self.spent(run, &next.cells, block, elapsed_s) {
            Some(spent) => Ruling::Stop {
                how: "budget-spent",
                note: format!("not settled after {} ({spent}): {standing}", blocks(block)),
            },
            None => Ruling::Continue(next.cells),
        }
    }

    fn blocks_max(&self) -> u32 {
        self.blocks_max
    }

    fn budget_s(&self) -> f64 {
        self.budget_s
    }
}

#[cfg(test)]
mod tests {
    use pickfs_record::{INTERRUPTED, Outcome, plan::StopRule};
    use pickfs_testkit::{FakeRun, fake_run};

    use super::*;

    fn race_of(blocks: u32) -> RunRecord {
        let stop = StopRule::Decided { budget_s: 600.0, tie_margin: 0.05 };
        fake_run(&FakeRun { blocks, stop, ..FakeRun::default() })
    }

    fn stopped(ruling: Ruling) -> (&'static str, String) {
        match ruling {
            Ruling::Stop { how, note } => (how, note),
            Ruling::Continue(cells) => panic!("goes on with {cells:?}"),
        }
    }

    #[test]
    fn a_settled_race_stops_and_says_who_is_left() {
        let (how, note) = stopped(Race::new(60, 1e9).rule(&race_of(25), 25, 100.0));
        assert_eq!(how, "decided");
        assert!(note.starts_with("settled after 25 blocks in "), "{note}");
        assert!(note.ends_with("sync=fdatasync, durable p50: WINNER xfs:noatime"), "{note}");
    }

    #[test]
    fn a_race_ends_before_a_block_that_would_not_fit_the_budget() {
        let run = race_of(4);
        let goes_on = |budget_s: f64| {
            matches!(Race::new(60, budget_s).rule(&run, 4, 400.0), Ruling::Continue(_))
        };
        // 32 trials took 400 s, so 8 more take 100 s.
        assert!(goes_on(501.0) && !goes_on(499.0));
        let (how, note) = stopped(Race::new(60, 450.0).rule(&run, 4, 400.0));
        assert_eq!(how, "budget-spent");
        assert!(note.contains("too little left for another block): "), "{note}");
        assert!(note.contains(": NO ANSWER "), "{note}");
        let (how, note) = stopped(Race::new(4, 1e9).rule(&run, 4, 400.0));
        assert_eq!(how, "budget-spent");
        assert!(note.contains("the most there may be, 4 blocks"), "{note}");
    }

    #[test]
    fn the_first_block_runs_whatever_the_budget() {
        assert!(matches!(Race::new(60, 0.001).rule(&race_of(0), 0, 5.0), Ruling::Continue(_)));
    }

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
