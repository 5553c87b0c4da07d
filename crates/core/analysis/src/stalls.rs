//! Nothing is estimated here: trials are summed.

use std::cmp::Reverse;

use pickfs_record::{
    Cell, CellId, Outcome, RunRecord, StallRecord,
    stall::{CauseRow, CauseWords, OpStalls, OpenOperation, ProbeTier, StallCounts},
};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct StallTable {
    pub subject: String,
    /// The cell; none for a process that was watched.
    pub cell: Option<CellId>,
    /// How many trials it is from; 0 where there was none.
    pub trials: u32,
    pub above_ns: u64,
    pub ops: Vec<OpTable>,
    pub counts: StallCounts,
    /// How much could be seen; the least of the trials. None where there was no trial.
    pub tier: Option<ProbeTier>,
    pub channels: Vec<String>,
    pub missing: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct OpTable {
    pub op: String,
    /// All operations of it, slow or not; 0 where that is not known.
    pub operations_all: u64,
    pub sums: OpStalls,
    pub causes: Vec<CauseLine>,
    /// Where threads were on a processor in slow operations, by samples, most first; empty where none were
    /// taken.
    pub samples: Vec<SampleLine>,
    pub worst: Vec<WorstOperation>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct SampleLine {
    pub function: String,
    pub samples: u64,
    /// Share of the samples, in [0, 1].
    pub share: f64,
    /// One stack of it, innermost frame first.
    pub stack: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CauseLine {
    pub words: CauseWords,
    pub sum: CauseRow,
    /// Share of the slow time, in [0, 1].
    pub share: f64,
    pub by: Vec<CauseRow>,
    pub stack: Vec<String>,
    pub waker_stack: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WorstOperation {
    /// The trial it is from; 0 where there was none.
    pub trial: u32,
    /// When it began, from the start of the measurement.
    pub at_ns: u64,
    /// The operation; the stacks it refers to are those of its trial's record.
    pub operation: OpenOperation,
}

const WORST_MAX: usize = 256;

pub fn stall_tables(run: &RunRecord) -> Vec<StallTable> {
    run.cells.iter().filter_map(|cell| of_cell(run, cell)).collect()
}

pub fn table_of(subject: &str, record: &StallRecord, began_ns: u64) -> StallTable {
    let mut table = StallTable { subject: subject.into(), ..StallTable::default() };
    table.add(record, 0, began_ns);
    table.finished()
}

fn of_cell(run: &RunRecord, cell: &Cell) -> Option<StallTable> {
    let subject = match cell.levels_text() {
        levels if levels.is_empty() => cell.candidate.label.clone(),
        levels => format!("{}, {levels}", cell.candidate.label),
    };
    let cell_id = Some(cell.id.clone());
    let mut table = StallTable { subject, cell: cell_id, ..StallTable::default() };
    for trial in run.trials.iter().filter(|trial| trial.cell == cell.id) {
        let Some(record) = &trial.stalls else { continue };
        if trial.outcome != Outcome::Finished {
            continue;
        }
        table.trials += 1;
        let began_ns = trial.load.as_ref().map_or(0, |load| load.began_ns);
        table.add(record, trial.number, began_ns);
        for op in &trial.ops {
            table.op(&op.op).operations_all += op.service.count;
        }
    }
    (table.trials > 0).then(|| table.finished())
}

impl StallTable {
    fn add(&mut self, record: &StallRecord, trial: u32, began_ns: u64) {
        self.above_ns = record.above_ns;
        let (sum, one) = (&mut self.counts, &record.counts);
        sum.events += one.events;
        sum.events_lost += one.events_lost;
        sum.operations_missed += one.operations_missed;
        sum.operations_unwatched += one.operations_unwatched;
        sum.threads += one.threads;
        sum.run_delay_ns += one.run_delay_ns;
        sum.samples += one.samples;
        sum.context_events += one.context_events;
        sum.context_lost += one.context_lost;
        self.tier = match (self.tier, record.tier) {
            (Some(ProbeTier::Switches), _) | (_, ProbeTier::Switches) => Some(ProbeTier::Switches),
            _ => Some(ProbeTier::Scheduler),
        };
        add_new(&mut self.channels, &record.channels);
        add_new(&mut self.missing, &record.missing);
        for op in &record.ops {
            self.op(&op.op).add(op, record);
            self.op(&op.op).worst.extend(op.worst.iter().map(|operation| WorstOperation {
                trial,
                at_ns: operation.start_ns.saturating_sub(began_ns),
                operation: operation.clone(),
            }));
        }
    }

    fn op(&mut self, op: &str) -> &mut OpTable {
        let new = || OpTable { op: op.into(), ..OpTable::default() };
        found_or(&mut self.ops, |known| known.op == op, new)
    }

    fn finished(mut self) -> StallTable {
        self.ops.retain(|op| op.sums.operations > 0);
        self.ops.iter_mut().for_each(OpTable::finish);
        self.ops.sort_by_key(|op| (Reverse(op.sums.total_ns), op.op.clone()));
        self
    }
}

fn add_new(known: &mut Vec<String>, texts: &[String]) {
    for text in texts {
        found_or(known, |known| known == text, || text.clone());
    }
}

fn found_or<T>(all: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    });
    &mut all[at]
}

impl OpTable {
    fn add(&mut self, op: &OpStalls, record: &StallRecord) {
        let sums = &mut self.sums;
        sums.operations += op.operations;
        sums.total_ns += op.total_ns;
        sums.on_cpu_ns += op.on_cpu_ns;
        sums.blocked_ns += op.blocked_ns;
        sums.cpu_wait_ns += op.cpu_wait_ns;
        sums.unexplained_ns += op.unexplained_ns;
        op.causes.iter().for_each(|row| self.row(row, record));
        for row in &op.samples {
            let new = || SampleLine {
                function: row.function.clone(),
                stack: record.stack(row.stack).to_vec(),
                ..SampleLine::default()
            };
            let line = found_or(&mut self.samples, |line| line.function == row.function, new);
            line.samples += row.samples;
        }
    }

    fn row(&mut self, row: &CauseRow, record: &StallRecord) {
        let (cause, who) = (row.cause.clone(), row.who.clone());
        let unknown =
            || CauseWords { cause: cause.clone(), title: cause.clone(), advice: String::new() };
        let line = found_or(
            &mut self.causes,
            |line| line.words.cause == row.cause,
            || CauseLine {
                words: record.words(&row.cause).cloned().unwrap_or_else(unknown),
                sum: CauseRow { cause: cause.clone(), ..CauseRow::default() },
                share: 0.0,
                by: Vec::new(),
                stack: Vec::new(),
                waker_stack: Vec::new(),
            },
        );
        if row.max_ns >= line.sum.max_ns {
            line.stack = record.stack(row.stack).to_vec();
            line.waker_stack = record.stack(row.waker_stack).to_vec();
        }
        join(&mut line.sum, row);
        let new = || CauseRow { cause: cause.clone(), who, ..CauseRow::default() };
        join(found_or(&mut line.by, |own| own.who == row.who, new), row);
    }

    fn finish(&mut self) {
        let total_ns = self.sums.total_ns.max(1) as f64;
        for line in &mut self.causes {
            line.by.sort_by_key(|row| (Reverse(row.total_ns), row.who.clone()));
            line.share = line.sum.total_ns as f64 / total_ns;
        }
        self.causes.sort_by_key(|line| (Reverse(line.sum.total_ns), line.words.cause.clone()));
        let all: u64 = self.samples.iter().map(|line| line.samples).sum();
        for line in &mut self.samples {
            line.share = line.samples as f64 / all.max(1) as f64;
        }
        self.samples.sort_by_key(|line| (Reverse(line.samples), line.function.clone()));
        self.worst.sort_by_key(|worst| Reverse(worst.operation.length_ns()));
        self.worst.truncate(WORST_MAX);
    }
}

/// Operations in which several holders occur count once for each of them.
fn join(sum: &mut CauseRow, row: &CauseRow) {
    sum.operations += row.operations;
    sum.times += row.times;
    sum.total_ns += row.total_ns;
    sum.max_ns = sum.max_ns.max(row.max_ns);
}

#[cfg(test)]
mod tests {
    use pickfs_record::stall::SampledIn;

    use super::*;

    fn row(cause: &str, who: &str, total_ns: u64, max_ns: u64, stack: u32) -> CauseRow {
        let (cause, who, stack) = (cause.into(), who.into(), Some(stack));
        CauseRow { cause, who, operations: 2, times: 3, total_ns, max_ns, stack, waker_stack: None }
    }

    fn record(rows: Vec<CauseRow>, stack: &str) -> StallRecord {
        let total_ns = rows.iter().map(|row| row.total_ns).sum();
        let operation =
            OpenOperation { start_ns: 1_500, end_ns: 2_500, ..OpenOperation::default() };
        let op = OpStalls {
            op: "append".into(),
            operations: 4,
            total_ns,
            blocked_ns: total_ns,
            causes: rows,
            worst: vec![operation],
            ..OpStalls::default()
        };
        StallRecord {
            tier: ProbeTier::Scheduler,
            channels: vec!["switches".into()],
            missing: vec!["nothing".into()],
            above_ns: 100_000,
            ops: vec![op],
            causes: vec![CauseWords { cause: "a".into(), title: "A".into(), advice: "do".into() }],
            stacks: vec![vec![stack.into()]],
            counts: StallCounts { events: 5, ..StallCounts::default() },
        }
    }

    #[test]
    fn holders_of_a_cause_are_summed_and_the_longest_gives_the_stack() {
        let first = record(vec![row("a", "r1", 700, 90, 0), row("b", "", 100, 50, 0)], "first");
        let second = record(vec![row("a", "r2", 200, 95, 0)], "second");
        let mut table = StallTable::default();
        table.add(&first, 1, 1_000);
        table.add(&second, 2, 0);
        let op = table.finished().ops.remove(0);
        assert_eq!((op.sums.operations, op.sums.total_ns), (8, 1_000));
        let line = &op.causes[0];
        assert_eq!((line.words.title.as_str(), line.sum.total_ns, line.sum.times), ("A", 900, 6));
        assert_eq!((line.share, line.stack.as_slice()), (0.9, &["second".to_string()][..]));
        let whos: Vec<_> = line.by.iter().map(|row| row.who.as_str()).collect();
        assert_eq!(whos, ["r1", "r2"]);
        let shares: f64 = op.causes.iter().map(|line| line.share).sum();
        assert!((shares - 1.0).abs() < 1e-12);
        assert_eq!((op.worst[0].trial, op.worst[0].at_ns), (1, 500));
    }

    #[test]
    fn samples_of_trials_are_summed_and_the_least_tier_counts() {
        let mut first = record(vec![row("a", "r1", 700, 90, 0)], "first");
        let sampled = |function: &str, samples| SampledIn {
            function: function.into(),
            samples,
            stack: Some(0),
        };
        first.ops[0].samples = vec![sampled("copy", 6), sampled("hash", 1)];
        let mut second = StallRecord { tier: ProbeTier::Switches, ..first.clone() };
        second.ops[0].samples = vec![sampled("hash", 3)];
        let mut table = StallTable::default();
        [&first, &second].iter().for_each(|record| table.add(record, 1, 0));
        let table = table.finished();
        let samples = &table.ops[0].samples;
        assert_eq!((samples[0].function.as_str(), samples[0].samples), ("copy", 6));
        assert_eq!((samples[1].samples, samples[1].share), (4, 0.4));
        assert_eq!(samples[1].stack, ["first"]);
        assert_eq!((table.tier, table.channels.len()), (Some(ProbeTier::Switches), 1));
    }

    #[test]
    fn a_watched_process_has_a_table_of_its_own() {
        let table = table_of("process 7", &record(vec![row("a", "", 10, 10, 0)], "s"), 0);
        assert_eq!((table.trials, table.counts.events, table.missing.len()), (0, 5, 1));
        assert_eq!((table.ops[0].operations_all, table.ops[0].causes.len()), (0, 1));
    }
}
