use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use pickfs_record::{
    BackingKind, Cell, CellId, Durability, Findings, Outcome, RunRecord, TrialRecord, WorkUnit,
    finding::{Answer, OpSummary, Panel, PhaseCell, PhaseRow, Row, Spread},
    plan::{Metric, Statistic, View},
    record::OpRecord,
    trial::{SUSTAINED, WITH_FINAL_SYNC},
};

use pickfs_analysis::{
    panels::{BY_CANDIDATE, one_a_block},
    stalls::{StallTable, stall_tables},
    summary::{CAPACITY_KEY, metric_value, rate_held, spread},
};

use crate::chart::{
    Slot,
    latency_map::{Cells, cells},
};

#[derive(Debug, Clone)]
pub struct Subject<'a> {
    pub run: &'a RunRecord,
    pub findings: &'a Findings,
    pub stalls: Vec<StallTable>,
    slots: BTreeMap<&'a str, Slot>,
    trials: BTreeMap<&'a CellId, Vec<&'a TrialRecord>>,
    maps: RefCell<BTreeMap<(CellId, String), Rc<Cells>>>,
}

impl<'a> Subject<'a> {
    pub fn new(run: &'a RunRecord, findings: &'a Findings) -> Self {
        let mut trials: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for trial in &run.trials {
            trials.entry(&trial.cell).or_default().push(trial);
        }
        let stalls = stall_tables(run);
        Subject {
            run,
            findings,
            stalls,
            slots: slots(run, findings),
            trials,
            maps: RefCell::default(),
        }
    }

    pub fn slot(&self, label: &str) -> Slot {
        self.slots.get(label).copied().unwrap_or(Slot::Series(0))
    }

    pub fn trials(&self, cell: &CellId) -> &[&'a TrialRecord] {
        self.trials.get(cell).map_or(&[], Vec::as_slice)
    }

    pub fn finished(&self, cell: &CellId) -> impl Iterator<Item = &'a TrialRecord> {
        self.trials(cell).iter().copied().filter(|trial| trial.outcome == Outcome::Finished)
    }

    /// Latency over time of a row, decoded once for all pictures and formats.
    pub fn mapped(&self, row: &Row, metric: &Metric) -> Rc<Cells> {
        let key = (row.cell.clone(), metric.to_string());
        let mut maps = self.maps.borrow_mut();
        maps.entry(key).or_insert_with(|| Rc::new(cells(self, row, metric))).clone()
    }

    pub fn cell(&self, id: &CellId) -> Option<&'a Cell> {
        self.run.cells.iter().find(|cell| cell.id == *id)
    }

    pub fn compares(&self) -> &'a str {
        &self.run.plan.design.compare
    }

    /// The axis that the plan compares; none where it compares candidates.
    pub fn axis(&self) -> Option<&'a str> {
        Some(self.compares()).filter(|word| *word != BY_CANDIDATE)
    }

    pub fn metrics(&self, panel: &Panel) -> Vec<Metric> {
        let fits = |metric: &&Metric| {
            metric.at.iter().all(|(axis, value)| {
                let level = panel.levels.iter().find(|level| level.axis == *axis);
                level.is_none_or(|level| value.holds(&level.value))
            })
        };
        let measured = |metric: &&Metric| {
            panel.rows.iter().any(|row| row.ops.iter().any(|op| metric.names(&op.op)))
                || panel.phases.iter().any(|phase| metric.names(&phase.phase))
                || panel.rows.iter().any(|row| figure_of(row, metric).is_some())
                || metric.op == SUSTAINED && panel.rows.iter().any(|row| row.sustained.is_some())
        };
        self.run.plan.design.primary.iter().filter(fits).filter(measured).cloned().collect()
    }

    /// The metric that a panel's table and pictures show first.
    ///
    /// It is the first that the plan fixed and that was measured; without one the median of the first
    /// operation that was measured; where nothing was, the first that the plan fixed.
    pub fn headline(&self, panel: &Panel) -> Metric {
        let metrics = self.metrics(panel);
        let is_rate = |metric: &&Metric| metric.statistic == Statistic::Rate;
        let latency = metrics.iter().find(|metric| !is_rate(metric));
        let headline = latency.or(metrics.first()).cloned().or_else(|| first_op(panel));
        let planned = || self.run.plan.design.primary.first().cloned();
        let mut headline = headline.or_else(planned).unwrap_or_else(no_op);
        let is_own = |answer: &&Answer| answer.panel == panel.title && answer.metric == headline;
        if self.findings.answers.iter().find(is_own).is_some_and(|answer| answer.raw) {
            headline.view = View::RawResponse;
        }
        headline
    }

    /// The value of a metric over the trials of a row. Phases, and a loop of several operations,
    /// have a rate for each of them.
    pub fn value(&self, row: &Row, metric: &Metric) -> Option<Spread> {
        let has_own = |trial: &&TrialRecord| has_own_rate(trial, metric);
        let is_of_trials = match metric.statistic {
            Statistic::Rate => self.trials(&row.cell).iter().any(has_own),
            statistic => matches!(statistic, Statistic::Min | Statistic::Worst),
        };
        if !is_of_trials {
            return row_value(row, metric);
        }
        let counted = one_a_block(self.finished(&row.cell)).into_iter();
        let values: Vec<f64> = counted.filter_map(|trial| trial_value(trial, metric)).collect();
        (!values.is_empty()).then(|| spread(&values))
    }

    pub fn probed(&self) -> impl Iterator<Item = &'a TrialRecord> {
        self.run.trials.iter().filter(|trial| trial.raw.is_some())
    }
}

