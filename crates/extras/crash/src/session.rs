//! One writer on one candidate: recorded once, then looked at in many states. Several at once, each with a disk, a
//! recorder and a mount of its own: a mount waits for the kernel more than it works.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use pickfs_candidate::fs::find;
use pickfs_record::{CandidateSpec, Durability};
use serde::{Deserialize, Serialize};

use crate::{
    check::{Check, Found, Loss},
    explore::{
        Explored, Exposure, Plan, Sees, State, StateError, Stopped, explore, exposure, reduced,
    },
    ground::{
        Disk, GroundError, Means, Prober,
        recorder::{self, Order},
    },
    log::{Log, Remains},
    model::{Cache, Crash, Windows},
    oracle::{Command, Oracle},
    program,
    recording::{Recording, file, foreign, record, subject},
    report::{Cell, Cost},
};

/// Of one failure that is made small.
const REDUCE_LOOKS: usize = 200;
/// So many states of one kind of crash that fail are looked at twice.
const CONFIRMED_MAX: usize = 20;
/// So many failures of one kind of crash are made small.
const REDUCED_MAX: usize = 2;
const EXPOSURE_INSTANTS: u64 = 61;
/// Of a command; a table has no place for more.
const NAME_CHARS: usize = 40;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub candidate: CandidateSpec,
    pub writer: Writer,
    /// Of a program, or of a log of others; empty for our own writers.
    pub check: Vec<String>,
    pub image_bytes: u64,
    pub records: u64,
    /// Where the writer does not sync: it appends 100 records a second for so long, to see how many seconds a crash takes,
    /// and not `records` without a pause. Zero leaves that out.
    pub exposed_for: Duration,
    pub crashes: Vec<String>,
    /// Of each crash.
    pub states: usize,
    pub seed: u64,
    /// One state in so many goes to the checker of its file system; 0 asks none.
    pub checker_each: u64,
    /// Recordings that lost only what was not promised are saved as well.
    pub keeps_all: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// By the words of [`Subject`].
    Ours(String),
    Program {
        words: Vec<String>,
        /// Run before the first line counts; may be empty.
        before: Vec<String>,
    },
    /// A log of dm-log-writes that others made: each mark is a promise, but for the first, before which
    /// the file system was made and mounted.
    Log(PathBuf),
}

impl Writer {
    pub fn name(&self) -> String {
        match self {
            Self::Ours(words) => words.clone(),
            Self::Program { words, .. } => words.join(" ").chars().take(NAME_CHARS).collect(),
            Self::Log(file) => file.display().to_string(),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Ground(#[from] GroundError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// What the writer refused, or a file.
    #[error("{0}")]
    Refused(String),
    #[error("interrupted")]
    Interrupted,
}

#[derive(Debug)]
pub struct Session {
    /// One for each kind of crash.
    pub cells: Vec<Cell>,
    /// States that were not the same when they were looked at again: they count as most looks saw them.
    pub unsteady: Vec<String>,
    /// Where the recording lies, if a promise was broken and a folder was named.
    pub saved: Option<PathBuf>,
}

/// Who is told of states, and may end the work between two.
pub trait Listener: Sync {
    fn looked(&self, found: &Found);
    fn is_stopped(&self) -> bool;
}

/// In the order of the requests; one after the other where a loss window is asked for, as what others sync shortens it. A
/// recording that broke a promise is saved in a folder of its own, by its number from 1.
pub fn perform_all(
    means: &Means,
    requests: &[Request],
    at_once: usize,
    save_to: Option<&Path>,
    listener: &dyn Listener,
) -> Vec<Result<Session, SessionError>> {
    let is_exposed = requests.iter().any(|request| !request.exposed_for.is_zero());
    let lanes = if is_exposed { 1 } else { at_once.clamp(1, requests.len().max(1)) };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = |lane: usize| {
        let means = Means { folder: means.folder.join(format!("lane-{lane}")), ..means.clone() };
        loop {
            let number = next.fetch_add(1, Relaxed);
            let Some(request) = requests.get(number) else { break };
            let folder = save_to.map(|folder| folder.join(format!("recording-{}", number + 1)));
            let session = match listener.is_stopped() {
                true => Err(SessionError::Interrupted),
                false => perform(&means, request, folder.as_deref(), listener),
            };
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, session));
        }
        // Only an empty one goes: what is in use still stays to be seen.
        let _ = std::fs::remove_dir(&means.folder);
    };
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            let work = &work;
            scope.spawn(move || work(lane));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, session)| session).collect()
}

