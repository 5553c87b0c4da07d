use pickfs_record::{Cell, Outcome, RunRecord, TrialRecord, finding::Absent};

pub fn cells(run: &RunRecord) -> Vec<Absent> {
    let skipped = run.skipped.iter().map(|skipped| Absent {
        label: skipped.cell.candidate.label.clone(),
        levels: skipped.cell.levels_text(),
        how: "skipped".into(),
        reason: skipped.reason.clone(),
        remedy: skipped.remedy.clone(),
    });
    skipped.chain(run.cells.iter().filter_map(|cell| without_result(cell, run))).collect()
}

fn without_result(cell: &Cell, run: &RunRecord) -> Option<Absent> {
    let trials: Vec<&TrialRecord> = run.trials.iter().filter(|t| t.cell == cell.id).collect();
    if trials.iter().any(|trial| trial.outcome == Outcome::Finished) {
        return None;
    }
    let (how, reason) = match &trials.first()?.outcome {
        Outcome::Skipped { reason } => ("skipped", reason),
        Outcome::Failed { reason } => ("failed", reason),
        Outcome::Finished => return None,
    };
    Some(Absent {
        label: cell.candidate.label.clone(),
        levels: cell.levels_text(),
        how: how.into(),
        reason: reason.clone(),
        remedy: String::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, Mishap, fake_run};

    #[test]
    fn skipped_cells_keep_reason_and_remedy() {
        let mishaps = vec![Mishap::skipped("btrfs:noatime", "no driver", "modprobe btrfs")];
        let found = cells(&fake_run(&FakeRun { mishaps, ..FakeRun::default() }));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].levels, "sync=none");
        assert_eq!(
            (found[0].how.as_str(), found[0].remedy.as_str()),
            ("skipped", "modprobe btrfs")
        );
    }
}
