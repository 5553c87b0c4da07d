//! What a guest says is told by a script in the engine's place.
#![allow(clippy::unwrap_used)]

use pickfs_guest::{Boot, Engine, Guest, GuestError, GuestPhase, Kernel, Start};

/// It boots, and does `DOES` when its task is given.
const GUEST: &str = r#"#!/bin/sh
tell() { printf '{"event":"%s","lane":0,"%s":"%s"}\n' "$1" "$2" "$3"; }
echo '{"event":"booted","build":"b","kernel":"6.1.0-9"}'
while read -r line; do
    case $line in
        *start-lanes*'["ask"]'*) asked=yes ;;
        *'"line":"given"'*) [ "$asked" = yes ] && { DOES; } ;;
    esac
done
"#;

fn task(does: &str, stretched_by: f64) -> (Vec<String>, Result<(), GuestError>) {
    task_until(does, stretched_by, &|| false)
}

fn task_until(
    does: &str,
    stretched_by: f64,
    stop: &dyn Fn() -> bool,
) -> (Vec<String>, Result<(), GuestError>) {
    let folder = tempfile::tempdir().unwrap();
    let worker = folder.path().join("engine");
    pickfs_testkit::install(&worker, GUEST.replace("DOES", does).as_bytes());
    let kernel = Kernel {
        release: "6.1.0-9".into(),
        package: "k 6.1".into(),
        image: "/k".into(),
        qemu: vec!["qemu".into()],
        modules: Default::default(),
    };
    let boot = Boot { first_files: "/f".into(), disk: None, memory_bytes: 1 << 28, processors: 1 };
    let (engine, kernel, never) = (Engine::QemuTcg, &kernel, &|| false);
    let start = Start { engine, kernel, boot: &boot, worker: &worker, stretched_by, stop: never };
    let guest = Guest::boot(&start).unwrap();
    let mut lines = Vec::new();
    let mut hear = |line: &str| {
        lines.push(line.to_owned());
        if line == "refuse" { Err(format!("`{line}` is refused")) } else { Ok(()) }
    };
    let ended = guest.task(&["ask"], "given", &mut hear, stop);
    (lines, ended)
}

#[test]
fn a_task_is_heard_line_by_line_until_it_ends() {
    let does = "tell said line one; tell said line two; tell lane-ended how 'exit code 0'";
    let (lines, ended) = task(does, 1.0);
    assert_eq!(lines, ["one", "two"]);
    ended.unwrap();
}

#[test]
fn a_task_that_ends_otherwise_says_how_and_its_last_words() {
    let does = "tell complained line 'it panicked'; tell lane-ended how 'signal 9'";
    let Err(GuestError::Told { phase, reason, .. }) = task(does, 1.0).1 else { panic!() };
    assert_eq!((phase, reason.as_str()), (GuestPhase::Task, "signal 9: it panicked"));
}

#[test]
fn a_guest_that_ends_under_its_task_is_told_and_what_was_heard_stays() {
    let (lines, ended) = task("tell said line one; echo Oops >&2; exit 3", 1.0);
    assert_eq!(lines, ["one"]);
    let Err(GuestError::Died { phase, how, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!((phase, how.as_str()), (GuestPhase::Task, "exit code 3"));
}

#[test]
fn a_silent_task_is_over_at_its_deadline() {
    let (lines, ended) = task("tell said line one", 0.05);
    assert_eq!(lines, ["one"]);
    let Err(GuestError::Missed { phase, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(phase, GuestPhase::Task);
}

/// One that never falls silent.
#[test]
fn what_a_guest_says_is_heard_until_it_is_refused_or_somebody_stops() {
    let (lines, ended) = task("tell said line refuse; while :; do tell said line more; done", 1.0);
    assert_eq!(lines, ["refuse"]);
    let Err(GuestError::Told { reason, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(reason, "`refuse` is refused");
    let looks = std::cell::Cell::new(0);
    let stop = || looks.replace(looks.get() + 1) > 20;
    let (lines, ended) = task_until("while :; do tell said line more; done", 1.0, &stop);
    assert!(matches!(ended, Err(GuestError::Interrupted)) && lines.len() < 30, "{ended:?}");
}
