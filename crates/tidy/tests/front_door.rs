//! `./run` on machines that lack things: each machine is a folder of stub programs.
//!
//! The stub `cargo` "builds" a `pickfs` that prints what it was told; the stub `apt-get` writes
//! down how it was called. Nothing is installed, built or mounted.
#![allow(clippy::unwrap_used)]

use pickfs_tidy::tree;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Programs of the real machine that `./run` itself uses.
const REAL: [&str; 16] = [
    "bash", "sh", "env", "dirname", "awk", "sort", "tr", "sed", "head", "tail", "mktemp", "rm",
    "cat", "chmod", "mkdir", "grep",
];

const CARGO: &str = r#"mkdir -p "$CARGO_TARGET_DIR/release"
for name in pickfs pickfs-worker; do
    printf '#!/bin/sh\necho "pickfs $*"\n' >"$CARGO_TARGET_DIR/release/$name"
    chmod +x "$CARGO_TARGET_DIR/release/$name"
done"#;

/// A machine with cargo, a C compiler and root, but without apt and without file systems.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Machine {
        let machine = Machine { folder: tempfile::tempdir().unwrap() };
        std::fs::create_dir_all(machine.path("bin")).unwrap();
        for name in REAL {
            let found = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            symlink(found.iter().find(|path| path.exists()).unwrap(), machine.bin(name)).unwrap();
        }
        machine.with("cargo", CARGO).with("rustc", "echo rustc 1.99.0").with("cc", "").user(0)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn bin(&self, name: &str) -> PathBuf {
        self.path("bin").join(name)
    }

    fn with(self, name: &str, script: &str) -> Machine {
        std::fs::write(self.bin(name), format!("#!/bin/sh\n{script}\n")).unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.bin(name), mode).unwrap();
        self
    }

    fn without(self, name: &str) -> Machine {
        std::fs::remove_file(self.bin(name)).unwrap();
        self
    }

    fn user(self, id: u32) -> Machine {
        self.with("id", &format!("echo {id}"))
    }

    /// apt-get that writes its words to a file and brings nothing.
    fn apt(self) -> Machine {
        let log = self.path("apt.log");
        self.with("apt-get", &format!("echo \"$*\" >>{}", log.display()))
            .with("apt-cache", "echo '  Candidate: 1.0'")
    }

    fn apt_log(&self) -> String {
        std::fs::read_to_string(self.path("apt.log")).unwrap_or_default()
    }

    fn run(&self, words: &[&str]) -> Output {
        Command::new(tree::root().join("run"))
            .args(words)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", self.path("home"))
            .env("CARGO_TARGET_DIR", self.path("target"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

fn told(machine: &Machine, words: &[&str]) -> String {
    let output = machine.run(words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn words_become_commands_of_pickfs() {
    let machine = Machine::new();
    assert_eq!(told(&machine, &[]), "pickfs run quick");
    assert_eq!(told(&machine, &["--yes"]), "pickfs run quick");
    assert_eq!(told(&machine, &["--ram"]), "pickfs run quick --ram");
    assert_eq!(told(&machine, &["--device", "/dev/x"]), "pickfs run quick --device /dev/x");
    assert_eq!(told(&machine, &["journal", "--no-install"]), "pickfs run journal");
    assert_eq!(told(&machine, &["tour"]), "pickfs run tour");
    assert_eq!(told(&machine, &["doctor"]), "pickfs doctor");
    assert_eq!(told(&machine, &["run", "x.toml"]), "pickfs run x.toml");
    assert_eq!(told(&machine, &["compare", "a", "b"]), "pickfs compare a b");
}

#[test]
fn a_command_of_ones_own_is_not_there_yet() {
    let output = Machine::new().run(&["--", "mydb"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("is not there yet"), "{}", said(&output));
}

#[test]
fn without_cargo_it_says_where_to_get_it() {
    let output = Machine::new().without("cargo").run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("https://rustup.rs"), "{}", said(&output));
}

#[test]
fn an_old_rust_is_named_with_the_one_needed() {
    let output = Machine::new().with("rustc", "echo rustc 1.63.0").run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("Rust 1.63.0 is too old: 1.9"), "{}", said(&output));
}

#[test]
fn without_a_c_compiler_it_names_the_package() {
    let output = Machine::new().without("cc").run(&["doctor"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("build-essential"), "{}", said(&output));
}

#[test]
fn without_a_terminal_nothing_is_installed_unasked() {
    let machine = Machine::new().apt().without("cc");
    let output = machine.run(&[]);
    assert!(said(&output).contains("apt-get install --no-install-recommends build-essential"));
    assert_eq!(machine.apt_log(), "");
}

#[test]
fn with_yes_it_installs_after_an_update() {
    let machine = Machine::new().apt().without("cc");
    machine.run(&["--yes"]);
    let log = machine.apt_log();
    assert!(log.starts_with("update"), "{log}");
    assert!(log.contains("install -y -q --no-install-recommends"), "{log}");
    assert!(log.contains("build-essential"), "{log}");
}

#[test]
fn a_package_that_the_release_lacks_does_not_stop_the_others() {
    let has_no_btrfs =
        "case $2 in build-*) echo '  Candidate: (none)' ;; *) echo '  Candidate: 1' ;; esac";
    let machine = Machine::new().apt().without("cc").with("apt-cache", has_no_btrfs);
    let output = machine.run(&["--yes"]);
    assert!(said(&output).contains("no package build-essential"), "{}", said(&output));
    assert!(!machine.apt_log().contains("build-essential"), "{}", machine.apt_log());
}

#[test]
fn an_ordinary_user_never_reaches_apt_and_is_told_two_ways() {
    let machine = Machine::new().apt().without("cc").user(1000);
    let output = machine.run(&["--yes", "journal"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("sudo apt-get install --no-install-recommends"), "{text}");
    assert!(text.contains("sudo ./run journal") && text.contains("./run --dir DIR"), "{text}");
    assert_eq!(machine.apt_log(), "");
}

#[test]
fn an_ordinary_user_may_measure_in_a_folder() {
    let machine = Machine::new().user(1000);
    assert_eq!(told(&machine, &["--dir", "/srv"]), "pickfs run quick --dir /srv");
    assert_eq!(told(&machine, &["plan", "quick"]), "pickfs plan quick");
}

#[test]
fn elsewhere_than_on_debian_it_names_programs() {
    let output = Machine::new().without("cc").run(&["--yes"]);
    let text = said(&output);
    assert!(text.contains("not Debian or Ubuntu") && text.contains("  cc "), "{text}");
}

#[test]
fn a_failed_build_shows_what_cargo_said() {
    let output = Machine::new().with("cargo", "echo 'error: no such thing' >&2; exit 101").run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("error: no such thing"), "{}", said(&output));
}
