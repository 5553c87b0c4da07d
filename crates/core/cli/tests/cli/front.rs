//! Commands that measure nothing, as a user calls them: serve, compare of runs or
//! with a table, phases and their exports, man, completions, help.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use crate::pickfs::{assert_ends, command, folder, pickfs, stored};
use pickfs_testkit::{FakeCandidate, FakePhasedRun, FakeRun, fake_phased_run, fake_run};

fn kept(out: &Path, name: &str, durable_us: [f64; 2]) -> String {
    let of = |name: &str, us: f64| FakeCandidate::new(name, 500.0, us * 1e3);
    let mut run = fake_run(&FakeRun {
        name: name.into(),
        seed: name.len() as u64,
        blocks: 10,
        candidates: vec![of("ext4", durable_us[0]), of("xfs", durable_us[1])],
        reference: "ext4".into(),
        syncs: vec!["fdatasync".into()],
        ..FakeRun::default()
    });
    run.environment.put("kernel.release", name);
    stored(out, name, &run)
}

#[test]
fn a_later_run_judges_each_choice() {
    let (_kept, out) = folder();
    let then = kept(&out, "6.1", [200.0, 100.0]);
    let same = kept(&out, "6.12", [210.0, 100.0]);
    let turned = kept(&out, "6.18.1", [50.0, 100.0]);
    let said = pickfs(&["compare", &then, &same]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("kernel.release  6.1 -> 6.12"), "{}", said.out);
    assert!(said.out.contains("HOLDS     xfs is still best."), "{}", said.out);
    let judged = pickfs(&["compare", "--json", &then, &turned]).json();
    assert_eq!(judged["choices"][0]["standing"], "changed");
    assert_eq!(judged["choices"][0]["before"][0], "xfs");
}

