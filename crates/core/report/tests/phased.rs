use pickfs_analysis::summary::{median, metric_value};
use pickfs_record::{
    Outcome, RunRecord, plan::Statistic, quantity::significant, record::LoadRecord,
};
use pickfs_report::{
    ChartKind, Look, Screen, Subject,
    chart::{Scene, Shape},
    first::{LINES_MAX, first_screen},
    html::html,
    markdown::markdown,
    terminal::{phase_tables, whole_screen},
};
use pickfs_testkit::{FakePhasedRun, FakeRun, LostPhase, fake_phased_run, fake_run};

fn shown<T>(run: &RunRecord, show: impl FnOnce(&Subject) -> T) -> T {
    let findings = pickfs_analysis::findings(run);
    show(&Subject::new(run, &findings))
}

fn screen(ask: &FakePhasedRun, columns: usize) -> String {
    let screen = Screen { columns, ..Screen::default() };
    shown(&fake_phased_run(ask), |subject| first_screen(subject, &screen))
}

fn two_lanes() -> FakePhasedRun {
    FakePhasedRun { blocks: 12, lanes: vec![1, 64], ..FakePhasedRun::column() }
}

fn eighteen() -> FakePhasedRun {
    let names = [
        "affs",
        "btrfs",
        "ext2",
        "ext3",
        "ext4",
        "fat16",
        "fat32",
        "hfs",
        "hfsplus",
        "hfsx",
        "hpfs",
        "jfs",
        "ntfs-3g",
        "reiserfs-3.6",
        "ufs",
        "ufs2",
        "xfs",
        "zfs-fuse",
    ];
    FakePhasedRun { candidates: names.map(String::from).into(), ..FakePhasedRun::files() }
}

#[test]
fn column_store_at_100_columns() {
    insta::assert_snapshot!(screen(&two_lanes(), 100));
}

#[test]
fn files_at_80_columns() {
    insta::assert_snapshot!(screen(&FakePhasedRun::files(), 80));
}

#[test]
fn three_blocks_say_that_nothing_is_called_different() {
    let run = fake_phased_run(&FakePhasedRun { blocks: 3, ..FakePhasedRun::column() });
    let wide = Screen { columns: 160, ..Screen::default() };
    let said = shown(&run, |subject| whole_screen(subject, &wide));
    assert!(said.contains("3 blocks do not decide between"), "{said}");
    assert!(!said.contains('~'), "{said}");
    let tables = shown(&run, |subject| phase_tables(subject, 100, false));
    assert!(tables.contains("too few blocks for intervals"), "{tables}");
}

#[test]
fn the_first_screen_of_phases_fits_a_terminal_and_leads_to_the_rest() {
    for (name, ask) in
        [("column", two_lanes()), ("files", FakePhasedRun::files()), ("eighteen", eighteen())]
    {
        for columns in [80, 100] {
            let said = screen(&ask, columns);
            assert!(said.lines().count() <= LINES_MAX, "{name}: {columns} columns:\n{said}");
            assert!(said.lines().all(|line| line.chars().count() <= columns), "{name}:\n{said}");
            let places = ["NO ANSWER ", "fix ", "--phases", "--doubts"];
            let found =
                places.map(|word| said.find(word).unwrap_or_else(|| panic!("{word}\n{said}")));
            assert!(found.is_sorted(), "{name}:\n{said}");
        }
        let run = fake_phased_run(&ask);
        let all = shown(&run, |subject| phase_tables(subject, 100, false));
        assert!(all.contains("GEOMETRIC MEAN") && all.contains("NOT YET "), "{all}");
        let rest = Screen { columns: 80, ..Screen::default() };
        let rest = shown(&run, |subject| whole_screen(subject, &rest));
        for words in ["\nbacking ", "each table", "NOT YET "] {
            assert!(rest.contains(words), "{words}: {rest}");
        }
    }
}

#[test]
fn eighteen_candidates_stay_within_the_columns() {
    let run = fake_phased_run(&eighteen());
    for columns in [80, 100, 120] {
        let tables = shown(&run, |subject| phase_tables(subject, columns, false));
        let longest = tables.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest <= columns, "{longest} of {columns}");
        for label in ["btrfs", "reiserfs-3.6", "zfs-fuse"] {
            assert!(tables.contains(&format!("affs/{label}")), "{label}");
        }
    }
}

