//! Parts that reference runs say, by the code of the report: `<!-- begin run quick: table append -->`.
//! [`pickfs_report::part`] knows the words. The run is `reference/quick.pickfs`; where there is none, the part says what
//! makes one. `quick.again` would be another run of the plan quick.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    fs,
    iter::once,
};

use pickfs_analysis::{
    articles::{Answer, Article, Known, Measure, Outcome, Source, answers, articles},
    objective::FeatureAnswers,
};
use pickfs_candidate::fs::FILE_SYSTEMS;
use pickfs_lab::{length::times, plans::built_in};
use pickfs_record::{Findings, Plan, RunRecord};
use pickfs_report::{
    Subject,
    articles::{claims_document, sum},
    document::{Node, markdown::nodes},
    part::{PartError, part},
};
use pickfs_store::RunFile;

use crate::{
    cost,
    parts::{file, keep, pages, put},
    typed,
};

const IMAGES: &str = "docs/images";

type Run = (RunRecord, Findings);

thread_local! {
    static RUNS: RefCell<BTreeMap<String, Option<Run>>> = RefCell::default();
}

fn plan_name(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

fn planned(name: &str) -> Plan {
    pickfs_engine_workloads::add();
    let plan = built_in(plan_name(name)).unwrap_or_else(|| panic!("no plan {name}"));
    plan.read().expect("a good plan")
}

fn record(name: &str) -> Option<RunRecord> {
    let path = file(&format!("reference/{name}.pickfs"));
    let run = path.exists().then(|| RunFile::open(&path).and_then(|file| file.read()))?;
    Some(run.unwrap_or_else(|error| panic!("{error}")))
}

fn read(name: &str) -> Option<Run> {
    let run = record(name)?;
    let findings = pickfs_analysis::findings(&run);
    Some((run, findings))
}

/// The reference runs, in the order of their names.
fn names() -> Vec<String> {
    let entries = fs::read_dir(file("reference")).into_iter().flatten().flatten();
    let names = entries
        .filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".pickfs")?.to_owned()));
    names.collect::<BTreeSet<_>>().into_iter().collect()
}

fn with<T>(name: &str, work: impl FnOnce(Option<&Run>) -> T) -> T {
    RUNS.with_borrow_mut(|runs| {
        work(runs.entry(name.to_owned()).or_insert_with(|| read(name)).as_ref())
    })
}

/// What an article says stands by hand on the page, and what the command takes below the answer.
fn not_yet(name: &str, words: &str) -> String {
    let plan = planned(name);
    match words.split_whitespace().next().unwrap_or_default() {
        "line" => format!("not yet run: {}", typed(&plan.name, &cost(&plan.name))),
        "answer" => "**Not yet run here.** The answer takes a command:".into(),
        _ => String::new(),
    }
}

/// From the folder of a page to the pictures.
fn images_from(page: &str) -> String {
    match page.strip_prefix("docs/") {
        Some(below) => format!("{}images", "../".repeat(below.matches('/').count())),
        None => IMAGES.into(),
    }
}

fn said(page: &str, name: &str, words: &str) -> String {
    with(name, |run| {
        let Some((run, findings)) = run else { return not_yet(name, words) };
        assert_eq!(run.plan.name, plan_name(name), "reference/{name}.pickfs is of another plan");
        let subject = Subject::new(run, findings);
        let part = part(&subject, name, words, &images_from(page));
        let part = match part {
            Err(PartError::Nothing(_)) => return "This run says nothing of it.".into(),
            Err(error) => panic!("{page}, run {name}: {error}"),
            Ok(part) => part,
        };
        for (stem, picture) in &part.pictures {
            keep(&format!("{IMAGES}/{stem}.svg"), picture);
        }
        match words {
            "how sure" => {
                let names = part.text.contains("\n- again: ") || run.plan.typed.is_empty();
                assert!(names, "{page}, run {name}: no command that makes it again");
                format!("**How sure**\n\n{}", part.text.trim_start())
            }
            _ => part.text,
        }
    })
}

