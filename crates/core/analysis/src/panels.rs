//! All cells of a panel share every level but the one that is compared. Rows that
//! stand in memory join as a floor; comparisons stay within one backing (rule 5).

use std::collections::HashMap;

use pickfs_record::{
    BackingKind, Cell, CellId, Condition, Durability, Level, Outcome, RunRecord, Scope,
    TrialRecord, plan::Metric,
};

use crate::{doubts::doubts, engine::engine};

/// The word of [`pickfs_record::plan::Design::compare`] that stands for candidates.
pub const BY_CANDIDATE: &str = "candidate";

#[derive(Debug, Clone)]
pub struct Group<'a> {
    pub title: String,
    pub levels: Vec<Level>,
    pub members: Vec<Member<'a>>,
    pub reference: usize,
}

#[derive(Debug, Clone)]
pub struct Member<'a> {
    pub cell: &'a Cell,
    pub label: String,
    pub backing: BackingKind,
    pub trials: Vec<&'a TrialRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disturbed {
    Kept,
    /// The first attempt that does not raise this doubt; the block is empty where there is none.
    Without(&'static str),
}

impl Disturbed {
    fn leaves_out(self, trial: &TrialRecord) -> bool {
        match self {
            Disturbed::Kept => false,
            Disturbed::Without(kind) => doubts(trial).iter().any(|flag| flag.kind == kind),
        }
    }
}

impl<'a> Member<'a> {
    /// One finished trial per block at most, in block order.
    pub fn chosen(&self, disturbed: Disturbed) -> Vec<&'a TrialRecord> {
        let trials = self.trials.iter().copied();
        let finished = trials.filter(|trial| trial.outcome == Outcome::Finished);
        one_a_block(finished.filter(|trial| !disturbed.leaves_out(trial)))
    }

    pub fn engine(&self) -> &str {
        let finished = self.trials.iter().find(|trial| trial.outcome == Outcome::Finished);
        finished.or(self.trials.first()).map_or("", |trial| engine(trial))
    }

    /// Whether it stands in memory: a floor, never part of a durability claim.
    pub fn is_floor(&self) -> bool {
        self.backing == BackingKind::Memory
    }
}

/// The first attempt of each block, in block order.
pub fn one_a_block<'a>(trials: impl Iterator<Item = &'a TrialRecord>) -> Vec<&'a TrialRecord> {
    let mut chosen: Vec<&TrialRecord> = trials.collect();
    chosen.sort_by_key(|trial| (trial.block, trial.attempt, trial.number));
    chosen.dedup_by_key(|trial| trial.block);
    chosen
}

impl Group<'_> {
    /// Weakest durability of the rows that are no floor; of all where every row is one.
    pub fn durability(&self) -> Durability {
        let all_floor = self.members.iter().all(Member::is_floor);
        let counted = self.members.iter().filter(|member| all_floor || !member.is_floor());
        counted.map(|member| member.cell.durability).min().unwrap_or(Durability::Nothing)
    }

    /// Indices of the rows that may be compared with the reference: same backing, same engine.
    pub fn rivals(&self) -> Vec<usize> {
        let ground = |member: &Member<'_>| (member.backing, member.engine().to_owned());
        let reference = self.members.get(self.reference).map(ground);
        let same = |index: &usize| Some(ground(&self.members[*index])) == reference;
        (0..self.members.len()).filter(|index| *index != self.reference).filter(same).collect()
    }
}

pub fn groups(run: &RunRecord) -> Vec<Group<'_>> {
    let mut trials: HashMap<&CellId, Vec<&TrialRecord>> = HashMap::new();
    for trial in &run.trials {
        trials.entry(&trial.cell).or_default().push(trial);
    }
    let mut groups: Vec<Group<'_>> = Vec::new();
    for cell in &run.cells {
        let Some(member) = member(cell, &run.plan.design.compare, trials.get(&cell.id)) else {
            continue;
        };
        let levels = shared_levels(cell, &run.plan.design.compare);
        match groups.iter_mut().find(|group| group.levels == levels) {
            Some(group) => group.members.push(member),
            None => groups.push(group(levels, member)),
        }
    }
    for group in &mut groups {
        choose_reference(group, &run.plan.design.reference);
    }
    // What the plan asks stands before what it only measures.
    let asked = |group: &Group<'_>| {
        let cells = || group.members.iter().map(|member| member.cell);
        run.plan.design.primary.iter().any(|metric| cells().any(|cell| applies(metric, cell)))
    };
    groups.sort_by_key(|group| !asked(group));
    groups
}

fn group(levels: Vec<Level>, member: Member<'_>) -> Group<'_> {
    let word = |level: &Level| match level.axis.as_str() {
        BY_CANDIDATE => level.value.clone(),
        axis => format!("{axis}={}", level.value),
    };
    Group {
        title: levels.iter().map(word).collect::<Vec<_>>().join(", "),
        levels,
        members: vec![member],
        reference: 0,
    }
}

fn member<'a>(
    cell: &'a Cell,
    compare: &str,
    trials: Option<&Vec<&'a TrialRecord>>,
) -> Option<Member<'a>> {
    let trials = trials?;
    let finished = trials.iter().find(|trial| trial.outcome == Outcome::Finished);
    let backing = finished.or(trials.first())?.backing;
    let label = match compare {
        BY_CANDIDATE => cell.candidate.label.clone(),
        axis => cell.level(axis).unwrap_or(&cell.candidate.label).to_string(),
    };
    let trials = trials.iter().copied().filter(|trial| trial.backing == backing).collect();
    Some(Member { cell, label, backing, trials })
}

