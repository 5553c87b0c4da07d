use pickfs_record::{
    RunRecord,
    finding::{Answer, Findings, NoIo, Notice, Panel},
    plan::Metric,
};

use crate::{
    absent, answers, bimodal,
    budget::enough_blocks,
    clock, comparisons, doubts, drift, ending, engine, factors, noise, not_yet,
    panels::{Disturbed, Group, groups},
    phases, rows,
    summary::{raw_summary, spread},
    wording,
};

fn no_io(group: &Group<'_>) -> Option<NoIo> {
    let trials: Vec<_> = group.members.iter().flat_map(|m| m.chosen(Disturbed::Kept)).collect();
    let values = |name: &str| -> Vec<f64> {
        trials.iter().filter_map(|trial| trial.counts.get(name).copied()).collect()
    };
    let (p50, p99, largest) =
        (values("no_io_p50_ns"), values("no_io_p99_ns"), values("no_io_max_ns"));
    (!p50.is_empty()).then(|| NoIo {
        p50_ns: spread(&p50),
        p99_ns: spread(&p99),
        ns_max: largest.into_iter().fold(0.0, f64::max),
    })
}

pub fn findings(run: &RunRecord) -> Findings {
    let groups = groups(run);
    let ops = answers::summaries(&groups);
    let questions = answers::questions(run, &groups, &ops, Disturbed::Kept);
    let comparisons = comparisons::comparisons(run, &groups, &ops, &questions);
    let without = answers::without_doubts(run, &groups, &ops);
    let answers = answers::answers(run, &groups, &questions, &without);
    let missing = answers::missing(run, &groups, &questions, |_| true);
    let missing: Vec<_> = missing.into_iter().map(|(metric, _)| metric).collect();
    let factors = factors::findings(run, &groups, &ops);
    let mut panels: Vec<Panel> = groups
        .iter()
        .zip(ops)
        .zip(comparisons)
        .map(|((group, ops), comparisons)| Panel {
            title: group.title.clone(),
            levels: group.levels.clone(),
            durability: group.durability(),
            reference: group
                .members
                .get(group.reference)
                .map_or_else(String::new, |m| m.label.clone()),
            rows: rows::rows(group, ops),
            phases: phases::rows(group),
            comparisons,
            no_io: no_io(group),
        })
        .collect();
    add_raw(&groups, &answers, &mut panels);
    let noise = noise::rows(run);
    Findings {
        absent: absent::cells(run),
        notices: notices(run, &groups, &panels),
        not_yet: not_yet::open_questions(run, &panels),
        endings: ending::endings(run, (&groups, &panels), &answers, &missing),
        answers,
        factors,
        panels,
        noise,
    }
}

