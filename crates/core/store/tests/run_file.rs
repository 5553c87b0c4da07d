use std::path::{Path, PathBuf};

use pickfs_record::{RunRecord, record::RunEnd};
use pickfs_store::{RunFile, StoreError, list_runs, schema::FORMAT_REDUCED};
use pickfs_testkit::{FakePhasedRun, FakeRun, fake_phased_run, fake_run};
use proptest::prelude::*;

fn small_run() -> RunRecord {
    fake_run(&FakeRun { blocks: 2, ..FakeRun::default() })
}

struct Kept {
    folder: tempfile::TempDir,
    path: PathBuf,
    run: RunRecord,
}

fn kept() -> Kept {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("a.pickfs");
    let run = small_run();
    let mut file =
        RunFile::create(&path, &RunRecord { trials: vec![], ended: None, ..run.clone() })
            .expect("create");
    run.trials.iter().for_each(|trial| file.add_trial(trial).expect("add"));
    Kept { folder, path, run }
}

fn without_logs(mut run: RunRecord) -> RunRecord {
    run.trials.iter_mut().flat_map(|t| &mut t.ops).for_each(|op| op.interval_log.clear());
    run
}

#[test]
fn what_was_written_reads_back_the_same() {
    let kept = kept();
    let mut file = RunFile::open_to_write(&kept.path).expect("open");
    let end =
        RunEnd { at: "2026-01-01T00:00:00Z".into(), how: "completed".into(), note: "".into() };
    file.end(&end).expect("end");
    let read = RunFile::open(&kept.path).expect("open").read().expect("read");
    assert_eq!(read, RunRecord { ended: Some(end), ..without_logs(kept.run) });
}

#[test]
fn interval_logs_are_kept_apart() {
    let mut kept = kept();
    let mut trial = kept.run.trials.remove(0);
    trial.number = 1_000;
    trial.ops[0].interval_log = "#[a log]\n".into();
    let mut file = RunFile::open_to_write(&kept.path).expect("open");
    file.add_trial(&trial).expect("add");
    let log = file.interval_log(1_000, &trial.ops[0].op).expect("query");
    assert_eq!(log.as_deref(), Some("#[a log]\n"));
    assert_eq!(file.interval_log(1, "no such op").expect("query"), None);
}

#[test]
fn phases_are_rows_for_an_sql_client() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = RunRecord { ended: None, ..fake_phased_run(&FakePhasedRun::files()) };
    let path = folder.path().join("files.pickfs");
    let bare = RunRecord { trials: vec![], ..run.clone() };
    let mut file = RunFile::create(&path, &bare).expect("create");
    run.trials.iter().for_each(|trial| file.add_trial(trial).expect("add"));
    let sql = rusqlite::Connection::open(&path).expect("open");
    let rows: i64 =
        sql.query_row("SELECT count(*) FROM phase", [], |row| row.get(0)).expect("count");
    let phases: usize = run.trials.iter().map(|trial| trial.phases.len()).sum();
    assert_eq!(rows as usize, phases);
    let first = &run.trials[0].phases[0];
    let rate: f64 = sql
        .query_row("SELECT rate_per_s FROM phase WHERE trial = 1 AND position = 0", [], |row| {
            row.get(0)
        })
        .expect("a rate");
    assert_eq!(rate, first.rate_per_s);
}

#[test]
fn files_that_are_not_runs_are_refused_by_name() {
    let kept = kept();
    let folder = kept.folder.path();
    let message = |path: PathBuf| RunFile::open(&path).err().expect("refused").to_string();
    assert!(message(folder.join("none.pickfs")).contains("none.pickfs not found"));
    std::fs::write(folder.join("text.pickfs"), "hello").expect("write");
    assert!(message(folder.join("text.pickfs")).contains("is not a pickfs run"));
    std::fs::write(folder.join("empty.pickfs"), "").expect("write");
    assert!(message(folder.join("empty.pickfs")).contains("is not a pickfs run"));
    let exists = RunFile::create(&kept.path, &kept.run).err().expect("refused");
    assert!(matches!(exists, StoreError::Exists { .. }), "{exists}");
    let sql = rusqlite::Connection::open(&kept.path).expect("open");
    sql.pragma_update(None, "user_version", FORMAT_REDUCED + 1).expect("spoil");
    assert!(message(kept.path.clone()).contains(&format!("has format {}", FORMAT_REDUCED + 1)));
}

