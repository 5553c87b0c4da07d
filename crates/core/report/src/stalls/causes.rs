//! The causes with the most time get colours of the palette, with a marker of their own; all
//! others share the grey of the floor.

use std::collections::BTreeMap;

use pickfs_analysis::stalls::{StallTable, WorstOperation};
use pickfs_record::quantity::duration_text;

use crate::{chart::Slot, wording::percent};

const COLOURED: usize = 7;
pub const OTHERS: &str = "other causes";

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Causes {
    known: Vec<(String, String)>,
}

impl Causes {
    pub fn of(tables: &[StallTable]) -> Causes {
        let mut sums: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
        for line in tables.iter().flat_map(|table| &table.ops).flat_map(|op| &op.causes) {
            let words = &line.words;
            sums.entry(&words.cause).or_insert((0, &words.title)).0 += line.sum.total_ns;
        }
        let mut known: Vec<_> = sums.into_iter().collect();
        known.sort_by_key(|(cause, (total_ns, _))| (std::cmp::Reverse(*total_ns), *cause));
        let named = known.into_iter().map(|(cause, (_, title))| (cause.into(), title.into()));
        Causes { known: named.collect() }
    }

    pub fn slot(&self, cause: &str) -> Slot {
        let place = self.known.iter().position(|(known, _)| known == cause);
        place.filter(|place| *place < COLOURED).map_or(Slot::Floor(0), Slot::Series)
    }

    pub fn title<'a>(&'a self, cause: &'a str) -> &'a str {
        self.known.iter().find(|(known, _)| known == cause).map_or(cause, |(_, title)| title)
    }

    pub fn series<'a>(&'a self, cause: &'a str) -> &'a str {
        match self.slot(cause) {
            Slot::Series(_) => self.title(cause),
            Slot::Floor(_) => OTHERS,
        }
    }

    pub fn legend<'a>(&self, used: impl Iterator<Item = &'a str>) -> Vec<(String, Slot)> {
        let used: std::collections::BTreeSet<&str> = used.collect();
        let mut entries = Vec::new();
        for cause in self.known.iter().map(|(cause, _)| cause.as_str()) {
            let entry = (self.series(cause).to_string(), self.slot(cause));
            if used.contains(cause) && !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        entries
    }
}

/// The cause that most of an operation's time went into, and `43.5 ms at 0.512 s of trial 7: 91 % another holds the lock,
/// by reader`.
pub fn told<'w>(worst: &'w WorstOperation, causes: &Causes) -> Option<(&'w str, String)> {
    let (cause, who, part_ns) = worst.operation.leading()?;
    let length_ns = worst.operation.length_ns();
    let share = percent(part_ns as f64 / length_ns.max(1) as f64);
    let (length, at_s) = (duration_text(length_ns as f64), worst.at_ns as f64 / 1e9);
    let trial = match worst.trial {
        0 => String::new(),
        trial => format!(" of trial {trial}"),
    };
    let by = if who.is_empty() { String::new() } else { format!(", by {who}") };
    let title = causes.title(cause);
    Some((cause, format!("{length} at {at_s:.3} s{trial}: {share} % {title}{by}")))
}

#[cfg(test)]
mod tests {
    use pickfs_analysis::stalls::{CauseLine, OpTable};
    use pickfs_record::stall::{CauseRow, CauseWords};

    use super::*;

    fn table(totals: &[(&str, u64)]) -> StallTable {
        let line = |(cause, total_ns): &(&str, u64)| CauseLine {
            words: CauseWords {
                cause: cause.to_string(),
                title: format!("title of {cause}"),
                advice: String::new(),
            },
            sum: CauseRow { total_ns: *total_ns, ..CauseRow::default() },
            share: 0.1,
            by: Vec::new(),
            stack: Vec::new(),
            waker_stack: Vec::new(),
        };
        let op = OpTable { causes: totals.iter().map(line).collect(), ..OpTable::default() };
        StallTable { ops: vec![op], ..StallTable::default() }
    }

    #[test]
    fn a_cause_has_one_colour_in_all_tables_and_small_ones_share_grey() {
        let first = table(&[("a", 5), ("b", 90), ("c", 4), ("d", 3), ("e", 3), ("f", 3)]);
        let second = table(&[("a", 100), ("g", 2), ("h", 1), ("i", 1)]);
        let causes = Causes::of(&[first, second]);
        assert_eq!(causes.slot("a"), Slot::Series(0));
        assert_eq!(causes.slot("b"), Slot::Series(1));
        assert_eq!((causes.slot("h"), causes.slot("never seen")), (Slot::Floor(0), Slot::Floor(0)));
        assert_eq!(causes.series("i"), OTHERS);
        let legend = causes.legend(["i", "b", "h"].into_iter());
        let names: Vec<_> = legend.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["title of b", OTHERS]);
    }
}