/// Where the raw response time ranks, it is what is shown, too.
fn add_raw(groups: &[Group<'_>], answers: &[Answer], panels: &mut [Panel]) {
    for (group, panel) in groups.iter().zip(panels) {
        for answer in answers.iter().filter(|answer| answer.raw && answer.panel == panel.title) {
            for (member, row) in group.members.iter().zip(&mut panel.rows) {
                let trials = member.chosen(Disturbed::Kept);
                row.ops.extend(answer.metric.ops().find_map(|op| raw_summary(op, &trials)));
            }
        }
    }
}

fn notices(run: &RunRecord, groups: &[Group<'_>], panels: &[Panel]) -> Vec<Notice> {
    let headline: Option<&Metric> = run.plan.design.primary.first();
    let mut notices = doubts::notices(run);
    notices.extend(drift::notices(run, groups, headline));
    for metric in &run.plan.design.primary {
        notices.extend(bimodal::notices(groups, metric));
    }
    notices.extend(phases::scale::notices(groups));
    notices.extend(engine::notices(run));
    notices.extend(clock::notices(run, panels));
    notices.extend(few_blocks(run));
    notices
}

fn few_blocks(run: &RunRecord) -> Option<Notice> {
    let blocks = run.blocks();
    (blocks < crate::BLOCKS_MIN).then(|| Notice {
        kind: "few-blocks".into(),
        text: format!(
            "{}: values and ranges are shown, and nothing is called different under {}",
            wording::blocks_text(blocks),
            enough_blocks(&run.plan, &run.cells)[0]
        ),
        trials: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_record::{BackingKind, Outcome, finding::AnswerEnd};
    use pickfs_testkit::{FakeRun, Mishap, MishapKind, fake_run};
    use proptest::prelude::*;

    #[test]
    fn the_same_run_gives_the_same_findings() {
        let run = fake_run(&FakeRun { blocks: 18, ..FakeRun::default() });
        assert_eq!(findings(&run), findings(&run));
    }

    /// A file holds no verdict. What older ones lack or call otherwise: the raw response, `robbed`, fields of others' share.
    #[test]
    fn an_old_run_file_is_judged_by_the_decision_of_today() {
        let disturbed = MishapKind::Flagged("disturbed".into(), "others took a CPU".into());
        let mishaps = vec![Mishap::new("btrfs:noatime", "fdatasync", 2, disturbed)];
        let run = fake_run(&FakeRun { blocks: 18, mishaps, ..FakeRun::default() });
        let mut old = serde_json::to_value(&run).expect("JSON");
        for trial in old["trials"].as_array_mut().expect("trials") {
            for op in trial["ops"].as_array_mut().expect("operations") {
                op.as_object_mut().expect("an operation").remove("raw_response");
            }
            if let Some(found) = trial["disturbance"].as_object_mut() {
                found.retain(|key, _| {
                    ["steal_share", "foreign_user_share", "seconds"].contains(&key.as_str())
                });
            }
        }
        let old = old.to_string().replace("\"disturbed\"", "\"robbed\"");
        let read: RunRecord = serde_json::from_str(&old).expect("an old run");
        let (then, now) = (findings(&read), findings(&run));
        assert_eq!((&then.answers, &then.endings), (&now.answers, &now.endings));
        assert!(then.endings.iter().any(|ending| ending.end == AnswerEnd::Winner));
    }

    #[test]
    fn an_empty_run_has_no_panels_and_says_that_it_is_short() {
        let mut run = fake_run(&FakeRun::default());
        run.trials.clear();
        let found = findings(&run);
        assert!(found.panels.is_empty());
        assert!(found.notices.iter().any(|notice| notice.kind == "few-blocks"));
    }

    #[test]
    fn a_cell_that_always_failed_is_a_row_with_its_reason() {
        let mishaps = vec![Mishap::failed("btrfs:noatime", "none", 0, "append: ENOSPC")];
        let found = findings(&fake_run(&FakeRun { mishaps, ..FakeRun::default() }));
        let row = &found.panels[0].rows[2];
        assert_eq!((row.trials, row.failed), (0, 5));
        assert_eq!(row.failure.as_deref(), Some("append: ENOSPC"));
        assert_eq!(found.absent.len(), 1);
        assert_eq!(found.absent[0].how, "failed");
    }

    fn damage(run: &mut RunRecord, kind: u8, at: usize) {
        let count = run.trials.len().max(1);
        let Some(trial) = run.trials.get_mut(at % count) else { return };
        match kind % 10 {
            0 => run.trials.truncate(at % count),
            1 => trial.ops.iter_mut().for_each(|op| op.service.mean_ns = f64::NAN),
            2 => trial.ops.clear(),
            3 => trial.load = None,
            4 => trial.outcome = Outcome::Failed { reason: String::new() },
            5 => trial.ops.iter_mut().for_each(|op| op.service = Default::default()),
            6 => trial.backing = BackingKind::Directory,
            7 => trial.block = 0,
            8 => {
                let zero = |op: &mut pickfs_record::record::OpRecord| {
                    op.service.quantiles.iter_mut().for_each(|row| row.value_ns = 0);
                };
                trial.ops.iter_mut().for_each(zero);
            }
            _ => {
                let copy = trial.clone();
                run.trials.push(copy);
            }
        }
    }

    #[test]
    fn the_row_without_io_is_that_of_all_trials_of_a_panel() {
        let mut run = fake_run(&FakeRun { blocks: 3, ..FakeRun::default() });
        assert!(findings(&run).panels.iter().all(|panel| panel.no_io.is_none()));
        for trial in &mut run.trials {
            let own = f64::from(trial.block);
            trial.counts.insert("no_io_p50_ns".into(), 30.0 * own);
            trial.counts.insert("no_io_p99_ns".into(), 50.0 * own);
            trial.counts.insert("no_io_max_ns".into(), 1_000.0 * own);
        }
        let no_io = findings(&run).panels[0].no_io.expect("a row without I/O");
        assert_eq!((no_io.p50_ns.median, no_io.p50_ns.high), (60.0, 90.0));
        assert_eq!((no_io.p99_ns.low, no_io.ns_max), (50.0, 3_000.0));
    }

    /// Two trials failed and one measured nothing, of five: its ratio was 0.
    #[test]
    fn a_row_that_mostly_failed_has_no_ratio() {
        let mut run = fake_run(&FakeRun { blocks: 5, measure_s: 3, ..FakeRun::default() });
        let damages = [
            (4, 5_295_845_960_801_485_638),
            (4, 15_364_565_411_023_259_213),
            (5, 17_424_635_323_481_327_297),
        ];
        damages.into_iter().for_each(|(kind, at)| damage(&mut run, kind, at));
        let found = findings(&run);
        assert!(found.panels.iter().flat_map(|panel| &panel.rows).any(|row| row.failed > 0));
        check_ratios(&found);
    }

    fn check_ratios(found: &Findings) {
        for comparison in found.panels.iter().flat_map(|panel| &panel.comparisons) {
            assert!(comparison.speedup.is_finite() && comparison.speedup > 0.0, "{comparison:?}");
        }
        let json = serde_json::to_value(found).expect("JSON");
        assert_eq!(&serde_json::from_value::<Findings>(json).expect("as it was written"), found);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn no_run_makes_it_panic(
            blocks in 0u32..7,
            damages in prop::collection::vec((any::<u8>(), any::<usize>()), 0..6),
        ) {
            let mut run = fake_run(&FakeRun { blocks, measure_s: 3, ..FakeRun::default() });
            for (kind, at) in damages {
                damage(&mut run, kind, at);
            }
            check_ratios(&findings(&run));
        }
    }
}