fn shared_levels(cell: &Cell, compare: &str) -> Vec<Level> {
    if compare == BY_CANDIDATE {
        return cell.levels.clone();
    }
    let candidate = Level { axis: BY_CANDIDATE.into(), value: cell.candidate.label.clone() };
    let others = cell.levels.iter().filter(|level| level.axis != compare).cloned();
    std::iter::once(candidate).chain(others).collect()
}

/// The planned row where it can carry comparisons; else the first that is no floor and has results.
fn choose_reference(group: &mut Group<'_>, planned: &str) {
    let all_floor = group.members.iter().all(Member::is_floor);
    let fit = |member: &Member<'_>| {
        (all_floor || !member.is_floor()) && !member.chosen(Disturbed::Kept).is_empty()
    };
    let wanted = group.members.iter().position(|member| member.label == planned && fit(member));
    group.reference = wanted.or_else(|| group.members.iter().position(fit)).unwrap_or(0);
}

/// Candidates of one file system are settings of it: that one of them promises less is what is asked about.
pub fn are_settings<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> bool {
    let mut all = cells.into_iter().map(|cell| &cell.candidate.fs);
    all.next().is_none_or(|first| all.all(|fs| fs == first))
}

/// Whether a metric is asked of a cell.
pub fn applies(metric: &Metric, cell: &Cell) -> bool {
    holds(&metric.at, cell)
}

/// What a cell does not name is 0: an older run has no readers where it knows nothing of them.
pub fn holds(scope: &Scope, cell: &Cell) -> bool {
    let is = |(name, condition): (&String, &Condition)| {
        condition.holds(property(cell, name).as_deref().unwrap_or("0"))
    };
    scope.iter().all(is)
}

/// What is known of a cell under a name: its level, a parameter, a knob.
pub fn property(cell: &Cell, name: &str) -> Option<String> {
    let own = match name {
        "workload" => Some(cell.workload.name.clone()),
        "fs" => Some(cell.candidate.fs.clone()),
        "label" => Some(cell.candidate.label.clone()),
        _ => cell.level(name).map(String::from),
    };
    let param = || {
        let value = cell.workload.params.get(name).filter(|value| !value.is_null())?;
        Some(value.as_str().map_or_else(|| value.to_string(), String::from))
    };
    own.or_else(param).or_else(|| cell.knobs.get(name).cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, Mishap, fake_run};

    #[test]
    fn candidates_are_grouped_by_the_other_levels() {
        let run = fake_run(&FakeRun::default());
        let groups = groups(&run);
        let titles: Vec<_> = groups.iter().map(|group| group.title.as_str()).collect();
        assert_eq!(titles, ["sync=none", "sync=fdatasync"]);
        let labels: Vec<_> = groups[0].members.iter().map(|m| m.label.as_str()).collect();
        assert_eq!(labels, ["ext4:noatime", "xfs:noatime", "btrfs:noatime", "tmpfs"]);
        assert_eq!(groups[0].rivals(), [1, 2]);
    }

    #[test]
    fn an_axis_is_grouped_by_candidate() {
        let ask = FakeRun {
            compare: "sync".into(),
            reference: "none".into(),
            primary: Vec::new(),
            ..FakeRun::default()
        };
        let run = fake_run(&ask);
        let groups = groups(&run);
        assert_eq!(groups.len(), 4);
        assert_eq!(groups[1].title, "xfs:noatime");
        let labels: Vec<_> = groups[1].members.iter().map(|m| m.label.as_str()).collect();
        assert_eq!(labels, ["none", "fdatasync"]);
    }

    #[test]
    fn memory_is_a_floor_and_weakens_no_other_row() {
        let run = fake_run(&FakeRun { reference: "tmpfs".into(), ..FakeRun::default() });
        let groups = groups(&run);
        assert_eq!(groups[1].durability(), Durability::PowerLoss);
        assert_eq!(groups[1].members[groups[1].reference].label, "ext4:noatime");
    }

    #[test]
    fn a_missing_reference_is_replaced_by_the_first_row_with_results() {
        let mishaps = vec![Mishap::failed("ext4:noatime", "none", 0, "ENOSPC")];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let groups = groups(&run);
        assert_eq!(groups[0].members[groups[0].reference].label, "xfs:noatime");
        assert_eq!(groups[1].members[groups[1].reference].label, "ext4:noatime");
    }

    #[test]
    fn a_disturbed_trial_counts_first_and_its_repeat_counts_without_it() {
        let mishaps = vec![Mishap::disturbed("xfs:noatime", "none", 2, 3.0)];
        let run = fake_run(&FakeRun { mishaps, ..FakeRun::default() });
        let groups = groups(&run);
        let xfs = &groups[0].members[1];
        let attempts = |disturbed| -> Vec<u32> {
            xfs.chosen(disturbed).iter().map(|trial| trial.attempt).collect()
        };
        assert_eq!(attempts(Disturbed::Kept), [1, 1, 1, 1, 1]);
        assert_eq!(attempts(Disturbed::Without("disturbed")), [1, 2, 1, 1, 1]);
    }
}
