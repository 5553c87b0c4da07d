//! Groups of rows with GEOMETRIC MEAN and MAX RATIO, laid out as the field's articles do:
//! what is looked at first apart from the rest, cold apart from hot, the rest by suite.

use pickfs_record::{
    Heat, RunRecord, WorkUnit,
    finding::{Panel, PhaseRow},
};

use super::rows::{RowRatio, rate_metric, ratio, row_ratio};
use crate::{
    comparisons::log_ratios,
    decide::Rules,
    panels::{Group, groups},
    summary::geometric_mean,
    wording::unique,
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    Derived,
    HighImpact,
    Suite(String),
    /// Rows with their data in this state, of all suites; where a workload has both states.
    Heat(Heat),
}

#[derive(Debug, Clone, PartialEq)]
pub struct PhaseTable {
    pub kind: Kind,
    pub title: String,
    pub rows: Vec<usize>,
    pub unit: Option<WorkUnit>,
    pub means: Vec<ColumnMean>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnMean {
    /// Geometric mean of the rates; none where rows count different things.
    pub rate: Option<f64>,
    /// Its interval is that of the means of each block.
    pub ratio: Option<RowRatio>,
    pub ratio_max: Option<f64>,
    pub rates: usize,
    pub ratios: usize,
}

/// The tables of a panel: the rows that are looked at first, then the rest in workload order,
/// then what is computed from them.
pub fn tables(run: &RunRecord, panel: &Panel) -> Vec<PhaseTable> {
    let groups = groups(run);
    let Some(group) = groups.iter().find(|group| group.levels == panel.levels) else {
        return Vec::new();
    };
    let rules = Rules::of(&run.plan);
    split(&panel.phases)
        .into_iter()
        .map(|(kind, rows)| PhaseTable {
            title: title(&kind, &rows, panel),
            unit: unit(&rows, panel),
            means: means(group, panel, &rows, rules),
            kind,
            rows,
        })
        .collect()
}

fn split(phases: &[PhaseRow]) -> Vec<(Kind, Vec<usize>)> {
    let mut found: Vec<(Kind, Vec<usize>)> = Vec::new();
    let has = |heat| phases.iter().any(|phase| phase.heat == Some(heat) && !phase.is_derived);
    let has_both = has(Heat::Cold) && has(Heat::Hot);
    for (index, phase) in phases.iter().enumerate() {
        let kind = kind(phase, has_both);
        match found.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, rows)) => rows.push(index),
            None => found.push((kind, vec![index])),
        }
    }
    found.sort_by_key(|(kind, _)| match kind {
        Kind::HighImpact => 0,
        Kind::Suite(_) | Kind::Heat(_) => 1,
        Kind::Derived => 2,
    });
    found
}

fn kind(phase: &PhaseRow, has_both: bool) -> Kind {
    match phase.heat.filter(|_| has_both) {
        _ if phase.is_derived => Kind::Derived,
        _ if phase.is_high_impact => Kind::HighImpact,
        Some(heat) => Kind::Heat(heat),
        None => Kind::Suite(phase.suite.clone()),
    }
}

fn title(kind: &Kind, rows: &[usize], panel: &Panel) -> String {
    match kind {
        Kind::Derived => "computed from the rows above".into(),
        Kind::HighImpact => "high impact".into(),
        Kind::Suite(suite) => {
            let first = |phase: &PhaseRow| phase.is_high_impact && phase.suite == *suite;
            let rest = if panel.phases.iter().any(first) { ", the rest" } else { "" };
            format!("{suite}{rest}")
        }
        Kind::Heat(heat) => {
            let suites = unique(rows.iter().map(|row| panel.phases[*row].suite.as_str()));
            let word = match heat {
                Heat::Cold => "cold",
                Heat::Hot => "hot",
            };
            format!("{word}: {}", suites.join(", "))
        }
    }
}

fn unit(rows: &[usize], panel: &Panel) -> Option<WorkUnit> {
    let first = panel.phases[*rows.first()?].unit;
    rows.iter().all(|row| panel.phases[*row].unit == first).then_some(first)
}

fn means(group: &Group<'_>, panel: &Panel, rows: &[usize], rules: Rules) -> Vec<ColumnMean> {
    let one_unit = unit(rows, panel).is_some();
    (0..panel.rows.len())
        .map(|index| {
            let cells: Vec<_> =
                rows.iter().filter_map(|row| panel.phases[*row].cells.get(index)).collect();
            let rates: Vec<f64> = cells.iter().filter_map(|cell| Some(cell.rate?.median)).collect();
            let of = |row: &usize| ratio_of(panel, index, &panel.phases[*row]);
            let ratios: Vec<f64> = rows.iter().filter_map(|row| Some(of(row)?.value)).collect();
            let largest = |values: &[f64]| values.iter().copied().reduce(f64::max);
            ColumnMean {
                rate: geometric_mean(&rates).filter(|_| one_unit),
                ratio: ratio_mean(group, panel, rows, index, rules),
                ratio_max: largest(&ratios),
                rates: rates.len(),
                ratios: ratios.len(),
            }
        })
        .collect()
}

