//! Whether a run can answer what its plan asks: where two or more were asked for and fewer can be made
//! here, nothing is measured. One that was asked for alone is measured: that is a question too.

use pickfs_analysis::{
    panels::{BY_CANDIDATE, applies},
    wording::{list, unique},
};
use pickfs_candidate::{Availability, availability};
use pickfs_record::{BackingSpec, Cell, Plan, record::SkippedCell};
use thiserror::Error;

use crate::{
    expand::Expansion,
    length::cells_asked,
    preflight::{PreflightError, is_in_memory, too_small},
};

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{left}; {}", .gaps.join("; "))]
pub struct NoAnswer {
    pub left: String,
    pub gaps: Vec<String>,
    pub packages: Vec<String>,
    pub size_bytes: Option<u64>,
    pub remedies: Vec<String>,
}

pub(crate) fn check_rivals(plan: &Plan, expansion: &Expansion) -> Result<(), PreflightError> {
    let asked = cells_asked(plan);
    match compares(plan, &asked) && !compares(plan, &expansion.cells) {
        true => Err(no_answer(plan, &asked, expansion).into()),
        false => Ok(()),
    }
}

/// Whether a panel that the plan claims something about holds two rows that are compared: floors
/// take no part beside others.
fn compares(plan: &Plan, cells: &[Cell]) -> bool {
    let primary = &plan.design.primary;
    let is_claimed =
        |cell: &&Cell| primary.is_empty() || primary.iter().any(|metric| applies(metric, cell));
    let claimed: Vec<&Cell> = cells.iter().filter(is_claimed).collect();
    claimed.iter().any(|one| {
        let panel = claimed.iter().filter(|other| shares_panel(plan, one, other));
        let floors = panel.clone().filter(|cell| is_floor(plan, cell)).count();
        let rows = panel.count();
        rows - if floors == rows { 0 } else { floors } >= 2
    })
}

/// A row in memory that this run makes; a place that exists is a choice, whatever it is.
fn is_floor(plan: &Plan, cell: &Cell) -> bool {
    let is_made = !matches!(plan.backing, BackingSpec::Directory { .. });
    is_made && is_in_memory(&cell.candidate.fs)
}

fn shares_panel(plan: &Plan, one: &Cell, other: &Cell) -> bool {
    let compare = &plan.design.compare;
    let rest = |cell: &Cell| {
        cell.levels.iter().filter(|level| level.axis != *compare).cloned().collect::<Vec<_>>()
    };
    let same_candidate = compare == BY_CANDIDATE || one.candidate == other.candidate;
    same_candidate && rest(one) == rest(other)
}

fn no_answer(plan: &Plan, asked: &[Cell], expansion: &Expansion) -> NoAnswer {
    let by_candidate = plan.design.compare == BY_CANDIDATE;
    let name = |cell: &Cell| match by_candidate {
        true => cell.candidate.label.clone(),
        false => cell.level(&plan.design.compare).unwrap_or_default().to_owned(),
    };
    let is_floor = |cell: &&Cell| by_candidate && is_floor(plan, cell);
    let left = unique(expansion.cells.iter().filter(|cell| !is_floor(cell)).map(name));
    let left = match left.as_slice() {
        [] => "nothing that is asked for can be made here".to_owned(),
        names => format!("only {} can be made here", list(names)),
    };
    let is_asked = |skipped: &&SkippedCell| {
        let same = |cell: &Cell| cell.candidate == skipped.cell.candidate;
        asked.iter().any(|cell| same(cell) && cell.levels == skipped.cell.levels)
    };
    let missing: Vec<&SkippedCell> = expansion.skipped.iter().filter(is_asked).collect();
    let (mut packages, mut remedies, mut size_bytes) = (Vec::new(), Vec::new(), None);
    for skipped in &missing {
        let fs = &skipped.cell.candidate.fs;
        match availability(fs) {
            Availability::Missing(lack)
                if lack.reason == skipped.reason && !lack.packages.is_empty() =>
            {
                packages.extend(lack.packages.iter().map(|package| (*package).to_owned()));
            }
            _ => match too_small(plan, fs) {
                Some(bytes) => size_bytes = size_bytes.max(Some(bytes)),
                None => remedies.push(skipped.remedy.clone()),
            },
        }
    }
    let (packages, remedies) = (unique(packages), unique(remedies));
    NoAnswer { left, gaps: gaps(&missing, name), packages, size_bytes, remedies }
}

