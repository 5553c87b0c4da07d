use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    thread,
};

use pickfs_record::{Outcome, PhaseRecord, TrialSpec, phase::Heat};
use pickfs_sys::starting_gate::StartingGate;
use pickfs_testkit::fake_spec;
use pickfs_workload::{
    Fault, Measured, Session, find,
    phase::{Gate, LabLine, merged_phases},
};
use serde_json::{Value, json};

/// A lab that may damage a file whenever caches are to be dropped.
struct Lab(Option<(PathBuf, u64)>);

impl LabLine for Lab {
    fn phase_begins(&self, _phase: &str, _number: u32) -> Result<(), Fault> {
        Ok(())
    }

    fn make_cold(&self) -> Result<(), Fault> {
        if let Some((path, offset)) = &self.0 {
            let file =
                fs::OpenOptions::new().read(true).write(true).open(path).expect("it is there");
            let mut byte = [0];
            file.read_exact_at(&mut byte, *offset).expect("long enough");
            file.write_all_at(&[byte[0] ^ 1], *offset).expect("a write");
        }
        Ok(())
    }
}

fn params(more: Value) -> serde_json::Map<String, Value> {
    let mut params = json!({ "scale": "tiny", "files_limit": "150MiB", "threads": 3 });
    let more = more.as_object().expect("an object").clone();
    params.as_object_mut().expect("an object").extend(more);
    params.as_object().expect("an object").clone()
}

fn spec(directory: &Path, lane: u32, lanes: u32, more: Value) -> TrialSpec {
    let mut params = params(more);
    params.insert("lanes".into(), lanes.into());
    TrialSpec { lane, lanes, ..fake_spec("column", directory, params) }
}

fn trial(spec: TrialSpec, gate: Gate, lab: Lab) -> Result<(Measured, u64), Fault> {
    let directory = spec.directory.clone();
    let (measured, checked) = trial_that_leaves(spec, gate, lab, |_| {})?;
    assert_eq!(fs::read_dir(directory).expect("a folder").count(), 0, "it cleans up");
    Ok((measured, checked))
}

fn trial_that_leaves(
    spec: TrialSpec,
    gate: Gate,
    lab: Lab,
    look: impl FnOnce(&Path),
) -> Result<(Measured, u64), Fault> {
    let folder = spec.directory.join(format!("lane-{}", spec.lane + 1));
    let session = Session::new(spec, None).expect("good parameters").among(gate, Arc::new(lab));
    let mut prepared = find("column").expect("a workload").make_ready(&session)?;
    assert_eq!(prepared.warm_up(&session)?, 0);
    let measured = prepared.measure(&session).inspect_err(|_| session.gate.break_open())?;
    look(&folder);
    let checked = prepared.verify(&session)?;
    assert_eq!(prepared.left(), Vec::<String>::new());
    Ok((measured, checked))
}

/// The trial that several tests look at.
static WHOLE: LazyLock<(Measured, u64)> = LazyLock::new(|| alone(json!({})));

fn alone(more: Value) -> (Measured, u64) {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    trial(spec(folder.path(), 0, 1, more), Gate::default(), Lab(None)).expect("it runs")
}

fn expected_phases(more: Value) -> Vec<String> {
    let column = find("column").expect("a workload");
    (column.ops)(&column.validate(&params(more)).expect("good parameters"))
}

fn with_derived(measured: &Measured, more: Value) -> Vec<PhaseRecord> {
    let column = find("column").expect("a workload");
    let params = column.validate(&params(more)).expect("good");
    let mut phases = merged_phases(std::slice::from_ref(&measured.phases));
    (column.derive)(&params, &mut phases);
    phases
}

fn operations(measured: &Measured) -> BTreeMap<&str, u64> {
    measured.ops.iter().map(|op| (op.op.as_str(), op.service.count)).collect()
}

#[test]
fn one_lane_runs_every_row_that_was_announced() {
    let (measured, checked) = &*WHOLE;
    let phases = with_derived(measured, json!({}));
    let mut ran: Vec<&str> = phases.iter().map(|phase| phase.phase.as_str()).collect();
    let mut announced = expected_phases(json!({}));
    ran.sort_unstable();
    announced.sort_unstable();
    assert_eq!(ran, announced);
    for phase in &phases {
        assert!(phase.is_finished(), "{}: {:?}", phase.phase, phase.outcome);
        assert!(phase.rate_per_s > 0.0 && phase.elapsed_ns > 0, "{}", phase.phase);
    }
    assert!(*checked > 15, "{checked} files were compared");
    let note = &measured.notes[0];
    assert!(note.contains("scale 0.05 with 1 lanes asks for"), "{note}");
    assert!(measured.counts["space_filled_bytes"] < 150.0 * 1048576.0);
}

