use std::{
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::SystemTime,
};

use pickfs_record::{
    CellId, FORMAT, RunRecord, TrialRecord,
    record::{OpRecord, RunEnd},
};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, params,
    types::{FromSql, Value},
};
use serde::de::Error;

use crate::{
    derived,
    error::StoreError,
    guard::{self, Patience},
    reduced::{packed, reduce, reduced, unpacked},
    schema,
};

pub struct RunFile {
    path: PathBuf,
    connection: Connection,
    patience: Patience,
}

/// Rows are short: little of a page stays empty.
const REDUCED_PAGE_BYTES: u32 = 1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialRow {
    pub number: u32,
    pub cell: CellId,
    pub block: u32,
    /// 1, or 2 where a disturbed trial was repeated.
    pub attempt: u32,
    /// `finished`, `failed` or `skipped`.
    pub outcome: String,
}

impl RunFile {
    /// `run.trials` must be empty.
    pub fn create(path: &Path, run: &RunRecord) -> Result<RunFile, StoreError> {
        if path.exists() {
            return Err(StoreError::Exists { path: path.into() });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut file = RunFile::connect(path, flags)?;
        file.transact(|connection| {
            begin(connection, run, Value::Text(json(run)))?;
            connection.execute_batch(schema::CREATE_DERIVED)?;
            derived::put_run(connection, run)
        })?;
        file.read_head().inspect_err(|_| drop(fs::remove_file(path)))?;
        Ok(file)
    }

    /// Writes a whole run [`reduced`], for others to read, in the place of what lies at that path.
    pub fn create_reduced(path: &Path, run: &RunRecord) -> Result<(), StoreError> {
        let damaged = |cause| StoreError::Damaged {
            path: path.into(),
            what: "the run, reduced,".into(),
            cause,
        };
        let run = reduced(run).map_err(damaged)?;
        let unwritten = |cause| StoreError::Unwritten { path: path.into(), cause };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().map_err(unwritten)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let part = folder.join(format!(".{name}.{:x}", since.as_nanos()));
        File::options().write(true).create_new(true).open(&part).map_err(unwritten)?;
        let put = RunFile::put_reduced(&part, &run);
        let put = put.and_then(|()| fs::rename(&part, path).map_err(unwritten));
        put.inspect_err(|_| {
            let journal = guard::beside(&part, "journal");
            [part, journal].iter().for_each(|left| drop(fs::remove_file(left)));
        })
    }

    /// Into an empty file.
    fn put_reduced(path: &Path, run: &RunRecord) -> Result<(), StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut file = RunFile::connect(path, flags)?;
        let paged = file.connection.pragma_update(None, "page_size", REDUCED_PAGE_BYTES);
        paged.map_err(|cause| file.sqlite(cause))?;
        file.transact(|connection| {
            let all = RunRecord { ended: None, ..run.clone() };
            begin(connection, run, Value::Blob(packed(&json(&all))))?;
            for trial in &run.trials {
                put_trial(connection, trial, Value::Blob(Vec::new()))?;
            }
            run.ended.iter().try_for_each(|end| put_end(connection, end))
        })?;
        // What others cannot read is not to be published.
        file.read().map(drop)
    }

    /// Opens a file to read it. It may be a stranger's: what is more than plain tables is refused, and nothing is
    /// written. A commit of this user that a crash cut short is put right.
    pub fn open(path: &Path) -> Result<RunFile, StoreError> {
        RunFile::open_with(
            path,
            match guard::has_own_journal(path) {
                true => OpenFlags::SQLITE_OPEN_READ_WRITE,
                false => OpenFlags::SQLITE_OPEN_READ_ONLY,
            },
        )
    }

