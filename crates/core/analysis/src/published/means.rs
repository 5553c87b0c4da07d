//! The articles took their means of unrounded figures, and print rounded ones. So a printed
//! mean follows if some figures that round to the printed rows have a mean that rounds to it;
//! anything else does not follow. Ratios are taken from the two rates where both stand.

use super::{
    facts::{Fact, GEOMETRIC_MEAN, MAX_RATIO, Statistic},
    table::Published,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// The mean of the printed rows rounds to it.
    Exactly,
    /// Figures that round to the printed rows have a mean that rounds to it.
    WithinRounding,
    /// A row was printed as zero, so that only an upper bound could be checked; it holds.
    OnlyBounded,
    /// No figures that round to the printed rows have a mean that rounds to it.
    Not,
}

#[derive(Debug, Clone, PartialEq)]
pub struct MeanCheck<'a> {
    pub fact: &'a Fact,
    pub rows: usize,
    /// What the printed rows give; 0 where a row was printed as zero.
    pub recomputed: f64,
    /// Smallest and largest that rounding allows.
    pub range: (f64, f64),
    pub follows: Follows,
}

/// Geometric mean of numbers above zero; none without any, or where one is not above zero.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| !(value.is_finite() && *value > 0.0)) {
        return None;
    }
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    Some((sum / values.len() as f64).exp())
}

pub fn checks(table: &Published) -> Vec<MeanCheck<'_>> {
    let summaries = table.facts.iter().filter(|fact| fact.is_summary());
    summaries.map(|fact| check(table, fact)).collect()
}

fn check<'a>(table: &'a Published, fact: &'a Fact) -> MeanCheck<'a> {
    let column: Vec<&Fact> = table.facts.iter().filter(|row| same_column(row, fact)).collect();
    let cells: Vec<Cell> = column.iter().filter_map(|row| Cell::of(table, row)).collect();
    let over = |number: fn(&Cell) -> f64| -> f64 {
        let values: Vec<f64> = cells.iter().map(number).collect();
        match fact.label.as_str() {
            MAX_RATIO => values.iter().copied().fold(0.0, f64::max),
            _ => geometric_mean(&values).unwrap_or(0.0),
        }
    };
    let recomputed = over(|cell| cell.value);
    let range = (over(|cell| cell.low), over(|cell| cell.high));
    MeanCheck {
        fact,
        rows: cells.len(),
        recomputed,
        range,
        follows: judged(fact, recomputed, range),
    }
}

fn same_column(row: &Fact, summary: &Fact) -> bool {
    !row.is_summary()
        && (row.processes, &row.table, &row.split, &row.file_system, row.statistic)
            == (
                summary.processes,
                &summary.table,
                &summary.split,
                &summary.file_system,
                summary.statistic,
            )
}

fn judged(fact: &Fact, recomputed: f64, (low, high): (f64, f64)) -> Follows {
    let Some((from, to)) = fact.rounded_from() else { return Follows::Not };
    let rounded = format!("{recomputed:.*}", fact.decimals());
    if rounded == fact.printed {
        return Follows::Exactly;
    }
    match high >= from && low <= to {
        true if low <= 0.0 && fact.label == GEOMETRIC_MEAN => Follows::OnlyBounded,
        true => Follows::WithinRounding,
        false => Follows::Not,
    }
}

struct Cell {
    value: f64,
    low: f64,
    high: f64,
}

