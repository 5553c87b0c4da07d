//! The table of rows: every phase of the workload, in the order in which it runs, with the label
//! that the original's tables give it.
//! Rows without a label of the original are ours: syncs that it leaves out, and variants of the
//! random reads.

use pickfs_record::phase::{Heat, WorkUnit};

use super::{
    params::{Settings, Suite},
    random::ReadBy,
    sizes::BLOCKS_BYTES,
};
use crate::phase::PhaseSpec;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) phase: String,
    pub(super) label: String,
    pub(super) suite: Suite,
    pub(super) heat: Option<Heat>,
    pub(super) is_high_impact: bool,
    pub(super) is_parallel: bool,
    pub(super) unit: WorkUnit,
    pub(super) synced_by: &'static [&'static str],
}

impl Row {
    fn new(suite: Suite, label: &str) -> Row {
        Row {
            phase: label.into(),
            label: label.into(),
            suite,
            heat: None,
            is_high_impact: false,
            is_parallel: false,
            unit: WorkUnit::Bytes,
            synced_by: &[],
        }
    }

    fn high_impact(self) -> Row {
        Row { is_high_impact: true, ..self }
    }

    fn parallel(self) -> Row {
        Row { is_parallel: true, ..self }
    }

    fn calls(self) -> Row {
        Row { unit: WorkUnit::Calls, ..self }
    }

    fn synced_by(self, synced_by: &'static [&'static str]) -> Row {
        Row { synced_by, ..self }
    }

    fn heat(self, heat: Heat) -> Row {
        Row { heat: Some(heat), ..self }
    }

    fn of_two(self, heat: Heat) -> Row {
        let word = if heat == Heat::Cold { "cold" } else { "hot" };
        Row { phase: format!("{} {word}", self.label), ..self.heat(heat) }
    }

    fn markdown(&self) -> String {
        let name = format!("`{}`", self.phase);
        if self.is_high_impact { format!("**{name}**") } else { name }
    }

    /// The name of the phase that is derived from this row and its syncs.
    pub(super) fn durable_phase(&self) -> Option<String> {
        (!self.synced_by.is_empty()).then(|| format!("{}, durable", self.phase))
    }

    pub(super) fn spec(&self, threads: u32) -> PhaseSpec {
        let mut spec = PhaseSpec::new(&self.phase, self.suite.title(), self.unit);
        spec.record.label.clone_from(&self.label);
        spec.record.heat = self.heat;
        spec.record.is_high_impact = self.is_high_impact;
        spec.record.threads = if self.is_parallel { threads } else { 1 };
        spec
    }
}

pub(super) fn rows_markdown(settings: &Settings) -> String {
    let rows = rows(settings);
    let mut text = String::from("| suite | phases |\n|---|---|\n");
    for suite in Suite::ALL {
        let of_suite = rows.iter().filter(|row| row.suite == suite);
        let mut names: Vec<String> = of_suite.map(Row::markdown).collect();
        names.dedup_by(|later, one| {
            let is_its_hot_twin = later.replace(" hot`", " cold`") == *one;
            if is_its_hot_twin {
                one.insert_str(one.len() - 1, "/hot");
            }
            is_its_hot_twin
        });
        text += &format!("| {} | {} |\n", suite.title(), names.join(", "));
    }
    text
}

pub(super) fn rows(settings: &Settings) -> Vec<Row> {
    let mut rows = write_rows();
    let meta = ["close open", "lock", "size", "mmap"];
    rows.extend(meta.map(|label| Row::new(Suite::Meta, label).calls()));
    rows.extend(read_rows());
    rows.extend(reread_rows());
    let both = |pass: Pass| [pass.row(Heat::Cold), pass.row(Heat::Hot)];
    rows.extend(passes(settings.has_random_variants).into_iter().flat_map(both));
    rows.extend(sort_rows());
    rows.retain(|row| settings.has(row.suite));
    rows
}

fn write_rows() -> Vec<Row> {
    let row = |label| Row::new(Suite::Write, label);
    vec![
        row("open append tiny, sync once"),
        row("append tiny, sync once"),
        row("append small, sync once"),
        row("write int tiny").high_impact().synced_by(&["sync int tiny"]),
        row("sync int tiny"),
        row("open replace int tiny").synced_by(&["sync int tiny after replace"]),
        row("sync int tiny after replace"),
        row("write int small").high_impact().synced_by(&["sync int small"]),
        row("sync int small"),
        row("open replace random int small").synced_by(&["sync int small after replace"]),
        row("sync int small after replace"),
        row("write int medium").high_impact().synced_by(&["sync int medium"]),
        row("sync int medium"),
        row("open replace random int medium").synced_by(&["sync int medium after replace"]),
        row("sync int medium after replace"),
        row("write sym large").high_impact().synced_by(&["sync sym large"]),
        row("sync sym large"),
        row("write float large").high_impact().synced_by(&["sync float large"]),
        row("sync float large"),
        row("open replace random float large").synced_by(&["sync float large after replace"]),
        row("sync float large after replace"),
        row("write int huge").high_impact().synced_by(&["sync int huge"]),
        row("sync int huge"),
        row("open replace random int huge").synced_by(&["sync int huge after replace"]),
        row("sync int huge after replace"),
        row("open replace sorted int huge").synced_by(&["sync int huge after sorted replace"]),
        row("sync int huge after sorted replace"),
        row("open append small, sync once"),
        row("open append mid sym, sync once").high_impact(),
        row("open append mid float, sync once").high_impact(),
    ]
}