    /// A file with a second name (a hard link) is refused: the lock of a run is its folder's.
    pub fn open_to_write(path: &Path) -> Result<RunFile, StoreError> {
        if path.metadata().is_ok_and(|about| about.nlink() > 1) {
            let what = "it has a second name, a hard link; copy it".into();
            return Err(StoreError::Foreign { path: path.into(), what });
        }
        let file = RunFile::open_with(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        match file.query::<String>("SELECT typeof(record) FROM run", [])?.as_deref() {
            Some("blob") => Err(StoreError::Reduced { path: path.into() }),
            _ => Ok(file),
        }
    }

    /// Opens a file that nobody may change through it: for readers of folders that are not
    /// theirs. A link is refused; a commit that a crash cut short is not put right.
    pub fn open_read_only(path: &Path) -> Result<RunFile, StoreError> {
        RunFile::open_with(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NOFOLLOW)
    }

    fn open_with(path: &Path, flags: OpenFlags) -> Result<RunFile, StoreError> {
        let foreign = |what: String| StoreError::Foreign { path: path.into(), what };
        match path.metadata() {
            Ok(about) if about.is_file() => {}
            Ok(_) => return Err(foreign("not a regular file".into())),
            Err(_) => return Err(StoreError::Missing { path: path.into() }),
        }
        if let Some(what) = guard::foreign_beside(path) {
            return Err(foreign(what));
        }
        let file = RunFile::connect(path, flags)?;
        file.check_kind()?;
        file.patience.reads();
        match guard::foreign_part(&file.connection).map_err(|cause| file.sqlite(cause))? {
            Some(what) => Err(foreign(what)),
            None => Ok(file),
        }
    }

    fn connect(path: &Path, flags: OpenFlags) -> Result<RunFile, StoreError> {
        let opened = (|| {
            let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let mut connection = Connection::open_with_flags(path, flags)?;
            guard::disarm(&connection)?;
            let patience = Patience::of(&mut connection)?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            Ok(RunFile { path: path.into(), connection, patience })
        })();
        opened.map_err(|cause| StoreError::of_sqlite(path, cause))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a trial; when this returns, the trial survives a crash of the machine.
    pub fn add_trial(&mut self, trial: &TrialRecord) -> Result<(), StoreError> {
        let text = json(&without_logs(trial));
        // What cannot be read again must not stand among what can.
        let what = format!("trial {}, as measured,", trial.number);
        let _: TrialRecord = self.parse(&what, serde_json::from_str(&text))?;
        self.transact(|connection| {
            put_trial(connection, trial, Value::Text(text.clone()))?;
            for op in trial.ops.iter().filter(|op| !op.interval_log.is_empty()) {
                connection.execute(
                    "INSERT INTO interval_log VALUES (?1, ?2, ?3)",
                    params![trial.number, op.op, op.interval_log],
                )?;
            }
            derived::put_trial(connection, trial, &text)
        })
    }

    pub fn end(&mut self, end: &RunEnd) -> Result<(), StoreError> {
        self.transact(|connection| put_end(connection, end))
    }

    pub fn read(&self) -> Result<RunRecord, StoreError> {
        let (mut run, is_whole) = self.stored()?;
        if !is_whole {
            run.trials = self.read_trials()?;
        }
        Ok(run)
    }

    /// The run without its trials: what is known before the first one, and how it ended.
    pub fn read_head(&self) -> Result<RunRecord, StoreError> {
        Ok(RunRecord { trials: Vec::new(), ..self.stored()?.0 })
    }

    /// The run's own record, and whether it holds the trials, too, as in a reduced file.
    fn stored(&self) -> Result<(RunRecord, bool), StoreError> {
        let stored: Value =
            self.query("SELECT record FROM run", [])?.ok_or_else(|| StoreError::Foreign {
                path: self.path.clone(),
                what: "the run's own row is missing".into(),
            })?;
        let is_whole = matches!(stored, Value::Blob(_));
        let read = match stored {
            Value::Text(text) => serde_json::from_str(&text),
            Value::Blob(bytes) => unpacked(&bytes)
                .map_err(serde_json::Error::custom)
                .and_then(|text| serde_json::from_slice(&text)),
            _ => Err(serde_json::Error::custom("it is neither text nor bytes")),
        };
        let mut run: RunRecord = self.parse("the run's record", read)?;
        self.patience.reads();
        let sql = "SELECT at, how, note FROM ended ORDER BY rowid DESC LIMIT 1";
        let end = self.connection.query_row(sql, [], |row| {
            Ok(RunEnd { at: row.get(0)?, how: row.get(1)?, note: row.get(2)? })
        });
        run.ended = end.optional().map_err(|source| self.sqlite(source))?;
        Ok((run, is_whole))
    }

    /// One short row for each trial after a number, in their order; no record is parsed.
    pub fn trials_after(&self, number: u32) -> Result<Vec<TrialRow>, StoreError> {
        let sql = "SELECT number, cell, block, attempt, outcome FROM trial WHERE number > ?1 \
                   ORDER BY number";
        self.patience.reads();
        (|| {
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([number], |row| {
                Ok(TrialRow {
                    number: row.get(0)?,
                    cell: CellId(row.get(1)?),
                    block: row.get(2)?,
                    attempt: row.get(3)?,
                    outcome: row.get(4)?,
                })
            })?;
            rows.collect::<Result<Vec<_>, _>>()
        })()
        .map_err(|cause| self.sqlite(cause))
    }

    /// How many trials the file holds, and the first whose record is text and no JSON, if one is. A packed one
    /// is not looked at. Much cheaper than reading the run.
    pub fn trial_count(&self) -> Result<(usize, Option<u32>), StoreError> {
        let sql = "SELECT count(*), min(CASE WHEN typeof(record) = 'text' AND NOT json_valid(record) THEN number END) FROM trial";
        self.patience.reads();
        self.connection
            .query_row(sql, [], |row| Ok((row.get::<_, i64>(0)? as usize, row.get(1)?)))
            .map_err(|cause| self.sqlite(cause))
    }

    pub fn interval_log(&self, trial: u32, op: &str) -> Result<Option<String>, StoreError> {
        self.query("SELECT log FROM interval_log WHERE trial = ?1 AND op = ?2", params![trial, op])
    }

    /// Puts the logs of those operations into a run that was read without.
    pub fn add_logs(
        &self,
        run: &mut RunRecord,
        is_wanted: impl Fn(&TrialRecord, &OpRecord) -> bool,
    ) -> Result<(), StoreError> {
        for trial in &mut run.trials {
            let wanted: Vec<bool> = trial.ops.iter().map(|op| is_wanted(trial, op)).collect();
            for (op, _) in trial.ops.iter_mut().zip(wanted).filter(|(_, wanted)| *wanted) {
                op.interval_log = self.interval_log(trial.number, &op.op)?.unwrap_or_default();
            }
        }
        Ok(())
    }

    pub fn interval_logs(&self) -> Result<Vec<(u32, String)>, StoreError> {
        self.patience.reads();
        (|| {
            let sql = "SELECT trial, op FROM interval_log ORDER BY trial, op";
            let mut statement = self.connection.prepare(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<_>, _>>()
        })()
        .map_err(|cause| self.sqlite(cause))
    }

    fn read_trials(&self) -> Result<Vec<TrialRecord>, StoreError> {
        self.patience.reads();
        let rows = (|| {
            let mut statement =
                self.connection.prepare("SELECT number, record FROM trial ORDER BY number")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect::<Result<Vec<(u32, Value)>, _>>()
        })()
        .map_err(|source| self.sqlite(source))?;
        let read = |(number, stored)| {
            let read = match stored {
                Value::Text(text) => serde_json::from_str(&text),
                _ => Err(serde_json::Error::custom("it is no text")),
            };
            self.parse(&format!("trial {number}"), read)
        };
        rows.into_iter().map(read).collect()
    }

    fn check_kind(&self) -> Result<(), StoreError> {
        let number = |pragma: &str| {
            self.connection.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0))
        };
        let (id, format) = (|| Ok((number("application_id")?, number("user_version")?)))()
            .map_err(|cause| self.sqlite(cause))?;
        if id != schema::APPLICATION_ID {
            let what = "no pickfs mark in its header".into();
            return Err(StoreError::Foreign { path: self.path.clone(), what });
        }
        match u32::try_from(format).unwrap_or(0) {
            found if found > schema::FORMAT_REDUCED => {
                let known = schema::FORMAT_REDUCED;
                Err(StoreError::Newer { path: self.path.clone(), found, known })
            }
            schema::FORMAT_PACKED_BY_TRIAL => Err(StoreError::Older { path: self.path.clone() }),
            _ => Ok(()),
        }
    }

    fn transact(
        &mut self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<()>,
    ) -> Result<(), StoreError> {
        let path = self.path.clone();
        self.patience.writes();
        (|| {
            let transaction = self.connection.transaction()?;
            work(&transaction)?;
            transaction.commit()
        })()
        .map_err(|cause| StoreError::of_sqlite(&path, cause))
    }

    fn query<T: FromSql>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
    ) -> Result<Option<T>, StoreError> {
        self.patience.reads();
        self.connection
            .query_row(sql, params, |row| row.get(0))
            .optional()
            .map_err(|source| self.sqlite(source))
    }