#[test]
fn serve_says_its_link() {
    let (_kept, out) = folder();
    let mut serving = command(&["serve", out.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let mut serving = serving.stdout(Stdio::piped()).spawn().unwrap();
    let mut link = String::new();
    BufReader::new(serving.stdout.take().unwrap()).read_line(&mut link).unwrap();
    serving.kill().unwrap();
    serving.wait().unwrap();
    assert!(link.starts_with("http://127.0.0.1:"), "{link}");
}

#[test]
fn the_manual_has_a_page_of_every_command() {
    let said = pickfs(&["man"]);
    assert!(said.out.contains(".TH pickfs 1") && said.out.contains("pickfs\\-serve(1)"));
    let (_kept, out) = folder();
    let pages = out.join("man1");
    assert_eq!(pickfs(&["man", "--out", pages.to_str().unwrap()]).code, Some(0));
    let help = pickfs(&["--help"]).out;
    let commands = help.split("Commands:").nth(1).unwrap().split("Options:").next().unwrap();
    let lines = commands.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<&str> = lines.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names.len(), 14, "thirteen and help: {names:?}");
    for name in names.iter().filter(|name| **name != "help") {
        let page = fs::read_to_string(pages.join(format!("pickfs-{name}.1"))).unwrap();
        assert!(page.contains("Examples:"), "{name}");
        assert!(pickfs(&[*name, "--help"]).out.contains("Examples:"), "{name}");
    }
}

fn offered(script: &Path, words: &str) -> Vec<String> {
    let folder = script.parent().unwrap();
    for run in ["2026-11-21-quick", "2026-11-22-journal"] {
        fs::create_dir_all(folder.join("pickfs-runs").join(run)).unwrap();
    }
    let ask = r#"source "$0"; IFS=' ' read -ra COMP_WORDS <<<"$1"; [[ $1 != *' ' ]] || COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        $(complete -p pickfs | sed 's/.*-F \([^ ]*\).*/\1/') pickfs "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = std::process::Command::new("bash");
    let said = bash.args(["-c", ask]).arg(script).arg(words).current_dir(folder).output().unwrap();
    assert!(said.stderr.is_empty(), "{words}: {}", String::from_utf8_lossy(&said.stderr));
    String::from_utf8(said.stdout).unwrap().lines().map(String::from).collect()
}

#[test]
fn every_shell_knows_our_words_plans_file_systems_and_runs() {
    let (_kept, out) = folder();
    let script = out.join("pickfs.bash");
    for (shell, named) in [
        ("bash", ["compare", "until-decided"]),
        ("elvish", ["compare", "until-decided"]),
        ("powershell", ["compare", "until-decided"]),
        ("zsh", ["(run|quick|", "':run -- A run\\: its file or its folder:_pickfs_runs'"]),
        ("fish", ["using_subcommand run quick ", "-a 'ext4 xfs"]),
    ] {
        let said = pickfs(&["man", "--completions", shell]).out;
        let file = out.join(format!("pickfs.{shell}"));
        fs::write(&file, &said).unwrap();
        assert!(named.iter().all(|part| said.contains(part)), "{shell}");
        // Where the shell is there, it reads the script.
        let read = std::process::Command::new(shell).arg("-n").arg(&file).status();
        let reads = matches!(shell, "bash" | "zsh" | "fish");
        assert!(!reads || read.map_or(true, |read| read.success()), "{shell}");
    }
    for (words, wanted) in [
        ("pickfs compa", vec!["compare"]),
        ("pickfs qui", vec!["quick"]),
        ("pickfs run postg", vec!["postgresql"]),
        ("pickfs plan fix-s", vec!["fix-stores"]),
        ("pickfs run quick --fs reis", vec!["reiserfs-3.5", "reiserfs-3.6"]),
        ("pickfs quick --fs ext4,xf", vec!["ext4,xfs"]),
        ("pickfs quick --until", vec!["--until-decided"]),
        ("pickfs show ", vec!["pickfs-runs/2026-11-21-quick/", "pickfs-runs/2026-11-22-journal/"]),
        ("pickfs compare a pickfs-runs/2026-11-22", vec!["pickfs-runs/2026-11-22-journal/"]),
        ("pickfs run --resume pickfs-runs/2026-11-21", vec!["pickfs-runs/2026-11-21-quick/"]),
        ("pickfs run --again pickfs-runs/2026-11-21", vec!["pickfs-runs/2026-11-21-quick/"]),
        ("pickfs report --format mark", vec!["markdown"]),
    ] {
        assert_eq!(offered(&script, words), wanted, "{words}");
    }
}

/// What stands behind each verb has tests of its own.
#[test]
fn each_verb_ends_and_says_as_it_must() {
    let (_kept, out) = folder();
    fs::create_dir(out.join("all")).unwrap();
    for (name, us) in [("6.1", 400.0), ("6.12", 200.0), ("6.18.1", 100.0)] {
        kept(&out.join("all"), name, [us, us]);
    }
    stored(&out, "column", &fake_phased_run(&FakePhasedRun::column()));
    stored(&out, "files", &fake_phased_run(&FakePhasedRun::files()));
    let chain = "run 1     6.1\nrun 2     6.12\nrun 3     6.18.1\n";
    let with_rhel9 = "compare column --with kx-2025-rhel9 --html beside.html --markdown beside.md";
    assert_ends(
        &out,
        &[
            ("compare all/6.1 all/6.12 all/6.18.1", 0, chain),
            ("compare all", 0, chain),
            (with_rhel9, 0, "column beside kx-2025-rhel9\n"),
            ("compare column --with kx-2025-ubuntu --json", 0, "\"kx-2025-ubuntu\""),
            ("compare files --with linux-2011-eighteen", 0, "files beside linux-2011-eighteen\n"),
            ("compare column --with kx-1999", 1, "kx-2025-rhel9"),
            ("report files --format bonnie", 0, "bonnie.csv"),
            ("compare files --with files/bonnie.csv", 0, "files beside "),
            ("report column --format psv", 0, "psv"),
            ("compare column --with column/psv", 0, "one process, rates"),
            ("compare column --with column/psv/xfs.psv", 0, "one process, rates"),
            ("show column --phases", 0, "GEOMETRIC MEAN"),
            ("serve nowhere", 1, "cannot read nowhere"),
            ("serve . --listen 0.0.0.0:0 --token short", 1, "can be guessed"),
        ],
    );
    let page = fs::read_to_string(out.join("beside.html")).unwrap();
    assert!(page.contains("write float large"));
    assert!(fs::read_to_string(out.join("beside.md")).unwrap().contains("| write float large |"));
}

#[test]
fn rows_that_survive_different_failures_get_no_command_that_would_not_help() {
    let of = "../../../reference/article-004-guests.many.pickfs";
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(of);
    let said = pickfs(&["show", file.to_str().unwrap()]);
    assert!(said.out.starts_with("NO ANSWER hfs survives a process crash and hpfs"), "{said:?}");
    let proposes = |line: &str| line.starts_with("fix ") || line.starts_with("next ");
    assert!(!said.out.lines().any(proposes), "{}", said.out);
}
