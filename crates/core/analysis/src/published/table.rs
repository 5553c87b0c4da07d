use std::sync::LazyLock;

use pickfs_record::phase::Heat;
use thiserror::Error;

use super::facts::{Fact, Statistic, read};
use crate::wording::unique;

#[derive(Debug, Clone, PartialEq)]
pub struct Published {
    pub name: String,
    pub about: String,
    pub reference: Option<&'static str>,
    /// The user's own file, perhaps of this very machine.
    pub is_own: bool,
    pub facts: Vec<Fact>,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "published table `{name}` not known; use {}, a file of bonnie++ CSV lines (.csv), or KX Nano's tables: a .psv or their folder",
    names().join(", ")
)]
pub struct UnknownTable {
    pub name: String,
}

/// Name, source in one line, reference, text.
type Entry = (&'static str, &'static str, Option<&'static str>, &'static str);

const ENTRIES: [Entry; 3] = [
    (
        "kx-2025-rhel9",
        "KX, September 2025: Nano 6.4.5 with kdb+ 4.1 on RHEL 9.3 (kernel 5.14), PCIe 4.0 SSD, one run each",
        Some("xfs"),
        include_str!("kx-2025-rhel9.csv"),
    ),
    (
        "kx-2025-ubuntu",
        "KX, September 2025: Nano 6.4.5 with kdb+ 4.1 on Ubuntu 24.04 (kernel 6.8), PCIe 5.0 SSD, one run each",
        Some("xfs"),
        include_str!("kx-2025-ubuntu.csv"),
    ),
    (
        "linux-2011-eighteen",
        "a personal page of 2011: bonnie++ 1.96 on Linux 2.6.33, a hard disk, 2000 MiB and 512,000 empty files with fsync, one run each",
        None,
        include_str!("linux-2011-eighteen.csv"),
    ),
];

static TABLES: LazyLock<Vec<Published>> = LazyLock::new(|| {
    let table = |(name, about, reference, text): Entry| Published {
        name: name.into(),
        about: about.into(),
        reference,
        is_own: false,
        facts: read(text).expect("the tables of this crate are read by its tests"),
    };
    ENTRIES.into_iter().map(table).collect()
});

pub fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|(name, ..)| *name).collect()
}

pub fn find(name: &str) -> Result<&'static Published, UnknownTable> {
    let found = TABLES.iter().find(|table| table.name == name);
    found.ok_or_else(|| UnknownTable { name: name.into() })
}

impl Published {
    pub fn row(
        &self,
        processes: u32,
        label: &str,
        heat: Option<Heat>,
        fs: &str,
    ) -> impl Iterator<Item = &Fact> {
        let is_it = move |fact: &&Fact| {
            fact.processes == processes
                && fact.label == label
                && fact.heat() == heat
                && fact.file_system == fs
        };
        self.facts.iter().filter(is_it)
    }

    pub fn number(
        &self,
        (processes, label, heat): (u32, &str, Option<Heat>),
        fs: &str,
        statistic: Statistic,
    ) -> Option<f64> {
        self.row(processes, label, heat, fs).find(|fact| fact.statistic == statistic)?.value()
    }

    pub fn failed(&self, processes: u32, label: &str, heat: Option<Heat>, fs: &str) -> bool {
        self.row(processes, label, heat, fs).any(|fact| fact.statistic == Statistic::Failed)
    }

