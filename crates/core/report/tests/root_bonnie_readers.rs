//! They come with the Debian package bonnie++; without it the test is skipped, and fails where
//! the ring is required.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use pickfs_record::Outcome;
use pickfs_report::{Subject, exports::render};
use pickfs_testkit::{FakePhasedRun, LostPhase, fake_phased_run, skipped};

fn has(program: &str) -> bool {
    let found = Command::new(program).stdin(Stdio::null()).stdout(Stdio::null()).status().is_ok();
    found || skipped(&format!("{program} not found; install the Debian package bonnie++"))
}

fn read(program: &str, text: &str) -> (String, String) {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it was found");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{program}: {:?}", output.status);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn csv() -> String {
    let outcome = Outcome::Failed { reason: "EIO".into() };
    let lost = LostPhase { label: "xfs".into(), phase: "seeks".into(), block: 1, outcome };
    let mut ask = FakePhasedRun::files();
    ask.lost.push(lost);
    ask.candidates.push("ext4:noatime,barrier=0".into());
    let mut run = fake_phased_run(&ask);
    for phase in run.trials.iter_mut().flat_map(|trial| &mut trial.phases) {
        if phase.phase == "rewrite" {
            phase.elapsed_ns = 1_000_000;
        }
    }
    let findings = pickfs_analysis::findings(&run);
    let subject = Subject::new(&run, &findings);
    let bytes = render(&subject, None, "bonnie.csv").expect("written").expect("phases of bonnie++");
    String::from_utf8(bytes).expect("text")
}

#[test]
fn bon_csv2txt_takes_every_line() {
    if !has("bon_csv2txt") {
        return;
    }
    let text = csv();
    let (out, complaints) = read("bon_csv2txt", &text);
    assert_eq!(complaints, "");
    let starting = |word: &str| out.lines().filter(|line| line.starts_with(word)).count();
    assert!(starting("ext") >= 6 && starting("btr") >= 6 && starting("fat") >= 6, "{out}");
    assert!(starting("Latency") >= text.lines().count(), "{out}");
}

#[test]
fn bon_csv2html_takes_every_line() {
    if !has("bon_csv2html") {
        return;
    }
    let text = csv();
    let (out, complaints) = read("bon_csv2html", &text);
    assert_eq!(complaints, "");
    assert!(out.contains("ext4:noatime barrier=0") && out.contains("fat16"), "{out}");
    assert!(out.matches("btrfs").count() >= 6, "a row for each line");
}
