//! The pages in `docs/` say what the code says: examples are read as plans, and parts
//! that a program can write are compared with what it would write now.
//!
//! A part stands between `<!-- begin NAME -->` and `<!-- end NAME -->`; `run NAME: WORDS` is one that a reference run
//! says ([`of_runs`]). To write them anew:
//!
//! ```text
//! PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-lab --test docs
//! ```

mod by_hand;
mod of_runs;
mod of_tables;
mod parts;

use std::{fmt::Write, fs};

use pickfs_analysis::{ALPHA, decide::blocks_needed, gates::GATES, wording::unique};
use pickfs_candidate::{
    fs::{FILE_SYSTEMS, FileSystem, Formatter},
    knob::{KNOBS, Reach},
};
use pickfs_lab::{
    expand::expand,
    length::{Cost, cells_asked},
    plan_file::read_plan,
    plans::built_in,
};
use pickfs_record::{Durability, Plan};

fn page_text(page: &str) -> String {
    fs::read_to_string(parts::file(&format!("docs/{page}"))).expect("a page in docs/")
}

fn check_part(page: &str, part: &str, wanted: &str) {
    let page = format!("docs/{page}");
    let mut found = 0;
    parts::put(&page, &mut |name| {
        found += usize::from(name == part);
        (name == part).then(|| wanted.to_owned())
    });
    assert_eq!(found, 1, "{page} holds the part {part}");
}

/// The code blocks of a language.
fn code_blocks(text: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let blocks = text.split(&opening).skip(1);
    blocks.filter_map(|rest| Some(rest.split_once("```")?.0.to_owned())).collect()
}

fn overlay(table: &mut toml::Table, other: toml::Table) {
    for (key, value) in other {
        match (table.get_mut(&key), value) {
            (Some(toml::Value::Table(into)), toml::Value::Table(from)) => overlay(into, from),
            (_, value) => drop(table.insert(key, value)),
        }
    }
}