impl Cell {
    /// A ratio is that of the two rates where both are printed: they have more digits.
    fn of(table: &Published, fact: &Fact) -> Option<Cell> {
        let quotient = || {
            let rate = |fs: &str| {
                let mut row =
                    table.row(fact.processes, &fact.label, fact.heat(), fs).filter(|other| {
                        other.statistic == Statistic::Rate && other.split == fact.split
                    });
                row.next()
            };
            let (above, below) = (rate(table.reference?)?, rate(&fact.file_system)?);
            let ((a, b), (c, d)) = (above.rounded_from()?, below.rounded_from()?);
            let (low, high) = fact.rounded_from()?;
            let value = above.value()? / below.value()?;
            Some(Cell { value, low: (a / d).max(low), high: (b / c).min(high) })
        };
        if let Some(cell) = (fact.statistic == Statistic::Ratio).then(quotient).flatten() {
            return Some(cell);
        }
        let (low, high) = fact.rounded_from()?;
        Some(Cell { value: fact.value()?, low, high })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::find;

    /// Means of a table that are judged so, each as `processes split label file system statistic`.
    fn judged_so(name: &str, follows: Follows) -> Vec<String> {
        let all = checks(find(name).expect("built in"));
        all.into_iter().filter(|check| check.follows == follows).map(|check| said(&check)).collect()
    }

    fn said(check: &MeanCheck<'_>) -> String {
        let Fact { processes, split, label, file_system, statistic, printed, .. } = check.fact;
        let kind = if label == MAX_RATIO { "max" } else { "mean" };
        format!("{processes} {split} {kind} {file_system} {statistic:?} {printed}")
    }

    /// 8 tables x 3 columns x 2 summaries in Test 1, 8 x 4 x 2 in Test 2.
    #[test]
    fn every_printed_mean_and_maximum_follows_from_the_printed_rows() {
        for (name, printed, exact) in [("kx-2025-rhel9", 48, 38), ("kx-2025-ubuntu", 64, 56)] {
            assert_eq!(checks(find(name).expect("built in")).len(), printed);
            assert_eq!(judged_so(name, Follows::Not), [""; 0], "{name}");
            assert_eq!(judged_so(name, Follows::Exactly).len(), exact, "{name}");
        }
    }

    /// The means of Test 1 were taken of rates with more digits than it prints.
    #[test]
    fn the_means_that_follow_only_within_rounding_are_these() {
        assert_eq!(
            judged_so("kx-2025-rhel9", Follows::WithinRounding),
            [
                "1 high-impact mean ext4 Rate 605",
                "1 high-impact max ext4 Ratio 2.01",
                "1 less critical mean xfs Rate 5325",
                "1 less critical mean ext4 Rate 6116",
                "1 less critical max ext4 Ratio 1.55",
                "64 high-impact mean xfs Rate 9057",
                "64 less critical mean xfs Rate 29819",
                "64 less critical mean ext4 Rate 43975",
                "1 hot mean ext4 Rate 3050",
                "64 hot mean xfs Rate 107897",
            ]
        );
        assert_eq!(
            judged_so("kx-2025-ubuntu", Follows::WithinRounding),
            [
                "1 less critical mean zfs Ratio 2.5",
                "64 high-impact mean btrfs Ratio 2.4",
                "1 cold mean btrfs Ratio 2.6",
                "1 hot mean btrfs Ratio 1.4",
            ]
        );
    }

    /// Two or three rows of each column are printed as 0.0.
    #[test]
    fn four_means_cannot_be_recomputed_because_rows_are_printed_as_zero() {
        assert_eq!(
            judged_so("kx-2025-ubuntu", Follows::OnlyBounded),
            [
                "64 less critical mean ext4 Ratio 0.5",
                "64 less critical mean btrfs Ratio 2.3",
                "64 less critical mean f2fs Ratio 1.4",
                "64 less critical mean zfs Ratio 1.1",
            ]
        );
    }

    #[test]
    fn every_printed_ratio_of_test_1_follows_from_its_two_rates() {
        let table = find("kx-2025-rhel9").expect("built in");
        let rows =
            table.facts.iter().filter(|f| !f.is_summary() && f.statistic == Statistic::Ratio);
        let cells: Vec<(&Fact, Cell)> =
            rows.map(|fact| (fact, Cell::of(table, fact).expect("both rates"))).collect();
        let wrong: Vec<_> =
            cells.iter().filter(|(_, c)| c.low > c.high).map(|(fact, _)| &fact.label).collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(cells.len(), 108);
    }

    #[test]
    fn a_mean_that_was_altered_does_not_follow() {
        let mut table = find("kx-2025-rhel9").expect("built in").clone();
        let mean = |fact: &&mut Fact| fact.is_summary() && fact.printed == "2.65";
        table.facts.iter_mut().find(mean).expect("printed").printed = "2.60".into();
        let wrong = checks(&table).into_iter().filter(|check| check.follows == Follows::Not);
        assert_eq!(wrong.count(), 1);
    }
}