#[test]
fn every_header_of_a_ratio_says_its_direction() {
    let run = fake_phased_run(&FakePhasedRun::column());
    let page = shown(&run, |subject| html(subject, None));
    let text = shown(&run, |subject| markdown(subject, None));
    let tables = shown(&run, |subject| phase_tables(subject, 100, false));
    assert_eq!(page.matches(">xfs/ext4<").count(), 6, "one in each table");
    assert_eq!(page.matches("&gt;1: xfs faster").count(), 12);
    assert_eq!(text.matches("xfs/ext4 (&gt;1: xfs faster)").count(), 6);
    assert!(page.contains("style=\"background:var(--h"), "ratios are coloured");
    assert_eq!(tables.matches(">1: xfs faster").count(), 12);
}

#[test]
fn means_stand_under_every_table_but_the_derived_one() {
    let run = fake_phased_run(&FakePhasedRun::column());
    let tables = shown(&run, |subject| phase_tables(subject, 100, false));
    assert_eq!(tables.matches("GEOMETRIC MEAN").count(), 4);
    assert_eq!(tables.matches("MAX RATIO").count(), 4);
    assert_eq!(tables.matches("not-cold: every trial; the first: ").count(), 1);
}

#[test]
fn a_skipped_phase_is_told_from_a_failed_one() {
    let lost = |label: &str, outcome| LostPhase {
        label: label.into(),
        phase: "disk sort".into(),
        block: 0,
        outcome,
    };
    let ask = FakePhasedRun {
        lost: vec![
            lost("ext4", Outcome::Skipped { reason: "no space for it".into() }),
            lost("btrfs", Outcome::Failed { reason: "write: EIO".into() }),
        ],
        ..FakePhasedRun::column()
    };
    let tables = shown(&fake_phased_run(&ask), |subject| phase_tables(subject, 100, false));
    let row = tables.lines().find(|line| line.starts_with("disk sort")).expect("the row");
    assert!(row.contains("skipped") && row.contains("failed"), "{row}");
    assert!(tables.contains("ext4, no result in 6 of 6 trials: no space for it"), "{tables}");
}

