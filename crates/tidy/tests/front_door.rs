//! `./run` on machines that lack things: each machine is a folder of stub programs.
//!
//! The stub `cargo` "builds" a `pickfs` that prints what it was told. Nothing is installed, built or
//! mounted.
#![allow(clippy::unwrap_used)]

mod machine;

use machine::{Machine, said};

fn told(machine: &Machine, words: &[&str]) -> String {
    let output = machine.run(words);
    assert!(output.status.success(), "{words:?}: {}", said(&output));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

#[test]
fn words_become_commands_of_pickfs() {
    let machine = Machine::new();
    assert_eq!(told(&machine, &[]), "pickfs quick");
    assert_eq!(told(&machine, &["--yes"]), "pickfs quick");
    assert_eq!(told(&machine, &["--ram"]), "pickfs --ram");
    assert_eq!(told(&machine, &["--device", "/dev/x"]), "pickfs --device /dev/x");
    assert_eq!(told(&machine, &["journal", "--no-install"]), "pickfs journal");
    assert_eq!(told(&machine, &["tour"]), "pickfs tour");
    assert_eq!(told(&machine, &["doctor"]), "pickfs doctor");
    assert_eq!(told(&machine, &["run", "x.toml"]), "pickfs run x.toml");
    assert_eq!(told(&machine, &["compare", "a", "b"]), "pickfs compare a b");
}

#[test]
fn a_command_of_ones_own_stands_behind_two_hyphens() {
    let machine = Machine::new();
    assert_eq!(
        told(&machine, &["--", "mydb", "--yes", "--no-install"]),
        "pickfs -- mydb --yes --no-install"
    );
    assert_eq!(told(&machine, &["--fs", "xfs", "--", "mydb"]), "pickfs --fs xfs -- mydb");
    assert_eq!(told(&machine, &["exec", "--ram", "--", "mydb"]), "pickfs exec --ram -- mydb");
    assert_eq!(told(&machine, &["--fio", "a.fio", "--ram"]), "pickfs --fio a.fio --ram");
    let output = machine.run(&["--"]);
    assert_eq!(output.status.code(), Some(2));
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
    assert_eq!(told(&machine, &["--dir", "/srv"]), "pickfs --dir /srv");
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
