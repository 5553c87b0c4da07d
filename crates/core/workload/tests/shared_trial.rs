//! What hosts see of each other, where hosts are threads, each with the folder that stands at its place: one for all, or
//! copies that another thread makes late, in part or never.
#![allow(clippy::unwrap_used)]

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use pickfs_record::{TrialSpec, trial::Among};
use pickfs_sys::starting_gate::StartingGate;
use pickfs_testkit::{fake_spec, params};
use pickfs_workload::{Fault, Measured, Session, Workload, find, phase::Gate, reader_of_all};
use serde_json::{Value, json};

const RATE: u64 = 200;

fn shared() -> &'static Workload {
    find("shared").unwrap()
}

fn session(folder: &Path, (host, hosts): (u32, u32), asked: &Value) -> Session {
    let spec = fake_spec("shared", folder, params(asked.clone()));
    let among = Among { host, hosts, leads: true, ..Among::default() };
    let (lane, lanes, among) = (host, hosts, Some(among));
    let spec = TrialSpec { lane, lanes, among, measure_ns: 300_000_000, ..spec };
    Session::new(spec, None).unwrap()
}

/// What each host measured, and what another one must find of it.
fn played(folders: &[&Path], asked: &Value) -> Vec<(Measured, u64)> {
    played_by(folders, asked, |_| {})
}

/// The same, with other words to each.
fn played_by(
    folders: &[&Path],
    asked: &Value,
    change: impl Fn(&mut TrialSpec) + Sync,
) -> Vec<(Measured, u64)> {
    let gate = Gate::new(Some(StartingGate::create(folders.len() as u32).unwrap()));
    let hosts = folders.len() as u32;
    let play = |host: u32, folder: &Path| {
        let mut session = Session { gate: gate.clone(), ..session(folder, (host, hosts), asked) };
        change(&mut session.spec);
        let trial = || {
            let mut ready = shared().make_ready(&session)?;
            let measured = ready.measure(&session)?;
            Ok::<_, Fault>((measured, ready.verify(&session)?))
        };
        trial().inspect_err(|_| gate.break_open()).unwrap()
    };
    let play = &play;
    thread::scope(|scope| {
        let started =
            (0..).zip(folders).map(|(host, folder)| scope.spawn(move || play(host, folder)));
        let started: Vec<_> = started.collect();
        started.into_iter().map(|host| host.join().unwrap()).collect()
    })
}

fn asked(ask: &str) -> Value {
    asked_for(ask, "300ms")
}

fn asked_for(ask: &str, wait: &str) -> Value {
    json!({ "ask": ask, "rate": RATE, "wait": wait })
}

fn count(measured: &Measured, name: &str) -> f64 {
    measured.counts.get(name).copied().unwrap_or(0.0)
}

fn median_ns(measured: &Measured, op: &str) -> u64 {
    let op = measured.ops.iter().find(|own| own.op == op).unwrap();
    op.service.quantile(0.5).unwrap().value_ns
}

/// What each lane wrote, found in a folder.
fn found(folder: &Path, hosts: u32, asked: &Value) -> Vec<(u64, Option<String>)> {
    let read = |lane| {
        let reader = if lane + 1 == hosts { 0 } else { hosts - 1 };
        let mut session = session(folder, (reader, hosts), asked);
        session.spec.lane = lane;
        let found = (shared().read_back)(&session).unwrap();
        (found.records, found.damage)
    };
    (0..hosts).map(read).collect()
}

#[test]
fn on_one_folder_all_is_seen_and_everything_acknowledged_is_found() {
    for ask in ["tail", "create", "remove", "rename", "map"] {
        let one = tempfile::tempdir().unwrap();
        // Who has seen all looks no more.
        let given = played(&[one.path(); 3], &asked_for(ask, "20s"));
        let names = (shared().ops)(&shared().validate(&params(asked(ask))).unwrap());
        for (measured, _) in &given[1..] {
            assert_eq!(count(measured, "not_seen"), 0.0, "{ask}: {:?}", measured.notes);
            assert_eq!(count(measured, "older_after_newer"), 0.0, "{ask}");
            let [seen, skipped] = ["seen", "versions_skipped"].map(|name| count(measured, name));
            let kept = measured.ops.iter().find(|op| op.op == names[1]).unwrap().service.count;
            assert!(seen > 0.0 && kept == (seen + skipped) as u64, "{ask}: {kept}, {seen} seen");
            assert_eq!(measured.load.arrivals, 0, "looks are no load");
        }
        let kept: Vec<(u64, Option<String>)> =
            given.iter().map(|(_, kept)| (*kept, None)).collect();
        assert_eq!(found(one.path(), 3, &asked(ask)), kept, "{ask}");
    }
}

