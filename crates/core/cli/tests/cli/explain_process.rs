use std::process::Command;

use crate::pickfs::{is_root, nobody_reaches_us, pickfs, unprivileged};
use pickfs_testkit::until;

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
    until("the end of `true`", || has_ended(ended.id()).then_some(()));
    let said = unprivileged(&["explain", "-p", &ended.id().to_string(), "--seconds", "1"]);
    ended.wait().unwrap();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("has ended"), "{said:?}");
}

/// The first process of the machine is root's: of it nobody else sees calls, switches or sleeps.
#[test]
fn a_process_of_which_nothing_can_be_seen_is_an_error() {
    let owner = std::fs::metadata("/proc/1").map(|of| std::os::unix::fs::MetadataExt::uid(&of));
    if owner.ok() != Some(0) || (is_root() && !nobody_reaches_us()) {
        println!("SKIPPED: the first process is not root's, or nobody else can be asked");
        return;
    }
    let said = unprivileged(&["explain", "-p", "1", "--seconds", "1"]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
    let expected =
        ["nothing of process 1 can be seen", "where it sleeps", "CAP_PERFMON", "CAP_SYS_PTRACE"];
    for words in expected {
        assert!(said.err.contains(words), "{words}: {said:?}");
    }
}

/// Its state stands behind its name.
fn has_ended(process: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    stat.rsplit(')').next().unwrap().trim_start().starts_with('Z')
}