    pub fn file_systems(&self) -> Vec<&str> {
        unique(self.facts.iter().map(|fact| fact.file_system.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        published::facts::{GEOMETRIC_MEAN, MAX_RATIO},
        summary::geometric_mean,
    };
    use std::collections::BTreeSet;

    fn rows(name: &str) -> usize {
        let table = find(name).expect("built in");
        let keys: BTreeSet<_> = table
            .facts
            .iter()
            .filter(|fact| !fact.is_summary())
            .map(|fact| (fact.processes, &fact.split, &fact.label))
            .collect();
        keys.len()
    }

    /// 10 + 21 write rows, 12 cold and 11 hot reads, for 1 and for 64 processes; Test 2 has no
    /// row "sync column after parted attribute".
    #[test]
    fn every_printed_row_is_there() {
        assert_eq!((rows("kx-2025-rhel9"), rows("kx-2025-ubuntu")), (108, 106));
        assert_eq!(rows("linux-2011-eighteen"), 10);
        let count = |name: &str| find(name).expect("built in").facts.len();
        assert_eq!((count("kx-2025-rhel9"), count("kx-2025-ubuntu")), (372, 488));
        assert_eq!(count("linux-2011-eighteen"), 19 * 12 + 15 * 18 + 4 * 6);
    }

    #[test]
    fn numbers_stand_where_the_articles_print_them() {
        let ratio = |table: &Published, label, heat, fs| {
            table.number((64, label, heat), fs, Statistic::Ratio)
        };
        let rhel = find("kx-2025-rhel9").expect("built in");
        let at = (64, "add attribute", None);
        assert_eq!(rhel.number(at, "ext4", Statistic::Rate), Some(1876.0));
        assert_eq!(ratio(rhel, "sequential read binary", Some(Heat::Cold), "ext4"), Some(19.37));
        assert_eq!(ratio(rhel, "sequential read binary", Some(Heat::Hot), "ext4"), Some(0.96));
        let ubuntu = find("kx-2025-ubuntu").expect("built in");
        assert_eq!(ratio(ubuntu, "open replace random float large", None, "btrfs"), Some(2262.0));
        assert_eq!(ubuntu.file_systems(), ["ext4", "btrfs", "f2fs", "zfs"]);
    }

    #[test]
    fn the_failed_ones_of_the_eighteen_are_failed_and_not_missing() {
        let table = find("linux-2011-eighteen").expect("built in");
        let failed: Vec<&str> = table
            .file_systems()
            .into_iter()
            .filter(|fs| table.failed(1, "seq create", None, fs))
            .collect();
        assert_eq!(failed, ["affs", "fat16", "fat32", "hfs"]);
        let seeks = table.number((1, "seeks", None), "btrfs", Statistic::Cpu);
        assert_eq!(seeks, Some(262.0));
        let latency = table.row(1, "block write", None, "hpfs").find(|fact| fact.unit == "us");
        assert!(latency.is_none(), "the article prints none");
    }

    #[test]
    fn rows_stand_once() {
        for name in names() {
            let mut seen = BTreeSet::new();
            for fact in &find(name).expect("built in").facts {
                let key = format!(
                    "{} {} {} {} {:?}",
                    fact.processes, fact.split, fact.label, fact.file_system, fact.statistic
                );
                assert!(seen.insert(key.clone()), "{name}: {key} stands twice");
            }
        }
    }

    /// Figures that round to a printed one. A ratio is that of its two rates, too, where both are printed: they have
    /// more digits.
    fn rounded_from(table: &Published, fact: &Fact) -> Option<(f64, f64)> {
        let printed = fact.rounded_from()?;
        let rate = |fs: &str| {
            let mut row = table.row(fact.processes, &fact.label, fact.heat(), fs);
            let is_rate = |other: &&Fact| other.statistic == Statistic::Rate;
            row.find(|other| is_rate(other) && other.split == fact.split)?.rounded_from()
        };
        let both = || Some((rate(table.reference?)?, rate(&fact.file_system)?));
        Some(match both().filter(|_| fact.statistic == Statistic::Ratio) {
            Some(((a, b), (c, d))) => ((a / d).max(printed.0), (b / c).min(printed.1)),
            None => printed,
        })
    }

    /// Means and maxima, and those that no figures give that round to the printed rows.
    fn summaries(table: &Published) -> (usize, Vec<&str>) {
        let key = |fact: &Fact| {
            let Fact { processes, table, split, file_system, statistic, .. } = fact.clone();
            (processes, table, split, file_system, format!("{statistic:?}"))
        };
        let follows = |mean: &&Fact| {
            let own = table.facts.iter().filter(|row| !row.is_summary() && key(row) == key(mean));
            let rows: Vec<_> = own.filter_map(|row| rounded_from(table, row)).collect();
            let over = |of: fn(&(f64, f64)) -> f64| {
                let values: Vec<f64> = rows.iter().map(of).collect();
                match mean.label.as_str() {
                    MAX_RATIO => values.into_iter().fold(0.0, f64::max),
                    // A row that is printed as zero bounds the mean from above alone.
                    _ => geometric_mean(&values).unwrap_or(0.0),
                }
            };
            let (from, to) = mean.rounded_from().expect("printed");
            over(|row| row.1) >= from && over(|row| row.0) <= to
        };
        let all: Vec<&Fact> = table.facts.iter().filter(|fact| fact.is_summary()).collect();
        let wrong = all.iter().filter(|mean| !follows(mean)).map(|mean| mean.printed.as_str());
        (all.len(), wrong.collect())
    }

    /// 8 tables x 3 columns x 2 summaries in Test 1, 8 x 4 x 2 in Test 2. The articles took their means of figures with
    /// more digits than they print.
    #[test]
    fn every_printed_mean_and_maximum_follows_from_the_printed_rows() {
        for (name, printed) in [("kx-2025-rhel9", 48), ("kx-2025-ubuntu", 64)] {
            assert_eq!(summaries(find(name).expect("built in")), (printed, vec![]), "{name}");
        }
        let mut table = find("kx-2025-rhel9").expect("built in").clone();
        let mean = |fact: &&mut Fact| fact.label == GEOMETRIC_MEAN && fact.printed == "2.65";
        table.facts.iter_mut().find(mean).expect("printed").printed = "2.60".into();
        assert_eq!(summaries(&table).1, ["2.60"]);
    }

    #[test]
    fn every_printed_ratio_of_test_1_follows_from_its_two_rates() {
        let table = find("kx-2025-rhel9").expect("built in");
        let rows =
            table.facts.iter().filter(|f| !f.is_summary() && f.statistic == Statistic::Ratio);
        let ranges: Vec<_> = rows.filter_map(|fact| rounded_from(table, fact)).collect();
        assert!(ranges.iter().all(|(low, high)| low <= high));
        assert_eq!(ranges.len(), 108);
    }
}