fn words(scene: &Scene) -> Vec<&str> {
    let texts = scene.items.iter().filter_map(|item| match &item.shape {
        Shape::Words { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[test]
fn every_phase_of_the_files_has_its_bars_and_the_failed_one_says_so() {
    let run = fake_phased_run(&FakePhasedRun::files());
    let drawn = shown(&run, |s| ChartKind::Trials.draw(s, Look::PAGE));
    let names: Vec<&str> = drawn.iter().map(|chart| chart.name.as_str()).collect();
    assert_eq!(names.len(), 10);
    assert!(names.contains(&"trials-seq-create"), "{names:?}");
    let create = drawn.iter().find(|chart| chart.name.ends_with("seq-create")).expect("drawn");
    assert!(words(&create.scene).iter().any(|text| text.starts_with("failed: ")));
    let column = fake_phased_run(&two_lanes());
    let drawn = shown(&column, |s| ChartKind::Trials.draw(s, Look::PAGE));
    assert_eq!(drawn.len(), 2 * (10 + 4), "of many phases only those that matter most");
}

#[test]
fn the_details_have_quantiles_and_the_worst_second() {
    let run = fake_phased_run(&FakePhasedRun::column());
    let page = shown(&run, |subject| html(subject, None));
    assert_eq!(page.matches("Operations, service time").count(), 3);
    assert!(page.contains("worst second") && page.contains("lanes began within"));
    assert!(page.contains("latency max "), "values stand with their unit");
    let size = page.len();
    assert!(size < 1_500_000, "{size} bytes");
}

#[test]
fn verdict_ranking_and_conditions_open_the_page() {
    let run = fake_phased_run(&two_lanes());
    let page = shown(&run, |subject| html(subject, None));
    let at = |words: &str| page.find(words).unwrap_or_else(|| panic!("{words}"));
    assert!(at("id=\"answer\"") < at("id=\"measured\""));
    assert!(at("id=\"measured\"") < at("id=\"verdict\""));
    let (_, board) = page.split_once("id=\"answer\"").expect("the answers");
    let board = board.split("</section>").next().expect("text");
    assert_eq!(board.matches("<tr>").count(), 1 + 2 * 4, "tiers x lanes");
    assert!(board.contains("xfs or ext4<small>NO ANSWER</small>"), "{board}");
    let findings = pickfs_analysis::findings(&run);
    for found in findings.panels.iter().flat_map(|panel| &panel.comparisons) {
        if let (pickfs_record::finding::Claim::Slower, Some((low, high))) =
            (found.claim, found.interval)
        {
            let interval = format!("[{:.2}, {:.2}]", 1.0 / high, 1.0 / low);
            assert!(board.contains(&interval), "{interval}");
        }
    }
}

#[test]
fn a_row_without_a_result_has_no_dot() {
    let files = FakePhasedRun { blocks: 12, ..FakePhasedRun::files() };
    let page = shown(&fake_phased_run(&files), |subject| html(subject, None));
    let (_, board) = page.split_once("id=\"answer\"").expect("the answers");
    let board = board.split("</section>").next().expect("text");
    let last = board.split("<td").last().expect("the cell of fat16");
    assert!(last.contains("<small>-</small>") && !last.contains("<svg"), "{last}");
    assert_eq!(board.matches("<svg").count(), 2, "xfs and btrfs beside the reference");
}

#[test]
fn every_cell_shows_the_rate_of_its_phase_and_not_the_arrivals_of_the_loop() {
    let mut run = fake_phased_run(&FakePhasedRun::files());
    for trial in &mut run.trials {
        trial.load = Some(LoadRecord { achieved_per_s: 41_367.0, ..LoadRecord::default() });
    }
    let metric = run.plan.design.primary[0].clone();
    let trial = run.trials.iter().find(|trial| trial.outcome == Outcome::Finished);
    let trial = trial.expect("a trial");
    let stored = trial.phase(&metric.op).expect("the phase");
    let stored = significant(stored.rate_per_s);
    let page = shown(&run, |subject| html(subject, None));
    let cells = &page[page.find("id=\"cells\"").expect("the section")..];
    assert!(!cells.contains("41,367"), "the arrivals of the loop");
    assert!(!cells.contains(": safe save rate no value"));
    assert!(cells.contains(&format!("<td>{stored}")), "{stored}");
}

#[test]
fn a_loop_of_several_operations_shows_the_rate_of_the_one_that_is_asked_for() {
    let mut run = fake_run(&FakeRun { blocks: 5, ..FakeRun::default() });
    for trial in &mut run.trials {
        let Some(mut op) = trial.ops.first().cloned() else { continue };
        op.op = "rare".into();
        op.service.count /= 50;
        trial.ops.push(op);
        trial.load = Some(LoadRecord { achieved_per_s: 41_367.0, ..LoadRecord::default() });
    }
    let mut metric = run.plan.design.primary[0].clone();
    (metric.op, metric.statistic) = ("rare".into(), Statistic::Rate);
    metric.at.clear();
    run.plan.design.primary = vec![metric.clone()];
    shown(&run, |subject| {
        let row = &subject.findings.panels[0].rows[0];
        let trials = subject.finished(&row.cell);
        let stored: Vec<f64> = trials.filter_map(|trial| metric_value(trial, &metric)).collect();
        let value = subject.value(row, &metric).expect("a rate").median;
        assert_eq!(value, median(&stored));
        let page = html(subject, None);
        assert!(!page.contains("41,367"), "the arrivals of the loop");
        assert!(page.contains(&significant(value)));
    });
}

#[test]
fn the_line_of_largest_ratios_holds_no_rates() {
    let page = shown(&fake_phased_run(&two_lanes()), |subject| markdown(subject, None));
    let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| MAX RATIO")).collect();
    assert!(!lines.is_empty());
    for line in lines {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        assert_eq!(cells[2..5], ["", "", ""], "{line}");
        assert!(cells[5].parse::<f64>().is_ok(), "{line}");
    }
}