fn read_rows() -> Vec<Row> {
    let row = |label| Row::new(Suite::Read, label);
    vec![
        row("sequential read int tiny").heat(Heat::Cold),
        row("sequential read int small").heat(Heat::Cold),
        row("sequential read int medium").heat(Heat::Cold),
        row("sequential read float large").heat(Heat::Cold),
        row("sequential read int huge").heat(Heat::Cold),
        row("aggregate int huge").heat(Heat::Hot).parallel(),
        row("sequential read binary").of_two(Heat::Cold),
    ]
}

fn reread_rows() -> Vec<Row> {
    let row = |label| Row::new(Suite::Reread, label);
    vec![
        row("sequential reread int small").heat(Heat::Hot),
        row("sequential reread int medium").heat(Heat::Hot),
        row("sequential reread float large").heat(Heat::Hot),
        row("sequential reread int huge").heat(Heat::Hot),
        row("sequential read binary").of_two(Heat::Hot),
    ]
}

fn sort_rows() -> Vec<Row> {
    let row = |label| Row::new(Suite::Sort, label);
    vec![
        row("disk sort")
            .high_impact()
            .parallel()
            .synced_by(&["sync table after sort", "sync columns after sort"]),
        row("sync table after sort").calls(),
        row("sync columns after sort"),
        row("add attribute").high_impact().synced_by(&["sync column after parted attribute"]),
        row("sync column after parted attribute"),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) by: ReadBy,
    pub(super) block_bytes: u64,
    /// Its number, from 1: the original seeds its places with it.
    pub(super) number: u64,
}

impl Pass {
    fn label(&self) -> String {
        let way = match self.by {
            ReadBy::Mapped => "",
            ReadBy::MappedPerRead => "mmap, ",
            ReadBy::Pread => "pread, ",
            ReadBy::Advised => "madvise random, ",
        };
        let block = match self.block_bytes {
            1_000_000 => "1M".into(),
            bytes => format!("{}k", bytes / 1000),
        };
        format!("{way}random read {block}")
    }

    pub(super) fn row(&self, heat: Heat) -> Row {
        Row::new(Suite::Random, &self.label()).of_two(heat)
    }
}

pub(super) fn passes(has_variants: bool) -> Vec<Pass> {
    let ways = [ReadBy::Mapped, ReadBy::MappedPerRead, ReadBy::Pread, ReadBy::Advised];
    let each = ways.into_iter().flat_map(|by| BLOCKS_BYTES.map(|block_bytes| (by, block_bytes)));
    let passes = each.zip(1..).map(|((by, block_bytes), number)| Pass { by, block_bytes, number });
    let is_original = |pass: &Pass| matches!(pass.by, ReadBy::Mapped | ReadBy::MappedPerRead);
    passes.filter(|pass| has_variants || is_original(pass)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::{Value, json};

    use super::*;

    fn settings(asked: Value) -> Settings {
        Settings::new(&super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap())
    }

    #[test]
    fn phases_are_unique_and_every_sync_that_is_named_is_there() {
        let rows = rows(&settings(json!({})));
        let phases: HashSet<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
        assert_eq!((rows.len(), phases.len()), (75, 75));
        for sync in rows.iter().flat_map(|row| row.synced_by) {
            assert!(phases.contains(sync), "{sync}");
        }
    }

    #[test]
    fn the_high_impact_rows_are_those_of_the_article() {
        let rows = rows(&settings(json!({})));
        let mut high: Vec<&str> =
            rows.iter().filter(|row| row.is_high_impact).map(|row| row.label.as_str()).collect();
        high.sort_unstable();
        let article = [
            "add attribute",
            "disk sort",
            "open append mid float, sync once",
            "open append mid sym, sync once",
            "write float large",
            "write int huge",
            "write int medium",
            "write int small",
            "write int tiny",
            "write sym large",
        ];
        assert_eq!(high, article);
    }

    #[test]
    fn random_reads_are_cold_and_then_hot_with_or_without_our_variants() {
        let phases = |asked| -> Vec<String> {
            let rows = rows(&settings(asked)).into_iter();
            rows.filter(|row| row.suite == Suite::Random).map(|row| row.phase).collect()
        };
        let all = phases(json!({}));
        assert_eq!(all[..2], ["random read 1M cold", "random read 1M hot"]);
        assert_eq!(all[6], "mmap, random read 1M cold");
        assert_eq!(
            (all.len(), all.last().unwrap().as_str()),
            (24, "madvise random, random read 4k hot")
        );
        assert_eq!(phases(json!({ "random_variants": "no" })), all[..12]);
    }

    #[test]
    fn each_suite_brings_its_rows_only() {
        let rows = rows(&settings(json!({ "suites": "meta" })));
        assert!(rows.iter().all(|row| row.unit == WorkUnit::Calls && row.suite == Suite::Meta));
    }
}
