#![allow(clippy::unwrap_used)]

mod machine;

use machine::{Machine, said};

/// A cargo whose tests print one result, and which writes down how it was called.
const CARGO: &str = r#"echo "$* root=$PICKFS_REQUIRE_ROOT_RING" >>"$CARGO_TARGET_DIR.log"
case "$1 $*" in *--no-run*) ;; test*)
    printf '%s\n' 'test a::b ... ok' 'test c ... ok' 'test d ... ignored' '' 'successes:' '' \
        '---- c stdout ----' 'a long story' 'SKIPPED(root ring): no xfs' '' 'successes:' '    c' '' \
        'test result: ok. 2 passed; 0 failed; 1 ignored'
esac"#;

const BROKEN: &str = r#"[ "$1" != test ] || { printf '%s\n' 'test a ... FAILED' '' 'failures:' \
    '---- a stdout ----' 'it is so' 'test result: FAILED. 0 passed; 1 failed'; exit 101; }"#;

fn test(machine: &Machine, words: &[&str], ci: bool) -> (Option<i32>, String, String) {
    let variables: &[_] = if ci { &[("CI", "true")] } else { &[] };
    let output = machine.start("test", words, variables);
    let calls = std::fs::read_to_string(machine.path("target.log")).unwrap_or_default();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned() + &said(&output);
    (output.status.code(), shown, calls)
}

#[test]
fn every_ring_runs_and_root_may_not_be_skipped() {
    let words = ["--ring=style", "--ring=unit", "--ring=sim", "--ring=root"];
    let (code, shown, calls) = test(&Machine::new().with("cargo", CARGO), &words, true);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("root     passed"), "{shown}");
    assert!(shown.contains("heavy    skipped  not asked for"), "{shown}");
    assert!(shown.contains("tests  16 passed, 0 failed, 8 ignored"), "{shown}");
    let begun = |call: &&str| call.contains("--test=root_") && !call.contains("--no-run");
    let root = calls.lines().find(begun).unwrap();
    assert!(root.contains("--test-threads=1") && root.ends_with("root=1"), "{root}");
    assert!(!root.contains("--test=house"), "{root}");
    let sim = calls.lines().find(|call| call.contains("--test=house")).unwrap();
    assert!(!sim.contains("--test=root_") && sim.ends_with("root="), "{sim}");
}

#[test]
fn what_passed_is_quiet_but_what_was_skipped_is_told() {
    let (_, shown, _) = test(&Machine::new().with("cargo", CARGO), &["--ring", "sim"], true);
    assert!(!shown.contains("a long story"), "{shown}");
    assert!(shown.contains("4 SKIPPED(root ring): no xfs"), "{shown}");
    assert!(shown.contains("test result: ok. 2 passed"), "{shown}");
}

#[test]
fn without_root_the_root_ring_is_skipped_and_fails_only_in_ci() {
    let user = Machine::new().with("cargo", CARGO).user(1000);
    let (code, shown, _) = test(&user, &[], false);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("root     skipped  needs root"), "{shown}");
    let (code, shown, _) = test(&user, &[], true);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("the root ring must run, and did not"), "{shown}");
    assert!(shown.contains("packages skipped  needs root"), "{shown}");
    assert!(shown.contains("benches  skipped  needs root"), "{shown}");
}

#[test]
fn a_failed_test_fails_the_whole_and_its_output_is_shown() {
    // Those of the ring sim run in streams: a failure in any of them counts.
    let streams =
        BROKEN.replace("test ]", "test ] || [[ $* != *--test=house* ]] || [ \"$5\" = --no-run ]");
    for (ring, cargo) in [("unit", BROKEN), ("sim", &streams)] {
        let (code, shown, _) = test(&Machine::new().with("cargo", cargo), &["--ring", ring], false);
        assert_eq!(code, Some(1), "{shown}");
        assert!(shown.contains("it is so"), "{shown}");
        assert!(shown.contains(&format!("{ring:8} FAILED")), "{shown}");
    }
}

#[test]
fn an_unknown_ring_is_named_with_the_known_ones() {
    let (code, shown, _) = test(&Machine::new(), &["--ring", "golden"], false);
    assert_eq!(code, Some(2));
    assert!(shown.contains("no ring 'golden'; the rings are style, unit, sim"), "{shown}");
}

#[test]
fn ci_and_root_without_a_terminal_install_without_asking() {
    let machine = Machine::new().apt().without("cc");
    test(&machine, &["--ring", "unit"], false);
    assert!(machine.apt_log().contains("build-essential"), "{}", machine.apt_log());
    assert!(!machine.apt_log().contains(" ceph-mon "), "{}", machine.apt_log());
    test(&machine, &["--ring", "heavy"], false);
    assert!(machine.apt_log().contains(" ceph-mon "), "{}", machine.apt_log());
    let machine = Machine::new().apt().without("cc");
    test(&machine, &["--ring", "unit", "--no-install"], true);
    assert_eq!(machine.apt_log(), "");
}

#[test]
fn a_server_that_comes_for_tests_is_disabled_and_one_that_was_here_is_left() {
    let machine = Machine::new().apt().without("cc");
    let log = machine.path("apt.log");
    let systemctl = format!(
        "case $2 in ceph.target) echo enabled ;; moosefs-master.service) [ ! -e {0} ] || echo enabled ;; esac\n\
         [ $1 != disable ] || echo \"$*\" >>{0}",
        log.display()
    );
    let machine = machine.with("systemctl", &systemctl);
    test(&machine, &["--ring", "heavy"], false);
    let said = machine.apt_log();
    assert!(said.contains("disable --now moosefs-master.service"), "{said}");
    assert!(!said.contains("ceph.target"), "{said}");
}
