//! What a disk is told while somebody writes on it, and what was promised meanwhile.

use std::{fs::File, path::Path, time::Duration};

use serde::{Deserialize, Serialize};

use crate::{
    ground::{Disk, recorder::Order, store::now_ns},
    log::{Log, Position, What},
    oracle::{Acknowledged, Due, Subject, SubjectError},
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
    let mut lines = Vec::new();
    let start = match &request.writer {
        Writer::Ours(words) => {
            let mut writes =
                subject(words)?.begin(disk.at()).map_err(|e| refused(e.to_string()))?;
            let start = disk.recorder().position();
            let (records, pause) = match request.is_exposed()? {
                false => (request.records, Duration::ZERO),
                true => (request.exposed_for.as_millis() as u64 / 10, EXPOSED_EACH),
            };
            for number in 1..=records {
                if listener.is_stopped() {
                    return Err(SessionError::Interrupted);
                }
                disk.watch();
                writes.append(number).map_err(|e| refused(format!("record {number}: {e}")))?;
                due.0.push(acknowledged(disk));
                std::thread::sleep(pause);
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
                due.0.push(acknowledged(disk));
                lines.push(line);
            })?;
            sync(&at)?;
            start
        }
    };
    disk.unwatch()?;
    let (request, end) = (request.clone(), disk.recorder().position());
    Ok(Recording { request, start, end, due, lines })
}

pub(crate) fn subject(words: &str) -> Result<Subject, SessionError> {
    words.parse().map_err(|error: SubjectError| SessionError::Refused(error.to_string()))
}

fn acknowledged(disk: &mut Disk) -> Acknowledged {
    Acknowledged { position: disk.recorder().position(), at_ns: now_ns() }
}

fn sync(mounted: &Path) -> Result<(), SessionError> {
    let synced = File::open(mounted).and_then(|folder| Ok(rustix::fs::syncfs(folder)?));
    synced.map_err(|error| file(mounted, error))
}

/// Of a log that others made, with its marks.
pub(crate) fn foreign(log: &Log, request: &Request) -> Result<Recording, SessionError> {
    let mut marks = log.entries.iter().zip(1..).filter_map(|(entry, at)| match &entry.what {
        What::Mark(words) => Some((Position(at), words.clone())),
        _ => None,
    });
    let Some((start, _)) = marks.next() else {
        let words = "the log has no marks: the first says where the file system was ready, each other one is a promise";
        return Err(SessionError::Refused(words.into()));
    };
    let told = marks.map(|(position, words)| (Acknowledged { position, at_ns: 0 }, words));
    let (due, lines) = told.unzip();
    Ok(Recording { request: request.clone(), start, end: log.end(), due: Due(due), lines })
}

pub(crate) fn file(path: &Path, error: impl std::fmt::Display) -> SessionError {
    SessionError::Refused(format!("{}: {error}", path.display()))
}
