//! Commands that measure nothing, as a user calls them: serve, compare of runs or
//! with a table, phases and their exports, man, completions, help.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use crate::pickfs::{command, folder, pickfs, stored};
use pickfs_testkit::{FakeCandidate, FakePhasedRun, FakeRun, fake_phased_run, fake_run};

fn kept(out: &Path, name: &str, durable_us: [f64; 2]) -> PathBuf {
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
    stored(out, name, &run).into()
}

fn words<'a>(words: &[&'a str], runs: &[&'a PathBuf]) -> Vec<&'a str> {
    words.iter().copied().chain(runs.iter().map(|run| run.to_str().unwrap())).collect()
}

#[test]
fn a_later_run_judges_each_choice() {
    let (_kept, out) = folder();
    let then = kept(&out, "6.1", [200.0, 100.0]);
    let same = kept(&out, "6.12", [210.0, 100.0]);
    let turned = kept(&out, "6.18.1", [50.0, 100.0]);
    let said = pickfs(&words(&["compare"], &[&then, &same]));
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("kernel.release  6.1 -> 6.12"), "{}", said.out);
    assert!(said.out.contains("HOLDS     xfs is still best."), "{}", said.out);
    let said = pickfs(&words(&["compare", "--json"], &[&then, &turned]));
    let judged: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(judged["choices"][0]["standing"], "changed");
    assert_eq!(judged["choices"][0]["before"][0], "xfs");
}

#[test]
fn three_runs_are_a_chain_and_json_says_the_same() {
    let (_kept, out) = folder();
    let runs = [("6.1", 400.0), ("6.12", 200.0), ("6.18.1", 100.0)];
    let runs = runs.map(|(name, us)| kept(&out, name, [us, us]));
    let said = pickfs(&words(&["compare"], &runs.each_ref()));
    assert_eq!(said.code, Some(0), "{said:?}");
    let head = "run 1     6.1\nrun 2     6.12\nrun 3     6.18.1\n";
    assert!(said.out.starts_with(head), "{}", said.out);
    let said = pickfs(&words(&["compare"], &[&out.canonicalize().unwrap()]));
    assert!(said.out.starts_with(head), "a folder stands for its runs: {}", said.out);
    let said = pickfs(&words(&["compare", "--json"], &runs.each_ref()));
    let chain: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(chain["steps"].as_array().unwrap().len(), 2);
    assert_eq!(chain["steps"][0]["subjects"][0], "kernel");
    let shares = chain["cells"][0]["shares"].as_array().unwrap();
    let sum: f64 = shares.iter().filter_map(|share| share.as_f64()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{shares:?}");
}

struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn serve_says_its_link_and_outlives_a_reader_that_leaves() {
    let (_kept, out) = folder();
    kept(&out, "6.1", [200.0, 100.0]);
    let mut serving = command(&["serve", out.to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let mut serving = Serving(serving.stdout(Stdio::piped()).spawn().unwrap());
    let mut said = BufReader::new(serving.0.stdout.take().unwrap());
    let mut link = String::new();
    said.read_line(&mut link).unwrap();
    drop(said);
    let address = link.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        stream
    };
    drop(ask("/run/6.1"));
    drop(ask("/run/6.1"));
    let mut page = String::new();
    ask("/").read_to_string(&mut page).unwrap();
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("/run/6.1"), "{page}");
    assert!(serving.0.try_wait().unwrap().is_none());
}

#[test]
fn serve_refuses_what_it_cannot_serve() {
    let said = pickfs(&["serve", "/nowhere"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("cannot read /nowhere"), "{}", said.err);
    let (_kept, out) = folder();
    let words = ["serve", out.to_str().unwrap(), "--listen", "0.0.0.0:0", "--token", "short"];
    let said = pickfs(&words);
    assert!(said.err.contains("a token of 5 characters can be guessed"), "{}", said.err);
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
    assert_eq!(names.len(), 13, "twelve and help: {names:?}");
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

fn kept_phased(out: &Path, name: &str, ask: FakePhasedRun) -> String {
    stored(out, name, &fake_phased_run(&ask))
}

#[test]
fn a_run_stands_beside_each_published_table_and_a_file_of_bonnie() {
    let (_kept, out) = folder();
    let column = kept_phased(&out, "column", FakePhasedRun::column());
    let files = kept_phased(&out, "files", FakePhasedRun::files());
    let (html, markdown) = (out.join("beside.html"), out.join("beside.md"));
    let (html, markdown) = (html.to_str().unwrap(), markdown.to_str().unwrap());
    let words = ["compare", &column, "--with", "kx-2025-rhel9", "--html", html, "--markdown"];
    let said = pickfs(&[&words[..], &[markdown]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("column beside kx-2025-rhel9\n"), "{}", said.out);
    assert!(fs::read_to_string(html).unwrap().contains("write float large"));
    assert!(fs::read_to_string(markdown).unwrap().contains("| write float large |"));
    for (run, table) in [(&column, "kx-2025-ubuntu"), (&files, "linux-2011-eighteen")] {
        let said = pickfs(&["compare", run, "--with", table, "--json"]);
        let found: serde_json::Value = serde_json::from_str(&said.out).unwrap();
        assert_eq!(found["table"], table);
        assert!(!found["parts"].as_array().unwrap().is_empty(), "{table}");
    }
    let said = pickfs(&["compare", &column, "--with", "kx-1999"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("kx-2025-rhel9"), "the tables are named: {}", said.err);
}

#[test]
fn what_bonnie_reads_is_written_and_read_back() {
    let (_kept, out) = folder();
    let files = kept_phased(&out, "files", FakePhasedRun::files());
    let said = pickfs(&["report", &files, "--format", "bonnie"]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let csv = format!("{files}/bonnie.csv");
    let lines = fs::read_to_string(&csv).unwrap();
    assert!(lines.lines().count() >= 3 && lines.starts_with("1.98,"), "{lines}");
    let said = pickfs(&["compare", &files, "--with", &csv]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn every_table_of_phases_is_printed_and_exported() {
    let (_kept, out) = folder();
    let column = kept_phased(&out, "column", FakePhasedRun::column());
    let short = pickfs(&["show", &column]);
    let all = pickfs(&["show", &column, "--phases"]);
    assert_eq!((short.code, all.code), (Some(0), Some(0)), "{all:?}");
    assert!(
        all.out.matches("GEOMETRIC MEAN").count() > short.out.matches("GEOMETRIC MEAN").count()
    );
    assert_eq!(pickfs(&["report", &column, "--format", "psv"]).code, Some(0));
    // What KX Nano writes is read back: ours beside ours has no other side.
    let psv = format!("{column}/psv");
    for with in [&psv, &format!("{psv}/xfs.psv")] {
        let said = pickfs(&["compare", &column, "--with", with]);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(
            said.out.contains("one process, rates") && !said.out.contains("opposite"),
            "{said:?}"
        );
    }
    fs::write(format!("{psv}/bad.psv"), "threadnr|os\n").unwrap();
    let said = pickfs(&["compare", &column, "--with", &format!("{psv}/bad.psv")]);
    assert!(said.err.contains("no column `numproc`"), "{said:?}");
    for label in ["xfs", "ext4", "btrfs"] {
        let table = fs::read_to_string(format!("{psv}/{label}.psv")).unwrap();
        assert!(table.starts_with("numproc|threadnr|os|"), "{table}");
        assert!(table.contains("|write float large|"), "{table}");
    }
}
