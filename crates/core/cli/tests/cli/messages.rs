use std::{fs, path::Path};

use crate::pickfs::{Said, command, folder, pickfs, stored, typed, unprivileged};
use pickfs_record::{BackingSpec, typed::TYPED};
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, fake_run};

/// Ends of usage errors and of all others, as in `exit.rs`.
const FAILED: Option<i32> = Some(1);
const USAGE: Option<i32> = Some(2);

fn refused(words: &[&str], message: &str) {
    let said = pickfs(words);
    assert_eq!((said.code, said.err.trim_end()), (FAILED, format!("pickfs: {message}").as_str()));
    assert_eq!(said.out, "", "{words:?}");
}

fn refused_with(said: &Said, code: Option<i32>, parts: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    for part in parts {
        assert!(said.err.contains(part), "`{part}` is not in: {}", said.err);
    }
}

fn plan(from: &str, to: &str) -> String {
    let good = r#"name = "mine"
question = "which?"
candidates = ["ext4", "xfs"]
workload = "journal"
[params]
size = 256
[axes]
sync = ["none", "fdatasync"]
[design]
blocks = 2
reference = "ext4"
primary = [{ op = "append", quantile = 0.5 }]
[timing]
measure = "1s"
"#;
    assert!(good.contains(from), "{from}");
    good.replacen(from, to, 1)
}

fn of_plan_file(from: &str, to: &str) -> (Option<i32>, String) {
    let (_folder, path) = folder();
    fs::write(path.join("mine.toml"), plan(from, to)).unwrap();
    let said = command(&["plan", "mine.toml"]).current_dir(&path).output().unwrap();
    let said = Said::from(said);
    (said.code, said.err.trim_end().to_owned())
}

fn plan_refused(from: &str, to: &str, message: &str) {
    let expected = (FAILED, format!("pickfs: mine.toml{message}"));
    assert_eq!(of_plan_file(from, to), expected);
}

#[test]
fn an_unknown_plan_is_told_with_the_one_that_was_meant() {
    for (word, meant) in [("quik", "quick"), ("Quick", "quick"), ("postgres", "postgresql")] {
        for words in [vec!["plan", word], vec![word], vec![word, "--ram"]] {
            let parts = [format!("pickfs: no plan `{word}`; did you mean `{meant}`?")];
            refused_with(&pickfs(&words), FAILED, &[parts[0].as_str(), "pickfs plan --list"]);
        }
    }
    for words in [&["plan", "zzzzz"][..], &["zzzzz"]] {
        let parts = ["pickfs: no plan `zzzzz`: built in are quick, journal", ".toml"];
        refused_with(&pickfs(words), FAILED, &parts);
    }
    // What is closer to a command than to a plan.
    refused_with(&pickfs(&["reprot"]), USAGE, &["reprot", "report"]);
    refused_with(
        &pickfs(&["plan", "/nowhere/mine.toml"]),
        FAILED,
        &["/nowhere/mine.toml", "cannot read the plan", "No such file"],
    );
}

#[test]
fn a_plan_file_is_told_with_its_line() {
    let (code, said) = of_plan_file("workload = \"journal\"", "workload = journal");
    assert_eq!(code, FAILED);
    assert!(said.starts_with("pickfs: mine.toml:4: "), "{said}");
    let (code, said) = of_plan_file("blocks = 2", "blocks = 2\nblock = 3");
    assert_eq!(code, FAILED);
    assert!(said.starts_with("pickfs: mine.toml:11: unknown field `block`"), "{said}");
    plan_refused("blocks = 2", "blocks = 0", ":10: blocks is 0; use 1 to 1000");
    plan_refused(
        "reference = \"ext4\"",
        "reference = \"zfs\"",
        r#":11: reference `zfs` is none of ["ext4", "xfs"]"#,
    );
    plan_refused(
        "measure = \"1s\"",
        "measure = \"1 fortnight\"",
        ":14: duration `1 fortnight` not understood; write it like 250ms, 10s, 5m or 1h",
    );
    plan_refused(
        "[params]",
        "[backing]\nkind = \"loop\"\nsize = \"big\"\n[params]",
        ":7: size `big` not understood; write it like 256, 4KiB, 64MiB or 1GiB",
    );
    plan_refused(
        "[params]",
        "[backing]\nkind = \"tape\"\n[params]",
        ":6: backing kind `tape` is not known; use loop, ram, device or directory",
    );
    plan_refused(
        "[params]",
        "[backing]\nkind = \"loop\"\nlog_device = \"/dev/sdb\"\n[params]",
        ":7: backing `loop` takes no log_device; use kind = \"device\"",
    );
    plan_refused("\"xfs\"]", "\"ext4\"]", ":3: candidate `ext4` stands twice; give one a label");
    plan_refused(
        "quantile = 0.5",
        "quantile = 0.42",
        ":12: p42 is not kept; use one of p50, p75, p90, p95, p98, p99, p99.5, p99.8, p99.9, p99.95, \
         p99.98, p99.99, p99.995, p99.999",
    );
}

