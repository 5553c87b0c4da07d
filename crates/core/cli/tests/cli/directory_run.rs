use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::pickfs::{Said, folder, only_run, record, typed, unprivileged};
use serde_json::Value;

const SHORT: &str = "run quick --blocks 2 --measure 1200ms --warmup 20ms --raw-probe 50ms
    --set sync=fdatasync --set rate=200/s --set file_size=256KiB";

fn foreign(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => found.extend(foreign(&path)),
            false => drop(found.insert(path.clone(), fs::read(path).unwrap())),
        }
    }
    found
}

fn run(more: &[&str]) -> (tempfile::TempDir, PathBuf, Said) {
    let (_data, data) = folder();
    let (kept, out) = folder();
    fs::create_dir(data.join("sub")).unwrap();
    fs::write(data.join("sub/pickfs-trial-of-theirs"), "theirs").unwrap();
    fs::write(data.join("journal-0"), "theirs too").unwrap();
    let before = foreign(&data);
    let place = ["--dir", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
    // The directory must be writable for nobody; its foreign content need not be.
    let said = unprivileged(&[&typed(SHORT)[..], &place, more].concat());
    assert_eq!(foreign(&data), before, "{said:?}");
    assert_eq!(fs::read_dir(&data).unwrap().count(), 2, "nothing of ours stays");
    (kept, out, said)
}

fn ok(words: &[&str]) -> String {
    let said = unprivileged(words);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{words:?}");
    said.out
}

fn json(words: &[&str]) -> Value {
    serde_json::from_str(&ok(words)).unwrap()
}

#[test]
fn a_run_is_listed_shown_reported_compared_and_not_resumed_when_it_is_over() {
    let (_kept, out, said) = run(&[]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(
        said.out.starts_with("Which file system for my journal?\n")
            && said.out.contains("\nreport "),
        "{said:?}"
    );
    let run = only_run(&out);
    let word = run.to_str().unwrap();
    let kept = record(&run);
    let trials = kept.trials.len();
    assert!(trials >= 2);
    let label = &kept.cells[0].candidate.label;
    let is_named = label.contains(" on /") && !label.starts_with("dir");
    assert!(is_named, "one place is called by what it is: {label}");

    let listed = ok(&["show", out.to_str().unwrap()]);
    assert!(listed.contains("completed") && listed.contains("-quick"), "{listed}");
    let listed = json(&["show", out.to_str().unwrap(), "--json"]);
    assert_eq!(listed[0]["trials"], trials);

    let shown = ok(&["show", word]);
    let without_page = |text: &str| {
        text.lines().filter(|line| !line.starts_with("report ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_page(&shown), without_page(&said.out), "show prints what run printed");
    assert!(ok(&["show", word, "--doubts"]).contains("\nNOT YET "), "and the rest where asked");
    let trial = json(&["show", word, "--trial", "1"]);
    assert_eq!(trial["outcome"]["is"], "finished");
    assert!(trial["steps"].as_array().unwrap().len() >= 2, "{}", trial["steps"]);

    reports_are_whole(&run, trials);

    assert!(json(&["compare", word, word, "--json"]).is_object());
    assert!(!ok(&["compare", word, word]).is_empty());

    a_reduced_copy_shows_the_same(&run, &shown);
    let said = unprivileged(&["run", "--resume", word]);
    let parts = ["is over (completed: 2 blocks)", "show it with pickfs show"];
    assert!(said.code == Some(1) && parts.iter().all(|part| said.err.contains(part)), "{said:?}");
    assert_eq!(record(&run).trials.len(), trials);
}

fn a_reduced_copy_shows_the_same(run: &Path, shown: &str) {
    let (_folder, out) = folder();
    let of_run = ["report", run.to_str().unwrap(), "--format", "run"];
    let words = [&of_run[..], &["--out", out.to_str().unwrap()]].concat();
    // The second one is written over the first.
    assert_eq!(ok(&words), ok(&words));
    let copy = out.join("quick.pickfs");
    assert!(copy.metadata().unwrap().len() * 3 < run.join("run.pickfs").metadata().unwrap().len());
    let without_paths = |text: &str| {
        let paths = |line: &&str| {
            !line.contains(" show ") && !line.contains("--dir ") && !line.contains("--out")
        };
        text.lines().filter(paths).map(String::from).collect::<Vec<_>>()
    };
    let again = ok(&["show", copy.to_str().unwrap()]);
    assert_eq!(without_paths(&again), without_paths(shown));
    assert!(ok(&["compare", run.to_str().unwrap(), copy.to_str().unwrap()]).contains("quick"));
    // A whole run is never written over.
    fs::copy(run.join("run.pickfs"), &copy).unwrap();
    let said = unprivileged(&words);
    assert!(said.code != Some(0) && said.err.contains("no reduced run"), "{said:?}");
}

fn reports_are_whole(run: &Path, trials: usize) {
    let (_folder, out) = folder();
    let mut words = vec!["report", run.to_str().unwrap(), "--out", out.to_str().unwrap()];
    let formats = ["html", "markdown", "csv", "hlog", "png", "svg", "json"];
    words.extend(formats.iter().flat_map(|format| ["--format", format]));
    let written: Vec<PathBuf> = ok(&words).lines().map(PathBuf::from).collect();
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    let of_kind = |kind: &str| -> Vec<&PathBuf> {
        written.iter().filter(|path| path.extension().is_some_and(|e| e == kind)).collect()
    };

    let page = read("report.html");
    assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>"));
    for outside in ["src=\"http", "href=\"http", "url(http", "@import"] {
        assert!(!page.contains(outside), "the page needs the network: {outside}");
    }
    assert!(read("report.md").contains("| "));
    let json: Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(json["run"]["trials"].as_array().unwrap().len(), trials);
    let rows = read("trials.csv");
    let columns = rows.lines().next().unwrap().split(',').count();
    assert!(columns > 10 && rows.lines().count() > trials, "{rows}");
    assert!(read("summary.csv").lines().count() > 1);

    assert!(!of_kind("hlog").is_empty());
    assert!(!of_kind("png").is_empty() && of_kind("png").len() == of_kind("svg").len());
    for path in of_kind("svg") {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains("<svg") && text.trim_end().ends_with("</svg>"), "{}", path.display());
    }
}

#[test]
fn two_places_that_exist_are_compared_and_stay_as_they_were() {
    let ((_a, a), (_b, b)) = (folder(), folder());
    let (_kept, out) = folder();
    fs::write(a.join("theirs"), "keep").unwrap();
    let [first, second] = [&a, &b].map(|path| path.canonicalize().unwrap());
    let place = ["--dir", a.to_str().unwrap(), "--dir", b.to_str().unwrap()];
    let more = ["--out", out.to_str().unwrap(), "--cpus", "measure=1,help=0"];
    let has_two = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
    let more = if has_two { &more[..] } else { &more[..2] };
    let short = SHORT.replace("rate=200/s", "rate=10/s");
    let said = unprivileged(&[&typed(&short)[..], &place, more].concat());
    assert_eq!(said.code, Some(4), "{said:?}");
    // A disk that others keep busy may not hold even this rate, which says more than the blocks.
    if !said.out.starts_with("NO ANSWER no candidate held ") {
        let why = "NO ANSWER 2 blocks are too few";
        assert!(said.out.starts_with(&format!("{why} to compare by ")), "{said:?}");
        let fix = said.out.split("\n\n").next().unwrap();
        assert!(fix.ends_with(" --blocks 6") && !fix.contains("--blocks 2"), "{fix}");
        let words = ["show", out.to_str().unwrap()];
        assert!(ok(&words).contains(&format!("  {why}")), "the list says the same");
    }
    assert!(!ok(&["show", only_run(&out).to_str().unwrap()]).is_empty(), "which is no failure");
    let run = record(&only_run(&out));
    let labels: Vec<&str> = run.cells.iter().map(|cell| cell.candidate.label.as_str()).collect();
    for (label, path) in labels.iter().zip([&first, &second]) {
        assert!(label.ends_with(&format!(" on {}", path.display())), "{labels:?}");
        assert_eq!(run.plan.backing.directory_of(label), Some(path.as_path()));
    }
    let steps = |label: &str| {
        let cell = run.cells.iter().find(|cell| cell.candidate.label == label).unwrap();
        let trials = run.trials.iter().filter(|trial| trial.cell == cell.id);
        trials.flat_map(|trial| trial.steps.clone()).map(|step| format!("{step:?}")).collect()
    };
    let (of_a, of_b): (Vec<String>, Vec<String>) = (steps(labels[0]), steps(labels[1]));
    assert!(of_a.len() >= 4 && of_a.iter().all(|step| step.contains(first.to_str().unwrap())));
    assert!(of_b.len() >= 4 && of_b.iter().all(|step| step.contains(second.to_str().unwrap())));
    let findings = pickfs_analysis::findings(&run);
    let compared = &findings.panels[0].comparisons;
    assert!(compared.iter().any(|one| one.reference == labels[0] && one.other == labels[1]));
    let noted = |trial: &pickfs_record::TrialRecord| {
        trial.notes.iter().any(|note| note.contains("may lie on different disks"))
    };
    assert!(run.trials.iter().all(noted));
    if has_two {
        let cpus = run.plan.cpus.as_ref().map(ToString::to_string);
        assert_eq!(cpus.as_deref(), Some("measure=1,help=0"));
        assert!(run.trials.iter().all(|trial| trial.environment.get("cpus.measure") == Some("1")));
    }
    let left = [&a, &b].map(|path| fs::read_dir(path).unwrap().count());
    assert_eq!(left, [1, 0], "nothing of ours stays");
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    for more in [&["--json"][..], &[]] {
        let (_data, data) = folder();
        let (_kept, out) = folder();
        let place = ["--dir", data.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let closed = || std::process::Stdio::from(pickfs_sys::program::pipe().unwrap().1);
        let mut run = crate::pickfs::command(&[&typed(SHORT)[..], &place, more].concat());
        let status = run.stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(0));
        assert_eq!(record(&only_run(&out)).ended.unwrap().how, "completed");
    }
}

#[test]
fn events_are_lines_of_json_in_the_past_tense() {
    let (_kept, _out, said) = run(&["--json"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let lines: Vec<Value> =
        said.out.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let (findings, events) = lines.split_last().unwrap();
    assert!(findings.get("panels").is_some(), "{findings}");
    let names: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    let known = typed(
        "run-started preparing trial-started trial-progress trial-finished noticed run-finished",
    );
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert_eq!(names.first(), Some(&"run-started"));
    assert_eq!(names.last(), Some(&"run-finished"));
    let count = |wanted: &str| names.iter().filter(|name| **name == wanted).count();
    assert!(count("trial-finished") >= 2);
    assert_eq!(count("trial-started"), count("trial-finished"));
    assert!(count("trial-progress") >= 2);
}
