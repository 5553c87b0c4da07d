//! Hosts that are scripts here: what comes of those that answer, and of those that do all else.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, path::PathBuf, process::Command, time::Duration};

use pickfs_fleet::{Ask, End, Heard, Limits, gather};
use pickfs_lab::interrupt::Interrupt;
use pickfs_record::RunRecord;
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, PATIENCE, fake_run, until};
use pickfs_workload::BUILD;

/// Says its build and takes the request; says a word; sends the file `$run`.
const GREETS: &str = r#"printf '{"hello":{"build":"%s"}}\n' "$build"; read -r request"#;
const SPEAKS: &str = r#"printf '{"event":{"event":"noticed","text":"x"}}\n"beat"\n'"#;
const SENDS: &str = r#"printf '{"file":{"bytes":%s}}\n' "$(stat -c %s "$run")"; cat "$run""#;
/// Shows that it is so far, and stays, with a process of its own.
const STAYS: &str = r#"sleep 1000 & echo $! >"$run.pid.part"; mv "$run.pid.part" "$run.pid"; wait"#;

const SHORT: Duration = Duration::from_millis(300);
const PATIENT: Limits = Limits {
    silence: PATIENCE,
    begin: PATIENCE,
    beat: PATIENCE,
    whole: PATIENCE,
    end: PATIENCE,
    file_bytes_max: 16 << 20,
};

/// Hosts with their scripts, in the order of their names, each with a run of its own.
struct Bed {
    folder: tempfile::TempDir,
    scripts: BTreeMap<&'static str, String>,
}