/// # Errors
/// What the machine or the writer refused. A failure that is found is none.
pub fn perform(
    means: &Means,
    request: &Request,
    save_to: Option<&Path>,
    listener: &dyn Listener,
) -> Result<Session, SessionError> {
    let mut bench = recorded(means, request, listener)?;
    let mut cells = Vec::new();
    for crash in &request.crashes {
        let crash = crash.parse().map_err(StateError::from)?;
        let explored = bench.explore(crash)?;
        let smallest = bench.smallest(crash, &explored)?;
        cells.push(Cell { smallest, ..bench.cell(crash, explored)? });
    }
    if request.is_exposed()? {
        let exposure = bench.exposure()?;
        cells.iter_mut().filter(|cell| loses_all(cell)).for_each(|cell| cell.exposure = exposure);
    }
    let is_kept = |cell: &Cell| !cell.kept_all() && (request.keeps_all || cell.is_promised());
    let unsteady = std::mem::take(&mut bench.unsteady);
    let is_saved = cells.iter().any(is_kept) || !unsteady.is_empty();
    let saved = save_to.filter(|_| is_saved).map(|folder| bench.save(folder)).transpose()?;
    bench.end()?;
    let folder = saved.as_ref().map(|folder| folder.display().to_string());
    cells.iter_mut().for_each(|cell| cell.saved.clone_from(&folder));
    Ok(Session { cells, unsteady, saved })
}

/// All that no flush covered: a power loss takes as much on each of these disks.
fn loses_all(cell: &Cell) -> bool {
    let device = cell.crash.device();
    device.is_some_and(|device| device.is_honest() && device.cache != Cache::None)
}

impl Request {
    /// What is promised of a record that the writer has acknowledged: no more than is declared of the candidate.
    fn promised(&self) -> Result<Durability, SessionError> {
        let own = match &self.writer {
            Writer::Ours(words) => subject(words)?.promised(),
            _ => Durability::PowerLoss,
        };
        let row = find(&self.candidate.fs);
        let declared = row.map(|row| row.durability(&self.candidate.mount_options).0);
        Ok(declared.map_or(own, |declared| own.min(declared)))
    }

    pub(crate) fn is_exposed(&self) -> Result<bool, SessionError> {
        Ok(!self.exposed_for.is_zero() && self.promised()? < Durability::PowerLoss)
    }
}

fn recorded<'l>(
    means: &Means,
    request: &Request,
    listener: &'l dyn Listener,
) -> Result<Bench<'l>, SessionError> {
    let path = means.folder.join("crash-recording");
    let (disk, recording) = match &request.writer {
        Writer::Log(file) => {
            (Disk::of_recording(means, &request.candidate, file, request.image_bytes)?, None)
        }
        _ => {
            let mut disk =
                Disk::make(means, &request.candidate, request.image_bytes, &mut Vec::new())?;
            let recording = record(&mut disk, request, listener)?;
            (disk, Some(recording))
        }
    };
    let mut prober = Prober::of(disk, request.checker_each)?;
    prober.disk().recorder().order(&Order::SaveLog(path.clone()))?;
    let read = recorder::recording(&path, 0);
    fs::remove_file(&path).map_err(|error| file(&path, error))?;
    let log = read.map_err(|words| file(&path, words))?;
    let recording = recording.map_or_else(|| foreign(&log, request), Ok)?;
    Bench::with(prober, recording, log, listener)
}

/// A recording on its disk, ready to be looked at.
pub struct Bench<'l> {
    prober: Prober,
    recording: Recording,
    log: Log,
    check: Box<dyn Check>,
    listener: &'l dyn Listener,
    unsteady: Vec<String>,
}

