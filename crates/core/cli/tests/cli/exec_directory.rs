use std::{collections::BTreeSet, fs, path::Path};

use crate::lab_session::Session;
use crate::pickfs::{Said, command, folder, only_run, pickfs, reason, record};
use pickfs_record::{Event, Outcome, TrialRecord};
use pickfs_testkit::{hdr_log, until, with_ignored_signals};
use rustix::process::Signal;

fn exec(more: &[&str], command: &[&str]) -> (Said, TrialRecord) {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    let said = pickfs(&words(&data, &out, more, command));
    let trial = record(&only_run(&out)).trials[0].clone();
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "something was left in the directory");
    (said, trial)
}

fn words(data: &Path, out: &Path, more: &[&str], command: &[&str]) -> Vec<String> {
    let (data, out) = (data.to_str().unwrap(), out.to_str().unwrap());
    let first = ["exec", "--dir", data, "--out", out, "--blocks", "1", "--raw-probe", "50ms"];
    let all = first.iter().chain(more).chain(&["--"]).chain(command);
    all.map(|word| word.to_string()).collect()
}

#[test]
fn times_bytes_and_calls_of_all_its_processes_are_kept() {
    let script = "head -c 1000000 /dev/zero > a; cat a > b; sleep 0.05";
    let (said, trial) = exec(&["--repeat", "2"], &["sh", "-c", script]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let ops: Vec<&str> = trial.ops.iter().map(|op| op.op.as_str()).collect();
    assert_eq!(ops, ["wall", "user", "system"]);
    assert!(trial.ops.iter().all(|op| op.service.count == 2));
    assert!(trial.ops[0].service.min_ns >= 50_000_000, "it slept");
    assert!(trial.figures["written bytes"] >= 2_000_000.0, "{:?}", trial.figures);
    assert!(trial.figures["read bytes"] >= 2_000_000.0, "{:?}", trial.figures);
    assert!(said.out.contains("wall"), "{}", said.out);
}

#[test]
fn a_failing_command_is_a_failed_trial_with_the_end_of_what_it_said() {
    let script = "echo one; echo the reason >&2; exit 3";
    let (said, trial) = exec(&[], &["sh", "-c", script]);
    assert_eq!(said.code, Some(3), "a trial failed: {said:?}");
    assert!(!said.out.contains("append"), "a table of another workload: {}", said.out);
    assert_eq!(reason(&trial), "the command ended with exit code 3; it said: one | the reason");
    let (_, killed) = exec(&[], &["sh", "-c", "kill -9 $$"]);
    assert_eq!(reason(&killed), "the command ended with signal 9; it said nothing");
    let (_, missing) = exec(&[], &["no-such-program-here"]);
    assert!(reason(&missing).contains("not found in PATH"), "{}", reason(&missing));
    let (_, accepted) = exec(&["--ignore-failure"], &["false"]);
    assert_eq!(accepted.outcome, Outcome::Finished);
    assert!(accepted.notes.iter().any(|note| note.contains("exit code 1")), "{accepted:?}");
}

#[test]
fn how_a_command_ended_is_seen_where_the_ends_of_children_are_ignored() {
    let ((_data, data), (_kept, out)) = (folder(), folder());
    let mut program = command(&words(&data, &out, &[], &["sh", "-c", "exit 3"]));
    let said = Said::from(with_ignored_signals(&mut program).output().unwrap());
    let trial = record(&only_run(&out)).trials[0].clone();
    assert_eq!(reason(&trial), "the command ended with exit code 3; it said nothing", "{said:?}");
}

#[test]
fn setup_runs_once_and_prepare_and_cleanup_around_each_run() {
    let more = [
        ["--setup", "echo s >> log"],
        ["--prepare", "echo p >> log"],
        ["--cleanup", "echo c >> log"],
        ["--teardown", "tr -d '\\n' < log; test \"$(tr -d '\\n' < log)\" = sprcprcprc"],
        ["--repeat", "2"],
        ["--warmup-runs", "1"],
    ];
    let (said, trial) = exec(more.as_flattened(), &["echo r >> log"]);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    let (_, failed) = exec(&["--setup", "echo no room; exit 1"], &["true"]);
    assert_eq!(reason(&failed), "setup ended with exit code 1; it said: no room");
}

#[test]
fn a_number_of_the_command_is_judged_with_its_direction() {
    let more = ["--metric", "tps=/tps = ([0-9.]+)/:higher", "--metric", "size=$.a[1]:lower"];
    let (said, trial) = exec(&more, &["sh", "-c", "echo 'tps = 812.5'; echo '{\"a\": [1, 42]}'"]);
    assert_eq!((trial.figures["tps"], trial.figures["size"]), (812.5, 42.0), "{said:?}");
    let (_, silent) = exec(&more[..2], &["echo", "nothing"]);
    assert!(reason(&silent).starts_with("metric tps: "), "{}", reason(&silent));
}

#[test]
fn words_are_the_commands_own_unless_one_word_needs_a_shell() {
    let show = "for word in \"$@\"; do printf '<%s>' \"$word\"; done; exit 1";
    let (_, trial) = exec(&[], &["sh", "-c", show, "x", "a b", "*", "$HOME", "it's"]);
    assert!(reason(&trial).ends_with("it said: <a b><*><$HOME><it's>"), "{}", reason(&trial));
    let (_, trial) = exec(&["--env", "COLOUR=dark red"], &["echo $COLOUR | tr a-z A-Z; exit 1"]);
    assert!(reason(&trial).ends_with("it said: DARK RED"), "{}", reason(&trial));
    let (_, trial) = exec(
        &[],
        &["sh", "-c", "[ \"$PWD\" = \"$1\" ] && [ \"$1\" = \"$PICKFS_DIR\" ]", "x", "{dir}"],
    );
    assert_eq!(trial.outcome, Outcome::Finished, "the directory is where it runs");
}

#[test]
fn a_daemon_that_is_left_behind_is_named_and_ended() {
    let (said, trial) =
        exec(&[], &["sh", "-c", "setsid sleep 987654 < /dev/null > /dev/null 2>&1 & true"]);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    assert!(trial.notes.iter().any(|note| note.contains("left processes behind")), "{trial:?}");
    assert_eq!(processes_of("987654"), BTreeSet::new());
}

fn processes_of(word: &str) -> BTreeSet<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.starts_with("sleep ") && line.contains(word)).collect()
}