/// The median over the blocks of each block's mean, with its interval, where every block holds every row; else the mean
/// of the printed ratios.
fn ratio_mean(
    group: &Group<'_>,
    panel: &Panel,
    rows: &[usize],
    index: usize,
    rules: Rules,
) -> Option<RowRatio> {
    let phases = rows.iter().map(|row| &panel.phases[*row]);
    let with_ratio = phases.filter_map(|phase| Some((phase, ratio_of(panel, index, phase)?.value)));
    let (with_ratio, printed): (Vec<_>, Vec<_>) = with_ratio.unzip();
    let blocks = block_means(group, &with_ratio, index);
    let complete = blocks.as_deref().and_then(|means| row_ratio(means, rules));
    let of_printed =
        || Some(RowRatio { value: geometric_mean(&printed)?, interval: None, blocks: 0 });
    complete.or_else(of_printed)
}

fn ratio_of(panel: &Panel, row: usize, phase: &PhaseRow) -> Option<RowRatio> {
    ratio(panel, &panel.rows.get(row)?.label, &phase.phase)
}

/// For each block the mean of the rows' log-ratios; none where a block lacks a row.
fn block_means(group: &Group<'_>, phases: &[&PhaseRow], index: usize) -> Option<Vec<(u32, f64)>> {
    let (reference, other) = (group.members.get(group.reference)?, group.members.get(index)?);
    let mut blocks: Option<Vec<(u32, f64)>> = None;
    for phase in phases {
        let metric = rate_metric(&phase.phase);
        let own = log_ratios(reference, other, &metric);
        blocks = Some(match blocks {
            None => own,
            Some(sums) => added(&sums, &own)?,
        });
    }
    let count = phases.len().max(1) as f64;
    Some(blocks?.into_iter().map(|(block, sum)| (block, sum / count)).collect())
}

fn added(sums: &[(u32, f64)], own: &[(u32, f64)]) -> Option<Vec<(u32, f64)>> {
    let same = sums.len() == own.len() && sums.iter().zip(own).all(|(a, b)| a.0 == b.0);
    same.then(|| sums.iter().zip(own).map(|(a, b)| (a.0, a.1 + b.1)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings;
    use pickfs_record::Outcome;
    use pickfs_testkit::{FakePhasedRun, LostPhase, fake_phased_run};

    fn made(ask: &FakePhasedRun) -> (Panel, Vec<PhaseTable>) {
        let run = fake_phased_run(ask);
        let panel = findings(&run).panels.remove(0);
        let tables = tables(&run, &panel);
        (panel, tables)
    }

    #[test]
    fn the_column_stores_rows_fall_into_the_articles_tables() {
        let (_, tables) = made(&FakePhasedRun::column());
        let said: Vec<_> = tables.iter().map(|t| (t.title.as_str(), t.rows.len())).collect();
        assert_eq!(
            said,
            [
                ("high impact", 10),
                ("write, the rest", 21),
                ("cold: random read, sequential read", 11),
                ("hot: random read, sequential read", 11),
                ("computed from the rows above", 4),
            ]
        );
    }

    #[test]
    fn the_mean_is_the_median_of_the_blocks_means_and_lies_in_its_interval() {
        let (panel, tables) = made(&FakePhasedRun { blocks: 8, ..FakePhasedRun::column() });
        let table = &tables[0];
        let ratios: Vec<f64> = table
            .rows
            .iter()
            .map(|row| ratio_of(&panel, 2, &panel.phases[*row]).expect("it ran").value)
            .collect();
        let mean = table.means[2].ratio.expect("ten rows");
        let of_printed = geometric_mean(&ratios).expect("above zero");
        assert!((mean.value / of_printed - 1.0).abs() < 0.05, "{mean:?} beside {of_printed}");
        let (low, high) = mean.interval.expect("eight blocks");
        assert!(low <= mean.value && mean.value <= high, "{mean:?}");
        assert!(high / low < 1.15, "ten rows average the noise out: {mean:?}");
        let largest = ratios.iter().copied().fold(0.0, f64::max);
        assert_eq!(table.means[2].ratio_max, Some(largest));
        assert!(table.means[0].ratio.is_none() && table.means[0].rate.is_some());
    }

    #[test]
    fn a_row_that_is_missing_in_a_block_leaves_the_mean_without_an_interval() {
        let outcome = Outcome::Failed { reason: "EIO".into() };
        let lost = LostPhase { label: "ext4".into(), phase: "disk sort".into(), block: 2, outcome };
        let (_, tables) = made(&FakePhasedRun { lost: vec![lost], ..FakePhasedRun::column() });
        let mean = &tables[0].means[1];
        assert_eq!((mean.ratios, mean.rates), (10, 10));
        assert_eq!(mean.ratio.expect("rows are there").interval, None);
    }

    #[test]
    fn rows_that_count_different_things_have_a_mean_ratio_and_no_mean_rate() {
        let (panel, tables) = made(&FakePhasedRun::files());
        let one = tables.iter().find(|table| table.title.starts_with("one file")).expect("a suite");
        assert_eq!((one.unit, one.means[1].rate), (None, None));
        assert!(one.means[1].ratio.is_some());
        let files = tables.iter().find(|table| table.title == "random files").expect("a suite");
        assert_eq!(files.unit, Some(WorkUnit::Files));
        let fat = panel.rows.iter().position(|row| row.label == "fat16").expect("a row");
        assert_eq!((files.means[fat].rate, files.means[fat].rates), (None, 0));
    }
}
