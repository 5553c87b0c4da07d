use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use crate::pickfs::{Said, command, folder, pickfs};
use pickfs_testkit::{may_run, only_if, until, with_default_signals};
use serde_json::Value;

#[test]
fn a_command_is_explained_and_its_exit_code_passed_on() {
    only_if!(may_run(&[]));
    let (_folder, place) = folder();
    let file = place.join("file").display().to_string();
    let script = format!("dd if=/dev/zero of={file} bs=4096 count=50 oflag=dsync 2>&1; exit 7");
    let said = pickfs(&["explain", "--over", "20us", "--", "sh", "-c", &script]);
    assert_eq!(said.code, Some(7), "{said:?}");
    assert!(said.out.contains("50+0 records"), "its output stays its own: {}", said.out);
    assert!(said.err.contains("call ") && said.err.contains(" KiB"), "{}", said.err);
    assert!(said.err.contains("\nsh\nwrite: 5") && said.err.contains("share"), "{}", said.err);
    assert!(said.err.contains("tracing adds about"), "{}", said.err);
}

#[test]
fn a_command_as_json_in_a_file() {
    only_if!(may_run(&[]));
    let (_folder, place) = folder();
    let json = place.join("calls.json").display().to_string();
    let said = pickfs(&["explain", "--json", "-o", &json, "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!((said.code, said.err.as_str()), (Some(128 + 15), ""), "{said:?}");
    let words: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(words["subject"], "sh");
    let calls = words["calls"]["calls"].as_array().unwrap();
    assert!(calls.iter().any(|row| row["call"] == "mmap"), "{words}");
    assert_eq!(words["calls"]["counts"]["events_lost"], 0);
    assert_eq!(words["stalls"]["above_ns"], 100_000);
}

#[test]
fn what_cannot_be_started_ends_as_in_a_shell() {
    only_if!(may_run(&[]));
    let said = pickfs(&["explain", "--", "/no/such/program"]);
    assert_eq!(said.code, Some(127), "{said:?}");
    assert!(said.err.contains("/no/such/program not started"), "{}", said.err);
    assert_eq!(pickfs(&["explain", "--", "/etc/passwd"]).code, Some(126));
}

#[test]
fn a_process_is_watched_for_a_while_or_until_it_ends() {
    only_if!(may_run(&[]));
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", "read go; for n in 1 2 3; do head -c 1000 /dev/zero; done"]);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let mut words = command(&["explain", "-p", &shell.id().to_string()]);
    let watching = words.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("pickfs to watch", || watches(watching.id()).then_some(()));
    shell.stdin.take().unwrap().write_all(b"go\n").unwrap();
    shell.wait().unwrap();
    let said = Said::from(watching.wait_with_output().unwrap());
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("write") && said.out.contains("processes"), "{}", said.out);
}

/// What somebody sends to pickfs is for the command to answer.
#[test]
fn a_signal_is_the_commands_to_answer() {
    only_if!(may_run(&[]));
    let script = "trap 'echo asked; exit 5' INT; echo ready; while :; do sleep 0.05; done";
    let mut words = command(&["explain", "--", "sh", "-c", script]);
    let words = with_default_signals(&mut words).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = words.spawn().unwrap();
    let mut out = BufReader::new(running.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(out.next().as_deref(), Some("ready"));
    let pid = rustix::process::Pid::from_child(&running);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(out.next().as_deref(), Some("asked"));
    assert_eq!(running.wait_with_output().unwrap().status.code(), Some(5));
}

fn watches(process: u32) -> bool {
    let place = std::fs::read_to_string(format!("/proc/{process}/wchan")).unwrap_or_default();
    place.contains("sigtimedwait")
}