#[test]
fn a_schema_that_acts_is_refused_and_the_listing_goes_on() {
    let endless = "DROP TABLE trial; CREATE VIEW trial AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL \
                   SELECT x + 1 FROM c) SELECT x number, 'a' cell, x block, 1 attempt, '{}' outcome, \
                   '{}' record FROM c";
    let trigger = "CREATE TRIGGER t AFTER INSERT ON trial BEGIN DELETE FROM trial; END";
    let computed =
        "DROP TABLE ended; CREATE TABLE ended (at TEXT, how TEXT AS (hex(at)), note TEXT)";
    let two_blanks = "CREATE VIRTUAL TABLE v USING fts5(x); PRAGMA writable_schema = ON; \
                      UPDATE sqlite_schema SET sql = replace(sql, 'E VIRTUAL', 'E  VIRTUAL') WHERE name = 'v'";
    for (sql, said) in [
        (endless, "it holds a view named trial"),
        (trigger, "it holds a trigger named t"),
        ("CREATE VIRTUAL TABLE v USING fts5(x)", "it holds a virtual table named v"),
        (two_blanks, "it holds a virtual table named v"),
        (computed, "it has no plain table ended"),
        ("DROP TABLE interval_log", "it has no plain table interval_log"),
    ] {
        let kept = kept();
        rusqlite::Connection::open(&kept.path).expect("open").execute_batch(sql).expect("spoil");
        for opened in [RunFile::open(&kept.path), RunFile::open_read_only(&kept.path)] {
            let refused = opened.err().expect("refused").to_string();
            assert!(refused.contains(said), "{refused}");
        }
        let rows = list_runs(kept.folder.path()).expect("list");
        assert!(matches!(rows[0].about, Err(StoreError::Foreign { .. })), "{rows:?}");
    }
}

/// A journal with the file's first page as it was, as a commit that was cut short leaves it; the name of another
/// file at its end.
fn cut_short(path: &Path, names: Option<&Path>) {
    let sql = rusqlite::Connection::open(path).expect("open");
    sql.execute_batch("PRAGMA cache_size = 2; BEGIN; CREATE TABLE big (x)").expect("begun");
    sql.execute_batch("INSERT INTO big SELECT zeroblob(4000) FROM trial, trial AS b")
        .expect("spilt");
    let beside = PathBuf::from(format!("{}-journal", path.display()));
    let (file, mut journal) =
        (std::fs::read(path).expect("file"), std::fs::read(&beside).expect("journal"));
    drop(sql);
    if let Some(other) = names {
        let other = other.to_str().expect("text").as_bytes();
        let sum: u32 = other.iter().map(|byte| u32::from(*byte)).sum();
        // Source: SQLite's pager.c, writeSuperJournal().
        journal.extend(0x4000_0000_u32.to_be_bytes());
        journal.extend(other);
        journal.extend((other.len() as u32).to_be_bytes());
        journal.extend(sum.to_be_bytes());
        journal.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
    }
    std::fs::write(path, file).expect("write");
    std::fs::write(beside, journal).expect("write");
}

