use pickfs_record::{Scope, metric::scope};
use serde::Serialize;
use thiserror::Error;

use super::formula::{Formula, FormulaError};

/// What is wanted of a file system.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Objective {
    pub name: String,
    /// What it stands for, in words; empty for a formula.
    pub stands_for: String,
    /// What it is made of; more than one where it takes several workloads.
    pub parts: Vec<Part>,
}

/// One formula on the rows of which a scope holds.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Part {
    /// Weight among the parts, on a logarithmic scale; above 0.
    pub weight: f64,
    /// What must hold of the rows: `workload` is `journal`, `readers` is `>=1`.
    pub at: Scope,
    #[schemars(with = "String")]
    pub formula: Formula,
}

#[derive(Debug, Clone, PartialEq, Error)]
pub enum ObjectiveError {
    #[error("objective `{text}` is none of {} and no formula: {cause}", names().join(", "))]
    Unknown { text: String, cause: FormulaError },
}

/// Name, what it stands for, parts of equal weight as scope and formula.
type Entry = (&'static str, &'static str, &'static [PartEntry]);
type PartEntry = (&'static str, &'static str);

const TAIL: &str =
    "durable|append with final sync|append.p99 + durable|append with final sync|append.p99.9";
const INGEST: PartEntry = ("workload=column", "ingest, durable.rate");
const HOT: PartEntry = ("workload=column", "hot tier.rate");
const COLD: PartEntry = ("workload=column", "mid tier.rate + cold tier.rate");
const BIG: PartEntry = ("workload=files", "block write.rate + block read.rate + 0.5*rewrite.rate");
const SMALL: PartEntry = ("workload=files", SMALL_FILES);
const SMALL_FILES: &str = "seq create.rate + ran create.rate + seq stat.rate + ran stat.rate + seq delete.rate + ran delete.rate";
const ALONE: &str = "workload=journal,readers=0";
const READ: &str = "workload=journal,readers>=1";

const ENTRIES: &[Entry] = &[
    (
        "journal",
        "a journal that is only appended to: what most records take, and one in a hundred",
        &[(
            ALONE,
            "durable|append with final sync|append.p50 + durable|append with final sync|append.p99",
        )],
    ),
    (
        "journal tail",
        "a journal that must not stall: what one record in a hundred and in a thousand takes",
        &[(ALONE, TAIL)],
    ),
    (
        "journal with readers",
        "a journal that others read while it is written: the writer's tail counts twice",
        &[(READ, "2*durable|append with final sync|append.p99 + read.p99")],
    ),
    (
        "FIX round trip",
        "from an order that is read to its answer that is sent",
        &[("workload=fix", "round-trip.p99 + round-trip.p99.9")],
    ),
    ("ingest", "a column store that takes in data and keeps it", &[INGEST]),
    ("query hot", "queries whose data is in memory", &[HOT]),
    ("query cold", "queries whose data is on the device: at random, and in sequence", &[COLD]),
    (
        "big sequential files",
        "large files that are written, read and rewritten from start to end",
        &[BIG],
    ),
    ("many small files", "many files that are made, looked at and deleted", &[SMALL]),
    (
        "all-round",
        "a bit of everything: a journal, a column store and files, six parts of equal weight",
        &[
            (
                ALONE,
                "durable|append with final sync|append.p50 + durable|append with final sync|append.p99",
            ),
            INGEST,
            HOT,
            COLD,
            BIG,
            SMALL,
        ],
    ),
    (
        "mixed",
        "reads and writes at the same time: a journal with readers, and seeks that also write",
        &[
            (READ, "durable|append with final sync|append.p99 + read.p99"),
            ("workload=files", "rewrite.rate + seeks.rate"),
        ],
    ),
];

pub fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|(name, ..)| *name).collect()
}

pub fn objectives() -> Vec<Objective> {
    ENTRIES.iter().map(made).collect()
}

fn made((name, stands_for, parts): &Entry) -> Objective {
    let part = |(at, formula): &PartEntry| Part {
        weight: 1.0,
        at: scope(at).expect("scopes of this table are read by its tests"),
        formula: formula.parse().expect("formulas of this table are read by its tests"),
    };
    Objective {
        name: (*name).into(),
        stands_for: (*stands_for).into(),
        parts: parts.iter().map(part).collect(),
    }
}

pub fn objective(text: &str) -> Result<Objective, ObjectiveError> {
    let wanted = text.trim();
    if let Some(entry) = ENTRIES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(wanted)) {
        return Ok(made(entry));
    }
    let formula: Formula =
        wanted.parse().map_err(|cause| ObjectiveError::Unknown { text: wanted.into(), cause })?;
    Ok(Objective {
        name: formula.to_string(),
        stands_for: String::new(),
        parts: parts_of(&formula),
    })
}

/// Terms of one scope are a part; its weight is the sum of theirs.
fn parts_of(formula: &Formula) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for mut term in formula.terms.clone() {
        let at = std::mem::take(&mut term.metric.at);
        match parts.iter_mut().find(|part| part.at == at) {
            Some(part) => part.formula.terms.push(term),
            None => parts.push(Part { weight: 0.0, at, formula: Formula { terms: vec![term] } }),
        }
    }
    for part in &mut parts {
        part.weight = part.formula.weights();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_an_objective_with_parts() {
        assert_eq!(objectives().len(), 11);
        for objective in objectives() {
            assert!(
                !objective.parts.is_empty() && objective.stands_for.len() > 20,
                "{}",
                objective.name
            );
            assert_eq!(
                super::objective(&objective.name.to_uppercase()).expect("its name"),
                objective
            );
        }
    }

    #[test]
    fn a_formula_is_parted_by_scope() {
        let mixed = objective(
            "0.5*durable.p50 + seq create.rate@workload=files + 2*seeks.rate@workload=files",
        )
        .expect("a formula");
        assert_eq!(mixed.parts.len(), 2);
        assert_eq!(mixed.parts[1].weight, 3.0);
        assert!(mixed.parts[1].at["workload"].holds("files"));
        let old = objective("files/seeks.rate").expect_err("as it was written before").to_string();
        assert!(old.ends_with("is written seeks.rate@workload=files now"), "{old}");
        assert_eq!(objective("append.p99 + read.p50").expect("a formula").parts.len(), 1);
    }

    #[test]
    fn neither_name_nor_formula_lists_the_names() {
        let error = objective("journl tail").expect_err("neither").to_string();
        assert!(error.contains("journal tail, journal with readers, FIX round trip"), "{error}");
        assert!(error.contains("ends in no statistic"), "{error}");
    }
}
