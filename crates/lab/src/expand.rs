//! A plan to its cells: candidates x the levels of every axis.

use pickfs_model::{
    BackingSpec, CandidateSpec, Cell, CellId, Durability, Level, Plan, WorkloadSpec,
    record::SkippedCell,
};
use serde_json::{Map, Value};

/// What a workload says of resolved parameters; the lab asks, tests answer.
pub trait WorkloadFacts {
    /// Every parameter with its value, defaults included; or what is wrong.
    fn resolve(&self, params: &Map<String, Value>) -> Result<Map<String, Value>, String>;
    /// Version of the workload.
    fn version(&self) -> u32;
    /// What one completed operation survives on a file system that keeps its word.
    fn durability(&self, params: &Map<String, Value>) -> Durability;
    /// Why these parameters do not go together, if they do not.
    fn incompatible(&self, params: &Map<String, Value>) -> Option<String>;
}

/// The cells of a plan, and those that are left out with the reason.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expansion {
    /// Cells to run, candidates varying fastest.
    pub cells: Vec<Cell>,
    /// Cells left out.
    pub skipped: Vec<SkippedCell>,
}

/// Expands a plan. `ceiling` is the best durability that a candidate can give.
pub fn expand(
    plan: &Plan,
    workload: &dyn WorkloadFacts,
    ceiling: impl Fn(&CandidateSpec) -> Durability,
) -> Result<Expansion, String> {
    let mut expansion = Expansion::default();
    for levels in combinations(plan) {
        for candidate in &plan.candidates {
            let cell = cell(plan, workload, candidate, &levels, &ceiling)?;
            match left_out(plan, workload, &cell, &levels) {
                Some((reason, remedy)) => {
                    expansion.skipped.push(SkippedCell { cell, reason, remedy });
                }
                None => expansion.cells.push(cell),
            }
        }
    }
    Ok(expansion)
}

fn cell(
    plan: &Plan,
    workload: &dyn WorkloadFacts,
    candidate: &CandidateSpec,
    levels: &[(String, Value)],
    ceiling: &impl Fn(&CandidateSpec) -> Durability,
) -> Result<Cell, String> {
    let mut asked = plan.params.clone();
    asked.extend(levels.iter().cloned());
    let adjusted = plan.adjust.iter().filter(|adjustment| holds(&adjustment.levels, levels));
    asked.extend(adjusted.flat_map(|adjustment| adjustment.params.clone()));
    let params = workload.resolve(&asked)?;
    let durability = workload.durability(&params).min(ceiling(candidate));
    let spec = WorkloadSpec { name: plan.workload.clone(), version: workload.version(), params };
    Ok(Cell {
        id: cell_id(candidate, &plan.backing, &spec),
        candidate: candidate.clone(),
        workload: spec,
        levels: levels
            .iter()
            .map(|(axis, value)| Level { axis: axis.clone(), value: level_text(value) })
            .collect(),
        durability,
    })
}

fn left_out(
    plan: &Plan,
    workload: &dyn WorkloadFacts,
    cell: &Cell,
    levels: &[(String, Value)],
) -> Option<(String, String)> {
    let excluded = plan.without.iter().find(|exclusion| {
        exclusion.candidate.as_ref().is_none_or(|label| *label == cell.candidate.label)
            && holds(&exclusion.levels, levels)
    });
    if let Some(exclusion) = excluded {
        return Some((exclusion.reason.clone(), "the plan leaves it out".into()));
    }
    let reason = workload.incompatible(&cell.workload.params)?;
    Some((reason, "choose another combination; docs/axes.md has the table".into()))
}

/// Whether every wanted level is among the cell's.
fn holds(wanted: &Map<String, Value>, levels: &[(String, Value)]) -> bool {
    wanted
        .iter()
        .all(|(axis, value)| levels.iter().any(|(name, level)| name == axis && level == value))
}