fn see(
    prober: &mut Prober,
    check: &mut dyn Check,
    listener: &dyn Listener,
    (remains, closely): (&Remains, bool),
) -> Result<Found, SessionError> {
    match listener.is_stopped() {
        true => Err(SessionError::Interrupted),
        false => Ok(prober.look(remains, check, closely)?),
    }
}

impl<'l> Bench<'l> {
    /// A recording that was saved, perhaps by somebody else: to look at single states of it again. The check of a
    /// program is the caller's, and never what the recording says.
    pub fn open(
        means: &Means,
        folder: &Path,
        own_check: &[String],
        listener: &'l dyn Listener,
    ) -> Result<Self, SessionError> {
        let facts = folder.join(FACTS);
        let mut text = String::new();
        let opened = recorder::plain_file(&facts).map(|file| file.take(FACTS_BYTES_MAX));
        let read = opened.and_then(|mut file| file.read_to_string(&mut text));
        read.map_err(|error| file(&facts, error))?;
        let mut recording: Recording =
            serde_json::from_str(&text).map_err(|error| file(&facts, error))?;
        recording.request.check = own_check.to_vec();
        let path = folder.join(LOG);
        let log = recorder::recording(&path, 0).map_err(|words| file(&path, words))?;
        let disk = Disk::of_recording(means, &recording.request.candidate, &path, 0)?;
        let prober = Prober::of(disk, recording.request.checker_each)?;
        Self::with(prober, recording, log, listener)
    }

    fn with(
        prober: Prober,
        recording: Recording,
        mut log: Log,
        listener: &'l dyn Listener,
    ) -> Result<Self, SessionError> {
        let end = recording.end.0;
        if recording.start > recording.end || end > log.entries.len() {
            let (start, has) = (recording.start.0, log.entries.len());
            let words = format!("records from {start} to {end} are not in a log of {has} entries");
            return Err(SessionError::Refused(words));
        }
        log.entries.truncate(end);
        let due = recording.due.clone();
        let (words, lines) = (recording.request.check.clone(), recording.lines.clone());
        let check: Box<dyn Check> = match &recording.request.writer {
            Writer::Ours(words) => Box::new(Oracle { subject: subject(words)?, due }),
            _ if words.is_empty() => {
                let words = "a command wrote this recording: name its check, as --check";
                return Err(SessionError::Refused(words.into()));
            }
            _ => Box::new(Command { words, due, lines, patience: program::CHECK_PATIENCE }),
        };
        Ok(Self { prober, recording, log, check, listener, unsteady: Vec::new() })
    }

    fn explore(&mut self, crash: Crash) -> Result<Explored, SessionError> {
        let Self { prober, recording, log, check, listener, unsteady } = self;
        let Request { states, seed, ref writer, .. } = recording.request;
        let windows = Windows::new(log, recording.start, crash);
        let sees = match writer {
            Writer::Ours(_) => Sees::Records,
            _ => Sees::Verdict,
        };
        let mut left = CONFIRMED_MAX;
        let mut look = |remains: &Remains| {
            let mut see = |closely| see(prober, check.as_mut(), *listener, (remains, closely));
            let found = see(false)?;
            if !found.is_fault() || left == 0 {
                return Ok(found);
            }
            left -= 1;
            let again = see(true)?;
            if is_alike(&found, &again) {
                return Ok(again);
            }
            unsteady.push(format!("{crash}@{}: {found:?}, then {again:?}", remains.crash.0));
            see(true)
        };
        let plan = Plan { states, seed };
        let told = &mut |_: &State, found: &Found| listener.looked(found);
        explore(&windows, &recording.due, plan, sees, &mut look, told)
    }