#[test]
fn control_c_ends_every_process_of_the_command() {
    let (_data, data) = folder();
    let (_kept, out) = folder();
    let script = "touch begun; sleep 876543 & setsid sleep 876543 & wait";
    let place = data.to_str().unwrap();
    let words = ["exec", "--dir", place, "--blocks", "1", "--", "sh", "-c", script];
    let mut session = Session::start(&words, &out);
    session.wait_for(
        |event| matches!(event, Event::TrialProgress { phase, .. } if phase == "command"),
    );
    until("two sleepers", || (processes_of("876543").len() == 1).then_some(()));
    session.signal_group(Signal::INT);
    let (said, _) = session.end();
    assert_eq!(said.code, Some(130), "{said:?}");
    assert_eq!(processes_of("876543"), BTreeSet::new());
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    assert_eq!(record(&only_run(&out)).ended.unwrap().how, "interrupted");
}

#[test]
fn a_programs_own_times_are_kept_like_ours() {
    let (_kept, place) = folder();
    let log = place.join("log");
    let of = |extra: u64| [[1_000 + extra; 900].as_slice(), &[2_000 + extra; 100]].concat();
    let (own, due) = (of(0), of(500));
    let of_second = |second| [("append", second, &own[..]), ("due", second, &due[..])];
    fs::write(&log, hdr_log(&(0..3).flat_map(of_second).collect::<Vec<_>>())).unwrap();
    let more = ["--repeat", "2", "--metric", "append=hlog:latency.hlog#append,due"];
    let script = "cat \"$1\" >> latency.hlog";
    let (said, trial) = exec(&more, &["sh", "-c", script, "x", log.to_str().unwrap()]);
    assert_eq!(trial.outcome, Outcome::Finished, "{said:?}");
    let op = trial.op("append").expect("its own operation");
    let response = op.response.as_ref().expect("times from the due time");
    // Of two runs, the second of which went on in the log of the first.
    assert_eq!((op.service.count, response.count, op.intervals.len()), (6_000, 6_000, 3));
    assert!((1_499..1_502).contains(&response.min_ns), "{}", response.min_ns);
    assert_eq!(trial.load.as_ref().expect("a load").achieved_per_s, 1_000.0);
    assert!(trial.notes.iter().any(|note| note.contains("episodes are a lower bound")));
}

#[test]
fn a_log_that_is_not_there_or_is_of_the_run_before_fails_the_trial() {
    let more = ["--metric", "a=hlog:a.hlog", "--repeat", "2"];
    let (_, trial) = exec(&more, &["true"]);
    let said =
        "metric a: a.hlog: the command did not write it in its working directory, $PICKFS_DIR";
    assert_eq!(reason(&trial), said);
    let (_kept, place) = folder();
    let log = place.join("log");
    fs::write(&log, hdr_log(&[("", 0, &[1_000; 9])])).unwrap();
    let once = format!("test -e a.hlog || cp {} a.hlog", log.display());
    let (_, trial) = exec(&more, &["sh", "-c", &once]);
    assert_eq!(reason(&trial), "metric a: a.hlog: this run wrote nothing to it");
    let (_, trial) = exec(&more, &["sh", "-c", "ln -s /etc/hostname a.hlog"]);
    assert!(reason(&trial).starts_with("metric a: a.hlog: cannot be read"), "{}", reason(&trial));
}
