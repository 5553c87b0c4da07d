//! What a disk is told while somebody writes on it, and what was promised meanwhile.

use std::{
    fs::File,
    path::Path,
    time::{Duration, Instant},
};

use pickfs_record::Durability;
use serde::{Deserialize, Serialize};

use crate::{
    ground::{Disk, recorder::Order},
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

/// Mounts and writes; the disk is mounted still. A sync at the end brings what nobody synced among the writes, too.
pub(crate) fn record(
    disk: &mut Disk,
    request: &Request,
    listener: &dyn Listener,
) -> Result<Recording, SessionError> {
    let refused = SessionError::Refused;
    disk.watch();
    disk.recorder().order(&Order::Record)?;
    disk.mount()?;
    let mut due = Due::default();
    let (mut lines, mut times_ns) = (Vec::new(), Vec::new());
    let start = match &request.writer {
        Writer::Ours(words) => {
            let subject = subject(words)?;
            let mut writes = subject.begin(disk.at()).map_err(|e| refused(e.to_string()))?;
            let start = disk.recorder().position();
            let exposed = request.exposed_for.as_millis() as u64 / 10;
            let is_exposed = exposed > 0 && request.promised()? < Durability::PowerLoss;
            let least = request.records.max(subject.least_records());
            let (records, began) = (if is_exposed { exposed } else { least }, Instant::now());
            for number in 1..=records {
                if listener.is_stopped() {
                    return Err(SessionError::Interrupted);
                }
                disk.watch();
                writes.append(number).map_err(|e| refused(format!("record {number}: {e}")))?;
                due.0.push(disk.recorder().position());
                if is_exposed {
                    times_ns.push(began.elapsed().as_nanos() as u64);
                    std::thread::sleep(EXPOSED_EACH);
                }
            }
            sync(disk.at())?;
            start
        }
        Writer::Log(_) => disk.recorder().position(),
        Writer::Program { words, before } => {
            let (at, is_stopped) = (disk.at().to_owned(), || listener.is_stopped());
            // It may take as long as its user likes.
            disk.unwatch()?;
            let run = |words: &[String], told: &mut dyn FnMut(String)| {
                let program = Program { words, folder: &at, input: "", acknowledged: 0 };
                match program::run(&program, false, told, &is_stopped).map_err(refused)? {
                    status if status.success() => Ok(()),
                    status => Err(refused(format!("`{}` ended with {status}", words[0]))),
                }
            };
            if !before.is_empty() {
                run(before, &mut |_| {})?;
            }
            sync(&at)?;
            let start = disk.recorder().position();
            run(words, &mut |line| {
                due.0.push(disk.recorder().position());
                lines.push(line);
            })?;
            sync(&at)?;
            start
        }
    };
    disk.unwatch()?;
    let (request, end) = (request.clone(), disk.recorder().position());
    Ok(Recording { request, start, end, due, lines, times_ns })
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
    Ok(Recording { request, start, end: log.end(), due, lines, times_ns })
}

pub(crate) fn file(path: &Path, error: impl std::fmt::Display) -> SessionError {
    SessionError::Refused(format!("{}: {error}", path.display()))
}