#[test]
fn an_unknown_file_system_is_told_with_the_one_that_was_meant() {
    let said = pickfs(&["plan", "quick", "--fs", "ext5"]);
    refused_with(&said, FAILED, &["file system `ext5` not known; did you mean `ext4`?"]);
    refused(
        &["plan", "quick", "--fs", ":noatime"],
        "candidate `:noatime` names no file system; write fs[:mount options][;mkfs=options]",
    );
    refused(
        &["plan", "quick", "--fs", "xfs;size=3"],
        "candidate `xfs;size=3`: `size=3` not understood; after `;` only mkfs=OPTIONS may stand",
    );
    refused(
        &["plan", "quick", "--fs", "xfs", "--fs", "xfs"],
        "candidate `xfs` stands twice; a plan file can give one of them another label",
    );
}

#[test]
fn a_parameter_is_told_with_the_one_that_was_meant() {
    let said = pickfs(&["plan", "quick", "--set", "sise=3"]);
    refused_with(&said, FAILED, &["parameter `sise`", "did you mean `size`?", "preallocation"]);
    refused(&["plan", "quick", "--set", "size"], "--set size: write name=value");
    let said = pickfs(&["plan", "quick", "--set", "rate=fast"]);
    refused_with(&said, FAILED, &["journal: rate = \"fast\" is not allowed; use "]);
    let said = pickfs(&["plan", "quick", "--set", "file_size=1GiBB"]);
    refused_with(&said, FAILED, &["file_size", "a multiple of 4096 from 8KiB to 64GiB"]);
    let said = pickfs(&["plan", "quick", "--axis", "preallocation=none,magic"]);
    refused_with(&said, FAILED, &["preallocation = \"magic\" is not allowed; use one of none, "]);
    refused(&["plan", "quick", "--axis", "sync="], "--axis sync=: write name=value");
}

#[test]
fn an_unknown_workload_is_told_with_those_that_there_are() {
    let (code, said) = of_plan_file("workload = \"journal\"", "workload = \"jurnal\"");
    assert_eq!(code, FAILED);
    assert!(said.contains("workload `jurnal` is not known; did you mean `journal`?"), "{said}");
}

#[test]
fn quantities_are_told_with_examples() {
    refused(
        &["plan", "quick", "--size", "big"],
        "size `big` not understood; write it like 256, 4KiB, 64MiB or 1GiB",
    );
    refused(
        &["plan", "quick", "--measure", "soon"],
        "duration `soon` not understood; write it like 250ms, 10s, 5m or 1h",
    );
    refused(
        &["plan", "quick", "--measure", "0s"],
        "quick: measure is 0 s; use a time above zero up to 24 h 00 min: 250ms, 10s, 5m, 1h",
    );
    refused_with(
        &pickfs(&["plan", "quick", "--blocks", "x"]),
        USAGE,
        &["--blocks", "invalid digit"],
    );
    refused_with(
        &pickfs(&["plan", "quick", "--blocks", "0"]),
        FAILED,
        &["blocks is 0", "1 to 1000"],
    );
}

#[test]
fn a_reference_must_be_one_of_the_candidates() {
    refused(
        &["plan", "quick", "--reference", "zfs"],
        "--reference `zfs` is none of ext4, xfs, btrfs, tmpfs",
    );
}