impl Bed {
    fn new(scripts: &[(&'static str, &[&str])]) -> Bed {
        let scripts = scripts.iter().map(|(host, parts)| (*host, parts.join("; ")));
        let bed = Bed { folder: tempfile::tempdir().unwrap(), scripts: scripts.collect() };
        fs::create_dir(bed.path("kept")).unwrap();
        for (at, host) in (0..).zip(bed.scripts.keys()) {
            let mut run = fake_run(&FakeRun { blocks: 1, ..FakeRun::default() });
            (run.build, run.plan.design.seed) = (BUILD.into(), run.plan.design.seed + at);
            run.plan.timing.measure_s += f64::from(u8::from(host.ends_with("-plan")));
            let bare = RunRecord { trials: vec![], ended: None, ..run.clone() };
            let mut file = RunFile::create(&bed.path(host), &bare).unwrap();
            run.trials.iter().for_each(|trial| file.add_trial(trial).unwrap());
        }
        bed
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What came of each, and all that was heard of them; where there is little time to end, the first word is the last.
    fn gathered(&self, limits: Limits) -> (BTreeMap<String, End>, Vec<String>) {
        let hosts: Vec<String> = self.scripts.keys().map(|host| (*host).to_owned()).collect();
        let command = |host: &str| {
            let mut command = Command::new("bash");
            command.args(["-c", &self.scripts[host]]).env("build", BUILD);
            command.env("run", self.path(host));
            command
        };
        let plan = fake_run(&FakeRun { blocks: 1, ..FakeRun::default() }).plan;
        let (folder, interrupt) = (self.path("kept"), Interrupt::default());
        let (plan, folder, interrupt) = (&plan, &*folder, &interrupt);
        let ask = Ask { hosts: &hosts, command: &command, plan, folder, limits, interrupt };
        let mut all = Vec::new();
        let ends = gather(&ask, &mut |host, heard| {
            if limits.end < PATIENCE {
                interrupt.raise();
            }
            all.push(match heard {
                Heard::Event(event) => format!("{host} {}", serde_json::to_string(event).unwrap()),
                Heard::End(_) => format!("{host} ended"),
            });
        });
        (hosts.into_iter().zip(ends).collect(), all)
    }

    fn kept(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("kept")).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Whether what a host's script started is there.
    fn stays(&self, host: &str) -> bool {
        let pid = fs::read_to_string(self.path(&format!("{host}.pid"))).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    }
}

fn why<'a>(ends: &'a BTreeMap<String, End>, host: &str) -> &'a str {
    ends[host].as_ref().unwrap_err()
}

#[test]
fn hosts_that_answer_are_kept_and_each_other_one_is_lost_with_its_reason() {
    let bed = Bed::new(&[
        ("h0", &["echo Welcome to h0", GREETS, SENDS]),
        ("h1", &[GREETS, SPEAKS, SENDS]),
        ("h2-refused", &["echo 'h2: Connection refused' >&2", "exit 255"]),
        ("h3-other", &["build=0.0.1+other", GREETS, SENDS]),
        ("h4-dies", &[GREETS, "echo 'out of memory' >&2", "exit 3"]),
        ("h5-killed", &[GREETS, "kill -9 $$"]),
        ("h6-large", &[GREETS, r#"printf '{"file":{"bytes":99999999999}}\n'"#, "cat /dev/zero"]),
        ("h7-cut", &[GREETS, r#"printf '{"file":{"bytes":9999}}\n'"#, r#"head -c 100 "$run""#]),
        ("h8-junk", &[GREETS, r#"printf '{"file":{"bytes":99}}\n'"#, "head -c 99 /dev/urandom"]),
        ("h9-plan", &[GREETS, SENDS]),
        ("ha-babbles", &["yes"]),
        ("hb-endless", &[GREETS, "cat /dev/zero"]),
        ("hc-early", &[SPEAKS, GREETS, SENDS]),
        ("hd-events", &[GREETS, r#"printf '{"event":{"event":"made-up"}}\n'"#, SENDS]),
    ]);
    let (ends, heard) = bed.gathered(PATIENT);
    assert_eq!(bed.kept(), ["h0.pickfs", "h1.pickfs"], "{ends:?}");
    let h1 = RunFile::open(ends["h1"].as_ref().unwrap()).unwrap().read().unwrap();
    assert_eq!(h1.plan.design.seed, FakeRun::default().seed + 1, "an order of its own");
    for (host, part) in [
        ("h2-refused", "bash ended with code 255: h2: Connection refused"),
        ("h3-other", "another build, 0.0.1+other; this is "),
        ("h4-dies", "bash ended with code 3: out of memory"),
        ("h5-killed", "bash was ended by signal 9"),
        ("h6-large", "its run of 95367 MiB stays there: 16 MiB are taken at most"),
        ("h7-cut", "its run broke off, 9899 of 9999 bytes before its end"),
        ("h8-junk", "its run cannot be read: "),
        ("h9-plan", "of another build or plan than was asked for"),
        ("ha-babbles", "it sent a line that is none of pickfs"),
        ("hb-endless", "it sent a line of over 4 MiB"),
        ("hc-early", "it speaks before its hello"),
        ("hd-events", "it sent a line that is none of pickfs"),
    ] {
        assert!(why(&ends, host).contains(part), "{host}: {}", why(&ends, host));
    }
    let said = r#"h1 {"event":"noticed","text":"x"}"#.to_owned();
    assert!(heard.len() == 15 && heard.contains(&said), "each once, and a word: {heard:?}");
}

#[test]
fn a_host_that_says_nothing_is_given_up_with_all_that_was_started_for_it() {
    const HANGS: &[&str] = &[GREETS, SPEAKS, STAYS];
    let (silent, long, asked) = (
        "nothing was heard of it for ",
        "twice the plan's time",
        "it was asked to end, and did not",
    );
    for (script, limits, part) in [
        (&[STAYS] as &[&str], Limits { silence: SHORT, ..PATIENT }, silent),
        (&[GREETS, STAYS], Limits { begin: SHORT, ..PATIENT }, silent),
        (HANGS, Limits { silence: 5 * SHORT, ..PATIENT }, silent),
        (HANGS, Limits { whole: 5 * SHORT, ..PATIENT }, long),
        (HANGS, Limits { end: SHORT, ..PATIENT }, asked),
    ] {
        let bed = Bed::new(&[("h1", script)]);
        let (ends, _) = bed.gathered(limits);
        assert!(why(&ends, "h1").starts_with(part), "{limits:?}: {}", why(&ends, "h1"));
        assert_eq!(bed.kept(), [""; 0]);
        until("the end of what was started", || (!bed.stays("h1")).then_some(()));
    }
}
