use pickfs_record::{Cell, Outcome, RunRecord, TrialRecord, finding::Absent};

pub fn cells(run: &RunRecord) -> Vec<Absent> {
    let of = |cell: &Cell, how: &str, reason: &str, remedy: &str| Absent {
        label: cell.candidate.label.clone(),
        levels: cell.levels_text(),
        how: how.into(),
        reason: reason.into(),
        remedy: remedy.into(),
    };
    let skipped = run.skipped.iter().map(|s| of(&s.cell, "skipped", &s.reason, &s.remedy));
    let without_result = |cell: &Cell| {
        let trials: Vec<&TrialRecord> = run.trials.iter().filter(|t| t.cell == cell.id).collect();
        match &trials.first()?.outcome {
            _ if trials.iter().any(|trial| trial.outcome == Outcome::Finished) => None,
            Outcome::Skipped { reason } => Some(of(cell, "skipped", reason, "")),
            Outcome::Failed { reason } => Some(of(cell, "failed", reason, "")),
            Outcome::Finished => None,
        }
    };
    skipped.chain(run.cells.iter().filter_map(without_result)).collect()
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
