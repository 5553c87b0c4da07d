mod fixture;

use fixture::Found;
use pickfs_record::finding::Notice;
use pickfs_report::{
    NextStep, Screen, Subject,
    first::first_screen,
    markdown::markdown,
    terminal::{colour_of, whole_screen},
};

fn next() -> NextStep {
    NextStep { command: "./run journal".into(), duration_s: 2_700.0 }
}

fn screen((run, findings): &Found, columns: usize) -> String {
    let next = next();
    let report = Some("pickfs-runs/2026-11-21-journal/report.html");
    let screen = Screen { columns, colour: false, next: Some(&next), report, run: None };
    whole_screen(&Subject::new(run, findings), &screen)
}

#[test]
fn whole_screen_at_100_columns() {
    insta::assert_snapshot!(screen(&fixture::first_screen(), 100));
}

#[test]
fn whole_screen_at_80_columns() {
    insta::assert_snapshot!(screen(&fixture::first_screen(), 80));
}

#[test]
fn long_labels_at_80_columns() {
    insta::assert_snapshot!(screen(&fixture::preallocation(), 80));
}

#[test]
fn capacity_at_100_columns() {
    insta::assert_snapshot!(screen(&fixture::capacity(), 100));
}

#[test]
fn capacity_at_80_columns() {
    insta::assert_snapshot!(screen(&fixture::capacity(), 80));
}

#[test]
fn an_axis_names_the_first_column() {
    for (run, column) in [(fixture::roll(), "roll "), (fixture::write_path(), "write_path ")] {
        let text = screen(&run, 80);
        assert!(
            text.lines().any(|line| line.starts_with(column) && line.contains("p50")),
            "{text}"
        );
    }
    let (run, findings) = fixture::roll();
    let markdown = markdown(&Subject::new(&run, &findings), None);
    assert!(markdown.contains("| roll | p50 |"), "{markdown}");
}

#[test]
fn markdown_of_a_capacity() {
    let (run, findings) = fixture::capacity();
    insta::assert_snapshot!(markdown(&Subject::new(&run, &findings), None));
}

#[test]
fn the_candidates_and_the_raw_device_may_drift_and_it_is_one_doubt() {
    let (run, mut findings) = fixture::capacity();
    let of = |text: &str| Notice { kind: "drift".into(), text: text.into(), trials: 0 };
    findings.notices.extend([of("the candidates ran at 1.20 times"), of("the raw device at 1.30")]);
    let text = first_screen(&Subject::new(&run, &findings), &Screen::default());
    assert_eq!(text.matches("the machine changed").count(), 1, "{text}");
}

#[test]
fn what_every_trial_raises_is_no_note_of_a_row() {
    let (run, mut findings) = fixture::first_screen();
    for row in findings.panels.iter_mut().flat_map(|panel| &mut panel.rows) {
        row.doubts = vec![("period-not-covered".into(), row.trials)];
    }
    findings.panels[0].rows[1].doubts.push(("not-steady".into(), 2));
    for row in &mut findings.panels[1].rows {
        row.doubts.push(("rate-missed".into(), 1));
    }
    let subject = Subject::new(&run, &findings);
    let text = whole_screen(&subject, &Screen { columns: 100, ..Screen::default() });
    assert!(!text.contains("period-not-covered"), "{text}");
    assert!(text.contains("not-steady 2 of 40"), "{text}");
    let all =
        "All rows: rate-missed: tmpfs 1 of 40, xfs 1 of 40, ext4 1 of 40, btrfs 1 of 39 trials";
    assert!(text.contains(all), "{text}");
}

#[test]
fn markdown_of_a_pull_request() {
    let (run, findings) = fixture::first_screen();
    insta::assert_snapshot!(markdown(&Subject::new(&run, &findings), Some(&next())));
}

#[test]
fn no_line_is_wider_than_the_screen() {
    let shapes = [fixture::first_screen(), fixture::preallocation(), fixture::thousand()];
    let axes = [fixture::capacity(), fixture::roll(), fixture::write_path()];
    for run in shapes.iter().chain(&axes) {
        for columns in [80, 100, 120] {
            for line in screen(run, columns).lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let (run, findings) = fixture::first_screen();
    let subject = Subject::new(&run, &findings);
    let write =
        |colour| whole_screen(&subject, &Screen { columns: 100, colour, ..Screen::default() });
    let (plain, coloured) = (write(false), write(true));
    assert!(coloured.chars().any(|c| colour_of(c).is_some()) && !coloured.contains('\x1b'));
    let stripped: String = coloured.chars().filter(|c| colour_of(*c).is_none()).collect();
    assert_eq!(stripped, plain);
}

#[test]
fn a_ratio_stands_only_where_it_is_claimed() {
    let (run, mut findings) = fixture::first_screen();
    for found in findings.panels.iter_mut().flat_map(|panel| &mut panel.comparisons) {
        found.claim = pickfs_record::finding::Claim::Open;
    }
    let subject = Subject::new(&run, &findings);
    let text = whole_screen(&subject, &Screen { columns: 100, ..Screen::default() });
    let (_, ranking) = text.split_once("\nRanking\n").expect("the section");
    assert!(ranking.contains(" undecided "));
    assert!(!ranking.contains("x faster") && !ranking.contains("x slower"), "{text}");
}

#[test]
fn a_quantile_without_episodes_is_a_dash_with_its_reason() {
    let (_, findings) = fixture::first_screen();
    let tail = findings.panels[0].rows[0].ops[0].quantiles.iter().find(|q| q.q == 0.9999);
    let tail = tail.expect("kept");
    assert!(!tail.carried);
    let hidden = pickfs_record::quantity::duration_text(tail.value_ns.median);
    let text = screen(&fixture::first_screen(), 100);
    assert!(!text.contains(&hidden), "{hidden}");
    assert!(text.contains("fewer than ten slow episodes over three trials"));
}
