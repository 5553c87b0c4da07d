use pickfs_record::finding::Claim;

use super::{Outcome, Relation, ratio::Ratio};
use crate::{
    BLOCKS_MIN,
    wording::{interval_text, times},
};

pub(super) fn of_ratio(relation: Relation, ratio: &Ratio) -> Option<Outcome> {
    use Relation::{AtLeast, Faster, Slower, Within};
    if !matches!(relation, Faster | Slower | AtLeast(_) | Within(_)) {
        return None;
    }
    if let Some(open) = undecided(ratio) {
        return Some(open);
    }
    let (low, high) = ratio.interval?;
    let is_equal =
        matches!(ratio.planned, Some(Claim::Equal { .. })) || visible(low, high) <= EQUAL;
    let both = || Outcome::NotDecided {
        blocks: ratio.blocks,
        why: format!("the interval {} holds both", interval_text(low, high)),
    };
    Some(match relation {
        Within(most) if low >= 1.0 / most && high <= most => Outcome::Seen,
        Within(most) if high < 1.0 / most || low > most => Outcome::Opposite,
        Within(_) => both(),
        _ if low <= 1.0 && 1.0 <= high => match is_equal {
            true => Outcome::NoDifference { visible_ratio: visible(low, high) },
            false => both(),
        },
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

/// Ratios closer to 1 than this are no difference.
const EQUAL: f64 = 1.05;

/// The largest difference, as a ratio above 1, that an interval leaves possible.
fn visible(low: f64, high: f64) -> f64 {
    high.max(1.0 / low)
}

/// Whether so many of `rows` intervals leave 1 out on one side by more than chance: each does with one in forty, so a
/// number is enough that comes with less than one in forty.
fn more_than_chance(count: usize, rows: usize) -> bool {
    let chance = 0.025f64;
    let mut exactly = (1.0 - chance).powi(rows as i32);
    let mut fewer = 0.0;
    for seen in 0..count {
        fewer += exactly;
        exactly *= (rows - seen) as f64 / (seen + 1) as f64 * chance / (1.0 - chance);
    }
    count > 0 && 1.0 - fewer <= chance + 1e-9
}

fn undecided(ratio: &Ratio) -> Option<Outcome> {
    let blocks = ratio.blocks;
    if blocks < BLOCKS_MIN || ratio.interval.is_none() {
        let why = "too few blocks for an interval".to_string();
        return Some(Outcome::NotDecided { blocks, why });
    }
    None
}

pub(super) type Named<'a> = (&'a str, Ratio);

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
    let enough = |count: usize| more_than_chance(count, rows.len());
    let open = || Outcome::NotDecided {
        blocks,
        why: format!("of {} rows some differ by chance, and no more than that do", rows.len()),
    };
    let outcome = match (relation, faster.len(), slower.len()) {
        (Relation::Mixed, faster, slower) => match (enough(faster), enough(slower)) {
            (true, true) => Outcome::Seen,
            (true, false) | (false, true) if rows.len() == faster.max(slower) => Outcome::Opposite,
            _ => open(),
        },
        (_, _, slower) if slower > allowed && enough(slower) => Outcome::Opposite,
        (_, faster, _) if enough(faster) => Outcome::Seen,
        _ if coarsest(rows) <= EQUAL => Outcome::NoDifference { visible_ratio: coarsest(rows) },
        _ => open(),
    };
    Some((outcome, text))
}

fn coarsest(rows: &[Named<'_>]) -> f64 {
    let arms = rows.iter().map(|(_, ratio)| ratio.interval.map(|(low, high)| visible(low, high)));
    arms.fold(1.0, |widest, arm| arm.map_or(f64::INFINITY, |arm| widest.max(arm)))
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
        assert_eq!(said(Relation::Faster, 0.9, 1.2), "not decided");
        assert_eq!(said(Relation::Faster, 0.97, 1.03), "no difference here");
        assert_eq!(said(Relation::Slower, 0.5, 0.9), "seen here");
        assert_eq!(said(Relation::Slower, 1.1, 1.2), "opposite here");
        assert_eq!(said(Relation::AtLeast(2.0), 2.1, 4.0), "seen here");
        assert_eq!(said(Relation::AtLeast(2.0), 1.2, 1.8), "seen here, but smaller");
        assert_eq!(said(Relation::AtLeast(2.0), 0.5, 0.8), "opposite here");
        assert_eq!(said(Relation::AtLeast(2.0), 1.2, 2.8), "not decided");
        assert_eq!(said(Relation::AtLeast(2.0), 0.9, 2.8), "not decided");
        assert_eq!(said(Relation::Within(1.1), 0.95, 1.05), "seen here");
        assert_eq!(said(Relation::Within(1.1), 1.2, 1.5), "opposite here");
        assert_eq!(said(Relation::Within(1.1), 0.8, 1.5), "not decided");
    }

    #[test]
    fn few_blocks_and_open_plans_decide_nothing() {
        let few = Ratio { blocks: 4, interval: None, ..ratio(2.0, 3.0) };
        let outcome = of_ratio(Relation::Faster, &few).expect("a relation of speeds");
        assert!(matches!(outcome, Outcome::NotDecided { blocks: 4, .. }));
        let equal = Ratio { planned: Some(Claim::Equal { margin: 0.05 }), ..ratio(0.97, 1.04) };
        let outcome = of_ratio(Relation::Faster, &equal).expect("speeds");
        assert_eq!(outcome, Outcome::NoDifference { visible_ratio: 1.04 });
    }

    /// Twelve rows without a difference: by chance one or two intervals leave 1 out (the bound is one claim in forty).
    #[test]
    fn more_rows_than_chance_gives_must_differ() {
        assert!(more_than_chance(1, 1) && !more_than_chance(1, 2));
        assert!(!more_than_chance(1, 12) && !more_than_chance(0, 1));
        assert!(!more_than_chance(2, 12) && more_than_chance(3, 12));
    }

    #[test]
    fn several_rows_are_dominated_or_mixed() {
        let rows = |list: &[(f64, f64)]| -> Vec<Named<'static>> {
            list.iter().map(|(low, high)| ("a row", ratio(*low, *high))).collect()
        };
        let said =
            |relation, list: &[(f64, f64)]| of_rows(relation, &rows(list)).expect("rows").0.words();
        let (up, flat, down, near) = ((1.2, 1.5), (0.9, 1.1), (0.5, 0.8), (0.98, 1.03));
        assert_eq!(said(Relation::Dominates(0), &[up, flat, up]), "seen here");
        assert_eq!(said(Relation::Dominates(0), &[down, down, up]), "opposite here");
        assert_eq!(said(Relation::Dominates(1), &[up, down, up]), "seen here");
        assert_eq!(said(Relation::Dominates(0), &[up, flat, flat]), "not decided");
        assert_eq!(said(Relation::Dominates(0), &[near, near]), "no difference here");
        assert_eq!(said(Relation::Mixed, &[up, up, down, down, flat]), "seen here");
        assert_eq!(said(Relation::Mixed, &[flat, flat]), "not decided");
        assert_eq!(said(Relation::Mixed, &[up, up]), "opposite here");
        let (_, text) = of_rows(Relation::Dominates(0), &rows(&[up, down])).expect("rows");
        assert!(
            text.starts_with("faster in 1 of 2 rows (most: a row, 1.34x), slower in 1 of 2"),
            "{text}"
        );
    }
}