fn first_op(panel: &Panel) -> Option<Metric> {
    if let Some(first) = panel.phases.first() {
        return Some(Metric::new(&first.phase, Statistic::Rate));
    }
    let op = panel.rows.iter().find_map(|row| row.ops.first())?;
    let statistic = Statistic::Quantile(0.5);
    Some(Metric { op: op.op.clone(), view: op.view, statistic, at: Default::default() })
}

fn no_op() -> Metric {
    let statistic = Statistic::Quantile(0.5);
    Metric { op: "append".into(), view: View::Service, statistic, at: Default::default() }
}

fn row_value(row: &Row, metric: &Metric) -> Option<Spread> {
    match metric.statistic {
        Statistic::Rate => row.rate,
        Statistic::Figure(_) => figure_of(row, metric),
        Statistic::Mean => summary(row, metric).map(|op| op.mean_ns),
        Statistic::Sd => summary(row, metric).map(|op| op.sd_ns),
        // The largest is of all trials together: it has no spread. The other two are taken of trials.
        Statistic::Min | Statistic::Max | Statistic::Worst => None,
        Statistic::Quantile(q) => {
            let quantiles = &summary(row, metric)?.quantiles;
            quantiles.iter().find(|row| (row.q - q).abs() < 1e-9).map(|row| row.value_ns)
        }
    }
}

/// The operation that is done once of which a metric is the rate, and what a row has of it.
pub fn phase<'p>(
    panel: &'p Panel,
    row: &Row,
    metric: &Metric,
) -> Option<(&'p PhaseRow, &'p PhaseCell)> {
    let at = panel.rows.iter().position(|other| other.cell == row.cell)?;
    let found = phase_of(panel, metric)?;
    Some((found, found.cells.get(at)?))
}

fn phase_of<'p>(panel: &'p Panel, metric: &Metric) -> Option<&'p PhaseRow> {
    let is_rate = metric.statistic == Statistic::Rate;
    let named = |name| panel.phases.iter().find(|phase| is_rate && phase.phase == name);
    metric.ops().find_map(named)
}

/// What a rate counts, where that is known.
pub fn unit(panel: &Panel, metric: &Metric) -> Option<WorkUnit> {
    phase_of(panel, metric).map(|phase| phase.unit)
}

pub fn summary<'r>(row: &'r Row, metric: &Metric) -> Option<&'r OpSummary> {
    let name = metric.ops().find(|name| row.ops.iter().any(|op| op.op == *name))?;
    let of_op = || row.ops.iter().filter(|op| op.op == name);
    of_op().find(|op| op.view == metric.view).or_else(|| of_op().next())
}

pub fn figure(row: &Row, name: &str) -> Option<Spread> {
    row.figures.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
}

fn figure_of(row: &Row, metric: &Metric) -> Option<Spread> {
    metric.ops().find_map(|name| figure(row, name))
}

/// Of which seconds and slow operations are kept: the operation itself, without its share of the final sync.
pub fn timed_op(op: &str) -> &str {
    op.strip_suffix(WITH_FINAL_SYNC).unwrap_or(op)
}

pub fn timed<'t>(trial: &'t TrialRecord, metric: &Metric) -> Option<&'t OpRecord> {
    metric.ops().find_map(|name| trial.op(timed_op(name)))
}

/// Whether the arrivals of a trial are not the rate of this operation: it is a phase, or one of several.
fn has_own_rate(trial: &TrialRecord, metric: &Metric) -> bool {
    let is_own = |name: &str| name == SUSTAINED || trial.phase(name).is_some();
    metric.ops().any(is_own) || trial.ops.len() > 1
}

/// The value of a metric in one trial: nanoseconds, in the metric's view where it was kept; or calls per second for
/// rates: those of the operation, of a loop with one of them the arrivals.
pub fn trial_value(trial: &TrialRecord, metric: &Metric) -> Option<f64> {
    if metric.statistic == Statistic::Rate && !has_own_rate(trial, metric) {
        return rate_held(trial);
    }
    let service = || Metric { view: View::Service, ..metric.clone() };
    metric_value(trial, metric).or_else(|| metric_value(trial, &service()))
}

