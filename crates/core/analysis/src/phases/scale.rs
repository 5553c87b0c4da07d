use pickfs_record::{TrialRecord, finding::Notice, quantity::significant};

use crate::{
    engine::engine,
    panels::{Disturbed, Group, Member},
};

pub const SCALE_KEY: &str = "scale_factor";

/// The doubt of a row whose trials did other work than the reference's.
pub const UNEQUAL_SCALE: &str = "unequal-scale";

/// Whether two trials did the same work in the same engine; true where neither says a scale.
pub fn are_alike(one: &TrialRecord, other: &TrialRecord) -> bool {
    if engine(one) != engine(other) {
        return false;
    }
    match (scale(one), scale(other)) {
        (Some(one), Some(other)) => (one / other).ln().abs() < 1e-6,
        _ => true,
    }
}

/// The scale of a trial; none where it says no usable one.
pub fn scale(trial: &TrialRecord) -> Option<f64> {
    trial.counts.get(SCALE_KEY).copied().filter(|scale| *scale > 0.0)
}

pub fn unlike_blocks(reference: &Member<'_>, other: &Member<'_>) -> u32 {
    blocks_apart(reference, other).count() as u32
}

pub fn blocks_apart<'a>(
    reference: &Member<'a>,
    other: &Member<'a>,
) -> impl Iterator<Item = u32> + use<'a> {
    let apart = pairs(reference, other).filter(|(base, trial)| !are_alike(base, trial));
    apart.map(|(_, trial)| trial.block)
}

pub fn alike<'a>(
    reference: &Member<'a>,
    other: &Member<'a>,
) -> impl Iterator<Item = (&'a TrialRecord, &'a TrialRecord)> + use<'a> {
    pairs(reference, other).filter(|(base, trial)| are_alike(base, trial))
}

fn pairs<'a>(
    reference: &Member<'a>,
    other: &Member<'a>,
) -> impl Iterator<Item = (&'a TrialRecord, &'a TrialRecord)> + use<'a> {
    let base = reference.chosen(Disturbed::Kept);
    other.chosen(Disturbed::Kept).into_iter().filter_map(move |trial| {
        let base = base.iter().find(|base| base.block == trial.block)?;
        Some((*base, trial))
    })
}

/// One for each row of a group that did other work than its reference.
pub fn notices(groups: &[Group<'_>]) -> Vec<Notice> {
    let of_group = |group: &Group<'_>| -> Vec<Notice> {
        let at = if group.title.is_empty() { "" } else { &format!("{}: ", group.title) };
        let Some(reference) = group.members.get(group.reference) else { return Vec::new() };
        let rivals = group.rivals().into_iter().map(|index| &group.members[index]);
        let said = rivals.filter_map(|other| sentence(reference, other));
        let notice =
            |said| Notice { kind: UNEQUAL_SCALE.into(), text: format!("{at}{said}"), trials: 0 };
        said.map(notice).collect()
    };
    groups.iter().flat_map(of_group).collect()
}

fn sentence(reference: &Member<'_>, other: &Member<'_>) -> Option<String> {
    let unlike = |(base, trial): &(&TrialRecord, &TrialRecord)| !are_alike(base, trial);
    let (base, trial) = pairs(reference, other).find(unlike)?;
    let all = pairs(reference, other).count() as u32;
    let blocks = match unlike_blocks(reference, other) {
        unlike if unlike == all => String::new(),
        unlike => format!(" in {unlike} of {all} blocks"),
    };
    Some(format!(
        "No ratio is formed with {}{blocks}: it ran at scale {}, {} at {}.",
        other.label,
        significant(scale(trial)?),
        reference.label,
        significant(scale(base)?),
    ))
}

#[cfg(test)]
mod tests {
    use pickfs_record::{RunRecord, finding::Claim};
    use pickfs_testkit::{FakePhasedRun, fake_phased_run};

    use super::*;
    use crate::{findings, phases::ratio};

