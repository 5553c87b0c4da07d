use pickfs_record::{
    RunRecord,
    finding::{NotYet, Panel},
    plan::View,
};

use crate::{doubts::doubts, wording};

pub fn open_questions(run: &RunRecord, panels: &[Panel]) -> Vec<NotYet> {
    let mut open: Vec<NotYet> = Vec::new();
    open.extend(references(run, panels));
    open.extend(periods(run));
    open.extend(tails(panels));
    open.extend(unread_disk(run));
    open.extend(missing(run));
    if !panels.is_empty() {
        open.push(NotYet {
            what: "maxima".into(),
            why: "the largest of n operations has no interval and is never ranked".into(),
        });
    }
    open
}

fn references(run: &RunRecord, panels: &[Panel]) -> Vec<NotYet> {
    let planned = &run.plan.design.reference;
    let lacking = panels.iter().filter(|p| p.reference != *planned && !p.comparisons.is_empty());
    lacking
        .map(|panel| NotYet {
            what: format!("comparisons with {planned}{}", place(&panel.title)),
            why: format!(
                "the planned reference cannot carry them here; {} stands in, exploratory",
                panel.reference
            ),
        })
        .collect()
}

fn place(title: &str) -> String {
    if title.is_empty() { String::new() } else { format!(" ({title})") }
}

fn periods(run: &RunRecord) -> Option<NotYet> {
    let of_phases =
        run.trials.iter().flat_map(|trial| &trial.phases).flat_map(|phase| &phase.flags);
    let mut flags = run.trials.iter().flat_map(doubts).chain(of_phases.cloned());
    let flag = flags.find(|flag| flag.kind == "period-not-covered")?;
    Some(NotYet { what: "tails with periodic work in them".into(), why: flag.text })
}

/// What others did on the disk is unknown then, and no trial counts as disturbed by it.
fn unread_disk(run: &RunRecord) -> Option<NotYet> {
    let found = run.trials.iter().filter_map(|trial| trial.disturbance.as_ref());
    let unread = found.filter(|disturbance| disturbance.disk_unread).count();
    let all = run.trials.len();
    (unread > 0).then(|| NotYet {
        what: "whether others used the disk".into(),
        why: format!(
            "the disk's own counters were not read in {unread} of {all} trials: nobody counts what a directory or a guest \
             moves of it"
        ),
    })
}

fn tails(panels: &[Panel]) -> Option<NotYet> {
    let mut open: Vec<(String, Vec<&str>)> = Vec::new();
    for panel in panels.iter().filter(|panel| panel.phases.is_empty()) {
        let mut limits: Vec<(f64, Vec<String>)> = Vec::new();
        for op in ops(panel).into_iter().filter(|op| !wording::is_program_time(op)) {
            let (carried, known) = (highest(panel, &op, true), highest(panel, &op, false));
            if carried >= known - 1e-9 {
                continue;
            }
            match limits.iter_mut().find(|(limit, _)| (*limit - carried).abs() < 1e-9) {
                Some((_, ops)) => ops.push(op),
                None => limits.push((carried, vec![op])),
            }
        }
        for (limit, ops) in limits {
            let what = format!("{} {}", wording::list(&ops), beyond(limit));
            match open.iter_mut().find(|(known, _)| *known == what) {
                Some((_, panels)) => panels.push(&panel.title),
                None => open.push((what, vec![&panel.title])),
            }
        }
    }
    let words =
        |(what, panels): &(String, Vec<&str>)| format!("{what}{}", place(&panels.join("; ")));
    (!open.is_empty()).then(|| NotYet {
        what: open.iter().map(words).collect::<Vec<_>>().join(", "),
        why: "fewer than ten episodes over three trials carry them".into(),
    })
}

/// The highest quantile that every row of a panel carries (or only knows) for an operation.
fn highest(panel: &Panel, op: &str, carried: bool) -> f64 {
    let rows = panel.rows.iter().filter_map(|row| {
        row.ops.iter().find(|found| found.op == op && found.view == View::Service)
    });
    rows.map(|row| {
        let quantiles = row.quantiles.iter().filter(|q| q.carried || !carried);
        quantiles.map(|q| q.q).fold(0.0, f64::max)
    })
    .fold(1.0, f64::min)
}

fn beyond(carried: f64) -> String {
    if carried < 0.5 {
        return "quantiles".into();
    }
    format!("tails beyond {}", wording::quantile_name(carried))
}

fn ops(panel: &Panel) -> Vec<String> {
    wording::unique(panel.rows.iter().flat_map(|row| &row.ops).map(|op| op.op.clone()))
}

fn missing(run: &RunRecord) -> Option<NotYet> {
    let ended = run.ended.as_ref().map(|end| end.how.as_str());
    let why = match ended {
        Some("completed" | "decided") => return None,
        None => "the run has not ended".to_string(),
        Some("budget-spent") => "the budget was spent before every comparison was settled".into(),
        Some(how) => format!("the run ended early ({how})"),
    };
    Some(NotYet { what: "the rest of the plan".into(), why })
}

#[cfg(test)]
mod tests {
    use pickfs_testkit::{FakeRun, Mishap, fake_run};

    fn open(ask: &FakeRun) -> Vec<(String, String)> {
        let found = crate::findings(&fake_run(ask)).not_yet;
        found.into_iter().map(|open| (open.what, open.why)).collect()
    }

    #[test]
    fn tails_and_maxima_are_named() {
        let found = open(&FakeRun { rate_per_s: 500.0, ..FakeRun::default() });
        let tails = "append, sync and durable tails beyond p99.95 (sync=fdatasync)";
        assert!(found.iter().any(|(what, _)| what.contains(tails)), "{found:?}");
        assert_eq!(found.last().map(|(what, _)| what.as_str()), Some("maxima"));
    }

    #[test]
    fn a_disk_whose_counters_were_not_read_is_unknown_and_not_quiet() {
        let mut run = fake_run(&FakeRun::default());
        let told = |run: &_| {
            let open = crate::findings(run).not_yet.into_iter();
            open.filter(|open| open.what == "whether others used the disk")
                .map(|open| open.why)
                .next()
        };
        assert_eq!(told(&run), None);
        run.trials[0].disturbance.as_mut().expect("read").disk_unread = true;
        let why = told(&run).expect("told");
        assert!(why.starts_with("the disk's own counters were not read in 1 of "), "{why}");
    }

    #[test]
    fn a_missing_reference_and_an_early_end_are_named() {
        let mishaps = vec![Mishap::failed("ext4:noatime", "", 0, "ENOSPC")];
        let ended = Some("interrupted".to_string());
        let found = open(&FakeRun { mishaps, ended, ..FakeRun::default() });
        assert!(found.iter().any(|(what, _)| what.starts_with("comparisons with ext4:noatime")));
        assert!(found.iter().any(|(_, why)| why == "the run ended early (interrupted)"));
    }
}
