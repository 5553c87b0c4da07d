//! What a disk is told while somebody writes on it, and what was promised meanwhile.

use std::{
    fs::File,
    io::Read,
    path::Path,
    time::{Duration, Instant},
};

use pickfs_record::Durability;
use serde::{Deserialize, Serialize};

use crate::{
    ground::{Away, Disk, recorder::plain_file},
    log::{Log, Position, What},
    oracle::{Due, Subject, SubjectError},
    program::{self, Program},
    session::{Listener, Request, SessionError, Writer},
};

const EXPOSED_EACH: Duration = Duration::from_millis(10);

/// What is known of a recording beside its log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    pub request: Request,
    /// The file system is made and mounted nowhere: a guest may mount it without a replay when it boots.
    #[serde(default)]
    pub clean: Position,
    /// Everything before it was on the disk when the first record was written.
    pub start: Position,
    /// Behind the sync that follows the last record.
    pub end: Position,
    pub due: Due,
    /// What a program said, a line for each promise.
    pub lines: Vec<String>,
    /// When each record was acknowledged, since the first was begun; only where a loss window was asked for.
    pub times_ns: Vec<u64>,
}

pub(crate) const FACTS: &str = "recording.json";
const FACTS_BYTES_MAX: u64 = 256 << 20;

impl Recording {
    /// Of a folder that was saved, perhaps by somebody else.
    pub fn read(folder: &Path) -> Result<Self, SessionError> {
        let (facts, mut text) = (folder.join(FACTS), String::new());
        let opened = plain_file(&facts).map(|file| file.take(FACTS_BYTES_MAX));
        let read = opened.and_then(|mut file| file.read_to_string(&mut text));
        read.map_err(|error| file(&facts, error))?;
        serde_json::from_str(&text).map_err(|error| file(&facts, error))
    }
}

/// Mounts and writes; the disk is mounted still.
pub(crate) fn record(
    disk: &mut Disk,
    away: Option<&mut Away>,
    request: &Request,
    listener: &dyn Listener,
) -> Result<Recording, SessionError> {
    let clean = disk.position();
    disk.watch();
    if away.is_none() {
        disk.mount()?;
    }
    let (mut due, mut lines, mut times_ns) = (Due::default(), Vec::new(), Vec::new());
    let mut start = disk.position();
    match &request.writer {
        Writer::Ours(words) => {
            let subject = subject(words)?;
            let exposed = (request.exposed_for.as_millis() / EXPOSED_EACH.as_millis()) as u64;
            let is_exposed = exposed > 0 && request.promised()? < Durability::PowerLoss;
            let (records, pause) = match is_exposed {
                true => (exposed, EXPOSED_EACH),
                false => (request.records.max(subject.least_records()), Duration::ZERO),
            };
            let mut began = Instant::now();
            let told = &mut |number: u64| {
                if listener.is_stopped() {
                    return Err(SessionError::Interrupted);
                }
                disk.watch();
                match number {
                    0 => (start, began) = (disk.position(), Instant::now()),
                    _ => due.0.push(disk.position()),
                }
                if is_exposed && number > 0 {
                    times_ns.push(began.elapsed().as_nanos() as u64);
                }
                Ok(())
            };
            match away {
                Some(away) => away.write((records, pause), told)?,
                None => write(disk.at(), subject, (records, pause), told)?,
            }
        }
        Writer::Log(_) => {}
        Writer::Program { words, before, silence, longest } => {
            let (at, is_stopped) = (disk.at().to_owned(), || listener.is_stopped());
            // It may take as long as its user likes.
            disk.unwatch()?;
            let run = |words: &[String], told: &mut dyn FnMut(String)| {
                let (silence, longest) = (*silence, *longest);
                let program =
                    Program { words, folder: &at, input: "", acknowledged: 0, silence, longest };
                ended_well(&program, told, &is_stopped)
            };
            if !before.is_empty() {
                run(before, &mut |_| {})?;
            }
            sync(&at)?;
            start = disk.position();
            run(words, &mut |line| {
                due.0.push(disk.position());
                lines.push(line);
            })?;
            sync(&at)?;
        }
    }
    disk.unwatch()?;
    let (request, end) = (request.clone(), disk.position());
    Ok(Recording { request, clean, start, end, due, lines, times_ns })
}

fn ended_well(
    program: &Program<'_>,
    told: &mut dyn FnMut(String),
    is_stopped: &dyn Fn() -> bool,
) -> Result<(), SessionError> {
    match program::run(program, false, told, is_stopped) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(SessionError::Refused(format!("`{}` ended with {status}", program.words[0])))
        }
        Err(_) if is_stopped() => Err(SessionError::Interrupted),
        Err(words) => Err(SessionError::Refused(words)),
    }
}

/// On what is mounted there: tells of record 0 that everything is ready, and of each other one that it is acknowledged. A
/// sync at the end brings what nobody synced among the writes, too.
pub(crate) fn write(
    mounted: &Path,
    subject: Subject,
    (records, pause): (u64, Duration),
    told: &mut dyn FnMut(u64) -> Result<(), SessionError>,
) -> Result<(), SessionError> {
    let refused = |error: SubjectError| SessionError::Refused(error.to_string());
    let mut writes = subject.begin(mounted).map_err(refused)?;
    told(0)?;
    for number in 1..=records {
        let done = writes.append(number);
        done.map_err(|error| SessionError::Refused(format!("record {number}: {error}")))?;
        told(number)?;
        std::thread::sleep(pause);
    }
    sync(mounted)
}

pub(crate) fn subject(words: &str) -> Result<Subject, SessionError> {
    words.parse().map_err(|error: SubjectError| SessionError::Refused(error.to_string()))
}

fn sync(mounted: &Path) -> Result<(), SessionError> {
    let synced = File::open(mounted).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
    synced.map_err(|error| file(mounted, error))
}

/// Of a log that others made, with its marks.
pub(crate) fn foreign(log: &Log, request: &Request) -> Result<Recording, SessionError> {
    let mut marks = log.entries.iter().zip(1..).filter_map(|(entry, at)| match entry {
        What::Mark(words) => Some((Position(at), words.clone())),
        _ => None,
    });
    let Some((start, _)) = marks.next() else {
        let words = "the log has no marks: the first says where the file system was ready, each other one is a promise";
        return Err(SessionError::Refused(words.into()));
    };
    let (due, lines) = marks.unzip();
    let (request, due, times_ns) = (request.clone(), Due(due), Vec::new());
    Ok(Recording { request, clean: start, start, end: log.end(), due, lines, times_ns })
}

pub(crate) fn file(path: &Path, error: impl std::fmt::Display) -> SessionError {
    SessionError::Refused(format!("{}: {error}", path.display()))
}
