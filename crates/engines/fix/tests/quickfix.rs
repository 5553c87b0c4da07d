//! QuickFIX/J, an engine of others, as client of ours: logon, orders, a gap that we must ask for, reports that we must
//! send again, and a connection that is cut. It checks every message against its own dictionary.
//!
//! Needs java and mvn, and Maven Central for the first build; without the two programs it says so and passes.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::Command;

use pickfs_testkit::Program;

/// `None` where it cannot be built.
fn peer() -> Option<PathBuf> {
    let is_absent = |program: &&str| {
        let found = Command::new(program).arg("-version").output();
        !found.is_ok_and(|output| output.status.success())
    };
    if let Some(program) = ["java", "mvn"].into_iter().find(is_absent) {
        println!("SKIPPED: {program} not found; apt-get install openjdk-17-jdk-headless maven");
        return None;
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../peers/quickfix"));
    let run = folder.join("run");
    let is_built = folder.join("target/dependency").is_dir()
        || Command::new(&run).arg("build").status().unwrap().success();
    if !is_built {
        println!("SKIPPED: peers/quickfix could not be built: Maven Central must be there");
    }
    is_built.then_some(run)
}

#[test]
fn quickfix_trades_loses_and_finds_again_what_both_sides_sent() {
    let Some(run) = peer() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut engine = Command::new(env!("CARGO_BIN_EXE_fix-engine"));
    engine.arg(directory.path().join("ours")).args(["--file-bytes", "1048576"]);
    let engine = Program::start(&mut engine);
    let address = engine.until("listening on ");
    let port = address.rsplit(':').next().unwrap();
    let theirs = directory.path().join("theirs");
    let output = Command::new(run).args(["check", port]).arg(theirs).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let count = |name: &str| -> u32 {
        let mut words = said.split_whitespace().skip_while(|word| *word != name);
        words.nth(1).and_then(|count| count.parse().ok()).expect(&said)
    };
    assert_eq!((count("orders"), count("logons"), count("rejects")), (17, 2, 0), "{said}");
    // Four came again, and are counted once more.
    assert!(count("again") >= 4, "{said}");
    assert_eq!(count("reports") - count("orders"), 4, "{said}");
}
