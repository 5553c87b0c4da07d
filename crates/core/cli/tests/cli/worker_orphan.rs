use std::{
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use pickfs_record::trial::WORKER;
use pickfs_testkit::until;

use crate::spoken::is_dead;

#[test]
fn a_worker_dies_with_its_parent_although_its_input_is_still_open() {
    // The shell stands for the lab; the pipe to the worker stays open in this test.
    let script = "exec 3<&0; \"$0\" worker <&3 & echo $!; wait";
    let mut shell = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_pickfs")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("sh");
    let mut lines = BufReader::new(shell.stdout.take().expect("piped")).lines();
    let first = [lines.next(), lines.next()].map(|line| line.expect("a line").expect("text"));
    // The shell's line and the worker's greeting come in either order.
    let process_id = first.iter().find(|line| !line.contains("hello")).expect("a number").clone();
    assert!(first.iter().any(|line| line.contains("hello")) && !is_dead(&process_id));
    shell.kill().expect("ours");
    shell.wait().expect("ours");
    until("the end of the worker", || is_dead(&process_id).then_some(()));
}

#[test]
fn a_lab_that_hangs_up_ends_the_worker_without_a_word() {
    let mut worker = Command::new(env!("CARGO_BIN_EXE_pickfs"))
        .arg(WORKER)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the worker starts");
    let mut said = String::new();
    worker.stdout.take().expect("piped").read_to_string(&mut said).expect("text");
    assert!(!worker.wait().expect("it ends").success());
    assert_eq!(said.lines().count(), 1, "{said}");
}
