use pickfs_analysis::findings;
use pickfs_record::{
    Durability::{KernelCrash, PowerLoss},
    Findings, RunRecord, TrialRecord,
    finding::{AnswerEnd, Ending},
    plan::{Metric, View},
    trial::SUSTAINED_KEYS,
};
use pickfs_report::{
    ChartKind, Look, NextStep, Screen, Subject,
    chart::Shape,
    first::{LINES_MAX, first_screen},
    html::html,
    markdown::markdown,
    part::part,
    terminal::whole_screen,
};
use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

fn run(blocks: u32, candidates: Vec<FakeCandidate>, mishaps: Vec<Mishap>) -> (RunRecord, Findings) {
    let primary: Vec<Metric> =
        FakeRun::default().primary.into_iter().filter(|m| m.op == "durable").collect();
    let mut run = fake_run(&FakeRun { blocks, candidates, mishaps, primary, ..FakeRun::default() });
    run.plan.typed = ["sudo", "./run", "quick", "--fs", "ext4,xfs,btrfs"].map(String::from).into();
    for trial in &mut run.trials {
        let each_ns = trial.ops.last().map_or(1.0, |op| op.service.mean_ns);
        let counts = [2.5e9 / each_ns, 2.6e8];
        trial.counts.extend(SUSTAINED_KEYS.map(String::from).into_iter().zip(counts));
    }
    let found = findings(&run);
    (run, found)
}

fn four() -> Vec<FakeCandidate> {
    [
        ("ext4", 490.0, 610e3),
        ("xfs", 550.0, 450e3),
        ("btrfs", 1_480.0, 860e3),
        ("tmpfs", 410.0, 450.0),
    ]
    .map(|(name, append, durable)| FakeCandidate::new(name, append, durable))
    .into()
}

fn winner() -> (RunRecord, Findings) {
    let mut four = four();
    four[1].tail = 1.0;
    run(15, four, vec![Mishap::disturbed("xfs", "none", 2, 1.6)])
}

fn equal() -> (RunRecord, Findings) {
    let mut four = four();
    four[0].durable_ns = four[1].durable_ns;
    four.iter_mut().for_each(|candidate| candidate.noise = 0.01);
    run(40, four, Vec::new())
}

fn no_answer() -> (RunRecord, Findings) {
    run(4, four(), vec![Mishap::disturbed("xfs", "none", 2, 1.6)])
}

fn screen((run, found): &(RunRecord, Findings), columns: usize) -> String {
    let next = NextStep { command: "./run journal".into(), duration_s: 2_700.0 };
    let place = "pickfs-runs/2026-11-21-quick";
    let page = format!("{place}/report.html");
    let is_open = found.endings.iter().any(|ending| ending.cure.is_some());
    let next = Some(&next).filter(|_| !is_open);
    let screen = Screen { columns, colour: false, next, report: Some(&page), run: Some(place) };
    first_screen(&Subject::new(run, found), &screen)
}

