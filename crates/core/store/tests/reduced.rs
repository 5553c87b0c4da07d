use std::{
    collections::BTreeSet,
    fs::{read, read_to_string},
    io::Write,
    path::{Path, PathBuf},
};

use bzip2::{Compression, write::BzEncoder};
use pickfs_record::{
    BackingSpec, RunRecord,
    environment::REDUCED_KEY,
    record::{Flag, Outcome, RunEnd},
};
use pickfs_store::{RunFile, reduced, schema::FORMAT_REDUCED};
use pickfs_testkit::{FakeRun, explained, fake_run};
use rusqlite::Connection;
use serde_json::{Value, from_value, json, to_value};

/// As it would be found on a machine: with a mark, a device of its own, and the folder in which it ran.
fn found_run() -> RunRecord {
    let mut run = explained(fake_run(&FakeRun { blocks: 3, ..FakeRun::default() }));
    let typed = "./run journal --fio secret.fio --out /srv/secret --blocks 3 -- /srv/secret/x";
    run.plan.typed = typed.split(' ').map(String::from).collect();
    let directory = Some("/srv/secret/img".into());
    run.plan.backing = BackingSpec::Loop { size_bytes: 1 << 30, directory };
    run.plan.params.insert("user".into(), "postgres".into());
    let variables = json!(["PASSWORD=secret", "NICE=1", "DIR=/dev/null"]);
    run.plan.params.insert("environment".into(), variables);
    run.plan.params.insert("command".into(), json!("x -I/home/secret </proc/stat >{dir}/y"));
    run.plan.params.insert("metrics".into(), json!(["a=/a ([0-9]+)/:higher"]));
    for (key, value) in [
        ("host.run_mark", "00ff-secret"),
        ("device.identity", "{\"serial\":\"secret\"}"),
        ("host.source", "/dev/mapper/secret"),
        ("kernel.command_line", "root=UUID=secret"),
    ] {
        run.environment.put(key, value);
    }
    for trial in &mut run.trials {
        let text = serde_json::to_string(&trial.steps).expect("JSON");
        let text = text.replace("/run/pickfs/mnt", "/srv/secret a\\\"/mnt");
        trial.steps = serde_json::from_str(&text).expect("steps");
        trial.notes.push("nothing could be made in /srv/secret a\"/mnt/b".into());
        trial.notes.push("the command ran as secret".into());
        trial.notes.push("see https://example.org/a, 1 I/O / s, /srv/secret, /srvsecret".into());
    }
    run
}

fn kept(folder: &Path) -> PathBuf {
    let path = folder.join("reduced.pickfs");
    RunFile::create_reduced(&path, &found_run()).expect("written");
    path
}

#[test]
fn a_reduced_run_is_read_as_any_other_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, run) = (kept(folder.path()), found_run());
    let file = RunFile::open(&path).expect("open");
    let read = file.read().expect("read");
    assert_eq!((&read, read.trials.len()), (&reduced(&run).expect("JSON"), run.trials.len()));
    assert_eq!(reduced(&read).expect("JSON"), read, "twice is once");
    assert!(read.environment.get(REDUCED_KEY).is_some_and(|lacks| lacks.contains("histograms")));
    assert_eq!(file.trial_count().expect("count"), (run.trials.len(), None));
    assert_eq!(file.trials_after(20).expect("rows").len(), run.trials.len() - 20);
    assert_eq!(file.interval_logs().expect("none"), []);
    let whole = serde_json::to_string(&run).expect("JSON").len() as u64;
    let size = path.metadata().expect("it is there").len();
    assert!(5 * size < whole, "{size} of {whole} bytes");
}

#[test]
fn nothing_in_it_names_the_machine() {
    let read = reduced(&found_run()).expect("JSON");
    let text = serde_json::to_string(&read).expect("JSON");
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(read.plan.typed, ["./run", "journal", "--blocks", "3"]);
    let params = &read.plan.params;
    assert_eq!(params["environment"], json!(["PASSWORD=", "NICE=1", "DIR=/dev/null"]));
    assert_eq!(params["metrics"], found_run().plan.params["metrics"]);
    let command = params["command"].as_str().expect("text");
    assert!(command.starts_with("x -I/FOLDER") && command.ends_with(" </proc/stat >{dir}/y"));
    let notes = read.trials[0].notes.join("\n");
    for kept in ["/b\nthe command ran as NAME", "https://example.org/a, 1 I/O / s, /FOLDER"] {
        assert!(notes.contains(kept), "{notes}");
    }
    assert_eq!(read.environment.get("cpu.model"), found_run().environment.get("cpu.model"));
}

