//! A run file may come from anybody: what its schema holds must not run, and no reading goes on
//! without end.
//! Source: sqlite.org/security.html, sqlite3_db_config(), sqlite3_progress_handler().

use std::{
    fs::{self, File, Metadata},
    io::{Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rusqlite::{Connection, config::DbConfig};

const RECORD: [&str; 4] = ["run", "trial", "interval_log", "ended"];
const READ_MAX: Duration = Duration::from_secs(10);
/// Steps of SQLite's machine between two looks at the clock: well below a millisecond.
const STEPS: i32 = 10_000;
/// No end: for what the lab writes.
const NEVER: u64 = u64::MAX;

pub(crate) struct Patience {
    began: Instant,
    end_ms: Arc<AtomicU64>,
}

impl Patience {
    pub(crate) fn of(connection: &mut Connection) -> rusqlite::Result<Patience> {
        let patience = Patience { began: Instant::now(), end_ms: Arc::new(AtomicU64::new(NEVER)) };
        let (began, end_ms) = (patience.began, Arc::clone(&patience.end_ms));
        let is_over = move || began.elapsed().as_millis() as u64 > end_ms.load(Relaxed);
        connection.progress_handler(STEPS, Some(is_over))?;
        Ok(patience)
    }

    pub(crate) fn reads(&self) {
        let end = self.began.elapsed() + READ_MAX;
        self.end_ms.store(end.as_millis() as u64, Relaxed);
    }

    pub(crate) fn writes(&self) {
        self.end_ms.store(NEVER, Relaxed);
    }
}

pub(crate) fn disarm(connection: &Connection) -> rusqlite::Result<()> {
    for (what, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(what, is_on)?;
    }
    Ok(())
}

/// What a run's file must not hold, in words: a view, a trigger, a virtual table, or a column that is
/// computed. Tables that somebody added beside ours do no harm.
pub(crate) fn foreign_part(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let mut statement = connection.prepare(
        "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE type NOT IN ('table', 'index') \
         OR coalesce(rootpage, 0) = 0",
    )?;
    let mut rows = statement.query([])?;
    if let Some(row) = rows.next()? {
        let (mut kind, name): (String, String) = (row.get(0)?, row.get(1)?);
        if kind == "table" {
            kind = "virtual table".into();
        }
        return Ok(Some(format!("it holds a {kind} named {name}, and a run has none")));
    }
    for table in RECORD {
        let sql = "SELECT count(*), total(hidden) FROM pragma_table_xinfo(?1)";
        let (columns, hidden): (i64, f64) =
            connection.query_row(sql, [table], |row| Ok((row.get(0)?, row.get(1)?)))?;
        if columns == 0 || hidden != 0.0 {
            return Ok(Some(format!("it has no plain table {table}")));
        }
    }
    Ok(None)
}

/// The last bytes of a journal that names another file; SQLite deletes that file when it rolls back.
const JOURNAL_NAMES_ANOTHER: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// What SQLite would take for a part of the file and pickfs never writes, in words: a write-ahead log, a journal
/// that is no regular file or that names another file. Source: sqlite.org/fileformat2.html and its pager.c.
pub(crate) fn foreign_beside(path: &Path) -> Option<String> {
    for end in ["wal", "shm"] {
        if fs::symlink_metadata(beside(path, end)).is_ok() {
            return Some(format!("a write-ahead log lies beside it (-{end}), and a run has none"));
        }
    }
    let journal = beside(path, "journal");
    let about = fs::symlink_metadata(&journal).ok()?;
    if !about.is_file() {
        return Some("the journal beside it is no regular file".into());
    }
    let mut last = [0; JOURNAL_NAMES_ANOTHER.len()];
    let end = File::open(journal).and_then(|mut file| {
        file.seek(SeekFrom::Start(about.len().saturating_sub(last.len() as u64)))?;
        file.read_exact(&mut last)
    });
    (end.is_ok() && last == JOURNAL_NAMES_ANOTHER)
        .then(|| "the journal beside it names another file, and a run's never does".into())
}

pub(crate) fn has_own_journal(path: &Path) -> bool {
    let journal = fs::symlink_metadata(beside(path, "journal"));
    journal.is_ok_and(|journal| is_own(&journal))
        && fs::metadata(path).is_ok_and(|run| is_own(&run))
}

pub(crate) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.canonicalize().unwrap_or_else(|_| path.into()).into_os_string();
    name.push(format!("-{end}"));
    name.into()
}

/// Whether a file or a folder can only be changed by this user, by who called sudo, or by root. In a folder with
/// the sticky bit others replace nothing.
pub fn is_own(about: &Metadata) -> bool {
    let me = fs::metadata("/proc/self").map(|about| about.uid()).ok();
    let caller = std::env::var("SUDO_UID").ok().and_then(|id| id.parse().ok());
    [Some(0), me, caller].contains(&Some(about.uid()))
        && (about.mode() & 0o002 == 0 || about.is_dir() && about.mode() & 0o1000 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reads_without_end_is_ended() {
        let mut connection = Connection::open_in_memory().expect("memory");
        let patience = Patience::of(&mut connection).expect("a handler");
        patience.end_ms.store(0, Relaxed);
        let sql =
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";
        let ended = connection.query_row(sql, [], |row| row.get::<_, i64>(0)).expect_err("ended");
        let code = ended.sqlite_error_code();
        assert_eq!(code, Some(rusqlite::ErrorCode::OperationInterrupted));
    }
}
