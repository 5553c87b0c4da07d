mod fixture;

use fixture::{Shape, axes, fixture};
use pickfs_record::{Findings, RunRecord};
use pickfs_report::{
    NextStep, Screen, Subject,
    markdown::markdown,
    terminal::{colour_of, whole_screen},
};

fn next() -> NextStep {
    NextStep { command: "./run journal".into(), duration_s: 2_700.0 }
}

fn screen(shape: &Shape, columns: usize) -> String {
    let (run, findings) = fixture(shape);
    let next = next();
    let report = Some("pickfs-runs/2026-11-21-journal/report.html");
    let screen = Screen { columns, colour: false, next: Some(&next), report, run: None };
    whole_screen(&Subject::new(&run, &findings), &screen)
}

fn axis_screen((run, findings): &(RunRecord, Findings), columns: usize) -> String {
    whole_screen(&Subject::new(run, findings), &Screen { columns, ..Screen::default() })
}

#[test]
fn whole_screen_at_100_columns() {
    insta::assert_snapshot!(screen(&Shape::first_screen(), 100));
}

#[test]
fn whole_screen_at_80_columns() {
    insta::assert_snapshot!(screen(&Shape::first_screen(), 80));
}

#[test]
fn long_labels_at_80_columns() {
    insta::assert_snapshot!(screen(&Shape::preallocation(), 80));
}

#[test]
fn capacity_at_100_columns() {
    insta::assert_snapshot!(axis_screen(&axes::capacity(), 100));
}

#[test]
fn capacity_at_80_columns() {
    insta::assert_snapshot!(axis_screen(&axes::capacity(), 80));
}

#[test]
fn an_axis_names_the_first_column() {
    for (run, column) in [(axes::roll(), "roll "), (axes::write_path(), "write_path ")] {
        let text = axis_screen(&run, 80);
        assert!(
            text.lines().any(|line| line.starts_with(column) && line.contains("p50")),
            "{text}"
        );
    }
    let (run, findings) = axes::roll();
    let markdown = markdown(&Subject::new(&run, &findings), None);
    assert!(markdown.contains("| roll | p50 |"), "{markdown}");
}

#[test]
fn markdown_of_a_capacity() {
    let (run, findings) = axes::capacity();
    insta::assert_snapshot!(markdown(&Subject::new(&run, &findings), None));
}

#[test]
fn what_every_trial_raises_is_no_note_of_a_row() {
    let (run, mut findings) = fixture(&Shape::first_screen());
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
    assert!(text.contains("[1] not-steady 2 of 5"), "{text}");
    assert!(
        text.contains("All rows: rate-missed: xfs 1 of 5, ext4 1 of 5, btrfs 1 of 4 trials"),
        "{text}"
    );
}

#[test]
fn markdown_of_a_pull_request() {
    let (run, findings) = fixture(&Shape::first_screen());
    insta::assert_snapshot!(markdown(&Subject::new(&run, &findings), Some(&next())));
}

#[test]
fn no_line_is_wider_than_the_screen() {
    for shape in [Shape::first_screen(), Shape::preallocation(), Shape::thousand()] {
        for columns in [80, 100, 120] {
            for line in screen(&shape, columns).lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
    for run in [axes::capacity(), axes::roll(), axes::write_path()] {
        for columns in [80, 100, 120] {
            for line in axis_screen(&run, columns).lines() {
                assert!(line.chars().count() <= columns, "{columns}: {line}");
            }
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    let (run, findings) = fixture(&Shape::first_screen());
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
    let (run, mut findings) = fixture(&Shape::first_screen());
    for found in findings.panels.iter_mut().flat_map(|panel| &mut panel.comparisons) {
        found.claim = pickfs_record::finding::Claim::Open;
    }
    let subject = Subject::new(&run, &findings);
    let text = whole_screen(&subject, &Screen { columns: 100, ..Screen::default() });
    assert!(text.contains(" open "));
    assert!(!text.contains("x faster") && !text.contains("x slower ["), "{text}");
}

#[test]
fn a_quantile_without_episodes_is_a_dash_with_its_reason() {
    let (_, findings) = fixture(&Shape::first_screen());
    let p999 = findings.panels[0].rows[0].ops[0].quantiles.iter().find(|q| q.q == 0.999);
    let p999 = p999.expect("kept");
    assert!(!p999.carried);
    let hidden = pickfs_record::quantity::duration_text(p999.value_ns.median);
    let text = screen(&Shape::first_screen(), 100);
    assert!(!text.contains(&hidden), "{hidden}");
    assert!(text.contains("fewer than ten slow episodes over three trials"));
}