#[test]
fn repeated_calls_have_operations_each() {
    let operations = operations(&WHOLE.0);
    for (phase, count) in [
        ("open append tiny, sync once", 200),
        ("append tiny, sync once", 500),
        ("append small, sync once", 50),
        ("open replace int tiny", 20_000),
        ("open replace random int small", 2_000),
        ("open replace random int medium", 500),
        ("open append mid float, sync once", 8),
    ] {
        assert_eq!(operations.get(phase), Some(&count), "{phase}");
    }
    assert!(operations["open append small, sync once"] > 50_000);
    assert_eq!(operations["random read 4k cold"], operations["random read 4k hot"]);
    assert!(!operations.contains_key("sync int tiny"), "a single call is the phase itself");
    assert_eq!(operations["pread, random read 4k hot"], operations["random read 4k hot"]);
}

/// Lanes as threads, each with what it gives.
fn lanes<T: Send>(count: u32, lane: impl Fn(u32, Gate) -> T + Sync) -> Vec<T> {
    let gate = Gate::new(Some(StartingGate::create(count).expect("a gate")));
    thread::scope(|scope| {
        let started = (0..count).map(|number| {
            let (gate, lane) = (gate.clone(), &lane);
            scope.spawn(move || lane(number, gate))
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|lane| lane.join().expect("no panic")).collect()
    })
}

#[test]
fn three_lanes_start_together_each_with_data_of_its_own() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let lanes = lanes(3, |lane, gate| {
        let suites = json!({ "suites": "write,read,random,sort,mix" });
        let spec = spec(folder.path(), lane, 3, suites);
        let mut list = Vec::new();
        let look = |files: &Path| list = fs::read(files.join("seqreadMedium")).expect("a list");
        let ran = trial_that_leaves(spec, gate, Lab(None), look);
        (ran.expect("it runs").0, list)
    });
    let (lanes, lists): (Vec<Measured>, Vec<Vec<u8>>) = lanes.into_iter().unzip();
    let phases = merged_phases(&lanes.iter().map(|lane| lane.phases.clone()).collect::<Vec<_>>());
    assert!(phases.iter().all(PhaseRecord::is_finished));
    let fewer = phases.iter().filter(|phase| phase.lanes < 3);
    let fewer: Vec<_> = fewer.map(|phase| (phase.phase.as_str(), phase.lanes)).collect();
    let (day, queries) = ("append batch beside queries", "query beside appends");
    let alone = [("append batch, sync each", 1), (day, 1), ("query by symbol", 2), (queries, 2)];
    assert_eq!(fewer, alone);
    let [ingests, asks] = [&lanes[0], &lanes[1]].map(operations);
    let batches = phases.iter().find(|phase| phase.phase == day).expect("a row");
    assert_eq!(batches.work, ingests[day] as f64, "a rate of batches, each of them durable");
    assert!(ingests[day] > 1 && asks[queries] == asks["query by symbol"], "{ingests:?} {asks:?}");
    let float = phases.iter().find(|phase| phase.phase == "write float large").expect("a row");
    assert_eq!(float.work, float.real_bytes as f64 - 3.0 * 16.0);
    assert!(lists[0] != lists[1] && lists[0].len() == lists[1].len());
    assert_eq!(lanes.iter().filter(|lane| !lane.notes.is_empty()).count(), 1);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "they clean up");
}

