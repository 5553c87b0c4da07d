use std::{collections::BTreeSet, fs, path::Path};

use crate::pickfs::{assert_ends, folder, pickfs, stored, typed};
use pickfs_analysis::{
    articles::{Measure, articles},
    objective::objectives,
};
use pickfs_record::trial::WITH_FINAL_SYNC;
use pickfs_testkit::{FakeCandidate, FakePhasedRun, FakeRun, Speed, fake_phased_run, fake_run};
use serde_json::json;

fn two_runs(folder: &Path) -> [String; 2] {
    let mut journal = fake_run(&FakeRun {
        blocks: 9,
        candidates: [("ext4", 200e3), ("xfs", 140e3), ("btrfs", 560e3)]
            .map(|(fs, ns)| FakeCandidate::new(fs, 500.0, ns))
            .into(),
        reference: "ext4".into(),
        ..FakeRun::default()
    });
    let speeds = vec![Speed::new("ext4", "write", 0.5), Speed::new("btrfs", "", 0.4)];
    let ask = FakePhasedRun { blocks: 22, speeds, ..FakePhasedRun::column() };
    let mut column = fake_phased_run(&ask);
    journal.plan.name = "article-003-ext3-ext4".into();
    column.plan.name = "article-002-rhel9".into();
    [stored(folder, "journal-run", &journal), stored(folder, "column-run", &column)]
}

#[test]
fn claims_are_answered_by_the_run_that_can() {
    let (_folder, path) = folder();
    let [journal, column] = two_runs(&path);
    let words = ["compare", &journal, &column, "--with", "claims", "--json"];
    let all = pickfs(&words).json();
    let all = all.as_array().unwrap();
    let count: usize = articles().iter().map(|article| article.claims.len()).sum();
    assert_eq!(all.len(), count);
    let find = |id: &str| all.iter().find(|answer| answer["claim"]["id"] == id).unwrap();
    let float = find("002-write-float-1");
    assert_eq!(
        (&float["outcome"]["is"], &float["runs"][0]["run"]),
        (&json!("seen"), &json!("column-run"))
    );
    assert!(float["runs"][0]["evidence"][0]["ratio"].as_f64().unwrap() > 1.5);
    assert_eq!(find("003-five-microseconds")["runs"][0]["run"], "journal-run");
    let unrun = find("000-median-alike");
    assert_eq!(unrun["outcome"], json!({ "is": "not-yet-run" }));
    let takes = unrun["takes"].as_str().unwrap();
    assert!(takes.starts_with("a run of article-000 (") && takes.ends_with(')'), "{takes}");
    let written = find("004-ext3-journal");
    assert_eq!(written["outcome"], json!({ "is": "written", "holds": true }));
    let text = written["runs"][0]["evidence"][0]["text"].as_str().unwrap();
    assert!(text.starts_with("ext3: metadata, with data written before it ("), "{text}");

    let screen = pickfs(&["compare", &column, "--with", "claims", "--article", "002"]);
    assert!(screen.out.contains("\n002  Choosing the Right File System"), "{screen:?}");
    assert!(!screen.out.contains("001-"));
    let page = path.join("page.md");
    let words = format!("compare {journal} {column} --with claims --markdown {}", page.display());
    let said = pickfs(&typed(&words));
    assert_eq!(said.code, Some(0), "{said:?}");
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("- column-run, plan ") && page.contains("- journal-run, plan "));
    assert_eq!(page.matches("\n## ").count(), 5);
}

#[test]
fn a_table_of_features_answers_too() {
    let (_folder, path) = folder();
    let [journal, _] = two_runs(&path);
    let features = path.join("features.json");
    let table = json!({
        "capabilities": [{ "key": "hard-links" }, { "key": "reflink" }],
        "rows": [{ "label": "btrfs", "fs": "btrfs", "answers": [{ "verdict": "yes" }, { "verdict": "yes" }] },
                 { "label": "xfs", "fs": "xfs", "answers": [{ "verdict": "yes" }, { "verdict": "no", "words": "EOPNOTSUPP" }] }],
    });
    fs::write(&features, table.to_string()).unwrap();
    let features = features.to_str().unwrap();
    let words =
        format!("compare {journal} --with claims --features {features} --article 000 --json");
    let all = pickfs(&typed(&words)).json();
    let copies =
        all.as_array().unwrap().iter().find(|answer| answer["claim"]["id"] == "000-btrfs-copies");
    assert_eq!(copies.unwrap()["outcome"]["is"], "seen");
    let wish =
        "choose journal-run --for durable.p50 --need reflink --features features.json --json";
    assert_ends(
        &path,
        &[
            (wish, 0, "EOPNOTSUPP"),
            ("compare journal-run --with claims --features journal-run", 1, "cannot read journal"),
        ],
    );
}

