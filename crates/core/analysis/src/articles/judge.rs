use std::collections::BTreeMap;

use pickfs_record::{Metric, finding::Claim};

use super::{
    Outcome, Relation,
    placed::{Desk, Placed},
};
use crate::{
    answers::{Place, Ranked},
    decide::{Decision, Rules, decide},
    gates::{self, Facts},
    panels::Disturbed,
    phases::scale::blocks_apart,
    wording::{interval_text, times},
};

/// How many times faster the one row of a pair is than the other, or a row than a bound, by the one decision.
#[derive(Debug, Clone)]
pub(super) struct Ratio {
    /// Infinite where the other failed.
    pub(super) value: f64,
    /// Its interval; an end is 0 or infinite where too few blocks, or some that failed, leave it open.
    pub(super) range: (f64, f64),
    pub(super) blocks: u32,
    pub(super) claim: Claim,
    /// What `faster` says at the least, as two that differ by less are called equal; 0 where that is not asked.
    pub(super) least: f64,
    decision: Option<Decision>,
    pub(super) gate: Option<Withheld>,
}

/// Of a ratio of which nothing is known.
pub(super) const OPEN: (f64, f64) = (0.0, f64::INFINITY);

impl Ratio {
    /// The interval, where it is closed on both sides.
    pub(super) fn interval(&self) -> Option<(f64, f64)> {
        let (low, high) = self.range;
        (low > 0.0 && high.is_finite()).then_some(self.range)
    }

    /// Whether the one is visibly faster is not decided.
    pub(super) fn is_open(&self) -> bool {
        matches!(of_ratio(Relation::Faster, self), Some(Outcome::NotDecided { .. }))
    }

    /// About how many blocks more would decide it, where that can be told.
    pub(super) fn more_blocks(&self) -> Option<u32> {
        self.decision.as_ref()?.more_blocks()
    }
}

/// The fact that withholds a verdict, and what mends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Withheld {
    pub(super) why: String,
    pub(super) mend: &'static str,
}

/// A row beside another; nothing where they share no block.
fn beside(decision: Decision, [row, other]: [usize; 2], gate: Option<Withheld>) -> Option<Ratio> {
    let duel = decision.duel(other, row);
    (duel.blocks > 0).then(|| Ratio {
        value: duel.ratio,
        range: duel.interval,
        blocks: duel.blocks,
        claim: decision.claim(other, row),
        least: 1.0 + decision.margin(),
        decision: Some(decision),
        gate,
    })
}

/// By the geometric mean of these metrics.
pub(super) fn ratio(
    desk: &Desk<'_>,
    two: [&Placed<'_>; 2],
    metrics: &[&Metric],
    rules: Rules,
) -> Option<Ratio> {
    let places = places(desk, two)?;
    let [one, other] = places.map(|(group, index)| &group.members[index]);
    let of = |metric| {
        let mut ranked = Ranked::of(&places, metric, Disturbed::Kept, rules.margin);
        let apart: Vec<u32> = blocks_apart(one, other).collect();
        ranked.columns[1].retain(|block, _| !apart.contains(block));
        ranked
    };
    let ranked = Ranked::mean(metrics.iter().map(|metric| (1.0, of(metric))).collect())?;
    let gate = metrics.iter().find_map(|metric| gate(desk, two, metric));
    beside(ranked.decision(rules), [0, 1], gate)
}

/// As the plan's own question tells them apart, where it holds both: an answer and a claim never differ, and its
/// error is spent already.
pub(super) fn planned(desk: &Desk<'_>, two: [&Placed<'_>; 2], metric: &Metric) -> Option<Ratio> {
    let (op, view) = (two[0].op(metric)?, two[0].operations(metric).map(|found| found.view));
    desk.decided.iter().find_map(|(own, cells, decision)| {
        let is_op = two[0].op(own) == Some(op) && view.is_none_or(|view| view == own.view);
        if !is_op || own.statistic != metric.statistic {
            return None;
        }
        let at = |row: &Placed<'_>| cells.iter().position(|cell| *cell == row.row.cell);
        let rows = [at(two[0])?, at(two[1])?];
        let found = beside(decision.clone(), rows, gate(desk, two, metric))?;
        // Its error protects who is out, and not the end of each interval.
        Some(Ratio { least: 0.0, ..found })
    })
}

/// What a row has in each block, lower is better, beside a bound.
pub(super) fn beside_bound(
    values: &BTreeMap<u32, f64>,
    bound: f64,
    rules: Rules,
    gate: Option<Withheld>,
) -> Option<Ratio> {
    let blocks: Vec<_> = values.values().map(|value| vec![Some(*value), Some(bound)]).collect();
    // A bound is passed or not: there is no margin in which it is equal.
    let decided = || decide(&blocks, Rules { margin: 0.0, ..rules });
    (!blocks.is_empty()).then(decided).and_then(|decision| beside(decision, [0, 1], gate))
}