/// One colour per file system, the same in every run: the plainest candidate of a file system has it, other candidates
/// and other rows take what is free, in their order. Candidates that are no rows (an axis is compared) never share a
/// picture with rows.
fn slots<'a>(run: &'a RunRecord, findings: &'a Findings) -> BTreeMap<&'a str, Slot> {
    let mut slots = BTreeMap::new();
    let mut free = (0..).map(Slot::Series);
    let candidates = || run.plan.candidates.iter();
    let has_row = |label: &str| {
        let mut rows = findings.panels.iter().flat_map(|panel| &panel.rows);
        rows.any(|row| row.label == label && !is_floor(row))
    };
    let mut taken = Vec::new();
    let mut plainest: Vec<_> = candidates().filter(|one| has_row(&one.label)).collect();
    plainest.sort_by_key(|one| one.label.len());
    for candidate in plainest {
        let Some(own) = Slot::of_file_system(&candidate.fs) else { continue };
        if !taken.contains(&own) {
            slots.insert(candidate.label.as_str(), own);
            taken.push(own);
        }
    }
    let mut next = || free.find(|slot| !taken.contains(slot)).unwrap_or(Slot::Series(0));
    let mut floors = (0..).map(Slot::Floor);
    for row in findings.panels.iter().flat_map(|panel| &panel.rows) {
        slots.entry(row.label.as_str()).or_insert_with(|| match is_floor(row) {
            true => floors.next().unwrap_or(Slot::Floor(0)),
            false => next(),
        });
    }
    for candidate in candidates() {
        slots.entry(candidate.label.as_str()).or_insert_with(&mut next);
    }
    slots
}

pub fn counted(panel: &Panel) -> Vec<&Row> {
    let rows: Vec<_> = panel.rows.iter().filter(|row| !is_floor(row)).collect();
    if rows.is_empty() { panel.rows.iter().collect() } else { rows }
}

pub fn is_mixed(panel: &Panel) -> bool {
    let rows = counted(panel);
    rows.iter().any(|row| row.durability != rows[0].durability)
}

pub fn durability_text(panel: &Panel) -> Option<String> {
    match is_mixed(panel) {
        true => Some("rows differ in what they survive".into()),
        false if panel.durability == Durability::Unknown => None,
        false => Some(panel.durability.to_string()),
    }
}

pub fn with_durability(title: &str, panel: &Panel) -> String {
    durability_text(panel).map_or_else(|| title.into(), |text| format!("{title}: {text}"))
}

pub fn is_capacity(panel: &Panel) -> bool {
    let mut counts = panel.rows.iter().flat_map(|row| &row.counts);
    counts.any(|(name, _)| name == CAPACITY_KEY)
}

pub fn is_floor(row: &Row) -> bool {
    row.backing == BackingKind::Memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_record::trial::SUSTAINED_KEYS;
    use pickfs_testkit::{FakeRun, Mishap, fake_run};

    #[test]
    fn charts_over_time_draw_the_operation_whose_seconds_are_kept() {
        let trial = fake_run(&FakeRun::default()).trials.remove(0);
        let paid = format!("append{WITH_FINAL_SYNC}");
        let metric = Metric::new(&paid, Statistic::Mean);
        assert_eq!(timed(&trial, &metric).map(|op| op.op.as_str()), Some("append"));
        assert!(trial.op(&paid).is_none(), "its row is another");
    }

    #[test]
    fn a_trial_that_was_repeated_counts_once_on_the_screen_and_in_the_table() {
        let mishaps = vec![Mishap::disturbed("ext4:noatime", "", 2, 1.5)];
        let mut run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        assert!(run.trials.iter().any(|trial| trial.attempt == 2));
        for trial in &mut run.trials {
            let counts = SUSTAINED_KEYS.into_iter().zip([f64::from(trial.number), 1e9]);
            trial.counts.extend(counts.map(|(key, count)| (key.to_owned(), count)));
        }
        let findings = pickfs_analysis::findings(&run);
        let subject = Subject::new(&run, &findings);
        let metric = Metric::new(SUSTAINED, Statistic::Rate);
        for row in findings.panels.iter().flat_map(|panel| &panel.rows) {
            assert_eq!(subject.value(row, &metric), row.sustained, "{}", row.label);
        }
    }

    #[test]
    fn of_several_operations_the_first_counts_that_a_row_has() {
        let mut run = fake_run(&FakeRun { blocks: 12, ..FakeRun::default() });
        run.plan.design.primary = vec![Metric::new("durable|append", Statistic::Quantile(0.5))];
        let findings = pickfs_analysis::findings(&run);
        let subject = Subject::new(&run, &findings);
        for (panel, own) in findings.panels.iter().zip(["append", "durable"]) {
            let metric = subject.headline(panel);
            assert_eq!(metric.op, "durable|append");
            assert_eq!(summary(&panel.rows[0], &metric).map(|op| op.op.as_str()), Some(own));
            assert!(subject.value(&panel.rows[0], &metric).is_some_and(|value| value.median > 0.0));
            let trial = subject.trials(&panel.rows[0].cell)[0];
            assert_eq!(timed(trial, &metric).map(|op| op.op.as_str()), Some(own));
            assert_ne!(crate::ranking::service_text(&panel.rows[0], &metric, 0.5), "-");
        }
        assert!(findings.endings.iter().all(|end| !end.sentence.contains("nothing to compare")));
    }
}