/// Until it is told to stop, at this distance, what is in the first folder is in the second one, too.
fn mirrored(from: &Path, to: &Path, only: fn(&str) -> bool, every: Duration, over: &AtomicBool) {
    let began = Instant::now();
    while !over.load(SeqCst) && began.elapsed() < Duration::from_secs(60) {
        for entry in std::fs::read_dir(from).unwrap().flatten() {
            if only(&entry.file_name().to_string_lossy()) {
                // A file may go, or be half there: so it is on a network.
                let new = to.join("coming");
                let copied = std::fs::copy(entry.path(), &new);
                let _ = copied.and_then(|_| std::fs::rename(new, to.join(entry.file_name())));
            }
        }
        // SLEEP: the planted delay.
        thread::sleep(every);
    }
}

fn seen_by_mirror(ask: &Value, only: fn(&str) -> bool, every: Duration) -> Measured {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| mirrored(here.path(), there.path(), only, every, &over));
        let mut given = played(&[here.path(), there.path()], ask);
        over.store(true, SeqCst);
        given.remove(1).0
    })
}

#[test]
fn what_comes_late_is_seen_late_and_what_never_comes_is_counted_and_not_fast() {
    let ask = json!({ "ask": "tail", "rate": RATE, "wait": "1s", "look": "reopen" });
    let one = tempfile::tempdir().unwrap();
    let at_once = played(&[one.path(); 2], &ask).remove(1).0;
    let late = seen_by_mirror(&ask, |_| true, Duration::from_millis(300));
    assert!(count(&late, "seen") > 0.0, "{:?}", late.counts);
    let [at_once, late] = [at_once, late].map(|one| median_ns(&one, "append seen"));
    assert!(late > at_once + 50_000_000, "{late} after a mirror, {at_once} without");
    // A file that stays open is not the one that took its name.
    let stale = seen_by_mirror(&asked("tail"), |_| true, Duration::from_millis(30));
    assert!(count(&stale, "not_seen") > 0.0, "{:?}", stale.counts);
    for ask in ["tail", "create", "rename"] {
        let never = seen_by_mirror(&asked(ask), |name| name == "told", Duration::from_millis(5));
        assert_eq!(count(&never, "seen"), 0.0, "{ask}");
        assert_eq!(count(&never, "not_seen"), 60.0, "{ask}");
        let note = &never.notes[0];
        assert!(note.contains(": 60 of 60 not seen until 300 ms behind the end"), "{note}");
        let op = &never.ops[0];
        assert_eq!(op.service.count, 60, "{ask}");
        assert!(op.service.max_ns > 300_000_000, "{ask}: as long as it was looked for: {op:?}");
    }
}

#[test]
fn times_that_the_error_of_a_clock_may_have_made_are_not_shown() {
    let one = tempfile::tempdir().unwrap();
    for (ask, op, lane) in [("create", "create seen", 1), ("lock", "hand-over", 0)] {
        // The first host's clock is known; that of the other one, of which the times are, is not.
        let loose = |spec: &mut TrialSpec| {
            let error_ns = u64::from(spec.lane) * 1_000_000_000;
            spec.among = spec.among.map(|among| Among { error_ns, ..among });
        };
        let given = played_by(&[one.path(); 2], &asked(ask), loose).remove(lane).0;
        let op = given.ops.iter().find(|own| own.op == op).unwrap();
        let notes = given.notes.join("; ");
        assert_eq!(op.service.count, 0, "{ask}");
        assert!(notes.contains("not shown") && notes.ends_with("known to 1.00 s"), "{notes}");
    }
}

#[test]
fn there_and_back_is_timed_where_it_is_answered_and_counted_where_not() {
    let one = tempfile::tempdir().unwrap();
    let given = played(&[one.path(); 3], &asked_for("answer", "3s"));
    assert!(given[0].0.ops[0].service.count > 10);
    assert_eq!(count(&given[0].0, "unanswered"), 0.0);
    let apart = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let other = apart[1].path();
    ["there", "back"].iter().for_each(|name| std::fs::write(other.join(name), b"").unwrap());
    let given = played(&[apart[0].path(), other], &asked("answer"));
    assert!(count(&given[0].0, "unanswered") >= 1.0);
}

/// Locks of fcntl(2) are those of a process, and threads of one never wait for each other.
#[test]
fn numbers_that_two_hosts_were_given_are_lost_increments() {
    for ask in ["lock", "map"] {
        let alone = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let folders: Vec<PathBuf> = alone.iter().map(|own| own.path().into()).collect();
        for name in ["lock", "mapped"] {
            std::fs::write(folders[1].join(name), [0; 8192]).unwrap();
        }
        let told = folders[1].join("told");
        std::os::unix::fs::symlink(folders[0].join("told"), told).unwrap();
        let given = played(&[&folders[0], &folders[1]], &asked(ask));
        let fewest = given[0].1.min(given[1].1);
        assert!(fewest > 10, "{ask}");
        std::fs::copy(folders[1].join("numbers-1"), folders[0].join("numbers-1")).unwrap();
        for (lane, (records, damage)) in found(&folders[0], 2, &asked(ask)).iter().enumerate() {
            assert_eq!(*records, given[lane].1 - fewest, "{ask}: each has its own numbers");
            let text = format!("increments lost: {fewest} of its {}", given[lane].1);
            assert!(damage.as_ref().unwrap().starts_with(&text), "{damage:?}");
        }
    }
}

