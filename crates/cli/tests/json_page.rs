//! `docs/json.md` says what `--json` says: its types are read from the source, and real output of
//! every command is held against them.
#![allow(clippy::unwrap_used)]

mod pickfs;
mod schema;

use std::{fs, path::PathBuf};

use pickfs::{folder, pickfs};
use pickfs_model::RunRecord;
use pickfs_store::RunFile;
use pickfs_testkit::{FakePhasedRun, FakeRun, fake_phased_run, fake_run};
use schema::{Source, Type, conform::misfits, page::page};
use serde_json::{Value, json};

const FOLDERS: &[&str] = &["model/src", "analysis/src"];

const ROOTS: &[&str] = &[
    "Event",
    "Findings",
    "Trust",
    "Rerun",
    "Plan",
    "Diagnosis",
    "FeatureTable",
    "TrialRecord",
    "RunRecord",
    "RunComparison",
    "Chain",
    "Beside",
    "articles/answer::Answer",
    "objective/choice::Choice",
    "Objective",
];

fn source() -> Source {
    Source::read(FOLDERS)
}

#[test]
fn the_page_lists_every_type_as_the_source_has_it() {
    let source = source();
    let roots: Vec<usize> = ROOTS.iter().map(|name| source.find(name)).collect();
    let wanted = format!("\n{}\n\n", page(&source, &roots).trim());
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md"));
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- begin types -->\n", "<!-- end types -->");
    let (head, rest) = text.split_once(begin).expect("the part begins");
    let (found, tail) = rest.split_once(end).expect("the part ends");
    if std::env::var_os("PICKFS_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{head}{begin}{wanted}{end}{tail}")).unwrap();
    } else {
        let hint = "run PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-cli --test json_page";
        assert!(found == wanted, "docs/json.md: the types are not those of the source; {hint}");
    }
}

fn assert_fits(value: &Value, root: &str) {
    let source = source();
    let found = misfits(&source, value, &Type::Named(source.find(root)));
    assert!(found.is_empty(), "{root}:\n  {}\n", found.join("\n  "));
}

fn said(words: &[&str]) -> Value {
    let said = pickfs(words);
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
    serde_json::from_str(&said.out).unwrap_or_else(|why| panic!("{words:?}: {why}: {}", said.out))
}

fn kept(out: &std::path::Path, run: &RunRecord) -> String {
    let folder = out.join(&run.name);
    fs::create_dir(&folder).unwrap();
    let bare = RunRecord { trials: vec![], ended: None, ..run.clone() };
    let mut file = RunFile::create(&folder.join("run.pickfs"), &bare).unwrap();
    run.trials.iter().for_each(|trial| file.add_trial(trial).unwrap());
    if let Some(end) = &run.ended {
        file.end(end).unwrap();
    }
    folder.to_str().unwrap().to_owned()
}

#[test]
fn runs_and_findings_fit() {
    let journal = fake_run(&FakeRun { blocks: 8, ..FakeRun::default() });
    for run in [journal, fake_phased_run(&FakePhasedRun::column())] {
        assert_fits(&serde_json::to_value(&run).unwrap(), "RunRecord");
        let findings = serde_json::to_value(pickfs_analysis::findings(&run)).unwrap();
        assert_fits(&findings, "Findings");
    }
}

#[test]
fn what_the_commands_say_fits() {
    let (_kept, out) = folder();
    let run = |name: &str, seed: u64| {
        let ask = FakeRun { name: name.into(), seed, blocks: 10, ..FakeRun::default() };
        kept(&out, &fake_run(&ask))
    };
    let [a, b, c] = [run("a", 1), run("b", 2), run("c", 3)];
    assert_fits(&said(&["plan", "quick", "--json"]), "Plan");
    assert_fits(&said(&["doctor", "--json"]), "Diagnosis");
    assert_fits(&said(&["show", &a, "--trial", "1"]), "TrialRecord");
    assert_fits(&said(&["compare", &a, &b, "--json"]), "RunComparison");
    assert_fits(&said(&["compare", &a, &b, &c, "--json"]), "Chain");
    assert_fits(&said(&["rerun", &a, "--by", &b, "--json"]), "Rerun");
    let written = pickfs(&["report", &a, "--format", "json"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let report = fs::read(format!("{a}/report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_fits(&report["run"], "RunRecord");
    assert_fits(&report["findings"], "Findings");
    assert_eq!(report.as_object().unwrap().len(), 2);
}

#[test]
fn the_list_has_the_fields_that_the_page_names() {
    let (_kept, out) = folder();
    kept(&out, &fake_run(&FakeRun::default()));
    fs::write(out.join("junk.pickfs"), "junk").unwrap();
    let rows = said(&["list", out.to_str().unwrap(), "--json"]);
    let keys = |at: usize| {
        let object = rows[at].as_object().unwrap();
        object.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(0), "ended ending name path question started trials");
    assert_eq!(keys(1), "error path");
}

#[test]
fn a_value_that_does_not_fit_is_told_with_its_path() {
    let mut findings = serde_json::to_value(pickfs_analysis::findings(&fake_run(&FakeRun {
        blocks: 8,
        ..FakeRun::default()
    })))
    .unwrap();
    findings["panels"][0]["rows"][0]["trials"] = json!("five");
    findings["panels"][0]["comparisons"][0]["claim"] = json!({ "is": "best" });
    findings["notices"] = json!([{ "kind": "x", "text": "y", "trials": 1, "new": 2 }]);
    findings.as_object_mut().unwrap().remove("noise");
    let source = source();
    let found = misfits(&source, &findings, &Type::Named(source.find("Findings"))).join("\n");
    for words in [
        "$.panels[0].rows[0].trials: \"five\" is no Number",
        "$.panels[0].comparisons[0].claim:",
        "field new is not declared",
        "$: field noise is missing",
    ] {
        assert!(found.contains(words), "{words}\n{found}");
    }
}
