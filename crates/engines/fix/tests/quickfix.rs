//! QuickFIX/J, an engine of others, as client of ours: logon, orders, a gap that we must ask for, reports that we must
//! send again, and a connection that is cut. It checks every message against its own dictionary.
//!
//! Needs java and mvn, and Maven Central for the first build; without the two programs it says so and passes.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("-version").output();
    found.is_ok_and(|output| output.status.success())
}

/// `None` where it cannot be built.
fn peer() -> Option<PathBuf> {
    let missing = ["java", "mvn"].into_iter().find(|program| !is_there(program));
    if let Some(program) = missing {
        println!("SKIPPED: {program} not found; apt-get install openjdk-17-jdk-headless maven");
        return None;
    }
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../peers/quickfix"));
    let run = folder.join("run");
    if !folder.join("target/dependency").is_dir() {
        let built = Command::new(&run).arg("build").status().unwrap();
        if !built.success() {
            println!("SKIPPED: peers/quickfix could not be built: Maven Central must be there");
            return None;
        }
    }
    Some(run)
}

#[test]
fn quickfix_trades_loses_and_finds_again_what_both_sides_sent() {
    let Some(run) = peer() else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut engine = Command::new(env!("CARGO_BIN_EXE_fix-engine"))
        .arg(directory.path().join("ours"))
        .args(["--file-bytes", "1048576"])
        .stdout(Stdio::piped())
        .spawn()
        .map(Killed)
        .unwrap();
    let mut line = String::new();
    BufReader::new(engine.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit(':').next().unwrap().to_string();
    let theirs = directory.path().join("theirs");
    let output = Command::new(run).args(["check", &port]).arg(theirs).output().unwrap();
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