    /// ext4 had less room than xfs, in these blocks.
    fn shrunk(is_shrunk: fn(u32) -> bool) -> RunRecord {
        let ask = FakePhasedRun { blocks: 9, ..FakePhasedRun::column() };
        let mut run = fake_phased_run(&ask);
        let ext4 = run.cells.iter().find(|cell| cell.candidate.label == "ext4");
        let ext4 = ext4.expect("a row").id.clone();
        for trial in &mut run.trials {
            let is_small = trial.cell == ext4 && is_shrunk(trial.block);
            trial.counts.insert(SCALE_KEY.into(), if is_small { 0.15 } else { 0.2 });
        }
        run
    }

    #[test]
    fn trials_of_unequal_scale_have_no_ratio_and_say_why() {
        let found = findings(&shrunk(|_| true));
        let panel = &found.panels[0];
        for row in &panel.phases {
            let of = |label: &str| {
                let at = panel.rows.iter().position(|row| row.label == label).expect("a row");
                &row.cells[at]
            };
            assert!(ratio(panel, "ext4", &row.phase).is_none(), "{}", row.phase);
            assert!(of("ext4").flags.contains(&(UNEQUAL_SCALE.into(), 9)), "{}", row.phase);
            assert!(ratio(panel, "btrfs", &row.phase).is_some(), "{}", row.phase);
            assert!(of("btrfs").flags.iter().all(|(kind, _)| kind != UNEQUAL_SCALE));
        }
        let mut compared = panel.comparisons.iter().filter(|comparison| comparison.other == "ext4");
        assert!(compared.all(|comparison| comparison.claim == Claim::Open));
        let said = "No ratio is formed with ext4: it ran at scale 0.15, xfs at 0.20.";
        let notices = &found.notices;
        let is_told = notices.iter().any(|n| n.kind == UNEQUAL_SCALE && n.text == said);
        assert!(is_told, "{notices:?}");
    }

    #[test]
    fn factors_and_claims_of_articles_form_no_ratio_of_unequal_scales() {
        let ask = FakePhasedRun { blocks: 9, lanes: vec![1, 64], ..FakePhasedRun::column() };
        let mut plain = fake_phased_run(&ask);
        plain.plan.name = "article-002-rhel9".into();
        let mut small = plain.clone();
        for trial in &mut small.trials {
            let cell = plain.cells.iter().find(|cell| cell.id == trial.cell);
            let is_ext4 = cell.expect("a cell").candidate.label == "ext4";
            trial.counts.insert(SCALE_KEY.into(), if is_ext4 { 0.15 } else { 0.2 });
        }
        let effects = |run: &RunRecord| {
            let found = findings(run);
            let factors = found.factors.iter().flat_map(|found| &found.factors);
            let effects = factors.flat_map(|factor| factor.effects.clone());
            let of = |effect: &pickfs_record::finding::Effect| {
                effect.levels.iter().any(|level| level.value == "ext4") && effect.blocks > 0
            };
            effects.filter(of).count()
        };
        assert!(effects(&plain) > 0);
        assert_eq!(effects(&small), 0);
        let with_means = |run: &RunRecord| {
            let answers = crate::articles::of_run(run, &findings(run));
            let text = format!("{answers:?}");
            text.matches("mean of").count()
        };
        assert!(with_means(&small) < with_means(&plain), "{}", with_means(&plain));
    }

    #[test]
    fn blocks_of_equal_scale_still_count() {
        let found = findings(&shrunk(|block| block == 2));
        let panel = &found.panels[0];
        let ratio = ratio(panel, "ext4", &panel.phases[0].phase).expect("eight blocks");
        assert_eq!(ratio.blocks, 8);
        let text = &found.notices.iter().find(|n| n.kind == UNEQUAL_SCALE).expect("told").text;
        assert!(text.contains("with ext4 in 1 of 9 blocks"), "{text}");
    }

    #[test]
    fn equal_scales_and_none_raise_nothing() {
        let found = findings(&shrunk(|_| false));
        assert!(found.notices.iter().all(|notice| notice.kind != UNEQUAL_SCALE));
        let cells = found.panels[0].phases.iter().flat_map(|row| &row.cells);
        assert!(cells.flat_map(|cell| &cell.flags).all(|(kind, _)| kind != UNEQUAL_SCALE));
    }
}