#[test]
fn the_three_ends_at_80_columns() {
    for (name, run) in [("winner", winner()), ("equal", equal()), ("no_answer", no_answer())] {
        let text = screen(&run, 80);
        assert!(text.lines().count() <= LINES_MAX, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(format!("{name}_at_80_columns"), text);
    }
}

#[test]
fn the_three_ends_at_40_columns() {
    for (name, run) in [("winner", winner()), ("equal", equal()), ("no_answer", no_answer())] {
        let text = screen(&run, 40);
        // A path is one word, however long.
        let fits = |line: &str| line.chars().count() <= 40 || !line.trim_start().contains(' ');
        assert!(text.lines().all(fits), "{text}");
        insta::assert_snapshot!(format!("{name}_at_40_columns"), text);
    }
}

/// Two blocks of nothing else: who it was and what helps stand in the answer alone.
#[test]
fn a_run_that_others_stopped_says_once_what_helps() {
    let names = ["ext4", "xfs", "btrfs"];
    let mishaps = names.map(|name| Mishap::disturbed(name, "", 0, 1.0)).into();
    let (mut run, _) = run(2, four(), mishaps);
    let end = run.ended.as_mut().expect("an end");
    end.how = "disturbed".into();
    end.note = "others (sh 0.9 CPUs) took the CPU in every trial of blocks 1 and 2; run it again when they are quiet".into();
    let found = findings(&run);
    let text = screen(&(run, found), 80);
    assert_eq!(text.matches("when they are quiet").count(), 1, "{text}");
}

#[test]
fn service_time_stands_beside_the_response_time_that_ranks() {
    let (mut run, _) = winner();
    run.plan.design.primary.iter_mut().for_each(|metric| metric.view = View::Response);
    let found = findings(&run);
    let text = screen(&(run, found), 80);
    assert!(text.lines().count() <= LINES_MAX, "{text}");
    let head = text.lines().find(|line| line.contains(" range ")).expect("bars");
    assert!([" p50 ", " service ", " p99"].iter().all(|word| head.contains(word)), "{text}");
}

#[test]
fn every_writer_says_the_same() {
    for (run, found) in [winner(), equal(), no_answer()] {
        let (subject, first) = (Subject::new(&run, &found), &found.endings[0]);
        let (word, sentence) = (first.end.to_string(), &first.sentence);
        let wide = Screen { columns: 400, ..Screen::default() };
        for text in [first_screen(&subject, &wide), whole_screen(&subject, &wide)] {
            assert!(text.starts_with(&format!("{word:<10}{sentence}")), "{text}");
        }
        let text = markdown(&subject, None);
        assert!(text.contains(&format!("\n\n**{word}** ")), "{text}");
        let page = html(&subject, None);
        let at = page.find(&format!("<strong>{word}</strong> {sentence}")).expect("on the page");
        assert!(at < page.find("<nav").expect("sections"), "before all else");
    }
}

#[test]
fn a_slide_has_the_verdict_all_trials_the_machine_and_the_date() {
    for (word, (run, found)) in
        [("WINNER", winner()), ("EQUAL", equal()), ("NO ANSWER", no_answer())]
    {
        let drawn = ChartKind::Slide.draw(&Subject::new(&run, &found), Look::SHEET);
        let items = &drawn[0].scene.items;
        let said = items.iter().filter_map(|item| match &item.shape {
            Shape::Words { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let said = said.collect::<Vec<_>>().join(" ");
        let cpu = run.environment.get("cpu.model").expect("a machine");
        for words in [word, &found.endings[0].sentence, cpu, &run.started[..10]] {
            assert!(said.contains(words), "{words}: {said}");
        }
        let dots = items.iter().filter(|item| matches!(item.shape, Shape::Marker { .. })).count();
        let blocks = run.trials.last().expect("trials").block as usize;
        assert_eq!(dots, 3 * blocks, "memory is left out");
    }
}

/// The driver's own stalls are half of what one of them takes: its raw response ranks, and is shown.
#[test]
fn the_response_that_ranks_is_the_one_that_is_shown() {
    let candidates = ["ext4", "xfs"].map(|name| FakeCandidate::new(name, 500.0, 150_000.0)).into();
    let mut primary = FakeRun::default().primary;
    primary.retain(|metric| metric.op == "durable");
    primary[0].view = View::Response;
    let mut run = fake_run(&FakeRun { candidates, primary, blocks: 20, ..FakeRun::default() });
    let xfs: Vec<_> = run.cells.iter().filter(|cell| cell.candidate.label == "xfs").collect();
    let is_xfs = |trial: &&mut TrialRecord| xfs.iter().any(|cell| cell.id == trial.cell);
    for trial in run.trials.iter_mut().filter(is_xfs) {
        let raw = trial.ops.iter_mut().filter_map(|op| op.raw_response.as_mut());
        raw.flat_map(|raw| &mut raw.quantiles).for_each(|row| row.value_ns *= 2);
    }
    let found = findings(&run);
    let subject = Subject::new(&run, &found);
    let panel = found.panels.iter().find(|panel| panel.title == found.endings[0].panel);
    let panel = panel.expect("the panel of the answer");
    let shown = subject.headline(panel);
    let of = |label: &str| {
        let row = panel.rows.iter().find(|row| row.label == label).expect("a row");
        subject.value(row, &shown).expect("a value").median
    };
    assert_eq!(shown.view, View::RawResponse);
    assert!((1.8..2.2).contains(&(of("xfs") / of("ext4"))), "{} {}", of("xfs"), of("ext4"));
    assert!(html(&subject, None).contains("raw response time"));
}

#[test]
fn a_page_says_what_was_expected_what_makes_it_again_and_how_many_questions_were_answered() {
    let (mut run, found) = winner();
    run.plan.expects = Some("xfs is first".into());
    let of =
        |run, words| part(&Subject::new(run, &findings(run)), "quick", words, "").expect("it").text;
    let how_sure = of(&run, "how sure");
    assert!(how_sure.contains("- its author expected: xfs is first\n"), "{how_sure}");
    assert!(how_sure.contains("- again: sudo ./run quick --fs ext4,xfs,btrfs\n"), "{how_sure}");
    let page = html(&Subject::new(&run, &found), None);
    assert!(page.contains("its author expected"), "no expectation in the report");
    assert!(of(&run, "line").starts_with("**WINNER** xfs"), "one question needs no count");
    let two = fake_run(&FakeRun { blocks: 4, ..FakeRun::default() });
    let line = of(&two, "line");
    assert!(line.starts_with("none of 2 questions answered: **NO ANSWER** "), "{line}");
    let line = of(&two, "line durable");
    assert!(
        line.starts_with("none of 2 questions answered: ") && line.contains("durable"),
        "{line}"
    );
    let ends = [(AnswerEnd::NoAnswer, PowerLoss), (AnswerEnd::Winner, KernelCrash)];
    let ending = |(end, own)| Ending { end, survives: Some(own), ..Ending::default() };
    let found = Findings { endings: ends.map(ending).into(), ..found };
    let line = part(&Subject::new(&run, &found), "quick", "line", "").expect("it").text;
    assert!(line.starts_with("1 of 2 questions answered: **NO ANSWER**"), "{line}");
}

#[test]
fn a_page_begins_with_what_is_decided_and_tells_what_is_alike_once() {
    let (run, found) = winner();
    let of = |found: &Findings, run, words: &str| {
        part(&Subject::new(run, found), "quick", words, "").expect("it").text
    };
    let two = fake_run(&FakeRun { blocks: 4, ..FakeRun::default() });
    let told = of(&findings(&two), &two, "answer");
    assert_eq!(told.matches("NO ANSWER").count(), 1, "{told}");
    assert!(told.contains(" in 2 questions. By ") && told.contains("; median"), "{told}");
    let open = Ending { end: AnswerEnd::NoAnswer, ..Ending::default() };
    let ends = [vec![open; 3], found.endings.clone()].concat();
    let told = of(&Findings { endings: ends, ..found }, &run, "answer");
    assert!(told.trim_start().starts_with("**1 of 4 questions answered.**"), "{told}");
    let place = |word| told.find(word).expect("an end of each kind");
    assert!(place("WINNER") < place("NO ANSWER"), "{told}");
}

#[test]
fn an_operation_that_no_question_asks_has_a_table() {
    let (run, found) = winner();
    let subject = Subject::new(&run, &found);
    let table = part(&subject, "quick", "of append", "").expect("a table").text;
    assert!(table.contains("### append") && !table.contains("against"), "{table}");
    assert!(part(&subject, "quick", "of no-such-operation", "").is_err());
}
