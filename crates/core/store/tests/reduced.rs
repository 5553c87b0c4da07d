use std::path::{Path, PathBuf};

use pickfs_record::{RunRecord, environment::REDUCED_KEY};
use pickfs_store::{RunFile, reduced};
use pickfs_testkit::{FakeRun, explained, fake_run};
use proptest::prelude::*;

/// As it would be found on a machine: with a mark, a device of its own, and the folder in which it ran.
fn found_run() -> RunRecord {
    let mut run = explained(fake_run(&FakeRun { blocks: 3, ..FakeRun::default() }));
    run.plan.typed =
        ["./run", "quick", "--out", "/srv/secret", "--blocks", "3"].map(String::from).into();
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
        let text = text.replace("/run/pickfs/mnt", "/srv/secret/a-run/mnt");
        trial.steps = serde_json::from_str(&text).expect("steps");
        trial.notes.push("nothing could be made in /srv/secret/a-run/mnt".into());
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
    assert_eq!((&read, read.trials.len()), (&reduced(&run), run.trials.len()));
    assert_eq!(reduced(&read), read, "twice is once");
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
    let read = reduced(&found_run());
    let text = serde_json::to_string(&read).expect("JSON");
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(read.plan.typed, ["./run", "quick", "--blocks", "3"]);
    assert!(read.trials[0].notes.concat().contains("made in FOLDER/mnt"));
    assert_eq!(read.environment.get("cpu.model"), found_run().environment.get("cpu.model"));
}

#[test]
fn it_is_not_gone_on_with_and_not_written_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kept(folder.path());
    let refused = RunFile::open_to_write(&path).err().expect("refused").to_string();
    assert!(refused.contains("was reduced") && refused.contains("rerun"), "{refused}");
    let refused = RunFile::create_reduced(&path, &found_run()).expect_err("refused").to_string();
    assert!(refused.contains("exists"), "{refused}");
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