#[test]
fn a_plan_of_which_nothing_can_run_says_why() {
    let said = pickfs(&typed("plan quick --fs ext4 --axis sync=msync --set write_path=pwrite"));
    refused_with(
        &said,
        FAILED,
        &["nothing of plan quick can run here: ", "msync is for mapped memory; use fdatasync"],
    );
}

#[test]
fn words_that_do_not_go_together_are_refused() {
    let said = pickfs(&["run", "quick", "--erase"]);
    refused_with(&said, USAGE, &["--device <NODE>"]);
    let said = pickfs(&["run", "quick", "--log-device", "/dev/sdb"]);
    refused_with(&said, USAGE, &["--device <NODE>"]);
    let said = pickfs(&["run", "quick", "--ram", "--dir", "/tmp"]);
    refused_with(&said, USAGE, &["'--ram' cannot be used with '--dir <DIR>'"]);
}

#[test]
fn a_file_system_that_cannot_put_its_log_on_another_device_is_skipped_by_name() {
    let devices = ["--device", "/dev/a-disk", "--log-device", "/dev/a-log"];
    let said = pickfs(&[&["plan", "quick", "--fs", "ext2,ext4,tmpfs"], &devices[..]].concat());
    let told = "ext2 cannot put its log on another device (leave --log-device or ext2 out)";
    assert!(said.out.contains(told), "{said:?}");
    assert!(!said.out.contains("tmpfs cannot put"), "{said:?}");
    let said = pickfs(&[&["run", "quick", "--fs", "ext2"], &devices[..]].concat());
    assert!(said.code != Some(0) && format!("{said:?}").contains("cannot put its log"), "{said:?}");
}

#[test]
fn a_directory_must_be_there() {
    let (_folder, out) = folder();
    let out = out.to_str().unwrap();
    let said = pickfs(&["run", "quick", "--dir", "/nowhere/at/all", "--out", out]);
    refused_with(&said, FAILED, &["--dir /nowhere/at/all: No such file", "name a directory"]);
    assert_eq!(fs::read_dir(out).unwrap().count(), 0, "a run that did not begin leaves no folder");
    let said = pickfs(&["run", "quick", "--dir", "/tmp", "--fs", "ext4:noatime", "--out", out]);
    refused_with(&said, FAILED, &["`ext4:noatime` cannot be given to an existing directory"]);
}

#[test]
fn a_plan_that_would_compare_nothing_stops_before_it_measures() {
    let (_folder, out) = folder();
    let place = ["--size", "64MiB", "--out", out.to_str().unwrap()];
    let said = pickfs(&[&["run", "quick", "--fs", "ext4,xfs"][..], &place].concat());
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.out.starts_with("NO ANSWER  only ext4 can be made here; xfs"), "{said:?}");
    let fix = format!("pickfs quick --fs ext4,xfs --out {} --size 300MiB", out.to_str().unwrap());
    assert!(said.out.contains("\n  fix      ") && said.out.contains(&fix), "{said:?}");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0, "nothing was made");
    let json = pickfs(&[&["run", "quick", "--json", "--fs", "ext4,xfs"][..], &place].concat());
    assert_eq!((json.code, json.out.as_str()), (Some(4), ""), "{json:?}");
    let alone = pickfs(&["plan", "quick", "--fs", "ext4", "--size", "64MiB"]);
    assert_eq!(alone.code, Some(0), "what is asked for alone is measured: {alone:?}");
}

#[test]
fn an_empty_folder_of_runs_says_so_and_what_to_do() {
    let (_folder, out) = folder();
    let out = out.to_str().unwrap();
    let said = pickfs(&["show", out]);
    let expected = format!("no run in {out}; make one with pickfs run, or name another folder\n");
    assert_eq!((said.code, said.err.as_str()), (Some(0), expected.as_str()));
    assert_eq!(pickfs(&["show", out, "--json"]).out.trim(), "[]");
}

#[test]
fn making_file_systems_needs_root() {
    if crate::pickfs::is_root() && !crate::pickfs::nobody_reaches_us() {
        println!("SKIPPED: nobody cannot reach the programs, so that nobody cannot be refused");
        return;
    }
    let (_folder, out) = folder();
    let said = unprivileged(&["run", "quick", "--out", out.to_str().unwrap()]);
    refused_with(
        &said,
        FAILED,
        &["needs root. Three ways: run it with sudo", "--dir DIR", "--engine auto"],
    );
    assert_eq!(fs::read_dir(&out).unwrap().count(), 0);
}