/// All places of a list are one.
fn each_text(value: &mut Value, at: &str, call: &mut dyn FnMut(&str, &mut String)) {
    match value {
        Value::String(text) => call(at, text),
        Value::Array(all) => all.iter_mut().for_each(|one| each_text(one, at, call)),
        Value::Object(all) => {
            all.iter_mut().for_each(|(name, one)| each_text(one, &format!("{at}/{name}"), call));
        }
        _ => {}
    }
}

/// With a path and an UUID behind each text that may be any.
fn planted(run: &RunRecord) -> RunRecord {
    const TELLS: &str = " in /home/planted/x, '/srv/planted' 9fe53990-4428-4ea5-8714-0496afc29d58";
    // Names that are looked up, or have words of their own.
    let looked_up = ["kind", "started", "typed", "user", "who", "takers", "disk_takers", "metrics"];
    // Variables have a rule of their own, and what these facts say goes wherever it stands.
    let own = ["/params/environment", "identity", "boot_id", "run_mark"];
    let mut value = to_value(run).expect("JSON");
    let mut places = BTreeSet::new();
    each_text(&mut value, "", &mut |at, _| {
        places.insert(at.to_owned());
    });
    places.retain(|at| !at.split('/').any(|part| looked_up.contains(&part)));
    places.retain(|at| !own.iter().any(|end| at.ends_with(end)));
    let mut count = 0;
    for place in &places {
        let mut with = value.clone();
        each_text(&mut with, "", &mut |at, text| {
            if at == place {
                text.push_str(TELLS);
            }
        });
        if from_value::<RunRecord>(with.clone()).is_ok() {
            (value, count) = (with, count + 1);
        }
    }
    assert!(count > 40, "{count} of {places:?}");
    from_value(value).expect("a run")
}

/// All that a file holds, its record unpacked.
fn held_by(path: &Path) -> String {
    let records = RunFile::open(path).and_then(|file| file.read()).expect("read");
    let bytes = read(path).expect("read");
    String::from_utf8_lossy(&bytes).into_owned() + &serde_json::to_string(&records).expect("JSON")
}

#[test]
fn nothing_that_a_machine_fills_in_names_it() {
    let mut run = found_run();
    let host = read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().len() < 3 { "localhost" } else { host.trim() };
    for (key, value) in [
        (
            "device.identity",
            r#"{"wwn":"naa.planted1","serial":"S4PLANTED","dm_uuid":"LVM-pLaNtEd"}"#,
        ),
        ("host.boot_id", "planted-boot"),
        ("host.domain", "planted.example"),
        ("net.address", "10.11.12.13 planted"),
        ("device.serial", "planted"),
        ("mount.source", "planted-user-nas:/export"),
        ("host.source", "tank-planted/home"),
        (
            "mount.options",
            "rw,data=ordered,commit=5,username=planted,addr=planted,lowerdir=/planted",
        ),
    ] {
        run.environment.put(key, value);
        run.trials[0].environment.put(key, value);
    }
    let says = format!("naa.planted1 S4PLANTED, LVM-pLaNtEd; planted-boot planted-user-nas {host}");
    for trial in &mut run.trials {
        let others = trial.disturbance.get_or_insert_default();
        (others.foreign_user_share, others.foreign_system_share) = (0.5, 0.0);
        others.takers = vec![("planted".into(), 0.4), ("planted-b (on other CPUs)".into(), 0.1)];
        others.disk_takers = vec![("planted-c".into(), 5e6)];
        trial.flags.push(Flag { kind: "disturbed".into(), text: says.clone() });
        trial.notes.push(says.clone());
        let rows = trial.stalls.iter_mut().flat_map(|own| &mut own.ops);
        for (at, row) in rows.flat_map(|op| &mut op.causes).enumerate() {
            row.who = ["planted-d in vfs_read", "migration-planted", "jbd2"][at % 3].into();
        }
    }
    for (trial, said) in run.trials[1..].iter_mut().zip([
        format!("no end; the user planted-user; it said: planted {says}"),
        "the role secondary-2: it ended before its answer; it said: ssh: planted".into(),
    ]) {
        trial.outcome = Outcome::Failed { reason: said };
    }
    run.plan.params.insert("user".into(), "planted-user".into());
    run.plan.params.insert("setup".into(), "ssh planted-user@planted-user-nas".into());
    let note = format!("others (planted 0.4 CPUs, planted-b 0.1 CPUs) took the CPU, {says}");
    run.ended = Some(RunEnd { at: "2026-01-01T00:00:00Z".into(), how: "disturbed".into(), note });
    run.trials.truncate(6);
    let run = planted(&run);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pickfs");
    RunFile::create_reduced(&path, &run).expect("written");
    let held = held_by(&path);
    for secret in ["planted", "PLANTED", "pLaNtEd", "9fe53990", "10.11.12.13", "-nas"] {
        let around = held.split(secret).next().unwrap_or_default().chars().rev().take(80);
        assert!(!held.contains(secret), "{secret} behind {:?}", around.collect::<Vec<_>>());
    }
    for kept in ["PROGRAM1", "jbd2", "rw,data=ordered,commit=5,username,addr,lowerdir"] {
        assert!(held.contains(kept), "{kept}");
    }
    let read = RunFile::open(&path).and_then(|file| file.read()).expect("read");
    let said =
        [&read.trials[0].notes.join(" "), &read.ended.expect("an end").note].map(String::clone);
    assert!(said.iter().all(|said| said.contains("NAME NAME, NAME; NAME NAME")), "{said:?}");
    assert!(said[1].starts_with("others (PROGRAM1 0.4 CPUs, PROGRAM2 0.1 CPUs)"), "{said:?}");
    assert!(host == "localhost" || said.iter().all(|said| !said.contains(host)), "{said:?}");
}

