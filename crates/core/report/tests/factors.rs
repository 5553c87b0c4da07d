use pickfs_record::plan::{Metric, Statistic, View};
use pickfs_report::{
    ChartKind, Look, Screen, Subject, charts, first::first_screen, html::html, markdown::markdown,
    svg,
};
use pickfs_testkit::{FakeRun, fake_run};

fn ask() -> FakeRun {
    let append = Metric {
        op: "append".into(),
        view: View::Service,
        statistic: Statistic::Quantile(0.5),
        at: Default::default(),
    };
    FakeRun { blocks: 10, primary: vec![append], ..FakeRun::default() }
}

#[test]
fn the_picture_stands_in_every_format_and_holds_the_findings() {
    let run = fake_run(&ask());
    let findings = pickfs_analysis::findings(&run);
    let subject = Subject::new(&run, &findings);
    let found = &findings.factors[0];
    assert_eq!(found.cells, 6, "the floor is none of them");
    let drawn = ChartKind::Factors.draw(&subject, Look::SHEET);
    assert_eq!((drawn.len(), drawn[0].name.as_str(), drawn[0].panel), (1, "factors", None));
    let picture = svg::svg(&drawn[0].scene, svg::Setting::Alone);
    assert!(picture.contains("Which knob matters"), "{picture}");
    for effect in found.factors.iter().flat_map(|factor| &factor.effects) {
        let level = &effect.levels[0];
        assert!(picture.contains(&format!("{}: {}", level.axis, level.value)), "{picture}");
        let (low, _) = effect.interval.expect("ten blocks");
        assert!(picture.contains(&format!("[{low:.2}, ")), "{low} in {picture}");
    }
    let page = html(&subject, None);
    assert!(page.contains("id=\"factors\"") && page.contains("id=\"chart-factors\""));
    let screen = first_screen(&subject, &Screen { columns: 100, ..Screen::default() });
    assert!(screen.contains("\nfactors   What moves append p50 over 6 cells"), "{screen}");
    assert!(markdown(&subject, None).contains("### Which knob matters\n\n- What moves append p50"));
}

#[test]
fn a_run_with_one_factor_has_neither_words_nor_picture() {
    let run = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
    let findings = pickfs_analysis::findings(&run);
    let subject = Subject::new(&run, &findings);
    assert!(charts(&subject, Look::PAGE).iter().all(|chart| chart.kind != ChartKind::Factors));
    assert!(!html(&subject, None).contains("Which knob matters"));
}
