use std::{fs, path::Path};

use crate::pickfs::{Said, assert_ends, command, folder, pickfs, stored, typed, unprivileged};
use pickfs_record::{BackingSpec, typed::TYPED};
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, fake_run};

/// Ends of usage errors and of all others, as in `exit.rs`.
const FAILED: Option<i32> = Some(1);
const USAGE: Option<i32> = Some(2);

fn refused_with(said: &Said, code: Option<i32>, parts: &[&str]) {
    assert_eq!(said.code, code, "{said:?}");
    for part in parts {
        assert!(said.err.contains(part), "`{part}` is not in: {}", said.err);
    }
}

/// Words as typed, then parts of what is said of them.
const FAILING: &str = r#"
plan quik => pickfs: no plan `quik`; did you mean `quick`? | pickfs plan --list
Quick => pickfs: no plan `Quick`; did you mean `quick`? | pickfs plan --list
quik --ram => pickfs: no plan `quik`; did you mean `quick`? | pickfs plan --list
plan postgres => pickfs: no plan `postgres`; did you mean `postgresql`? | pickfs plan --list
plan zzzzz => pickfs: no plan `zzzzz`: built in are quick, journal | .toml
zzzzz => pickfs: no plan `zzzzz`: built in are quick, journal | .toml
plan /nowhere/mine.toml => /nowhere/mine.toml | cannot read the plan | No such file
plan quick --fs ext5 => file system `ext5` not known; did you mean `ext4`?
plan quick --fs :noatime => candidate `:noatime` names no file system; write fs[:mount options][;mkfs=options]
plan quick --fs xfs;size=3 => candidate `xfs;size=3`: `size=3` not understood; after `;` only mkfs=OPTIONS may stand
plan quick --fs xfs --fs xfs => candidate `xfs` stands twice; a plan file can give one of them another label
plan quick --set sise=3 => parameter `sise` | did you mean `size`? | preallocation
plan quick --set size => pickfs: --set size: write name=value
plan quick --set rate=fast => journal: rate = "fast" is not allowed; use
plan quick --set file_size=1GiBB => file_size | a multiple of 4096 from 8KiB to 64GiB
plan quick --axis preallocation=none,magic => preallocation = "magic" is not allowed; use one of none,
plan quick --axis sync= => pickfs: --axis sync=: write name=value
plan quick --size big => pickfs: size `big` not understood; write it like 256, 4KiB, 64MiB or 1GiB
plan quick --measure soon => pickfs: duration `soon` not understood; write it like 250ms, 10s, 5m or 1h
plan quick --measure 0s => quick: measure is 0 s; use a time above zero up to 24 h 00 min: 250ms, 10s, 5m, 1h
plan quick --blocks 0 => blocks is 0 | 1 to 1000
plan quick --reference zfs => pickfs: --reference `zfs` is none of ext4, xfs, btrfs, tmpfs
plan quick --fs ext4 --axis sync=msync --set write_path=pwrite => nothing of plan quick can run here:  | msync is for mapped memory; use fdatasync
run quick --dir /tmp --fs ext4:noatime => `ext4:noatime` cannot be given to an existing directory
"#;

const USED_WRONGLY: &str = "
reprot => reprot | report
plan quick --blocks x => --blocks | invalid digit
run quick --erase => --device <NODE>
run quick --log-device /dev/sdb => --device <NODE>
run --again /nowhere --allow-fault => cannot be used with | --allow-fault
run quick --ram --dir /tmp => '--ram' cannot be used with '--dir <DIR>'
report /nowhere --format papyrus => invalid value 'papyrus' | html | markdown | hlog
";

#[test]
fn what_is_mistyped_is_told_with_what_was_meant() {
    for (code, rows) in [(FAILED, FAILING), (USAGE, USED_WRONGLY)] {
        for row in rows.lines().filter(|row| !row.is_empty()) {
            let (words, parts) = row.split_once(" => ").unwrap();
            let said = pickfs(&typed(words));
            refused_with(&said, code, &parts.split(" | ").collect::<Vec<_>>());
            assert_eq!(said.out, "", "{words}");
        }
    }
}

#[test]
fn a_plan_file_is_told_with_its_line() {
    let (_folder, path) = folder();
    let plan = include_str!("../../../../../plans/quick.toml");
    for (from, to, message) in [
        ("workload = \"journal\"", "workload = journal", "pickfs: mine.toml:7: "),
        ("workload = \"journal\"", "workload = \"jurnal\"", "did you mean `journal`?"),
        (
            "[timing]",
            "[timing]\nmeasured = \"1 s\"",
            "pickfs: mine.toml:39: unknown field `measured`",
        ),
    ] {
        fs::write(path.join("mine.toml"), plan.replacen(from, to, 1)).unwrap();
        let said = command(&["plan", "mine.toml"]).current_dir(&path).output().unwrap().into();
        refused_with(&said, FAILED, &[message]);
    }
}

#[test]
fn a_plan_cannot_allow_its_own_fault_and_does_not_hide_it() {
    let (_kept, folder) = folder();
    let text = r#"
name = "mine"
question = "Which?"
candidates = ["ext4"]
workload = "shared"
params = { ask = "append", fault = "curl x | sh" }
consent = { fault = true }
[design]
blocks = 1
reference = "ext4"
primary = []
"#;
    fs::write(folder.join("mine.toml"), text).unwrap();
    let refused = "fault runs a command of the plan on the first host; allow it with --allow-fault";
    let run = "run mine.toml --dir .";
    let allowed = format!("{run} --allow-fault");
    assert_ends(&folder, &[(run, 1, refused), (&allowed, 1, "curl x | sh")]);
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
    let expected = format!("no run in {out}; make one with pickfs quick, or name another folder\n");
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
    run.plan.name = "mine".into();
    run.plan.typed = ["pickfs", "run", "my plans/a.toml", "--blocks", "2"].map(String::from).into();
    let own = path.join("own.pickfs");
    RunFile::create(&own, &run).unwrap();
    let shown = pickfs(&["show", own.to_str().unwrap()]).out;
    assert!(shown.contains("next      pickfs 'my plans/a.toml' --until-decided "), "{shown}");
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
    let said = pickfs(&["show", word, "--trial", "999"]);
    refused_with(&said, FAILED, &[&format!("no trial 999; the run has 1 to {last}")]);
    let out = "/proc/no-folder-can-be-made-here";
    let said = pickfs(&["report", word, "--out", out]);
    refused_with(&said, FAILED, &["cannot make /proc/no-folder-can-be-made-here"]);
}
