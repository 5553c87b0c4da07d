//! Tables of what was asked once: which features (`reference/features.json`), and which states a power cut may leave
//! (`reference/crash.json`). Both files hold what `--json` wrote, less what names the machine.

use std::{collections::BTreeMap, fs};

use pickfs_analysis::wording::unique;
use pickfs_candidate::fs::FILE_SYSTEMS;
use pickfs_record::{Durability, quantity::grouped};
use serde_json::Value;

use crate::{check_part, parts::file};

fn read(name: &str) -> Value {
    let text = fs::read_to_string(file(&format!("reference/{name}.json"))).expect("a reference");
    serde_json::from_str(&text).expect("JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn row(cells: impl IntoIterator<Item = String>) -> String {
    format!("| {} |\n", cells.into_iter().collect::<Vec<_>>().join(" | "))
}

/// The answers of all file systems to one question.
struct Line<'v> {
    label: &'v str,
    cells: Vec<(&'v str, &'v str)>,
}

impl Line<'_> {
    fn who(&self, cell: &str) -> Vec<&str> {
        self.cells.iter().filter(|(_, own)| *own == cell).map(|(who, _)| *who).collect()
    }

    /// Those who do it or, where they are fewer, those who do not.
    fn done_by(&self) -> String {
        let yes = self.who("yes");
        let rest = ["partly", "no", "FAILED", "-"].map(|cell| (cell, self.who(cell)));
        let rest = rest.into_iter().filter(|(_, who)| !who.is_empty());
        let told = |(cell, who): (&str, Vec<&str>)| format!("{} ({cell})", who.join(", "));
        match (yes.len(), 2 * yes.len() > self.cells.len()) {
            (all, _) if all == self.cells.len() => "all".into(),
            (0, _) => rest.map(told).collect::<Vec<_>>().join("; "),
            (_, true) => format!("all but {}", rest.map(told).collect::<Vec<_>>().join("; ")),
            (_, false) => {
                let partly = rest.filter(|(cell, _)| *cell != "no").map(told);
                let only = format!("only {}", yes.join(", "));
                [only].into_iter().chain(partly).collect::<Vec<_>>().join("; ")
            }
        }
    }
}

fn cell(answer: &Value) -> &str {
    match answer["value"].as_str().unwrap_or(word(answer, "verdict")) {
        "failed" => "FAILED",
        "not-asked" => "-",
        word => word,
    }
}

fn lines(features: &Value) -> Vec<Line<'_>> {
    let asked = || list(&features["rows"]).iter().filter(|row| !list(&row["answers"]).is_empty());
    let mut lines = Vec::new();
    for (index, question) in list(&features["capabilities"]).iter().enumerate() {
        let cells = asked().map(|row| (word(row, "label"), cell(&row["answers"][index])));
        lines.push(Line { label: word(question, "label"), cells: cells.collect() });
    }
    lines
}

#[test]
fn what_file_systems_do_is_what_they_answered() {
    let features = read("features");
    let lines = lines(&features);
    let words = ["yes", "partly", "no", "FAILED", "-"];
    let is_figure = |line: &&Line| line.cells.iter().any(|(_, cell)| !words.contains(cell));
    let mut done: Vec<(Vec<&str>, String)> = Vec::new();
    for line in lines.iter().filter(|line| !is_figure(line)) {
        let by = line.done_by();
        match done.iter_mut().find(|(_, own)| *own == by) {
            Some((labels, _)) => labels.push(line.label),
            None => done.push((vec![line.label], by)),
        }
    }
    let mut text = "| asked | done by |\n|---|---|\n".to_owned();
    text.extend(done.iter().map(|(labels, by)| row([labels.join("; "), by.clone()])));
    let figures: Vec<&Line> = lines.iter().filter(is_figure).collect();
    let names = figures.iter().map(|line| line.label.to_owned());
    text.push_str(&format!("\n{}", row([String::new()].into_iter().chain(names))));
    text.push_str(&format!("|---|{}\n", ":-:|".repeat(figures.len())));
    for (index, (who, _)) in lines[0].cells.iter().enumerate() {
        let own = figures.iter().map(|line| line.cells[index].1.replace('<', "\\<"));
        text.push_str(&row([(*who).to_owned()].into_iter().chain(own)));
    }
    check_part("features.md", "features: table", &text);
}

#[test]
fn who_sends_no_flush_promises_nothing_when_the_power_fails() {
    let features = read("features");
    let questions = list(&features["capabilities"]).iter();
    let question = questions
        .map(|one| word(one, "label"))
        .position(|label| label == "fsync flushes the device");
    let question = question.expect("it is asked");
    for row in list(&features["rows"]).iter().filter(|row| !list(&row["answers"]).is_empty()) {
        let sends = cell(&row["answers"][question]);
        let known = FILE_SYSTEMS.iter().find(|known| known.name == word(row, "label"));
        let promise = known.expect("a file system").durability(&[]).0;
        assert!(sends != "no" || promise < Durability::PowerLoss, "{}", word(row, "label"));
    }
}

/// What is behind a word that does not explain itself, the same words once.
#[test]
fn what_was_seen_behind_a_part_or_a_failure_is_told() {
    let features = read("features");
    let mut told: Vec<((&str, &str), Vec<&str>)> = Vec::new();
    for (index, question) in list(&features["capabilities"]).iter().enumerate() {
        for row in list(&features["rows"]) {
            let answer = &row["answers"][index];
            let is_clear = !["partly", "failed", "not-asked"].contains(&word(answer, "verdict"));
            if is_clear || word(answer, "words").is_empty() {
                continue;
            }
            let key = (word(question, "label"), word(answer, "words"));
            match told.iter_mut().find(|(own, _)| *own == key) {
                Some((_, who)) => who.push(word(row, "label")),
                None => told.push((key, vec![word(row, "label")])),
            }
        }
    }
    let told = told.into_iter();
    let told =
        told.map(|((label, words), who)| format!("- {label}, {}: {words}\n", who.join(", ")));
    check_part("features.md", "features: notes", &told.collect::<String>().replace('<', "\\<"));
}

