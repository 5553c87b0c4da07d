use std::collections::BTreeMap;

use pickfs_analysis::{
    articles::{Answer, Article, Known, Source, answers, articles, find},
    findings,
};
use pickfs_record::RunRecord;
use pickfs_report::{
    Subject, articles::claims_document, document, html::html, markdown::markdown,
    terminal::colour_of,
};
use pickfs_testkit::{FakeCandidate, FakePhasedRun, FakeRun, Speed, fake_phased_run, fake_run};

fn asked(article: &'static Article, run: &RunRecord) -> Vec<Answer> {
    let found = findings(run);
    let plans = BTreeMap::from([("roll", "12 min".to_owned())]);
    let known = Known { plans: &plans, features: None, origins: &BTreeMap::new() };
    answers([article], &[Source { run, findings: &found }], &known)
}

/// Each claim as this run answers it where it is of the claim's plan.
fn of_their_plans(article: &'static Article, run: &RunRecord) -> Vec<Answer> {
    let mut by_plan: BTreeMap<&str, Vec<Answer>> = BTreeMap::new();
    for claim in &article.claims {
        let mut run = run.clone();
        run.plan.name = claim.plans().next().expect("a plan").into();
        by_plan.entry(&claim.plan).or_insert_with(|| asked(article, &run));
    }
    let claims = article.claims.iter().enumerate();
    claims.map(|(index, claim)| by_plan[claim.plan.as_str()][index].clone()).collect()
}

fn printed(article: &Article, answers: &[Answer], columns: usize, colour: bool) -> String {
    document::terminal::terminal(&claims_document(&[article], answers, &[]), columns, colour)
}

fn journal() -> RunRecord {
    fake_run(&FakeRun {
        blocks: 16,
        candidates: vec![
            FakeCandidate::new("ext4", 500.0, 190_000.0),
            FakeCandidate::new("ext3", 900.0, 190_000.0),
        ],
        reference: "ext4".into(),
        ..FakeRun::default()
    })
}

#[test]
fn the_screen_has_counts_answers_and_reasons() {
    let article = find("003").expect("built in");
    let screen = printed(article, &of_their_plans(article, &journal()), 100, false);
    let sum = "003  Improving journalling latency\n3 of 27 claims are decided: 3 by runs here. Of all: 3 seen";
    assert!(screen.contains(sum), "{screen}");
    let main = screen.find("Its main claims:").expect("a list");
    assert!(main < screen.find("Asked of").expect("tables"), "{screen}");
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let open =
        "- not decided: On one kernel ext4 is calmer than ext3 in the tail of an append. Here: ";
    assert!(
        words.contains(open) || words.contains(&open.replace("not decided", "seen here")),
        "{screen}"
    );
    let words_of_it =
        "It saw: 4-5 us. Asked: append.min service, under 5.00 us, at sync=none; of this";
    assert!(words.contains(words_of_it), "{screen}");
    assert!(
        screen.contains("\n    -> seen here\n       ext4 (sync=none): append.worst service"),
        "{screen}"
    );
    let other = printed(article, &asked(article, &journal()), 100, false);
    assert!(
        other.contains("not yet run: it would take a run of roll (12 min): 003-roll-spikes, "),
        "{other}"
    );
    assert!(screen.lines().all(|line| line.chars().count() <= 100), "{screen}");
    assert!(!screen.contains('\u{1b}'));
    let article = find("002").expect("built in");
    let run = fake_phased_run(&FakePhasedRun { blocks: 24, ..FakePhasedRun::column() });
    let screen = printed(article, &of_their_plans(article, &run), 80, true);
    assert!(screen.chars().any(|mark| colour_of(mark).as_deref() == Some("\u{1b}[32m")));
}

