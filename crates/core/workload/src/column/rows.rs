//! The table of rows: every phase of the workload, in the order in which it runs, with the label
//! that the original's tables give it.
//! Rows without a label of the original are ours: syncs that it leaves out, and variants of the
//! random reads.

use pickfs_record::phase::{Heat, WorkUnit};

use super::{
    files::{COLUMNS, lists},
    mix, packed,
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
    pub(super) synced_by: Vec<String>,
}

impl Row {
    fn new(suite: Suite, heat: Option<Heat>, label: impl Into<String>) -> Row {
        let label = label.into();
        Row {
            phase: label.clone(),
            label,
            suite,
            heat,
            is_high_impact: false,
            is_parallel: false,
            unit: WorkUnit::Bytes,
            synced_by: Vec::new(),
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

    fn synced_by(self, syncs: &[&str]) -> Row {
        Row { synced_by: syncs.iter().map(|sync| sync.to_string()).collect(), ..self }
    }

    /// One of two with one label.
    fn of_two(suite: Suite, heat: Heat, label: &str) -> Row {
        let word = if heat == Heat::Cold { "cold" } else { "hot" };
        Row { phase: format!("{label} {word}"), ..Row::new(suite, Some(heat), label) }
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
    for suite in Suite::all() {
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
    let (cold, hot) = (Some(Heat::Cold), Some(Heat::Hot));
    let row = |suite, label: &str| Row::new(suite, None, label);
    let mut rows: Vec<Row> = APPENDS_ALONE.map(|label| row(Suite::Write, label)).into();
    for column in &COLUMNS {
        let sync = format!("sync {}", column.what);
        let write = row(Suite::Write, &format!("write {}", column.what));
        rows.extend([write.high_impact().synced_by(&[&sync]), row(Suite::Write, &sync)]);
        for replace in column.replaces {
            rows.push(row(Suite::Write, replace.phase).synced_by(&[replace.sync]));
            rows.push(row(Suite::Write, replace.sync));
        }
    }
    rows.push(row(Suite::Write, "open append small, sync once"));
    rows.extend(APPENDS_TO_TABLE.map(|label| row(Suite::Write, label).high_impact()));
    rows.extend(
        ["close open", "lock", "size", "mmap"].map(|label| row(Suite::Meta, label).calls()),
    );
    let read = |column: &str| Row::new(Suite::Read, cold, format!("sequential read {column}"));
    rows.extend(lists().map(|column| read(column.what)));
    rows.push(Row::new(Suite::Read, hot, "aggregate int huge").parallel());
    rows.push(Row::of_two(Suite::Read, Heat::Cold, "sequential read binary"));
    let reread = |column: &str| Row::new(Suite::Reread, hot, format!("sequential reread {column}"));
    rows.extend(lists().skip(1).map(|column| reread(column.what)));
    rows.push(Row::of_two(Suite::Reread, Heat::Hot, "sequential read binary"));
    let both = |pass: Pass| [pass.row(Heat::Cold), pass.row(Heat::Hot)];
    rows.extend(passes(settings.has_random_variants).into_iter().flat_map(both));
    let syncs = ["sync table after sort", "sync columns after sort"];
    rows.push(row(Suite::Sort, "disk sort").high_impact().parallel().synced_by(&syncs));
    rows.extend([row(Suite::Sort, syncs[0]).calls(), row(Suite::Sort, syncs[1])]);
    let sync = "sync column after parted attribute";
    rows.push(row(Suite::Sort, "add attribute").high_impact().synced_by(&[sync]));
    rows.push(row(Suite::Sort, sync));
    rows.extend(mixed(settings.lanes));
    rows.extend(packed());
    rows.retain(|row| settings.has(row.suite));
    rows
}

fn mixed(lanes: u32) -> Vec<Row> {
    let query = |phase: &str| Row::new(Suite::Mix, Some(Heat::Cold), phase).calls();
    let append = |phase: &str| Row::new(Suite::Mix, None, phase).calls();
    let mut rows = vec![query(mix::QUERY), append(mix::APPEND)];
    if lanes > 1 {
        rows.extend([append(mix::APPEND_BESIDE), query(mix::QUERY_BESIDE)]);
    }
    rows
}

fn packed() -> [Row; 4] {
    let row = |heat, phase: &str| Row::new(Suite::Packed, heat, phase);
    [
        row(None, packed::WRITE).synced_by(&[packed::SYNC]),
        row(None, packed::SYNC),
        row(Some(Heat::Cold), packed::READ),
        row(Some(Heat::Hot), packed::REREAD),
    ]
}

/// Whose files nothing else uses.
pub(super) const APPENDS_ALONE: [&str; 3] =
    ["open append tiny, sync once", "append tiny, sync once", "append small, sync once"];
pub(super) const APPENDS_TO_TABLE: [&str; 2] =
    ["open append mid sym, sync once", "open append mid float, sync once"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pass {
    pub(super) by: ReadBy,
    pub(super) block_bytes: u64,
    /// Its number, from 1: the original seeds its places with it.
    pub(super) number: u64,
}

impl Pass {
    pub(super) fn row(&self, heat: Heat) -> Row {
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
        Row::of_two(Suite::Random, heat, &format!("{way}random read {block}"))
    }
}

pub(super) fn passes(has_variants: bool) -> Vec<Pass> {
    let ways = [ReadBy::Mapped, ReadBy::MappedPerRead, ReadBy::Pread, ReadBy::Advised];
    let ways = &ways[..if has_variants { 4 } else { 2 }];
    let each = ways.iter().flat_map(|by| BLOCKS_BYTES.map(|block_bytes| (*by, block_bytes)));
    each.zip(1..).map(|((by, block_bytes), number)| Pass { by, block_bytes, number }).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn phases_are_unique_and_every_sync_that_is_named_is_there() {
        let rows = rows(&Settings::asked(json!({})));
        let phases: HashSet<&str> = rows.iter().map(|row| row.phase.as_str()).collect();
        assert_eq!((rows.len(), phases.len()), (81, 81));
        assert!(rows.iter().flat_map(|row| &row.synced_by).all(|sync| phases.contains(&**sync)));
        assert_eq!(rows.iter().filter(|row| row.is_high_impact).count(), 10, "as in the article");
    }

    #[test]
    fn suites_and_variants_bring_their_rows_only() {
        let rows =
            rows(&Settings::asked(json!({ "suites": "write,random", "random_variants": "no" })));
        assert!(rows.iter().all(|row| matches!(row.suite, Suite::Write | Suite::Random)));
        assert_eq!(rows[29].phase, "open append mid float, sync once");
        assert_eq!(rows[30..].len(), 12);
        assert_eq!(
            (&*rows[30].phase, &*rows[31].phase),
            ("random read 1M cold", "random read 1M hot")
        );
        assert_eq!(rows[36].phase, "mmap, random read 1M cold");
    }
}