    fn parse<T>(&self, what: &str, read: serde_json::Result<T>) -> Result<T, StoreError> {
        let (path, what) = (self.path.clone(), what.into());
        read.map_err(|cause| StoreError::Damaged { path, what, cause })
    }

    fn sqlite(&self, cause: rusqlite::Error) -> StoreError {
        StoreError::of_sqlite(&self.path, cause)
    }
}

/// What a statement finds in the tables of a run file, which are made of the records: a reduced file has none. Single
/// operations and histograms are left out. One table more is `levels`: `cell`, and a column for each axis. `{x: a b}`
/// are the fields a and b of the JSON x, under these names. The first row is the names of the columns.
pub fn select(run: &RunRecord, sql: &str) -> rusqlite::Result<Vec<Vec<String>>> {
    let connection = Connection::open_in_memory()?;
    begin(&connection, run, Value::Text(String::new()))?;
    connection.execute_batch(schema::CREATE_DERIVED)?;
    derived::put_run(&connection, run)?;
    derived::put_levels(&connection, run)?;
    for trial in &run.trials {
        let mut trial = trial.clone();
        reduce(&mut trial);
        let text = json(&trial);
        put_trial(&connection, &trial, Value::Text(text.clone()))?;
        derived::put_trial(&connection, &trial, &text)?;
    }
    derived::rows(&connection, sql)
}

