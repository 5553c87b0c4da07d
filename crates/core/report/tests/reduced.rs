//! A reduced run says what the whole one says.

use pickfs_analysis::{articles::of_run, findings};
use pickfs_record::{Plan, RunRecord};
use pickfs_report::{
    ChartKind, Look, Screen, Subject,
    csv::{phases_csv, stalls_csv, trials_csv},
    first::first_screen,
};
use pickfs_store::RunFile;
use pickfs_testkit::{
    FakePhasedRun, FakeRun, Mishap, MishapKind, explained, fake_phased_run, fake_run,
};

fn runs() -> Vec<RunRecord> {
    let disturbed = MishapKind::Flagged("disturbed".into(), "others took a CPU".into());
    let mishaps = vec![
        Mishap::new("btrfs:noatime", "fdatasync", 2, disturbed),
        Mishap::failed("xfs:noatime", "none", 0, "append: ENOSPC"),
    ];
    let mut named = fake_run(&FakeRun { blocks: 12, measure_s: 61, ..FakeRun::default() });
    named.plan.name = "quick".into();
    vec![
        named,
        fake_run(&FakeRun { blocks: 12, mishaps, ..FakeRun::default() }),
        explained(fake_run(&FakeRun { blocks: 4, ..FakeRun::default() })),
        fake_phased_run(&FakePhasedRun::files()),
    ]
}

#[test]
fn a_reduced_run_gives_the_same_findings_claims_first_screen_and_pictures() {
    let folder = tempfile::tempdir().expect("a folder");
    for (at, whole) in runs().iter().enumerate() {
        let path = folder.path().join(format!("{at}.pickfs"));
        RunFile::create_reduced(&path, whole).expect("written");
        let read = RunFile::open(&path).and_then(|file| file.read()).expect("read");
        let (then, now) = (findings(whole), findings(&read));
        assert_eq!(then.endings, now.endings);
        assert!(then == now, "run {at}");
        let claims = [(whole, &then), (&read, &now)].map(|(run, found)| of_run(run, found));
        assert_eq!(format!("{:?}", claims[0]), format!("{:?}", claims[1]));
        let subjects = [Subject::new(whole, &then), Subject::new(&read, &now)];
        let screen = Screen { columns: 100, colour: false, next: None, report: None, run: None };
        let screens = subjects.each_ref().map(|subject| first_screen(subject, &screen));
        assert_eq!(screens[0], screens[1]);
        let tables = subjects.each_ref().map(|subject| {
            let texts = [trials_csv(subject), phases_csv(subject), stalls_csv(subject)];
            // Whose program it was is not told to others.
            texts.map(|text| text.expect("text").replace(",hog,", ",PROGRAM1,"))
        });
        assert_eq!(tables[0], tables[1]);
        let drawn = |kind: ChartKind| subjects.each_ref().map(|one| kind.draw(one, Look::SHEET));
        // What a page draws of single operations stays with the whole run.
        let single = [ChartKind::LatencyMap, ChartKind::SlowOperations];
        let is_of_all = |kind: &ChartKind| {
            !single.contains(kind)
                && (whole.trials[0].stalls.is_none() || *kind != ChartKind::WorstPerSecond)
        };
        for kind in ChartKind::all().filter(is_of_all) {
            let [then, now] = drawn(kind);
            assert!(then == now, "{kind} of run {at}");
        }
        let plan = Plan { typed: read.plan.typed.clone(), ..whole.plan.clone() };
        assert_eq!(read.plan, plan);
    }
}
