use std::collections::{BTreeMap, HashSet};

use pickfs_analysis::panels::BY_CANDIDATE;
use pickfs_candidate::knob::is_knob;
use pickfs_record::{
    BackingSpec, CandidateSpec, Cell, CellId, Durability, Level, Plan, WorkloadSpec, plan::Combine,
    record::SkippedCell,
};
use pickfs_workload::{ParamError, Resolved, Workload};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::plan_file::VARIANT;

#[derive(Debug, Clone, PartialEq, Error)]
pub enum ExpandError {
    #[error(transparent)]
    Param(#[from] ParamError),
    /// Two levels of an axis mean the same, or an adjustment makes them the same.
    #[error(
        "{label} {levels} stands twice in the plan; remove a level, or the adjustment that makes \
         two of them equal"
    )]
    SameCell { label: String, levels: String },
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expansion {
    /// Cells to run, candidates varying fastest.
    pub cells: Vec<Cell>,
    pub skipped: Vec<SkippedCell>,
}

impl Expansion {
    /// Those for which there is a reason, with what would help.
    pub fn leave_out(&mut self, mut why: impl FnMut(&mut Cell) -> Option<(String, String)>) {
        for mut cell in std::mem::take(&mut self.cells) {
            match why(&mut cell) {
                Some((reason, remedy)) => self.skipped.push(SkippedCell { cell, reason, remedy }),
                None => self.cells.push(cell),
            }
        }
    }
}

/// `ceiling` is the best durability that a candidate can give.
pub fn expand(
    plan: &Plan,
    workload: &Workload,
    ceiling: impl Fn(&CandidateSpec) -> Durability,
) -> Result<Expansion, ExpandError> {
    let mut expansion = Expansion::default();
    let mut known = HashSet::new();
    for levels in combinations(plan) {
        for candidate in plan.candidates.iter().filter(|one| is_asked(plan, one, &levels)) {
            let (cell, params) = cell(plan, workload, candidate, &levels, &ceiling)?;
            match left_out(plan, workload, &cell, &params, &levels) {
                Some((reason, remedy)) => {
                    expansion.skipped.push(SkippedCell { cell, reason, remedy });
                }
                None if !known.insert(cell.id.clone()) => {
                    return Err(ExpandError::SameCell {
                        label: cell.candidate.label.clone(),
                        levels: cell.levels_text(),
                    });
                }
                None => expansion.cells.push(cell),
            }
        }
    }
    Ok(expansion)
}

fn cell(
    plan: &Plan,
    workload: &Workload,
    candidate: &CandidateSpec,
    levels: &[(String, Value)],
    ceiling: &impl Fn(&CandidateSpec) -> Durability,
) -> Result<(Cell, Resolved), ParamError> {
    let mut asked = plan.params.clone();
    asked.extend(levels.iter().cloned());
    let adjusted = plan.adjust.iter().filter(|adjustment| {
        adjustment.candidate.as_ref().is_none_or(|label| *label == candidate.label)
            && holds(&adjustment.levels, levels)
    });
    asked.extend(adjusted.flat_map(|adjustment| adjustment.params.clone()));
    asked.remove(VARIANT);
    let (knobs, asked) = split_knobs(asked);
    let resolved = workload.validate(&asked)?;
    // What another host holds does not hang on the file system of this one.
    let durability = match (workload.durability)(&resolved) {
        Durability::HostLoss => Durability::HostLoss,
        own => own.min(ceiling(candidate)),
    };
    let (name, version) = (plan.workload.clone(), workload.version);
    let spec = WorkloadSpec { name, version, params: resolved.params.clone() };
    let cell = Cell {
        id: cell_id(candidate, &plan.backing, &spec, &knobs),
        candidate: candidate.clone(),
        workload: spec,
        knobs,
        levels: levels
            .iter()
            .map(|(axis, value)| Level { axis: axis.clone(), value: level_text(value) })
            .collect(),
        durability,
        survived: None,
    };
    Ok((cell, resolved))
}

/// Settings of the machine have a dot in their name, the workload's parameters have none.
fn split_knobs(asked: Map<String, Value>) -> (BTreeMap<String, String>, Map<String, Value>) {
    let (knobs, params): (Map<String, Value>, Map<String, Value>) =
        asked.into_iter().partition(|(name, _)| is_knob(name));
    (knobs.into_iter().map(|(name, value)| (name, level_text(&value))).collect(), params)
}

fn left_out(
    plan: &Plan,
    workload: &Workload,
    cell: &Cell,
    params: &Resolved,
    levels: &[(String, Value)],
) -> Option<(String, String)> {
    let excluded = plan.without.iter().find(|exclusion| {
        exclusion.candidate.as_ref().is_none_or(|label| *label == cell.candidate.label)
            && holds(&exclusion.levels, levels)
    });
    if let Some(exclusion) = excluded {
        return Some((exclusion.reason.clone(), "the plan leaves it out".into()));
    }
    let reason = (workload.incompatible)(params)?;
    Some((reason, "choose another combination".into()))
}