/// The product of all axes, the first varying slowest.
fn combinations(plan: &Plan) -> Vec<Vec<(String, Value)>> {
    plan.axes.iter().fold(vec![Vec::new()], |product, axis| {
        product
            .iter()
            .flat_map(|head| {
                axis.levels.iter().map(move |level| {
                    let mut levels = head.clone();
                    levels.push((axis.name.clone(), level.clone()));
                    levels
                })
            })
            .collect()
    })
}

/// A level as tables print it: text without quotes.
pub fn level_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// FNV-1a, 64 bits (Fowler, Noll, Vo), over the canonical JSON of all that was asked:
/// maps are in key order, so equal questions have equal names on every machine.
fn cell_id(candidate: &CandidateSpec, backing: &BackingSpec, spec: &WorkloadSpec) -> CellId {
    let asked = serde_json::json!([candidate, backing, spec]).to_string();
    let hash = asked.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    CellId(format!("{hash:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan_file::read_plan;

    struct Toy;

    impl WorkloadFacts for Toy {
        fn resolve(&self, params: &Map<String, Value>) -> Result<Map<String, Value>, String> {
            match params.get("bad") {
                Some(_) => Err("parameter `bad` is not known".into()),
                None => Ok(params.clone()),
            }
        }
        fn version(&self) -> u32 {
            1
        }
        fn durability(&self, params: &Map<String, Value>) -> Durability {
            match params.get("sync").and_then(Value::as_str) {
                Some("fdatasync") => Durability::PowerLoss,
                _ => Durability::ProcessCrash,
            }
        }
        fn incompatible(&self, params: &Map<String, Value>) -> Option<String> {
            (params.get("sync")? == "msync").then(|| "msync needs the mmap write path".into())
        }
    }

    fn plan(extra: &str) -> Plan {
        let text = format!(
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
        );
        read_plan("t.toml", &text).expect("a good plan")
    }

    fn ceiling(candidate: &CandidateSpec) -> Durability {
        if candidate.fs == "tmpfs" { Durability::ProcessCrash } else { Durability::PowerLoss }
    }

    #[test]
    fn cells_are_the_product_less_what_does_not_go_together() {
        let expansion = expand(&plan(""), &Toy, ceiling).expect("expands");
        assert_eq!((expansion.cells.len(), expansion.skipped.len()), (8, 4));
        assert_eq!(expansion.cells[0].levels_text(), "sync=none, size=256");
        assert_eq!(expansion.skipped[0].reason, "msync needs the mmap write path");
        let ids: std::collections::BTreeSet<_> = expansion.cells.iter().map(|c| &c.id).collect();
        assert_eq!(ids.len(), 8);
    }

    #[test]
    fn a_memory_file_system_never_survives_more_than_the_process() {
        let expansion = expand(&plan(""), &Toy, ceiling).expect("expands");
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
        let expansion = expand(&plan(without), &Toy, ceiling).expect("expands");
        assert_eq!((expansion.cells.len(), expansion.skipped.len()), (6, 6));
        assert!(expansion.skipped.iter().any(|skipped| skipped.reason == "not durable"));
    }

    #[test]
    fn parameters_may_change_with_a_level() {
        let adjust = r#"adjust = [{ levels = { sync = "fdatasync" }, params = { rate = 1000 } }]"#;
        let expansion = expand(&plan(adjust), &Toy, ceiling).expect("expands");
        let slow = |cell: &&Cell| cell.workload.params.contains_key("rate");
        assert_eq!(expansion.cells.iter().filter(slow).count(), 4);
        assert!(expansion.cells.iter().filter(slow).all(|c| c.level("sync") == Some("fdatasync")));
    }

    #[test]
    fn equal_questions_have_equal_names() {
        let first = expand(&plan(""), &Toy, ceiling).expect("expands");
        assert_eq!(first, expand(&plan(""), &Toy, ceiling).expect("expands"));
    }
}