fn begin(connection: &Connection, run: &RunRecord, record: Value) -> rusqlite::Result<()> {
    let is_reduced = matches!(record, Value::Blob(_));
    let format = if is_reduced { schema::FORMAT_REDUCED } else { FORMAT };
    connection.pragma_update(None, "application_id", schema::APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", format)?;
    connection.execute_batch(schema::CREATE)?;
    let row = params![run.name, run.started, run.build, record];
    connection.execute("INSERT INTO run VALUES (?1, ?2, ?3, ?4)", row).map(drop)
}

fn put_trial(connection: &Connection, trial: &TrialRecord, record: Value) -> rusqlite::Result<()> {
    let (number, cell, block) = (trial.number, &trial.cell.0, trial.block);
    let outcome = derived::outcome_name(&trial.outcome);
    let row = params![number, cell, block, trial.attempt, outcome, record];
    connection.execute("INSERT INTO trial VALUES (?1, ?2, ?3, ?4, ?5, ?6)", row).map(drop)
}

fn put_end(connection: &Connection, end: &RunEnd) -> rusqlite::Result<()> {
    let row = params![end.at, end.how, end.note];
    connection.execute("INSERT INTO ended VALUES (?1, ?2, ?3)", row).map(drop)
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("records hold nothing that JSON cannot say")
}

fn without_logs(trial: &TrialRecord) -> TrialRecord {
    let mut bare = trial.clone();
    bare.ops =
        bare.ops.into_iter().map(|op| OpRecord { interval_log: String::new(), ..op }).collect();
    bare
}