fn holds(wanted: &Map<String, Value>, levels: &[(String, Value)]) -> bool {
    wanted
        .iter()
        .all(|(axis, value)| levels.iter().any(|(name, level)| name == axis && level == value))
}

/// The product of all axes, the first varying slowest.
fn combinations(plan: &Plan) -> Vec<Vec<(String, Value)>> {
    plan.axes.iter().fold(vec![Vec::new()], |product, axis| {
        let longer = |head: &Vec<(String, Value)>| {
            let with = |level: &Value| [&head[..], &[(axis.name.clone(), level.clone())]].concat();
            axis.levels.iter().map(with).collect::<Vec<_>>()
        };
        product.iter().flat_map(longer).collect()
    })
}

/// Whether a combination becomes a cell: of one factor at a time those that leave the base in one
/// place at most.
fn is_asked(plan: &Plan, candidate: &CandidateSpec, levels: &[(String, Value)]) -> bool {
    if plan.design.combine == Combine::Every {
        return true;
    }
    let design = &plan.design;
    let base = |name: &str, first: Option<String>| match design.compare == name {
        true => Some(design.reference.clone()),
        false => first,
    };
    let first = plan.candidates.first().map(|first| first.label.clone());
    let of_axis = |name: &str| {
        let axis = plan.axes.iter().find(|axis| axis.name == name)?;
        base(name, axis.levels.first().map(level_text))
    };
    let elsewhere = base(BY_CANDIDATE, first).as_ref() != Some(&candidate.label);
    let away = levels.iter().filter(|(name, level)| of_axis(name) != Some(level_text(level)));
    away.count() + usize::from(elsewhere) <= 1
}

