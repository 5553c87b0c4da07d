//! From a ratio, or from the ratios of several rows, to an outcome.

use pickfs_model::finding::Claim;

use super::{Outcome, Relation, ratio::Ratio};
use crate::{
    BLOCKS_MIN,
    wording::{interval_text, times},
};

/// What one ratio says to a relation of speeds; none for other relations.
pub(super) fn of_ratio(relation: Relation, ratio: &Ratio) -> Option<Outcome> {
    use Relation::{AtLeast, Faster, Slower, Within};
    if !matches!(relation, Faster | Slower | AtLeast(_) | Within(_)) {
        return None;
    }
    if let Some(open) = undecided(ratio) {
        return Some(open);
    }
    let (low, high) = ratio.interval?;
    let is_tie = matches!(ratio.planned, Some(Claim::Tie { .. })) || (low <= 1.0 && 1.0 <= high);
    let both = || Outcome::NotDecided {
        blocks: ratio.blocks,
        why: format!("the interval {} holds both", interval_text(low, high)),
    };
    Some(match relation {
        Within(most) if low >= 1.0 / most && high <= most => Outcome::Seen,
        Within(most) if high < 1.0 / most || low > most => Outcome::Opposite,
        Within(_) => both(),
        _ if is_tie => Outcome::NoDifference { visible_ratio: visible(ratio, (low, high)) },
        Slower => {
            if high < 1.0 {
                Outcome::Seen
            } else {
                Outcome::Opposite
            }
        }
        _ if high < 1.0 => Outcome::Opposite,
        AtLeast(least) if high < least => Outcome::Weaker,
        AtLeast(least) if low < least => both(),
        _ => Outcome::Seen,
    })
}

/// A planned tie names what it could have seen; else the longer arm of the interval.
fn visible(ratio: &Ratio, (low, high): (f64, f64)) -> f64 {
    match ratio.planned {
        Some(Claim::Tie { visible_ratio }) => visible_ratio,
        _ => (high / ratio.value).max(ratio.value / low),
    }
}

/// Why a ratio carries nothing at all.
fn undecided(ratio: &Ratio) -> Option<Outcome> {
    let blocks = ratio.blocks;
    if blocks < BLOCKS_MIN || ratio.interval.is_none() {
        let why = format!("under {BLOCKS_MIN} blocks nothing is called different");
        return Some(Outcome::NotDecided { blocks, why });
    }
    (ratio.planned == Some(Claim::NotClaimed)).then(|| Outcome::NotDecided {
        blocks,
        why: "the comparisons that the plan fixed need more blocks or more slow episodes".into(),
    })
}

/// A row of a table with its ratio.
pub(super) type Named<'a> = (&'a str, Ratio);