/// What a choice says, and what is refused, have tests of their own.
#[test]
fn a_choice_ends_and_says_as_it_must() {
    let (_folder, path) = folder();
    two_runs(&path);
    let wish = "choose journal-run --for journal --need durability=power-loss";
    assert_ends(
        &path,
        &[
            (wish, 0, "WINNER    For journal (sync=fdatasync) on this loop image: xfs."),
            (wish, 0, "Ruled out, durability=power-loss: ext4"),
            ("choose journal-run column-run --for all-round --json", 0, "\"missing\""),
            ("choose journal-run --for speed", 1, "objective `speed` is none of journal,"),
            ("choose journal-run --for -2*append.p50", 1, "weight `-2`"),
            ("choose journal-run --for ingest --need reflinks", 1, "condition `reflinks`"),
            ("choose journal-run", 2, "--for"),
            ("compare journal-run --with claims --article 7", 1, "article `7` not known"),
        ],
    );
    let list = pickfs(&["choose", "--list"]);
    assert!(objectives().iter().all(|one| list.out.contains(&one.name)), "{}", list.out);
}

fn known(workload: &str) -> Option<(BTreeSet<String>, BTreeSet<String>)> {
    let row = pickfs_workload::find(workload).ok()?;
    let mut ops = BTreeSet::new();
    for asked in [json!({}), json!({ "sync": "none", "readers": 1 }), json!({ "readers": 1 })] {
        if let Ok(params) = row.validate(asked.as_object().unwrap()) {
            ops.extend((row.ops)(&params));
        }
    }
    Some((ops, row.params.iter().map(|param| param.name.to_string()).collect()))
}

const PROPERTIES: &str = "fs label backing driver kernel survives device.rotational capacity_per_s guest.kernel guest.engine";

/// A name that is written wrong would make a claim that no run could ever answer.
#[test]
fn every_name_in_a_claim_exists() {
    let features = pickfs_features::capabilities();
    for claim in articles().iter().flat_map(|article| &article.claims) {
        let id = &claim.id;
        if let Measure::Feature(key) = &claim.measure {
            assert!(features.iter().any(|known| known.key == key), "{id}: {key}");
        }
        for selector in [&claim.subject, &claim.object] {
            let named = selector.get("fs").map_or(&[] as &[String], |fs| fs.words());
            for fs in named {
                assert!(pickfs_candidate::fs::find(fs).is_some(), "{id}: {fs}");
            }
        }
        let Some((ops, params)) = known(&claim.workload) else { continue };
        let op = match &claim.measure {
            Measure::Number(metric) => metric.ops().map(String::from).collect(),
            _ => Vec::new(),
        };
        for op in op {
            let own = op.strip_suffix(WITH_FINAL_SYNC).unwrap_or(&op);
            assert!(ops.contains(own), "{id}: {op} is no operation of {}", claim.workload);
        }
        let selectors = [&claim.at, &claim.needs, &claim.subject, &claim.object];
        for name in selectors.into_iter().flat_map(|selector| selector.keys()) {
            let is_known = params.contains(name) || typed(PROPERTIES).contains(&name.as_str());
            assert!(is_known, "{id}: {name}");
        }
    }
}

#[test]
fn every_name_in_an_objective_exists() {
    pickfs_engine_workloads::add();
    for objective in objectives() {
        for part in &objective.parts {
            let workload = &part.at["workload"].words()[0];
            let (ops, params) = known(workload).unwrap_or_else(|| panic!("no workload {workload}"));
            for op in part.formula.terms.iter().flat_map(|term| term.metric.ops()) {
                let plain = op.strip_suffix(WITH_FINAL_SYNC).unwrap_or(op);
                assert!(ops.contains(plain), "{}: {op}", objective.name);
            }
            let mut names = part.at.keys().filter(|name| *name != "workload");
            assert!(names.all(|name| params.contains(name)), "{}", objective.name);
        }
    }
}