#[test]
fn parts_of_runs_are_what_the_runs_say() {
    for page in pages() {
        put(&page, &mut |part| {
            let (name, words) = part.strip_prefix("run ")?.split_once(": ")?;
            // The front page keeps its sample until there is a reference run.
            let is_sample = page == "README.md" && with(name, |run| run.is_none());
            (!is_sample).then(|| said(&page, name, words))
        });
    }
}

#[test]
fn the_claims_are_what_all_runs_say() {
    pickfs_engine_workloads::add();
    let runs: Vec<Run> = names().iter().filter_map(|name| read(name)).collect();
    let answers = asked(&runs);
    let all: Vec<&Answer> = answers.iter().collect();
    put("README.md", &mut |part| (part == "claims").then(|| sum(&all)));
    let mut parts = claims(&answers, &runs);
    put("docs/questions/five-articles.md", &mut |part| parts.remove(part));
    assert!(parts.is_empty(), "the page of articles lacks {:?}", parts.keys());
}

/// What runs, the features of file systems (where `reference/features.json` is) and what is written of them say.
fn asked(runs: &[Run]) -> Vec<Answer> {
    let features = fs::read_to_string(file("reference/features.json")).ok();
    let features = features.map(|text| FeatureAnswers::read(&text).expect("answers"));
    let origins = FILE_SYSTEMS.iter().filter_map(|row| Some((row.name.to_owned(), row.facts()?)));
    let origins = origins.collect();
    let known = Known { plans: &times(), features: features.as_ref(), origins: &origins };
    let sources: Vec<_> = runs.iter().map(|(run, findings)| Source { run, findings }).collect();
    answers(articles(), &sources, &known)
}

/// What runs say to all claims, then to those of each article: the page has headings of its own.
fn claims(answers: &[Answer], runs: &[Run]) -> BTreeMap<String, String> {
    let all: Vec<&Article> = articles().iter().collect();
    let runs: Vec<&RunRecord> = runs.iter().map(|(run, _)| run).collect();
    let document = claims_document(&all, answers, &runs);
    let below = document.nodes.split(|node| matches!(node, Node::Heading(..))).skip(1);
    let names = all.iter().map(|article| format!("claims {}", article.id));
    once("claims".to_owned()).chain(names).zip(below.map(nodes)).collect()
}

/// A source never counts as a measurement; one that says otherwise is told so.
#[test]
fn each_fact_of_a_claim_is_written_with_its_source() {
    let answers = asked(&[]);
    let facts = || answers.iter().filter(|own| matches!(own.claim.measure, Measure::Fact { .. }));
    assert!(facts().all(|own| matches!(own.outcome, Outcome::Written { .. })));
    assert!(facts().flat_map(|own| &own.runs[0].evidence).all(|own| own.text.ends_with(')')));
    let otherwise = facts().filter(|own| own.outcome == Outcome::Written { holds: false });
    let otherwise: Vec<&str> = otherwise.map(|own| own.claim.id.as_str()).collect();
    let wanted =
        ["004-portable-hfsplus", "004-advice-portable", "004-zfs-userspace", "004-ntfs-userspace"];
    assert_eq!(otherwise, wanted);
}

#[test]
fn reference_runs_are_reduced_small_and_asked_what_their_plans_expected() {
    let mut bytes = 0;
    for name in names() {
        bytes += file(&format!("reference/{name}.pickfs")).metadata().expect("it is there").len();
        let run = record(&name).expect("a run");
        let lacks = run.environment.get(pickfs_record::environment::REDUCED_KEY);
        assert!(
            lacks.is_some(),
            "reference/{name}.pickfs: pickfs report RUN --format run reduces it"
        );
        // A prediction is not changed after its run. Runs made before 26 November 2026 hold no `expects`.
        let plan = planned(&name);
        assert_eq!(run.plan.article, plan.article, "{name}");
        assert!(run.plan.expects.is_none() || run.plan.expects == plan.expects, "{name}");
    }
    assert!(bytes <= 13_600_000, "reference/ holds {bytes} bytes");
}

#[test]
fn every_picture_is_shown_by_a_page() {
    let pages: Vec<String> =
        pages().iter().map(|page| fs::read_to_string(file(page)).expect("a page")).collect();
    for entry in fs::read_dir(file(IMAGES)).expect("pictures").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(pages.iter().any(|page| page.contains(&name)), "no page shows {IMAGES}/{name}");
    }
}
