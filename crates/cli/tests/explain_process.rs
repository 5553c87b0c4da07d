//! `pickfs explain -p` of a process that is not there: an error, with privilege and without.
#![allow(clippy::unwrap_used)]

mod pickfs;

use std::process::Command;

use pickfs::{pickfs, unprivileged};

#[test]
fn a_process_that_is_not_there_is_an_error() {
    for said in
        [pickfs(&["explain", "-p", "999999999"]), unprivileged(&["explain", "-p", "999999999"])]
    {
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
        assert!(said.err.contains("no process 999999999 to watch"), "{said:?}");
    }
}

/// It stays in the list of processes until its parent has asked how it ended.
#[test]
fn a_process_that_has_ended_is_an_error() {
    let mut ended = Command::new("true").spawn().unwrap();
    while !has_ended(ended.id()) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let said = unprivileged(&["explain", "-p", &ended.id().to_string(), "--seconds", "1"]);
    ended.wait().unwrap();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("has ended"), "{said:?}");
}

/// Its state stands behind its name.
fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}