/// A part of a plan, completed by the page's first example.
fn completed(base: &str, part: &str) -> Plan {
    let mut table: toml::Table = base.parse().expect("the first example is TOML");
    let part: toml::Table = part.parse().unwrap_or_else(|error| panic!("{error}\n{part}"));
    if part.contains_key("variant") {
        // Variants fix what the first example varies: the two would make equal cells.
        for key in ["axes", "adjust", "without"] {
            if !part.contains_key(key) {
                table.remove(key);
            }
        }
    }
    overlay(&mut table, part);
    let text = toml::to_string(&table).expect("TOML");
    read_plan("docs/plans.md", &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_example_of_a_plan_is_read_and_its_parameters_are_known() {
    pickfs_engine_workloads::add();
    let blocks = code_blocks(&page_text("plans.md"), "toml");
    assert!(blocks.len() > 5, "the page shows {} examples", blocks.len());
    for block in &blocks {
        let plan = completed(&blocks[0], block);
        let workload = pickfs_workload::find(&plan.workload).expect("a workload");
        expand(&plan, workload, |_| Durability::PowerLoss).expect("known parameters");
    }
}

#[test]
fn the_blocks_that_an_answer_needs_are_listed() {
    let mut table = String::from(
        "| candidates | one question | two questions | four questions |\n|---|---|---|---|\n",
    );
    for candidates in [2, 3, 4, 6, 8, 12, 16] {
        let needed =
            [1, 2, 4].map(|questions| blocks_needed(ALPHA, candidates, questions).to_string());
        writeln!(table, "| {candidates} | {} |", needed.join(" | ")).expect("a line");
    }
    check_part("plans.md", "blocks needed", &table);
}

#[test]
fn the_gates_are_listed() {
    let mut table = String::from("| gate | it means | cure |\n|---|---|---|\n");
    for gate in &GATES {
        let (kind, why, mend) = (gate.kind, gate.why.trim_end_matches(','), gate.mend);
        writeln!(table, "| `{kind}` | {why} | {mend} |").expect("a line");
    }
    check_part("method.md", "gates", &table);
}

/// What a built-in plan takes where every file system of it is there.
fn cost(name: &str) -> Cost {
    pickfs_engine_workloads::add();
    let plan = built_in(name).expect("a built-in plan").read().expect("a good plan");
    Cost::of(&plan, &cells_asked(&plan))
}

/// The command line, with sudo where it needs root.
fn typed(words: &str, cost: &Cost) -> String {
    let root = if cost.rights == "root" { "sudo " } else { "" };
    format!("`{root}./run {words}`")
}

#[test]
fn each_question_says_what_its_command_takes() {
    for page in parts::pages() {
        let top = "../".repeat(page.matches('/').count());
        parts::put(&page, &mut |part| {
            let plan = part.strip_prefix("cost ")?;
            let (cost, file) = (cost(plan), format!("{top}plans/{plan}.toml"));
            Some(format!("{} takes {cost} ([plan]({file})).", typed(plan, &cost)))
        });
    }
}

#[test]
fn the_front_page_has_a_command_for_each_purpose() {
    let own = |times: &str| Cost { time: times.into(), ..cost("quick") };
    let mut table = String::from("| for | command | time | writes at least |\n|---|---|---|---|\n");
    for (purpose, page, words, cost) in [
        ("a journal, a log", "questions/journal.md", "quick", cost("quick")),
        ("a database", "questions/postgresql.md", "postgresql", cost("postgresql")),
        ("kdb+, a column store", "questions/column-store.md", "column", cost("column")),
        ("a file server, a NAS", "questions/small-files.md", "files", cost("files")),
        ("a memory-mapped queue (Chronicle-like)", "questions/queue.md", "queue", cost("queue")),
        ("a program of mine", "questions/own-program.md", "-- COMMAND", own("24 times its own")),
        ("my fio jobs", "fio.md", "--fio JOBFILE", own("24 times their own")),
    ] {
        let command = typed(words, &cost);
        let time = cost.time.split(", up to").next().unwrap_or_default();
        writeln!(table, "| [{purpose}](docs/{page}) | {command} | {time} | {} |", cost.room)
            .expect("a line");
    }
    check_part("../README.md", "choices", &table);
}

#[test]
fn the_phases_of_the_column_store_are_listed() {
    check_part("column-workload.md", "phases", &pickfs_workload::column::phases_markdown());
}

#[test]
fn the_operations_of_files_and_of_the_fix_engine_are_listed() {
    pickfs_engine_workloads::add();
    for (name, store) in [("files", None), ("fix", Some("journal-fdatasync"))] {
        let workload = pickfs_workload::find(name).expect(name);
        let params = store.map(|store| ("store".to_owned(), serde_json::Value::from(store)));
        let params = workload.validate(&params.into_iter().collect()).expect("a store");
        let page = page_text(&format!("{name}-workload.md"));
        for op in (workload.ops)(&params).iter().filter(|op| !op.contains(':')) {
            assert!(page.contains(&format!("`{op}`")), "docs/{name}-workload.md: no `{op}`");
        }
    }
}

/// A new version of a workload breaks them else where they are run: on a quiet machine, by root.
#[test]
fn scripts_ask_for_the_version_of_a_workload_that_is_there() {
    pickfs_engine_workloads::add();
    let scripts = [
        "benches/against-chronicle",
        "benches/against-fio",
        "benches/against-quickfix",
        "peers/journaller/run",
    ];
    for script in scripts {
        let text = fs::read_to_string(parts::file(script)).expect(script);
        let asked = text.lines().filter_map(|line| line.trim().strip_prefix("trial "));
        let asked: Vec<_> =
            asked.map(|words| words.split(' ').take(2).collect::<Vec<_>>()).collect();
        assert!(!asked.is_empty(), "{script} asks for none");
        for words in asked {
            let version = pickfs_workload::find(words[0]).expect(words[0]).version;
            assert_eq!(words[1], version.to_string(), "{} in {script}", words[0]);
        }
    }
}

#[test]
fn the_knobs_are_listed() {
    let mut table = String::from("| knob | what it does | values | reaches |\n|---|---|---|---|\n");
    for knob in KNOBS {
        let reach = match knob.reach {
            Reach::Scratch => "the candidate",
            Reach::Machine => "the machine",
            Reach::Worker => "the worker",
            Reach::Kernel => "the kernel",
        };
        let (name, doc, values) = (knob.name, knob.doc, knob.values_text());
        writeln!(table, "| `{name}` | {doc} | {values} | {reach} |").expect("a line");
    }
    check_part("knobs.md", "knobs", &table);
}

#[test]
fn the_file_systems_are_listed() {
    let mut table = String::from(
        "| name | made by | also needs | smallest | does not do | by the clock | one fsync |\n\
         |---|---|---|---|---|---|---|\n",
    );
    let promise = |row: &FileSystem| {
        let (survives, why) = row.durability(&[]);
        format!("{survives}; {why}")
    };
    let promises = unique(FILE_SYSTEMS.iter().map(promise));
    for row in FILE_SYSTEMS {
        let at = promises.iter().position(|known| *known == promise(row)).expect("its own");
        table.push_str(&file_system_row(row, at + 1));
    }
    table.push('\n');
    for (at, promise) in promises.iter().enumerate() {
        writeln!(table, "{}. {promise}", at + 1).expect("a line");
    }
    check_part("file-systems.md", "table", &table);
}

fn file_system_row(row: &FileSystem, promise: usize) -> String {
    let made_by = match row.formatter {
        Formatter::None => "nothing: it is memory".to_owned(),
        Formatter::Packaged(program) => format!("`{}` ({})", program.name, program.package),
        Formatter::Own => "pickfs itself".to_owned(),
    };
    let helpers = row.helpers.iter().map(|p| format!("`{}` ({})", p.name, p.package));
    let lacks = if row.lacks.is_empty() { "-" } else { row.lacks };
    let periods = row.periods(&[]).into_iter().map(|period| period.what);
    format!(
        "| `{}` | {made_by} | {} | {} | {} | {} | ({promise}) |\n",
        row.name,
        joined(helpers.collect()),
        pickfs_record::quantity::bytes_text(row.minimum_bytes),
        lacks,
        joined(periods.collect()),
    )
}

fn joined<T: AsRef<str>>(words: Vec<T>) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    if words.is_empty() { "-".into() } else { words.join(", ") }
}