#[test]
fn a_command_to_type_begins_as_the_user_began_and_quotes_its_path() {
    let (_folder, path) = folder();
    let mut run = fake_run(&FakeRun { blocks: 2, ..FakeRun::default() });
    run.plan.name = "quick".into();
    // What cures an open end would stand in place of the next step.
    run.plan.design.primary.clear();
    run.plan.backing = BackingSpec::directory("/srv/my runs");
    RunFile::create(&path.join("run.pickfs"), &run).unwrap();
    let (show, missing) = (["show", path.to_str().unwrap()], ["show", "/nowhere"]);
    for (typed, began) in [(None, "pickfs"), (Some("./run show RUN"), "./run")] {
        let said = |words: &[&str]| -> Said {
            let mut command = command(words);
            command.env_remove(TYPED).envs(typed.map(|words| (TYPED, words)));
            command.output().unwrap().into()
        };
        let shown = said(&show);
        let next = format!("next      {began} journal --dir '/srv/my runs'");
        assert!(shown.out.contains(&next), "{shown:?}");
        let refused = said(&missing);
        assert!(refused.err.contains(&format!("; {began} show shows")), "{refused:?}");
    }
}

#[test]
fn a_run_must_be_there_and_be_one() {
    let (_folder, path) = folder();
    let word = path.to_str().unwrap();
    for words in [["show", "--doubts"], ["report", "--format=csv"]] {
        let said = pickfs(&[&words[..], &[word]].concat());
        refused_with(&said, FAILED, &["run.pickfs not found; pickfs show shows what there is"]);
    }
    refused_with(&pickfs(&["run", "--resume", word]), FAILED, &["run.pickfs not found"]);
    let said = pickfs(&["show", "/nowhere", "--json"]);
    refused_with(&said, FAILED, &["/nowhere; name the folder", "No such"]);
    fs::write(path.join("run.pickfs"), "a letter to a friend").unwrap();
    let parts = ["is not a pickfs run (not an SQLite file); pickfs show"];
    refused_with(&pickfs(&["show", word]), FAILED, &parts);
    refused_with(&pickfs(&["compare", word, word]), FAILED, &parts);
    let shelf = path.join("shelf");
    fs::create_dir(&shelf).unwrap();
    fs::write(shelf.join("a.pickfs"), "a letter to a friend").unwrap();
    let said = pickfs(&["show", shelf.to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "one bad file does not hide the others");
    assert!(said.out.starts_with("damaged: "), "{said:?}");
}

fn one_block(folder: &Path) -> String {
    stored(folder, "run", &fake_run(&FakeRun { blocks: 1, ..FakeRun::default() }))
}

#[test]
fn a_run_of_a_later_version_is_told_as_such() {
    let (_folder, path) = folder();
    let path = Path::new(&one_block(&path)).to_owned();
    // Bytes 60 to 63 of an SQLite file are its user version (SQLite file format, 1.3).
    let mut bytes = fs::read(path.join("run.pickfs")).unwrap();
    bytes[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(path.join("run.pickfs"), bytes).unwrap();
    let said = pickfs(&["show", path.to_str().unwrap()]);
    refused_with(&said, FAILED, &["has format 99, this pickfs reads up to ", "use a newer one"]);
}

#[test]
fn a_trial_must_be_one_of_the_run() {
    let (_folder, path) = folder();
    let path = Path::new(&one_block(&path)).to_owned();
    let last = crate::pickfs::record(&path).trials.len();
    let word = path.to_str().unwrap();
    assert_eq!(pickfs(&["show", word, "--trial", "1"]).code, Some(0));
    refused(&["show", word, "--trial", "999"], &format!("no trial 999; the run has 1 to {last}"));
    let said = pickfs(&["report", word, "--format", "papyrus"]);
    refused_with(&said, USAGE, &["invalid value 'papyrus'", "html", "markdown", "hlog"]);
    let out = "/proc/no-folder-can-be-made-here";
    let said = pickfs(&["report", word, "--out", out]);
    refused_with(&said, FAILED, &["cannot make /proc/no-folder-can-be-made-here"]);
}