#[test]
fn what_ends_one_lane_ends_all() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let ended = |more: Value, damaged: &str| {
        lanes(2, |lane, gate| {
            // The first lane's lab changes a byte of the second one's file.
            let path = folder.path().join("lane-2").join(damaged);
            let lab = Lab((lane == 0 && !damaged.is_empty()).then_some((path, 5_000)));
            let spec = spec(folder.path(), lane, 2, more.clone());
            trial_that_leaves(spec, gate, lab, |_| {}).expect_err("it fails").to_string()
        })
    };
    for text in ended(json!({ "files_limit": "1MiB" }), "") {
        assert!(text.contains("2 lanes need") && text.contains("files_limit 1 MiB"), "{text}");
        assert!(text.contains("use fewer lanes"), "{text}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0, "it cleans up");
    let told = ended(json!({ "suites": "write,read,reread" }), "seqreadMedium");
    assert_eq!(told[0], pickfs_workload::phase::GATE_BROKEN);
    assert!(told[1].contains("seqreadMedium differs"), "{told:?}");
}

#[test]
fn the_originals_ways_run_too() {
    let asked = json!({
        "data": "nano", "symbols": "enumerated", "sync_by": "command", "inflated_sync": "yes",
        "random_variants": "no", "touch_hint": "none", "touch_stride": 64,
    });
    let (measured, checked) = alone(asked);
    assert!(checked > 15);
    let sync = measured.phases.iter().find(|phase| phase.phase == "sync float large");
    let record = sync.expect("a row");
    let inflated = record.values["inflated_rate_per_s"];
    assert!(inflated > 20.0 * record.rate_per_s, "{inflated} and {}", record.rate_per_s);
    let directory = measured.phases.iter().find(|p| p.phase == "sync table after sort");
    assert_eq!(directory.expect("a row").work, 1.0);
}

#[test]
fn cold_rows_are_cold_or_say_so_and_hot_rows_fetch_nothing() {
    let (measured, _) = &*WHOLE;
    for phase in &measured.phases {
        let has = |kind: &str| phase.flags.iter().any(|flag| flag.kind == kind);
        if phase.heat == Some(Heat::Cold) {
            let is_cold = phase.values["resident_before_share"] <= 0.01;
            assert_ne!(is_cold, has("not-cold"), "{}", phase.phase);
        }
        assert!(phase.heat == Some(Heat::Hot) || !has("not-hot"), "{}", phase.phase);
    }
    let share = |name: &str| {
        let phase = measured.phases.iter().find(|phase| phase.phase == name);
        phase.expect("a row").values["resident_before_share"]
    };
    assert!(share("sequential reread float large") > 0.99);
}

#[test]
fn a_byte_that_changes_on_the_device_fails_the_trial() {
    for (name, offset, suites) in [
        ("seqreadMedium", 5_000, "write,read"),
        ("seqreadSmall", 2, "write,read"),
        ("kdbdb/tbl/floatcol", 4_000, "write,sort"),
        ("packedLarge", 5_000, "packed"),
    ] {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let spec = spec(folder.path(), 0, 1, json!({ "suites": suites }));
        let lab = Lab(Some((folder.path().join("lane-1").join(name), offset)));
        let fault = trial(spec, Gate::default(), lab).expect_err("it fails");
        assert!(matches!(fault, Fault::Wrong { .. }), "{name}: {fault}");
    }
}

#[test]
fn what_somebody_else_put_beside_our_files_stays_and_is_told() {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let spec = spec(folder.path(), 0, 1, json!({ "suites": "meta" }));
    let session = Session::new(spec, None).expect("good parameters");
    let mut prepared =
        find("column").expect("a workload").make_ready(&session).expect("it is ready");
    let theirs = folder.path().join("lane-1/theirs");
    fs::write(&theirs, "theirs").expect("room");
    prepared.measure(&session).expect("it runs");
    prepared.verify(&session).expect("it is as it was written");
    assert_eq!(fs::read(&theirs).expect("it stays"), b"theirs");
    let left = prepared.left();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].ends_with("it holds theirs, which this trial did not make"), "{left:?}");
    assert_eq!(fs::read_dir(folder.path().join("lane-1")).expect("a folder").count(), 1);
}

#[test]
fn what_cannot_be_cold_is_skipped_with_the_reason() {
    let shm = Path::new("/dev/shm");
    let is_memory = rustix::fs::statfs(shm).is_ok_and(|found| found.f_type as u64 == 0x0102_1994);
    let Some(folder) = is_memory.then(|| tempfile::tempdir_in(shm).ok()).flatten() else {
        println!("SKIPPED: no tmpfs at /dev/shm to write to");
        return;
    };
    let more = json!({ "suites": "write,read,reread,random", "files_limit": "110MiB" });
    let Ok((measured, _)) =
        trial(spec(folder.path(), 0, 1, more.clone()), Gate::default(), Lab(None))
    else {
        println!("SKIPPED: /dev/shm is too small");
        return;
    };
    for phase in &measured.phases {
        let is_skipped = matches!(phase.outcome, Outcome::Skipped { .. });
        assert_eq!(is_skipped, phase.heat == Some(Heat::Cold), "{}", phase.phase);
    }
    let phases = with_derived(&measured, more);
    let tier = |name: &str| phases.iter().find(|phase| phase.phase == name).expect("a tier");
    assert!(tier("hot tier").is_finished() && !tier("cold tier").is_finished());
    drop(folder);
    nothing_is_beside_what_is_skipped(shm);
}

fn nothing_is_beside_what_is_skipped(shm: &Path) {
    let folder = tempfile::tempdir_in(shm).expect("there was one before");
    let more = json!({ "suites": "write,sort,mix", "files_limit": "110MiB" });
    let beside = lanes(2, |lane, gate| {
        let spec = spec(folder.path(), lane, 2, more.clone());
        let ran = trial_that_leaves(spec, gate, Lab(None), |_| {});
        let phase = ran.ok().and_then(|(measured, _)| measured.phases.last().cloned());
        phase.map(|phase| (phase.phase, matches!(phase.outcome, Outcome::Skipped { .. })))
    });
    let [Some(append), Some(query)] = &beside[..] else {
        println!("SKIPPED: /dev/shm is too small");
        return;
    };
    assert_eq!(append, &("append batch beside queries".to_owned(), true));
    assert_eq!(query, &("query beside appends".to_owned(), true));
}