#[test]
fn a_journal_that_names_another_file_is_refused_and_the_other_file_stays() {
    let kept = kept();
    let other = kept.folder.path().join("victim");
    std::fs::write(&other, "theirs").expect("write");
    cut_short(&kept.path, Some(&other));
    for open in [RunFile::open, RunFile::open_to_write, RunFile::open_read_only] {
        let refused = open(&kept.path).err().expect("refused").to_string();
        assert!(refused.contains("names another file"), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(other).expect("it is there"), "theirs");
}

#[test]
fn a_commit_of_ours_that_was_cut_short_is_put_right_by_a_reader() {
    let kept = kept();
    cut_short(&kept.path, None);
    let run = RunFile::open(&kept.path).expect("open").read().expect("read");
    assert_eq!(run.trials, without_logs(kept.run.clone()).trials);
}

#[test]
fn a_write_ahead_log_is_refused_and_a_second_name_is_not_gone_on_with() {
    let kept = kept();
    std::fs::hard_link(&kept.path, kept.folder.path().join("second.pickfs")).expect("link");
    let refused = RunFile::open_to_write(&kept.path).err().expect("refused").to_string();
    assert!(refused.contains("hard link"), "{refused}");
    RunFile::open(&kept.path).expect("it can be read");
    std::fs::write(format!("{}-wal", kept.path.display()), "x").expect("write");
    let refused = RunFile::open(&kept.path).err().expect("refused").to_string();
    assert!(refused.contains("write-ahead log"), "{refused}");
}

#[test]
fn what_somebody_added_beside_our_tables_does_no_harm() {
    let kept = kept();
    let sql = rusqlite::Connection::open(&kept.path).expect("open");
    sql.execute_batch("CREATE TABLE mine (x); CREATE INDEX i ON mine (x)").expect("added");
    RunFile::open(&kept.path).expect("open").read().expect("read");
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.pickfs");
    let mut run = RunRecord { trials: vec![], ended: None, ..small_run() };
    run.plan.timing.measure_s = f64::NAN;
    assert!(RunFile::create(&path, &run).is_err());
    assert!(!path.exists(), "nothing is left of it");
    let mut kept = kept();
    let mut trial = kept.run.trials.remove(0);
    trial.number = 1_000;
    trial.counts.insert("x".into(), f64::INFINITY);
    let mut file = RunFile::open_to_write(&kept.path).expect("open");
    assert!(file.add_trial(&trial).is_err());
    file.read().expect("the others are read as before");
}

#[test]
fn an_error_names_its_own_cause() {
    let kept = kept();
    let writer = rusqlite::Connection::open(&kept.path).expect("open");
    writer.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let error = RunFile::open(&kept.path).err().expect("locked").to_string();
    assert!(error.ends_with("another program writes it, try again when that has ended"), "{error}");
}

#[test]
fn a_damaged_trial_is_named() {
    let kept = kept();
    let sql = rusqlite::Connection::open(&kept.path).expect("open");
    sql.execute("UPDATE trial SET record = '{' WHERE number = 2", []).expect("spoil");
    let error = RunFile::open(&kept.path).expect("open").read().expect_err("damaged");
    assert!(error.to_string().contains("trial 2 is damaged"), "{error}");
}

#[test]
fn a_listing_shows_runs_and_says_which_file_is_damaged() {
    let kept = kept();
    let inner = kept.folder.path().join("inner");
    std::fs::create_dir(&inner).expect("mkdir");
    std::fs::write(inner.join("b.pickfs"), "junk").expect("write");
    std::fs::write(inner.join("notes.txt"), "not a run").expect("write");
    let rows = list_runs(kept.folder.path()).expect("list");
    assert_eq!(rows.len(), 2);
    let about = rows[0].about.as_ref().expect("a good run first");
    assert_eq!(
        (about.trials, about.question.as_str()),
        (kept.run.trials.len(), kept.run.plan.question.as_str())
    );
    assert!(rows[1].about.is_err());
}

#[test]
fn a_reader_that_may_not_write_sees_the_same_and_follows_no_link() {
    let kept = kept();
    let file = RunFile::open_read_only(&kept.path).expect("open");
    assert_eq!(file.read().expect("read").trials, without_logs(kept.run.clone()).trials);
    assert_eq!(file.read_head().expect("head").trials, []);
    assert_eq!(file.trial_count().expect("count"), (kept.run.trials.len(), None));
    let late = file.trials_after(14).expect("rows");
    assert_eq!(late.iter().map(|row| row.number).collect::<Vec<_>>(), [15, 16]);
    assert_eq!((&late[0].cell, late[0].outcome.as_str()), (&kept.run.trials[14].cell, "finished"));
    let refused = RunFile::open_read_only(&kept.path).expect("open").end(&RunEnd {
        at: "x".into(),
        how: "x".into(),
        note: "x".into(),
    });
    assert!(refused.is_err());
    let link = kept.folder.path().join("link.pickfs");
    std::os::unix::fs::symlink(&kept.path, &link).expect("link");
    assert!(RunFile::open_read_only(&link).is_err());
}

#[test]
fn a_count_names_the_first_trial_that_is_damaged() {
    let kept = kept();
    let sql = rusqlite::Connection::open(&kept.path).expect("open");
    sql.execute("UPDATE trial SET record = '{' WHERE number IN (3, 5)", []).expect("spoil");
    let file = RunFile::open_read_only(&kept.path).expect("open");
    assert_eq!(file.trial_count().expect("count"), (16, Some(3)));
}

thread_local! {
    /// A run as it is kept, and reduced.
    static GOOD: [Vec<u8>; 2] = {
        let kept = kept();
        let reduced = kept.folder.path().join("reduced.pickfs");
        RunFile::create_reduced(&reduced, &kept.run).expect("written");
        [kept.path, reduced].map(|path| std::fs::read(path).expect("read"))
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..600), at in 0usize..60_000) {
        for mut image in GOOD.with(Clone::clone) {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("fuzzed.pickfs");
            let at = at % image.len();
            let end = (at + bytes.len()).min(image.len());
            image[at..end].copy_from_slice(&bytes[..end - at]);
            std::fs::write(&path, &image).expect("write");
            if let Ok(file) = RunFile::open(&path) {
                let _ = file.read();
            }
        }
    }
}
