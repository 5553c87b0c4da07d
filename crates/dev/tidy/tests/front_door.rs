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
    assert!(said(&output).contains("Rust 1.63.0 is too old: 1.85"), "{}", said(&output));
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
fn folders_that_exist_and_guests_need_nothing_that_makes_file_systems() {
    let asks = |words: &[&str]| said(&Machine::new().apt().run(words)).contains("(package mount)");
    assert!(asks(&[]) && asks(&["--fs", "xfs"]));
    assert!(!asks(&["--dir", "a"]) && !asks(&["--dir=a"]) && !asks(&["--engine", "qemu"]));
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

/// apt-get that has no package build-essential.
const LACKS_ONE: &str = r#"echo "$*" >>"$0.log"
case "$*" in *build-essential*) echo "E: Unable to locate package build-essential" >&2; exit 100 ;; esac"#;

#[test]
fn what_cannot_be_had_is_told_by_apt_and_does_not_stop_the_others() {
    let machine = Machine::new().apt().without("cc").with("apt-get", LACKS_ONE);
    let output = machine.run(&["--yes"]);
    let text = said(&output);
    assert!(text.contains("E: Unable to locate package build-essential"), "{text}");
    let log = std::fs::read_to_string(machine.bin("apt-get.log")).unwrap();
    assert!(log.lines().any(|line| line.ends_with("--no-install-recommends mount")), "{log}");
}

#[test]
fn an_apt_cache_that_goes_on_writing_hides_no_package() {
    let writes_on = "echo '  Candidate: 1.99'; i=0; while [ $i -lt 20000 ]; do echo '     a line'; i=$((i+1)); done";
    let machine = Machine::new().apt().without("cargo").without("rustc").without("cc");
    let machine = machine.with("apt-cache", writes_on);
    for _ in 0..5 {
        machine.run(&["--yes", "doctor"]);
    }
    let installed = |line: &&str| line.contains(" build-essential ") && line.contains(" rustc");
    assert_eq!(machine.apt_log().lines().filter(installed).count(), 5, "{}", machine.apt_log());
}

#[test]
fn a_distribution_whose_rust_is_old_keeps_it_and_rustup_is_offered() {
    let machine = Machine::new().apt().without("cargo").without("rustc");
    let machine = machine.with("apt-cache", "echo '  Candidate: 1.63.0+dfsg1-2'");
    let output = machine.run(&["--no-install"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("https://sh.rustup.rs"), "{}", said(&output));
    let brings = r#"echo "$*" >>"$0.log"; [ "$1" = toolchain ] || exit 1
printf '#!/bin/sh\necho rustc 1.99.0\n' >"${0%/*}/rustc"; cp "${0%/*}/rustc" "${0%/*}/cargo"; chmod +x "${0%/*}/rustc" "${0%/*}/cargo""#;
    let machine = machine.with("rustup", brings).real("cp");
    machine.run(&["--yes"]);
    let log = std::fs::read_to_string(machine.bin("rustup.log")).unwrap();
    assert!(log.starts_with("toolchain install stable --profile minimal"), "{log}");
    assert!(!machine.apt_log().contains("rustc"), "{}", machine.apt_log());
}

#[test]
fn every_family_has_its_own_names_and_commands() {
    let families = [
        ("ID=fedora", "dnf", "dnf install", "gcc"),
        ("ID=opensuse-leap\nID_LIKE=\"suse opensuse\"", "zypper", "zypper install", "gcc"),
        ("ID=arch", "pacman", "pacman -S", "gcc"),
        ("ID=alpine", "apk", "apk add", "build-base"),
    ];
    for (release, manager, command, package) in families {
        let machine =
            Machine::new().of(release).without("cc").with(manager, "echo \"$*\" >>\"$0.log\"");
        let output = machine.run(&["--no-install"]);
        let text = said(&output);
        let told = text
            .lines()
            .find(|line| line.contains(command))
            .unwrap_or_else(|| panic!("{release}: {text}"));
        assert!(told.split(' ').any(|word| word == package), "{release}: {told}");
        machine.run(&["--yes"]);
        let log = std::fs::read_to_string(machine.bin(&format!("{manager}.log"))).unwrap();
        assert!(log.contains(package), "{release}: {log}");
    }
}

#[test]
fn an_ordinary_user_never_reaches_apt_and_is_told_other_ways() {
    let machine = Machine::new().apt().without("cc").user(1000);
    let output = machine.run(&["--yes", "journal"]);
    assert_eq!(output.status.code(), Some(2));
    let text = said(&output);
    assert!(text.contains("sudo apt-get install --no-install-recommends"), "{text}");
    assert!(
        text.contains("sudo ./run --yes journal") && text.contains("./run --dir DIR"),
        "{text}"
    );
    assert_eq!(machine.apt_log(), "");
}

#[test]
fn an_ordinary_user_may_measure_in_a_folder() {
    let machine = Machine::new().user(1000);
    assert_eq!(told(&machine, &["--dir", "/srv"]), "pickfs --dir /srv");
    assert_eq!(told(&machine, &["plan", "quick"]), "pickfs plan quick");
}

#[test]
fn without_a_package_manager_it_names_programs() {
    let output = Machine::new().without("cc").run(&["--yes"]);
    let text = said(&output);
    assert!(
        text.contains("No package manager that ./run knows") && text.contains("  cc "),
        "{text}"
    );
}

#[test]
fn a_failed_build_shows_what_cargo_said() {
    let output = Machine::new().with("cargo", "echo 'error: no such thing' >&2; exit 101").run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("error: no such thing"), "{}", said(&output));
}

#[test]
fn a_build_that_lasts_says_how_far_it_is() {
    let slow = "[ \"$1\" = build ] || exit 0; echo ' Compiling libc v0.2' >&2; sleep 17";
    let machine = Machine::new();
    let built = machine.path("target/release");
    std::fs::create_dir_all(&built).unwrap();
    std::os::unix::fs::symlink("/bin/true", built.join("pickfs")).unwrap();
    let output = machine.with("cargo", slow).run(&["doctor"]);
    assert!(said(&output).contains("building: 1 of "), "{}", said(&output));
}