    /// States of the first failures that lose the least and still fail in the same way.
    fn smallest(&mut self, crash: Crash, explored: &Explored) -> Result<Vec<String>, SessionError> {
        let Self { prober, recording, log, check, listener, .. } = self;
        let windows = Windows::new(log, recording.start, crash);
        let mut smallest = Vec::new();
        for failure in explored.failures.iter().take(REDUCED_MAX) {
            let state: State = failure.state.parse().map_err(StateError::from)?;
            let is_damaged = has_damage(&failure.found);
            // What cannot be looked at any more is not smaller.
            let mut fails = |state: &State| {
                let Some(remains) = state.remains(&windows).ok() else { return false };
                let seen = see(prober, check.as_mut(), *listener, (&remains, is_damaged));
                seen.is_ok_and(|again| is_alike(&failure.found, &again))
            };
            smallest.push(reduced(&state, &windows, REDUCE_LOOKS, &mut fails).to_string());
        }
        Ok(smallest)
    }

    fn cell(&mut self, crash: Crash, explored: Explored) -> Result<Cell, SessionError> {
        let Recording { request, start, due, .. } = &self.recording;
        let last = due.0.last().map_or(*start, |last| last.position);
        let figures = self.prober.take_figures();
        Ok(Cell {
            candidate: request.candidate.clone(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            subject: request.writer.name(),
            promised: request.promised()?,
            crash,
            explored,
            smallest: Vec::new(),
            exposure: None,
            cost: Cost::of(&self.log, *start, last.min(self.log.end()), due.all()),
            seed: request.seed,
            asked: request.states as u64,
            image_bytes: self.log.base.bytes(),
            saved: None,
            checked: figures.checked,
            per_s: figures.states as f64 / figures.seconds.max(f64::MIN_POSITIVE),
        })
    }

    /// How much a crash takes of what nobody synced, at instants of the recording.
    fn exposure(&mut self) -> Result<Option<Exposure>, SessionError> {
        let Self { prober, recording, log, check, listener, .. } = self;
        let crash = Crash::PowerLoss(Default::default());
        let windows = Windows::new(log, recording.start, crash);
        let mut look = |remains: &_| see(prober, check.as_mut(), *listener, (remains, false));
        exposure(&windows, &recording.due, EXPOSURE_INSTANTS, &mut look)
    }

    /// One state again; the image as the crash left it goes into a new file where one is named.
    pub fn look(&mut self, state: &State, image: Option<&Path>) -> Result<Found, SessionError> {
        let windows = Windows::new(&self.log, self.recording.start, state.crash);
        let remains = state.remains(&windows)?;
        if let Some(path) = image {
            let recorder = self.prober.disk().recorder();
            recorder.order(&Order::Serve(remains.clone()))?;
            recorder.order(&Order::SaveImage(path.into()))?;
        }
        Ok(self.prober.look(&remains, self.check.as_mut(), true)?)
    }

    pub fn end(self) -> Result<(), SessionError> {
        Ok(self.prober.end()?)
    }

    /// What is needed to make its states again, into a new folder.
    fn save(&mut self, folder: &Path) -> Result<PathBuf, SessionError> {
        fs::create_dir_all(folder).map_err(|error| file(folder, error))?;
        let log = folder.join(LOG);
        self.prober.disk().recorder().order(&Order::SaveLog(log))?;
        let facts = folder.join(FACTS);
        let text = serde_json::to_string(&self.recording).map_err(|error| file(&facts, error))?;
        fs::write(&facts, text).map_err(|error| file(&facts, error))?;
        Ok(folder.to_owned())
    }
}

const LOG: &str = "disk.log";
const FACTS: &str = "recording.json";
const FACTS_BYTES_MAX: u64 = 256 << 20;

fn has_damage(found: &Found) -> bool {
    found.losses.iter().any(|loss| matches!(loss, Loss::Damaged(_)))
}

/// Whether the second look saw as much: it may have seen more, by a checker that did not see the first.
fn is_alike(first: &Found, again: &Found) -> bool {
    let kinds = |found: &Found| -> Vec<_> {
        let seen = found.losses.iter().filter(|loss| !matches!(loss, Loss::Damaged(_)));
        seen.map(std::mem::discriminant).collect()
    };
    kinds(first) == kinds(again) && (has_damage(again) || !has_damage(first))
}