fn gaps(missing: &[&SkippedCell], name: impl Fn(&Cell) -> String) -> Vec<String> {
    let is_mkfs = |skipped: &&&SkippedCell| {
        skipped.reason.starts_with("mkfs.") && skipped.reason.ends_with(" not found")
    };
    let unmade = unique(missing.iter().filter(is_mkfs).map(|skipped| name(&skipped.cell)));
    let others = missing.iter().filter(|skipped| !is_mkfs(skipped));
    let others = others.map(|skipped| format!("{}: {}", name(&skipped.cell), skipped.reason));
    let unmade = match unmade.as_slice() {
        [] => None,
        [one] => Some(format!("{one} lacks its mkfs program")),
        names => Some(format!("{} lack their mkfs program", list(names))),
    };
    unique(unmade.into_iter().chain(others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{expand::expand, plans::planned, preflight::ceiling};

    fn left_after(plan: &Plan, gone: &[(&str, &str)]) -> Result<(), PreflightError> {
        let workload = pickfs_workload::find(&plan.workload).expect("a workload");
        let mut left = expand(plan, workload, |c| ceiling(c, &plan.backing)).expect("expands");
        left.leave_out(|cell| {
            let (_, reason) = gone.iter().find(|(fs, _)| *fs == cell.candidate.fs)?;
            Some(((*reason).into(), "take another kernel".into()))
        });
        check_rivals(plan, &left)
    }

    const NO_XFS: (&str, &str) = ("xfs", "mkfs.xfs not found");
    const NO_BTRFS: (&str, &str) = ("btrfs", "mkfs.btrfs not found");

    #[test]
    fn one_of_three_beside_a_floor_compares_nothing() {
        let error = left_after(&planned("quick"), &[NO_XFS, NO_BTRFS]).expect_err("one is left");
        assert_eq!(
            error.to_string(),
            "only ext4 can be made here; xfs and btrfs lack their mkfs program"
        );
        left_after(&planned("quick"), &[NO_XFS]).expect("two are left");
        let old = ("btrfs", "this kernel has no file system btrfs");
        let error =
            left_after(&planned("quick"), &[NO_XFS, old]).expect_err("one is left").to_string();
        let gaps = "xfs lacks its mkfs program; btrfs: this kernel has no file system btrfs";
        assert!(error.ends_with(gaps), "{error}");
    }

    #[test]
    fn one_that_is_asked_for_alone_is_measured() {
        let mut plan = planned("quick");
        plan.candidates.retain(|candidate| ["ext4", "tmpfs"].contains(&candidate.fs.as_str()));
        left_after(&plan, &[]).expect("one was asked for");
        plan.design.compare = "sync".into();
        plan.design.reference = "none".into();
        plan.without.clear();
        left_after(&plan, &[]).expect("levels are compared");
    }

    #[test]
    fn only_panels_with_a_claim_count() {
        let mut plan = planned("quick");
        plan.candidates.retain(|candidate| candidate.fs != "btrfs");
        let workload = pickfs_workload::find(&plan.workload).expect("a workload");
        let mut left = expand(&plan, workload, |c| ceiling(c, &plan.backing)).expect("expands");
        left.leave_out(|cell| {
            let is_durable = cell.candidate.fs == "xfs" && cell.level("sync") == Some("fdatasync");
            is_durable.then(|| ("none".into(), "none".into()))
        });
        assert_eq!(left.skipped.last().expect("a durable cell of xfs").reason, "none");
        check_rivals(&plan, &left).expect_err("the panel of sync = none is exploratory");
        plan.design.primary.clear();
        check_rivals(&plan, &left).expect("without a claim every panel counts");
    }
}
