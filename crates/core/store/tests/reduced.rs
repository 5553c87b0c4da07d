use std::path::{Path, PathBuf};

use pickfs_record::{BackingSpec, RunRecord, environment::REDUCED_KEY};
use pickfs_store::{RunFile, reduced, schema::FORMAT_REDUCED};
use pickfs_testkit::{FakeRun, explained, fake_run};
use proptest::prelude::*;
use serde_json::json;

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
    let sql = rusqlite::Connection::open(&path).expect("open");
    let format = sql.pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0));
    assert_eq!(format.expect("a number"), FORMAT_REDUCED);
    let beside = folder.path().read_dir().expect("a folder").count();
    assert_eq!(beside, 1, "the file alone");
}

#[test]
fn a_damaged_record_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kept(folder.path());
    for (spoil, said) in [
        ("UPDATE trial SET record = substr(record, 1, 40) WHERE number = 2", "trial 2 is damaged"),
        ("UPDATE trial SET record = 7 WHERE number = 1", "trial 1 is damaged"),
        ("UPDATE run SET record = x'00'", "the run's record is damaged"),
    ] {
        rusqlite::Connection::open(&path).expect("open").execute(spoil, []).expect("spoil");
        let error = RunFile::open(&path).expect("open").read().expect_err("damaged").to_string();
        assert!(error.contains(said) && error.contains("from a copy"), "{error}");
    }
}

thread_local! {
    static GOOD: Vec<u8> = {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::read(kept(folder.path())).expect("read")
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 1..600), at in 0usize..60_000) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("fuzzed.pickfs");
        let mut image = GOOD.with(Clone::clone);
        let at = at % image.len();
        let end = (at + bytes.len()).min(image.len());
        image[at..end].copy_from_slice(&bytes[..end - at]);
        std::fs::write(&path, &image).expect("write");
        if let Ok(file) = RunFile::open(&path) {
            let _ = file.read();
        }
    }
}