fn places<'s>(desk: &'s Desk<'_>, two: [&Placed<'_>; 2]) -> Option<[Place<'s>; 2]> {
    Some([desk.place(&two[0].row.cell)?, desk.place(&two[1].row.cell)?])
}

pub(super) fn gate(desk: &Desk<'_>, two: [&Placed<'_>; 2], metric: &Metric) -> Option<Withheld> {
    let rows = places(desk, two)?.map(|(group, index)| &group.members[index]);
    let trials = rows.map(|row| (row.cell, row.chosen(Disturbed::Kept)));
    let found = Facts::of(&trials, metric).gate(0, 1)?;
    let mut labels = two.map(|row| row.row.label.as_str()).to_vec();
    labels.dedup();
    let all: Vec<_> = trials.into_iter().flat_map(|(_, trials)| trials).collect();
    Some(Withheld { why: gates::sentence(found, &labels, &all).text, mend: found.0.mend })
}

pub(super) fn of_ratio(relation: Relation, ratio: &Ratio) -> Option<Outcome> {
    use Relation::{AtLeast, Differs, Faster, NotSlower, Slower, Within};
    let is_speed = relation.is_speed();
    let open = |why: String| Outcome::NotDecided { blocks: ratio.blocks, why };
    if let Some(gate) = ratio.gate.as_ref().filter(|_| is_speed) {
        return Some(open(gate.why.clone()));
    }
    if !is_speed || ratio.range == OPEN {
        return is_speed.then(|| open("too few blocks for an interval".into()));
    }
    let (low, high) = ratio.range;
    let both = || open(format!("the interval {} leaves it open", interval_text(low, high)));
    Some(match (relation, ratio.claim) {
        (Within(most), _) if low >= 1.0 / most && high <= most => Outcome::Seen,
        (Within(most), _) if high < 1.0 / most || low > most => Outcome::Opposite,
        (NotSlower(most), _) if low >= 1.0 / most => Outcome::Seen,
        (NotSlower(most), _) if high < 1.0 / most => Outcome::Opposite,
        (Within(_) | NotSlower(_), _) => both(),
        (_, Claim::Equal { margin }) => Outcome::NoDifference { visible_ratio: 1.0 + margin },
        (AtLeast(least), Claim::Open | Claim::Faster) if high < least => Outcome::Weaker,
        (Faster, Claim::Open) if high < ratio.least => Outcome::Weaker,
        (Slower, Claim::Open) if low > 1.0 / ratio.least => Outcome::Weaker,
        (_, Claim::Open) => both(),
        (Slower, Claim::Slower) | (Differs, _) => Outcome::Seen,
        (Slower, Claim::Faster) | (_, Claim::Slower) => Outcome::Opposite,
        (AtLeast(least), _) if low < least => both(),
        _ => Outcome::Seen,
    })
}

pub(super) type Named<'a> = (&'a str, Ratio);