#[test]
fn an_answer_of_another_scale_says_so_in_its_word_and_above_its_table() {
    let article = find("002").expect("built in");
    let speeds = vec![Speed::new("ext4", "write", 0.3)];
    let ask = FakePhasedRun { blocks: 24, lanes: vec![16], speeds, ..FakePhasedRun::column() };
    let screen = printed(article, &of_their_plans(article, &fake_phased_run(&ask)), 250, false);
    let (before, answer) = screen.split_once("(002-write-float-64)").expect("a claim");
    let word = "-> seen here, at another scale than the article's\n";
    assert!(answer.trim_start().starts_with(word), "{screen}");
    let words = before.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("; not the article's scale: 16 processes"), "{screen}");
    assert!(screen.contains(" of them at another scale than the article's). Of all: "), "{screen}");
}

#[test]
fn the_page_counts_every_claim_once() {
    let all: Vec<&Article> = articles().iter().collect();
    let run = journal();
    let answers: Vec<Answer> =
        articles().iter().flat_map(|article| of_their_plans(article, &run)).collect();
    let named = RunRecord { name: "a run | with a bar".into(), ..journal() };
    let document = claims_document(&all, &answers, &[&named]);
    let page = document::markdown::markdown(&document);
    assert!(page.starts_with("# What the articles said, what this machine says\n"));
    for article in articles() {
        let row = page
            .lines()
            .find(|line| line.starts_with(&format!("| {} ", article.id)))
            .expect("a row");
        let numbers: Vec<usize> =
            row.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
        assert_eq!(numbers[0], article.claims.len(), "{row}");
        assert_eq!(numbers[1..].iter().sum::<usize>(), numbers[0], "{row}");
        for claim in &article.claims {
            assert_eq!(page.matches(&format!("`{}`", claim.id)).count(), 1, "{}", claim.id);
        }
    }
    assert!(!page.contains("NaN"), "{page}");
}

#[test]
fn a_run_page_shows_the_claims_that_it_has_rows_for() {
    let hostile = "<script>alert(1)</script>";
    let speeds = vec![Speed::new("ext4", "write", 0.5)];
    let mut run = fake_phased_run(&FakePhasedRun { blocks: 8, speeds, ..FakePhasedRun::column() });
    run.plan.name = "article-002-rhel9".into();
    for cell in &mut run.cells {
        if cell.candidate.fs == "btrfs" {
            cell.candidate.label = hostile.into();
        }
    }
    let found = findings(&run);
    let subject = Subject::new(&run, &found);
    let page = html(&subject, None);
    assert!(page.contains("id=\"articles\"") && page.contains("002-write-float-1"));
    assert!(!page.contains("002-write-float-64") && !page.contains(hostile));
    let (_, section) = page.split_once("id=\"articles\"").expect("the section");
    let (table, _) = section.split_once("</table>").expect("a table");
    assert!(!table.contains("notes\""), "narrow pages and paper hide what is a note");
    assert!(page.contains("<a href=\"#articles\">") && page.contains("\"beforeprint\""));
    let text = markdown(&subject, None);
    assert!(
        text.contains("### What articles said of this\n") && text.contains("`002-write-float-1`")
    );
    let mut none = run.clone();
    none.cells.iter_mut().for_each(|cell| cell.workload.name = "null".into());
    let found = findings(&none);
    let without = html(&Subject::new(&none, &found), None);
    assert!(!without.contains("id=\"articles\"") && !without.contains("<a href=\"#articles\">"));
}

#[test]
fn an_opposite_answer_stands_out() {
    let opposite = |speed: f64| {
        let speeds = vec![Speed::new("ext4", "write", speed), Speed::new("btrfs", "write", speed)];
        let ask = FakePhasedRun { blocks: 24, speeds, ..FakePhasedRun::column() };
        let mut run = fake_phased_run(&ask);
        run.plan.name = "article-002-rhel9".into();
        let found = findings(&run);
        html(&Subject::new(&run, &found), None).contains("opposite\">opposite here")
    };
    assert!(opposite(3.0) || opposite(0.3));
}