#[test]
fn classes_are_those_of_the_answers() {
    let features = read("features");
    let mut text = String::new();
    for class in ["native", "foreign-supported", "foreign-unsupported"] {
        let rows = list(&features["rows"]).iter();
        let own = rows.filter(|row| word(&row["classification"], "class") == class).map(|row| {
            match row["classification"]["is_measured"] == true && class == "foreign-unsupported" {
                true => {
                    format!("{} ({})", word(row, "label"), word(&row["classification"], "because"))
                }
                false => word(row, "label").to_owned(),
            }
        });
        let own: Vec<String> = own.collect();
        text.push_str(&format!("- **{}**: {}\n", class.replace('-', " "), own.join(", ")));
    }
    check_part("features.md", "features: classes", &text);
}

#[test]
fn who_was_asked_is_told_with_the_kernel_and_the_day() {
    let features = read("features");
    let mut by: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for row in list(&features["rows"]).iter().filter(|row| !list(&row["answers"]).is_empty()) {
        let at = (word(&row["presence"], "engine"), word(&row["presence"], "kernel"));
        by.entry(at).or_default().push(word(row, "label"));
    }
    let told = by.iter().map(|((engine, kernel), who)| match *engine {
        "native" => format!("{} by Linux {kernel}", who.len()),
        engine => {
            format!("{} in guests (`{engine}`) by Linux {kernel}: {}", who.len(), who.join(", "))
        }
    });
    let day = word(&features, "started").split('T').next().unwrap_or_default();
    let (build, ground) = (word(&features, "build"), word(&features, "ground"));
    let told = told.collect::<Vec<_>>().join("; ");
    let machine = &features["machine"];
    let text = format!(
        "`{}` on {day}, {build}, {} x {}, {ground}. Asked: {told}.",
        word(&features, "again"),
        word(machine, "cpu.online"),
        word(machine, "cpu.model")
    );
    check_part("features.md", "features: made", &text);
}

fn crashes(crash: &Value) -> Vec<&Value> {
    list(&crash["runs"]).iter().flat_map(|run| list(&run["cells"])).collect()
}

fn any_order(cell: &Value) -> bool {
    word(cell, "crash").contains(":any-order/")
}

fn states(cell: &Value) -> i64 {
    cell["explored"]["states"].as_i64().unwrap_or_default()
}

fn tally(cell: &Value, key: &str) -> i64 {
    cell["explored"]["tally"][key].as_i64().unwrap_or_default()
}

#[test]
fn what_a_power_cut_leaves_is_what_was_explored() {
    let crash = read("crash");
    let all = crashes(&crash);
    let cells = || all.iter().filter(|cell| any_order(cell) && tally(cell, "refused") == 0);
    let disks = ["ext4", "xfs", "btrfs"];
    let writers = unique(cells().map(|cell| (word(cell, "subject"), word(cell, "promised"))));
    let mut text =
        row([["writer"].as_slice(), disks.as_slice()].concat().into_iter().map(str::to_owned));
    text.push_str("|:--|--:|--:|--:|\n");
    for (subject, promised) in writers {
        let own = disks.iter().map(|fs| {
            let found = cells().find(|cell| {
                word(cell, "subject") == subject && word(&cell["candidate"], "label") == *fs
            });
            let told = |cell: &&Value| {
                format!("{} of {}", grouped(tally(cell, "failed")), grouped(states(cell)))
            };
            found.map_or("-".into(), told)
        });
        let name = match promised {
            "power-loss" => subject.to_owned(),
            _ => format!("{subject}, which promises nothing there"),
        };
        text.push_str(&row([name].into_iter().chain(own)));
    }
    check_part("questions/power-cut.md", "crash: table", &text);

    let kept = || {
        all.iter()
            .filter(|cell| word(cell, "promised") == "power-loss" && tally(cell, "refused") == 0)
    };
    let (sum, lost) =
        (kept().map(|cell| states(cell)).sum(), kept().map(|cell| tally(cell, "lost")).sum());
    let in_any_order: i64 = kept().filter(|cell| any_order(cell)).map(|cell| states(cell)).sum();
    let text = format!(
        "{} states were explored of writers that promise something there, {} of them of a disk that may write its \
         cache in any order; {} of these states lost an acknowledged record.",
        grouped(sum),
        grouped(in_any_order),
        grouped(lost)
    );
    check_part("questions/power-cut.md", "crash: sum", &text);

    let refused =
        all.iter().filter(|cell| any_order(cell) && tally(cell, "refused") > 0).map(|cell| {
            let (refused, of) = (grouped(tally(cell, "refused")), grouped(states(cell)));
            format!("{refused} of {of} on {}", word(&cell["candidate"], "label"))
        });
    let text = refused.collect::<Vec<_>>().join(", ");
    check_part("questions/power-cut.md", "crash: refused", &text);

    let made = list(&crash["runs"]).iter().map(|run| {
        let words = [
            word(run, "made"),
            word(run, "build"),
            word(&run["cells"][0], "kernel"),
            word(run, "again"),
        ];
        format!("- {}, pickfs {}, Linux {}: `{}`\n", words[0], words[1], words[2], words[3])
    });
    check_part("questions/power-cut.md", "crash: made", &made.collect::<String>());
}