/// Each row was told apart with its part of the claim's error, so one that differs is no chance.
pub(super) fn of_rows(relation: Relation, rows: &[Named<'_>]) -> Option<(Outcome, String)> {
    let allowed = match relation {
        Relation::Dominates(rows) => rows as usize,
        Relation::Mixed => usize::MAX,
        _ => return None,
    };
    let said = |relation| {
        let is = move |row: &&Named<'_>| of_ratio(relation, &row.1) == Some(Outcome::Seen);
        rows.iter().filter(is).collect::<Vec<_>>()
    };
    let (faster, slower) = (said(Relation::Faster), said(Relation::Slower));
    let margin = |row: &Named<'_>| match row.1.claim {
        Claim::Equal { margin } if row.1.gate.is_none() => Some(1.0 + margin),
        _ => None,
    };
    let is_less = |row: &&Named<'_>| match of_ratio(Relation::Faster, &row.1) {
        Some(Outcome::NoDifference { .. }) => true,
        // It may be slower yet.
        Some(Outcome::Weaker) => relation != Relation::Mixed,
        _ => false,
    };
    let less: Vec<_> = rows.iter().filter(is_less).collect();
    let equals = less.len();
    let equal = rows.iter().map(margin).reduce(|one, other| Some(one?.max(other?))).flatten();
    // Those that are left out are fewer than those that count.
    let allowed = allowed.min(rows.len().saturating_sub(1) / 2);
    let outcome = match (relation, equal) {
        (_, Some(visible_ratio)) => Outcome::NoDifference { visible_ratio },
        (Relation::Mixed, _) if !faster.is_empty() && !slower.is_empty() => Outcome::Seen,
        (Relation::Mixed, _) if rows.len() == faster.len().max(slower.len()) => Outcome::Opposite,
        (Relation::Dominates(_), _) if faster.len() + allowed >= rows.len() => Outcome::Seen,
        (Relation::Dominates(_), _) if 2 * slower.len() > rows.len() => Outcome::Opposite,
        (Relation::Dominates(_), _) if slower.len() + equals > allowed => Outcome::Weaker,
        _ => {
            let blocks = rows.iter().map(|row| row.1.blocks).min().unwrap_or(0);
            let gate = rows.iter().find_map(|(_, ratio)| ratio.gate.as_ref());
            let (faster, slower, all) = (faster.len(), slower.len(), rows.len());
            let open = all - faster - slower - equals;
            let why = || {
                let equal =
                    if equals > 0 { format!(", not visibly in {equals}") } else { String::new() };
                format!("faster in {faster}{equal}, slower in {slower}, open in {open} of {all}")
            };
            Outcome::NotDecided { blocks, why: gate.map_or_else(why, |gate| gate.why.clone()) }
        }
    };
    let parts = [("faster", &faster), ("slower", &slower), ("not visibly faster", &less)];
    let parts: Vec<String> =
        parts.into_iter().filter_map(|(word, list)| words(word, list, rows.len())).collect();
    let text = match parts.is_empty() {
        true => format!("{} rows, none of them decided", rows.len()),
        false => parts.join(", "),
    };
    Some((outcome, text))
}