pub fn level_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), over the canonical JSON of all that was asked:
/// maps are in key order, so equal questions have equal names on every machine.
pub(crate) fn cell_id(
    candidate: &CandidateSpec,
    backing: &BackingSpec,
    spec: &WorkloadSpec,
    knobs: &BTreeMap<String, String>,
) -> CellId {
    let asked = match knobs.is_empty() {
        true => serde_json::json!([candidate, backing, spec]),
        false => serde_json::json!([candidate, backing, spec, knobs]),
    };
    let asked = asked.to_string();
    let hash = asked.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    CellId(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_file::read_plan;

    use pickfs_workload::{Check, Literal, Param};

    const PARAMS: &[Param] = &[
        Param {
            name: "sync",
            doc: "how",
            default: Literal::Text("none"),
            check: Check::Words(|| vec!["none", "fdatasync", "msync"]),
        },
        Param {
            name: "size",
            doc: "bytes",
            default: Literal::Integer(1),
            check: Check::Integer(1, 9_999),
        },
        Param { name: "rate", doc: "", default: Literal::Number(1.0), check: Check::Rate },
    ];

    const TOY: Workload = Workload {
        name: "toy",
        about: "a toy",
        params: PARAMS,
        ops: |_| vec!["append".into()],
        durability: |params| match params.text("sync") {
            "fdatasync" => Durability::PowerLoss,
            _ => Durability::ProcessCrash,
        },
        prepare: |_| unreachable!("the lab expands, workers prepare"),
        incompatible: |params| {
            (params.text("sync") == "msync").then(|| "msync needs the mmap write path".into())
        },
        ..Workload::LOOP
    };

    fn plan_text(extra: &str) -> String {
        format!(
            r#"name = "t"
question = "?"
candidates = ["ext4", "tmpfs"]
workload = "toy"
{extra}
[axes]
sync = ["none", "fdatasync", "msync"]
size = [256, 4096]
[design]
blocks = 1
reference = "ext4"
primary = []
"#
        )
    }

    fn plan(text: &str) -> Plan {
        read_plan("t.toml", text).expect("a good plan")
    }

    fn expanded(text: &str) -> Expansion {
        expand(&plan(text), &TOY, ceiling).expect("expands")
    }

    fn ceiling(candidate: &CandidateSpec) -> Durability {
        if candidate.fs == "tmpfs" { Durability::ProcessCrash } else { Durability::PowerLoss }
    }

    #[test]
    fn cells_are_the_product_less_what_does_not_go_together() {
        let expansion = expanded(&plan_text(""));
        assert_eq!((expansion.cells.len(), expansion.skipped.len()), (8, 4));
        assert_eq!(expansion.cells[0].levels_text(), "sync=none, size=256");
        assert_eq!(expansion.skipped[0].reason, "msync needs the mmap write path");
        let ids: std::collections::BTreeSet<_> = expansion.cells.iter().map(|c| &c.id).collect();
        assert_eq!(ids.len(), 8);
    }

    #[test]
    fn a_memory_file_system_never_survives_more_than_the_process() {
        let expansion = expanded(&plan_text(""));
        let best = |fs: &str| {
            let cells = expansion.cells.iter().filter(|cell| cell.candidate.fs == fs);
            cells.map(|cell| cell.durability).max()
        };
        assert_eq!(best("tmpfs"), Some(Durability::ProcessCrash));
        assert_eq!(best("ext4"), Some(Durability::PowerLoss));
    }

    #[test]
    fn a_plan_may_leave_corners_out() {
        let without = r#"without = [{ candidate = "tmpfs", levels = { sync = "fdatasync" }, reason = "not durable" }]"#;
        let expansion = expanded(&plan_text(without));
        assert_eq!((expansion.cells.len(), expansion.skipped.len()), (6, 6));
        assert!(expansion.skipped.iter().any(|skipped| skipped.reason == "not durable"));
    }

    #[test]
    fn one_factor_at_a_time_leaves_the_base_in_one_place() {
        let ask = |design: &str| {
            let text = plan_text("").replace("[design]", &format!("[design]\n{design}"));
            let cells = expanded(&text).cells;
            let name = |cell: &Cell| format!("{} {}", cell.candidate.label, cell.levels_text());
            cells.iter().map(name).collect::<Vec<_>>()
        };
        let cells = ask("combine = \"one-at-a-time\"");
        assert_eq!(
            cells,
            [
                "ext4 sync=none, size=256",
                "tmpfs sync=none, size=256",
                "ext4 sync=none, size=4096",
                "ext4 sync=fdatasync, size=256",
            ],
            "msync does not go with the base"
        );
        assert_eq!(ask("combine = \"every\"").len(), 8);
    }

    #[test]
    fn the_base_of_what_is_compared_is_the_reference() {
        let text = plan_text("")
            .replace("[design]", "[design]\ncombine = \"one-at-a-time\"\ncompare = \"size\"")
            .replace("reference = \"ext4\"", "reference = \"4096\"");
        let cells = expanded(&text).cells;
        let at = |size: &str| cells.iter().filter(|cell| cell.level("size") == Some(size)).count();
        assert_eq!((at("4096"), at("256")), (3, 1));
    }

    #[test]
    fn parameters_may_change_with_a_level() {
        let adjust = r#"adjust = [{ levels = { sync = "fdatasync" }, params = { rate = 1000 } }]"#;
        let expansion = expanded(&plan_text(adjust));
        let slow = |cell: &&Cell| cell.workload.params["rate"].as_f64() == Some(1_000.0);
        assert_eq!(expansion.cells.iter().filter(slow).count(), 4);
        assert!(expansion.cells.iter().filter(slow).all(|c| c.level("sync") == Some("fdatasync")));
    }

    #[test]
    fn a_variant_is_a_name_for_parameters() {
        let variant = r#"[[variant]]
name = "slow and safe"
params = { rate = 10, sync = "fdatasync" }
[[variant]]
name = "fast"
params = { rate = 1000 }"#;
        let text = plan_text("").replace(r#"sync = ["none", "fdatasync", "msync"]"#, "");
        let expansion = expanded(&format!("{text}{variant}"));
        assert_eq!(expansion.cells.len(), 8);
        let safe = expansion.cells.iter().filter(|c| c.level("variant") == Some("slow and safe"));
        assert!(safe.clone().all(|cell| cell.workload.params["sync"] == "fdatasync"));
        assert_eq!(safe.count(), 4);
    }

    #[test]
    fn two_levels_that_mean_the_same_are_refused() {
        let adjust = r#"adjust = [{ params = { size = 64 } }]"#;
        let error =
            expand(&plan(&plan_text(adjust)), &TOY, ceiling).expect_err("refused").to_string();
        assert!(error.starts_with("ext4 sync=none, size=4096 stands twice"), "{error}");
    }

    #[test]
    fn a_setting_of_the_machine_is_an_axis_like_any_other() {
        let text = plan_text("").replace(
            r#"sync = ["none", "fdatasync", "msync"]"#,
            r#""fs.read_ahead_kb" = [0, 128]"#,
        );
        let expansion = expanded(&text);
        assert_eq!(expansion.cells.len(), 8);
        let cell = &expansion.cells[0];
        assert_eq!(cell.knobs["fs.read_ahead_kb"], "0");
        assert!(!cell.workload.params.contains_key("fs.read_ahead_kb"));
        let ids: std::collections::BTreeSet<_> = expansion.cells.iter().map(|c| &c.id).collect();
        assert_eq!(ids.len(), 8);
    }

    #[test]
    fn equal_questions_have_equal_names() {
        let first = expanded(&plan_text(""));
        assert_eq!(first, expanded(&plan_text("")));
    }
}
