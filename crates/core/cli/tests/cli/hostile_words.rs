use std::{fs, fs::File, os::unix::process::CommandExt, path::Path};

use crate::pickfs::{Said, command, folder, only_run, pickfs};
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, fake_run};

/// Clipboard, colour, title, C1, and a turn of direction.
const EVIL: &str = "x\u{1b}]52;c;ZQ==\u{7}\u{1b}[31m\u{9b}31m\u{202e}\u{2066}";

fn assert_clean(said: &Said, is_shown: bool) {
    for text in [&said.out, &said.err] {
        let raw = text.chars().find(|c| {
            (c.is_control() && !matches!(c, '\n' | '\t'))
                || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(raw, None, "{said:?}");
    }
    if is_shown {
        assert!(said.out.contains("u001b") || said.err.contains("u001b"), "{said:?}");
    }
}

fn stored(folder: &Path) -> std::path::PathBuf {
    let mut run = fake_run(&FakeRun { blocks: 2, ..FakeRun::default() });
    run.plan.question = format!("{EVIL}?");
    run.name = format!("name{EVIL}");
    for cell in &mut run.cells {
        cell.candidate.label.push_str(EVIL);
    }
    let shelf = folder.join("a-run");
    fs::create_dir(&shelf).unwrap();
    let path = shelf.join("run.pickfs");
    let trials = std::mem::take(&mut run.trials);
    let mut file = RunFile::create(&path, &run).unwrap();
    trials.iter().for_each(|trial| file.add_trial(trial).unwrap());
    path
}

#[test]
fn a_strangers_run_file_does_not_steer_the_terminal() {
    let (_kept, shelf) = folder();
    let path = stored(&shelf);
    let path = path.to_str().unwrap();
    assert_clean(&pickfs(&["show", shelf.to_str().unwrap()]), true);
    assert_clean(&pickfs(&["show", "--json", shelf.to_str().unwrap()]), true);
    assert_clean(&pickfs(&["show", path]), false);
    assert_clean(&pickfs(&["show", path, "--trial", "1"]), false);
    assert_clean(&pickfs(&["compare", path, path]), false);
}

#[test]
fn a_plan_from_elsewhere_does_not_steer_the_terminal() {
    let (_kept, folder) = folder();
    let path = folder.join("p.toml");
    let escaped: String = EVIL.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
    let plan = format!(
        "name = \"p\"\nquestion = \"{escaped}\"\nworkload = \"journal\"\n\
         candidates = [{{ spec = \"tmpfs\", label = \"{escaped}\" }}]\n\
         [design]\nblocks = 1\nreference = \"{escaped}\"\nprimary = []\n"
    );
    fs::write(&path, plan).unwrap();
    let path = path.to_str().unwrap();
    for words in [&["plan", path][..], &["plan", path, "--steps"], &["plan", path, "--json"]] {
        assert_clean(&pickfs(words), true);
    }
}

#[test]
fn an_error_with_a_path_does_not_steer_the_terminal() {
    assert_clean(&pickfs(&["show", &format!("/no/{EVIL}")]), true);
    assert_clean(&pickfs(&["run", &format!("{EVIL}.toml")]), true);
    assert_clean(&pickfs(&["run", &format!("--{EVIL}")]), false);
}

#[test]
fn the_output_of_a_command_does_not_steer_the_terminal() {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    let script = "printf '\\033]52;c;ZQ==\\007\\033[31m\\342\\200\\256'; exit 1";
    let words = ["exec", "--dir", data.to_str().unwrap(), "--blocks", "1", "--out"];
    let said = pickfs(&[&words[..], &[out.to_str().unwrap(), "--", script]].concat());
    assert_eq!(said.code, Some(3), "{said:?}");
    assert_clean(&said, false);
    assert!(said.err.contains("FAILED"), "{said:?}");
    assert_clean(&pickfs(&["show", only_run(&out).to_str().unwrap()]), false);
}

#[test]
fn output_that_cannot_be_written_is_told() {
    let (_kept, shelf) = folder();
    let path = stored(&shelf);
    let (path, shelf) = (path.to_str().unwrap(), shelf.to_str().unwrap());
    let help = [&["--help"][..], &["run", "--help"], &["--version"]];
    let shown = [&["show", path][..], &["show", shelf], &["plan", "quick"], &["plan", "--list"]];
    for words in help.into_iter().chain(shown) {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = command(words).stdout(full).output().unwrap();
        let said = Said::from(ended);
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.err.contains("standard output cannot be written"), "{said:?}");
    }
}

/// As `ulimit -f` asks for it: a write beyond fails, and the program lives to tell.
#[test]
fn a_limit_of_file_sizes_is_told() {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    let mut limited = std::process::Command::new("sh");
    limited.args(["-c", "ulimit -f 16; exec \"$@\"", "sh", crate::pickfs::PICKFS]);
    limited.args(["run", "quick", "--dir", data.to_str().unwrap(), "--blocks", "1", "--out"]);
    limited.arg(&out).process_group(0);
    let said = Said::from(limited.output().unwrap());
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("File too large"), "{said:?}");
}