#[test]
fn what_is_no_json_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut run = found_run();
    run.plan.timing.measure_s = f64::NAN;
    assert!(RunFile::create_reduced(&folder.path().join("a.pickfs"), &run).is_err());
    assert!(RunFile::create_reduced(folder.path(), &found_run()).is_err());
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

#[test]
fn it_is_not_gone_on_with_and_tells_a_reader_of_format_1() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kept(folder.path());
    let refused = RunFile::open_to_write(&path).err().expect("refused").to_string();
    assert!(refused.contains("was reduced") && refused.contains("run --again"), "{refused}");
    let sql = Connection::open(&path).expect("open");
    let format = sql.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0));
    assert_eq!(format.expect("a number"), FORMAT_REDUCED);
    let beside = folder.path().read_dir().expect("a folder").count();
    assert_eq!(beside, 1, "the file alone");
}

#[test]
fn a_damaged_record_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kept(folder.path());
    for spoil in [
        "UPDATE run SET record = substr(record, 1, 40)",
        "UPDATE run SET record = x'00'",
        "UPDATE run SET record = 7",
    ] {
        Connection::open(&path).expect("open").execute(spoil, []).expect("spoil");
        let error = RunFile::open(&path).expect("open").read().expect_err("damaged").to_string();
        let said = "the run's record is damaged";
        assert!(error.contains(said) && error.contains("from a copy"), "{error}");
    }
    Connection::open(&path).expect("open").pragma_update(None, "user_version", 2).expect("spoil");
    let error = RunFile::open(&path).err().expect("refused").to_string();
    assert!(error.contains("report RUN --format run"), "{error}");
}

/// Each refusal names the file and what is wrong with it.
#[test]
fn a_file_of_an_enemy_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let packed = |text: &[u8], times: usize| {
        let mut bytes = BzEncoder::new(Vec::new(), Compression::fast());
        (0..times).for_each(|_| bytes.write_all(text).expect("memory"));
        bytes.finish().expect("memory")
    };
    let spaces = vec![b' '; 1 << 20];
    let cases = [
        ("UPDATE run SET record = ?1", packed(&spaces, 65), "unpacks to more than 64 MiB"),
        ("UPDATE run SET record = ?1", packed(b"[", 1 << 20), "sequence, expected u32"),
        ("UPDATE run SET record = ?1", packed(b"{\"format\":1}", 1), "missing field"),
        ("UPDATE run SET record = ?1", b"not packed".to_vec(), "is damaged"),
        ("CREATE VIEW v AS SELECT ?1", Vec::new(), "a view named v"),
    ];
    for (at, (spoil, bytes, said)) in cases.into_iter().enumerate() {
        let path = folder.path().join(format!("{at}.pickfs"));
        RunFile::create_reduced(&path, &found_run()).expect("written");
        let sql = Connection::open(&path).expect("open");
        match spoil.starts_with("CREATE") {
            true => sql.execute_batch("CREATE VIEW v AS SELECT 1"),
            false => sql.execute(spoil, [bytes]).map(drop),
        }
        .expect("spoil");
        let error = RunFile::open(&path).and_then(|file| file.read()).expect_err("refused");
        let error = error.to_string();
        assert!(error.contains(said) && error.contains(&format!("{at}.pickfs")), "{error}");
    }
}