/// `faster in 4 of 10 rows (most: append, 2.07x [1.54, 2.68])`.
fn words(word: &str, list: &[&Named<'_>], rows: usize) -> Option<String> {
    let far = |row: &Named<'_>| row.1.value.ln().abs();
    let (name, ratio) = list.iter().max_by(|a, b| far(a).total_cmp(&far(b)))?;
    let (low, high) = ratio.range;
    let interval = interval_text(low, high);
    let value = times(ratio.value);
    Some(format!("{word} in {} of {rows} rows (most: {name}, {value} {interval})", list.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        let claim = match (low, high) {
            (low, _) if low > 1.0 => Claim::Faster,
            (_, high) if high < 1.0 => Claim::Slower,
            (low, high) if low > 0.95 && high < 1.05 => Claim::Equal { margin: 0.05 },
            _ => Claim::Open,
        };
        let value = (low * high).sqrt();
        let (range, least) = ((low, high), 1.05);
        Ratio { value, range, blocks: 8, claim, least, decision: None, gate: None }
    }

    fn said(relation: Relation, low: f64, high: f64) -> &'static str {
        of_ratio(relation, &ratio(low, high)).expect("a relation of speeds").words()
    }

    #[test]
    fn the_interval_decides() {
        assert_eq!(said(Relation::Faster, 1.1, 1.4), "seen here");
        assert_eq!(said(Relation::Faster, 0.5, 0.9), "opposite here");
        assert_eq!(said(Relation::Faster, 0.9, 1.2), "not decided");
        assert_eq!(said(Relation::Faster, 0.97, 1.03), "no difference here");
        assert_eq!(said(Relation::Faster, 0.9, 1.04), "less than it says here", "not visibly");
        assert_eq!(said(Relation::Slower, 0.97, 1.2), "less than it says here");
        let planned = Ratio { least: 0.0, ..ratio(0.9, 1.04) };
        let outcome = of_ratio(Relation::Faster, &planned).expect("a relation of speeds");
        assert_eq!(outcome.words(), "not decided", "its error protects no end of an interval");
        assert_eq!(said(Relation::Slower, 0.5, 0.9), "seen here");
        assert_eq!(said(Relation::Slower, 1.1, 1.2), "opposite here");
        assert_eq!(said(Relation::AtLeast(2.0), 2.1, 4.0), "seen here");
        assert_eq!(said(Relation::AtLeast(2.0), 1.2, 1.8), "less than it says here");
        assert_eq!(said(Relation::AtLeast(2.0), 0.9, 1.8), "less than it says here");
        assert_eq!(said(Relation::AtLeast(2.0), 0.5, 0.8), "opposite here");
        assert_eq!(said(Relation::AtLeast(2.0), 1.2, 2.8), "not decided");
        assert_eq!(said(Relation::AtLeast(2.0), 0.9, 2.8), "not decided");
        let open = f64::INFINITY;
        assert_eq!(said(Relation::AtLeast(3.0), 6.1, open), "seen here", "some blocks failed");
        assert_eq!(said(Relation::AtLeast(3.0), 1.9, open), "not decided");
        assert_eq!(said(Relation::AtLeast(3.0), 0.0, 1.9), "less than it says here");
        assert_eq!(said(Relation::Within(1.1), 0.95, open), "not decided");
        assert_eq!(said(Relation::Within(1.1), 0.95, 1.05), "seen here");
        assert_eq!(said(Relation::Within(1.1), 1.2, 1.5), "opposite here");
        assert_eq!(said(Relation::Within(1.1), 0.8, 1.5), "not decided");
        assert_eq!(said(Relation::NotSlower(1.5), 0.7, 3.0), "seen here", "faster is not slower");
        assert_eq!(said(Relation::NotSlower(1.5), 0.4, 0.6), "opposite here");
        assert_eq!(said(Relation::NotSlower(1.5), 0.6, 1.2), "not decided");
        assert_eq!(said(Relation::Differs, 0.5, 0.9), "seen here");
        assert_eq!(said(Relation::Differs, 1.1, 1.4), "seen here");
        assert_eq!(said(Relation::Differs, 0.9, 1.4), "not decided");
        assert_eq!(said(Relation::Differs, 0.97, 1.03), "no difference here");
    }

    #[test]
    fn few_blocks_and_gates_decide_nothing() {
        let few = Ratio { blocks: 4, range: OPEN, ..ratio(2.0, 3.0) };
        let outcome = of_ratio(Relation::Faster, &few).expect("a relation of speeds");
        assert!(matches!(outcome, Outcome::NotDecided { blocks: 4, .. }));
        let gate = Some(Withheld { why: "it was warm".into(), mend: "cool it" });
        let warm = Ratio { gate, ..ratio(2.0, 3.0) };
        let outcome = of_ratio(Relation::Faster, &warm).expect("speeds");
        assert_eq!(outcome, Outcome::NotDecided { blocks: 8, why: "it was warm".into() });
        assert_eq!(of_rows(Relation::Dominates(0), &[("a", warm)]).expect("rows").0, outcome);
    }

    #[test]
    fn several_rows_are_dominated_or_mixed() {
        let rows = |list: &[(f64, f64)]| -> Vec<Named<'static>> {
            list.iter().map(|(low, high)| ("a row", ratio(*low, *high))).collect()
        };
        let said =
            |relation, list: &[(f64, f64)]| of_rows(relation, &rows(list)).expect("rows").0.words();
        let (up, flat, down, near) = ((1.2, 1.5), (0.9, 1.1), (0.5, 0.8), (0.98, 1.03));
        assert_eq!(said(Relation::Dominates(0), &[up, up, up]), "seen here");
        assert_eq!(said(Relation::Dominates(0), &[up, flat, up]), "not decided");
        assert_eq!(said(Relation::Dominates(1), &[up, flat, up]), "seen here");
        assert_eq!(said(Relation::Dominates(3), &[up, flat]), "not decided", "one of two is half");
        assert_eq!(said(Relation::Dominates(0), &[up, up, up, down]), "less than it says here");
        assert_eq!(said(Relation::Dominates(1), &[up, up, flat, down]), "not decided");
        let low = (0.8, 1.02);
        assert_eq!(said(Relation::Dominates(1), &[up, up, low, down]), "less than it says here");
        assert_eq!(said(Relation::Dominates(0), &[down, down, up]), "opposite here");
        assert_eq!(said(Relation::Dominates(1), &[up, down, up]), "seen here");
        assert_eq!(said(Relation::Dominates(0), &[flat, flat]), "not decided");
        assert_eq!(said(Relation::Dominates(0), &[near, near]), "no difference here");
        assert_eq!(said(Relation::Mixed, &[up, up, down, down, flat]), "seen here");
        assert_eq!(said(Relation::Mixed, &[flat, flat]), "not decided");
        assert_eq!(said(Relation::Mixed, &[up, up]), "opposite here");
        assert_eq!(said(Relation::Mixed, &[near, near]), "no difference here");
        let few = of_rows(Relation::Dominates(1), &rows(&[up, flat, down, flat])).expect("rows");
        let why = "faster in 1, slower in 1, open in 2 of 4";
        assert_eq!(few.0, Outcome::NotDecided { blocks: 8, why: why.into() });
        let (_, text) = of_rows(Relation::Dominates(0), &rows(&[up, down])).expect("rows");
        assert!(
            text.starts_with(
                "faster in 1 of 2 rows (most: a row, 1.34x [1.20, 1.50]), slower in 1 of 2"
            ),
            "{text}"
        );
    }
}