#[test]
fn what_is_lost_torn_or_there_twice_among_appends_of_all_is_told_of_its_host() {
    let one = tempfile::tempdir().unwrap();
    let ask = asked("append");
    let given = played(&[one.path(); 3], &ask);
    assert_eq!(given[2].1, 0, "the last of three hosts reads");
    let kept: Vec<_> = given.iter().map(|(_, kept)| (*kept, None)).collect();
    let all: u64 = kept.iter().map(|(records, _)| records).sum();
    assert!(all >= 100, "{all}");
    assert_eq!(found(one.path(), 3, &ask), kept);
    let path = one.path().join("together");
    let bytes = std::fs::read(&path).unwrap();
    let planted = |change: fn(&mut Vec<u8>)| {
        let mut changed = bytes.clone();
        change(&mut changed);
        std::fs::write(&path, &changed).unwrap();
        let found = found(one.path(), 3, &ask);
        let lost = all - found.iter().map(|(records, _)| records).sum::<u64>();
        let told = found.into_iter().filter_map(|(_, damage)| damage).collect::<Vec<_>>();
        (lost, told.join("; "))
    };
    let (lost, told) = planted(|bytes| drop(bytes.drain(2560..2816)));
    assert!(lost == 1 && told.starts_with("1 lost before others that are there"), "{told}");
    let (lost, told) = planted(|bytes| bytes[2600..2620].fill(0));
    assert!(lost == 1 && told.contains("1 torn"), "{told}");
    let (lost, told) = planted(|bytes| bytes.extend_from_within(2560..2816));
    assert!(lost == 0 && told.contains("1 there twice"), "{told}");
    let (lost, _) = planted(|bytes| bytes.truncate(bytes.len() / 2));
    assert_eq!(lost, all - all / 2, "the end is missing without a trace, and missed by the count");
    std::fs::remove_file(&path).unwrap();
    assert_eq!(found(one.path(), 3, &ask), [(0, None), (0, None), (0, None)]);
}

#[test]
fn what_a_fault_refuses_is_made_again_and_what_it_leaves_running_is_ended() {
    let one = tempfile::tempdir().unwrap();
    // For half a second there is no such file to open: `sync = close` opens it for each append.
    let words = "sleep 600 & echo $! >left; mv together away; sleep 0.5; mv away together; exit 3";
    let ask = json!({ "ask": "append", "rate": RATE, "fault": words, "sync": "close" });
    let longer = |spec: &mut TrialSpec| spec.measure_ns = 2_000_000_000;
    let given = played_by(&[one.path(); 2], &ask, longer);
    let notes = &given[0].0.notes;
    assert!(notes[0].starts_with("fault: ended by exit code 3 after "), "{notes:?}");
    let left = std::fs::read_to_string(one.path().join("left")).unwrap();
    assert!(!Path::new("/proc").join(left.trim()).exists(), "{left} goes on");
    for (measured, _) in &given {
        let again = count(measured, "appends_refused");
        assert!(again > 0.0, "{:?}", measured.notes);
        assert_eq!(measured.ops[1].service.count, again as u64);
    }
    let kept: Vec<_> = given.iter().map(|(_, kept)| (*kept, None)).collect();
    let path = one.path().join("together");
    let bytes = std::fs::read(&path).unwrap();
    // As an append that is refused when a part of it is there.
    std::fs::write(&path, [&bytes[..], &bytes[..100]].concat()).unwrap();
    assert_eq!(found(one.path(), 2, &ask), kept);
    let told = found(one.path(), 2, &asked("append")).remove(0).1;
    assert!(told.unwrap().contains("1 torn"), "without a fault nothing is refused");
}

#[test]
fn hosts_are_asked_about_each_other_or_not_at_all() {
    let one = tempfile::tempdir().unwrap();
    let refused = |hosts: u32, asked: &Value| {
        shared().make_ready(&session(one.path(), (0, hosts), asked)).err().unwrap()
    };
    let fault = refused(1, &asked("lock"));
    assert!(fault.is_skip() && fault.to_string().contains("--ranks"), "{fault}");
    let fault = refused(2, &json!({ "ask": "create", "rate": 400_000 }));
    assert!(fault.to_string().contains("over 100000 events; ask for a lower rate"), "{fault}");
    let refused = |asked: Value| shared().validate(&params(asked)).unwrap_err().to_string();
    let fault = refused(json!({ "ask": "tail", "fault": "true" }));
    assert!(fault.contains("ask = append"), "{fault}");
    assert!(refused(json!({ "size": 100 })).contains("a multiple of 8 from 64 to 64KiB"));
    let of = |name: &str, ask: &str| fake_spec(name, one.path(), params(asked(ask)));
    assert_eq!(reader_of_all(&of("shared", "append"), &[0, 2, 5]), Some(5));
    assert_eq!(reader_of_all(&of("shared", "append"), &[0, 2]), None);
    assert_eq!(reader_of_all(&of("shared", "tail"), &[0, 2, 5]), None);
    assert_eq!(reader_of_all(&of("journal", "append"), &[0, 2, 5]), None);
}