/// What the ratios of several rows say together, and in words.
pub(super) fn of_rows(relation: Relation, rows: &[Named<'_>]) -> Option<(Outcome, String)> {
    let allowed = match relation {
        Relation::Dominates(rows) => rows as usize,
        Relation::Mixed => usize::MAX,
        _ => return None,
    };
    let is =
        |relation: Relation, row: &&Named<'_>| of_ratio(relation, &row.1) == Some(Outcome::Seen);
    let faster: Vec<_> = rows.iter().filter(|row| is(Relation::Faster, row)).collect();
    let slower: Vec<_> = rows.iter().filter(|row| is(Relation::Slower, row)).collect();
    let text = rows_text(rows, &faster, &slower);
    let blocks = rows.iter().map(|row| row.1.blocks).min().unwrap_or(0);
    if blocks < BLOCKS_MIN {
        let why = format!("under {BLOCKS_MIN} blocks nothing is called different");
        let text = format!("{} rows, none of them decided", rows.len());
        return Some((Outcome::NotDecided { blocks, why }, text));
    }
    let outcome = match (relation, faster.len(), slower.len()) {
        (Relation::Mixed, 0, 0) => Outcome::Seen,
        (Relation::Mixed, 0, _) | (Relation::Mixed, _, 0) => Outcome::Opposite,
        (Relation::Mixed, ..) => Outcome::Seen,
        (_, 0, 0) => Outcome::NoDifference { visible_ratio: coarsest(rows) },
        (_, _, slower) if slower > allowed => Outcome::Opposite,
        (_, 0, _) => Outcome::Opposite,
        _ => Outcome::Seen,
    };
    Some((outcome, text))
}

/// The ratio that could have been seen in every row.
fn coarsest(rows: &[Named<'_>]) -> f64 {
    let arms = rows.iter().filter_map(|(_, ratio)| Some(visible(ratio, ratio.interval?)));
    arms.fold(1.0, f64::max)
}

fn rows_text(rows: &[Named<'_>], faster: &[&Named<'_>], slower: &[&Named<'_>]) -> String {
    let said = |word: &str, list: &[&Named<'_>]| {
        let (name, ratio) =
            list.iter().max_by(|a, b| a.1.value.ln().abs().total_cmp(&b.1.value.ln().abs()))?;
        let times = times(ratio.value.max(1.0 / ratio.value));
        Some(format!("{word} in {} of {} rows (most: {name}, {times})", list.len(), rows.len()))
    };
    let parts: Vec<String> =
        [said("faster", faster), said("slower", slower)].into_iter().flatten().collect();
    match parts.is_empty() {
        true => format!("no difference in any of {} rows", rows.len()),
        false => parts.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(low: f64, high: f64) -> Ratio {
        let value = (low * high).sqrt();
        Ratio { value, interval: Some((low, high)), blocks: 8, planned: None, through: None }
    }

    fn said(relation: Relation, low: f64, high: f64) -> &'static str {
        of_ratio(relation, &ratio(low, high)).expect("a relation of speeds").words()
    }

    #[test]
    fn the_interval_decides() {
        assert_eq!(said(Relation::Faster, 1.1, 1.4), "seen here");
        assert_eq!(said(Relation::Faster, 0.5, 0.9), "opposite here");
        assert_eq!(said(Relation::Faster, 0.9, 1.2), "no difference at this precision");
        assert_eq!(said(Relation::Slower, 0.5, 0.9), "seen here");
        assert_eq!(said(Relation::Slower, 1.1, 1.2), "opposite here");
        assert_eq!(said(Relation::AtLeast(2.0), 2.1, 4.0), "seen here");
        assert_eq!(said(Relation::AtLeast(2.0), 1.2, 1.8), "seen here, but smaller");
        assert_eq!(said(Relation::AtLeast(2.0), 0.5, 0.8), "opposite here");
        assert_eq!(said(Relation::AtLeast(2.0), 1.2, 2.8), "not decided");
        assert_eq!(said(Relation::AtLeast(2.0), 0.9, 2.8), "no difference at this precision");
        assert_eq!(said(Relation::Within(1.1), 0.95, 1.05), "seen here");
        assert_eq!(said(Relation::Within(1.1), 1.2, 1.5), "opposite here");
        assert_eq!(said(Relation::Within(1.1), 0.8, 1.5), "not decided");
    }

    #[test]
    fn few_blocks_and_open_plans_decide_nothing() {
        let few = Ratio { blocks: 4, interval: None, ..ratio(2.0, 3.0) };
        let outcome = of_ratio(Relation::Faster, &few).expect("a relation of speeds");
        assert!(matches!(outcome, Outcome::NotDecided { blocks: 4, .. }));
        let open = Ratio { planned: Some(Claim::NotClaimed), ..ratio(2.0, 3.0) };
        assert_eq!(of_ratio(Relation::Faster, &open).expect("speeds").words(), "not decided");
        let tie = Ratio { planned: Some(Claim::Tie { visible_ratio: 1.5 }), ..ratio(1.01, 3.0) };
        let outcome = of_ratio(Relation::Faster, &tie).expect("speeds");
        assert_eq!(outcome, Outcome::NoDifference { visible_ratio: 1.5 });
    }

    #[test]
    fn a_tie_names_the_longer_arm() {
        let lopsided = Ratio { value: 1.1, ..ratio(0.8, 1.2) };
        let Some(Outcome::NoDifference { visible_ratio }) = of_ratio(Relation::Faster, &lopsided)
        else {
            panic!("the interval holds 1");
        };
        assert!((visible_ratio - 1.375).abs() < 1e-9);
    }

    #[test]
    fn several_rows_are_dominated_or_mixed() {
        let rows = |list: &[(f64, f64)]| -> Vec<Named<'static>> {
            list.iter().map(|(low, high)| ("a row", ratio(*low, *high))).collect()
        };
        let said =
            |relation, list: &[(f64, f64)]| of_rows(relation, &rows(list)).expect("rows").0.words();
        let (up, flat, down) = ((1.2, 1.5), (0.9, 1.1), (0.5, 0.8));
        assert_eq!(said(Relation::Dominates(0), &[up, flat, up]), "seen here");
        assert_eq!(said(Relation::Dominates(0), &[up, down, up]), "opposite here");
        assert_eq!(said(Relation::Dominates(1), &[up, down, up]), "seen here");
        assert_eq!(said(Relation::Dominates(1), &[flat, down]), "opposite here");
        assert_eq!(said(Relation::Dominates(0), &[flat, flat]), "no difference at this precision");
        assert_eq!(said(Relation::Mixed, &[up, down, flat]), "seen here");
        assert_eq!(said(Relation::Mixed, &[flat, flat]), "seen here");
        assert_eq!(said(Relation::Mixed, &[up, flat]), "opposite here");
        let (_, text) = of_rows(Relation::Dominates(0), &rows(&[up, down])).expect("rows");
        assert!(
            text.starts_with("faster in 1 of 2 rows (most: a row, 1.34x), slower in 1 of 2"),
            "{text}"
        );
    }
}
