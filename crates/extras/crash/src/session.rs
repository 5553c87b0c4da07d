//! One writer on one candidate: recorded once, then looked at in many states. Several at once, each with a disk, a
//! recorder and a mount of its own: a mount waits for the kernel more than it works.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Instant,
};

use pickfs_guest::GuestError;
use pickfs_record::typed::{program as typed, quoted};

use crate::{
    check::{Check, Found, Loss},
    explore::{
        Explored, Exposure, Failure, Kept, Plan, Sees, State, StateError, Stopped, explore,
        exposure, reduced,
    },
    ground::{
        Away, Disk, GroundError, Guests, Means, Prober,
        recorder::{self, Order},
    },
    log::{Log, Remains},
    model::{Cache, Crash, Device, Windows},
    oracle::{Command, Due},
    program,
    recording::{FACTS, Recording, file, foreign, record, subject},
    report::{Cell, Cost, LeftOut},
};

pub use crate::request::{Request, Writer};

/// Of one failure that is made small.
const REDUCE_LOOKS: usize = 200;
/// So many states of one kind of crash that fail are looked at twice.
const CONFIRMED_MAX: usize = 20;
/// So many failures of one kind of crash are made small.
const REDUCED_MAX: usize = 2;

#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Ground(GroundError),
    #[error(transparent)]
    State(#[from] StateError),
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// It hangs, or cannot be given back.
    #[error("{state}: {cause}")]
    At { state: String, cause: GroundError },
    /// What the writer refused, or a file.
    #[error("{0}")]
    Refused(String),
    #[error("interrupted")]
    Interrupted,
}

impl From<GroundError> for SessionError {
    fn from(error: GroundError) -> Self {
        match error {
            GroundError::Guest(GuestError::Interrupted) => Self::Interrupted,
            error => Self::Ground(error),
        }
    }
}

impl LeftOut {
    /// With the word for it.
    pub fn count(&mut self, error: &SessionError) -> &'static str {
        use GroundError::{NotHere, Unavailable};
        let (count, word) = match error {
            SessionError::Ground(NotHere { .. } | Unavailable(_)) => (&mut self.skipped, "skipped"),
            SessionError::Interrupted => (&mut self.interrupted, "interrupted"),
            _ => (&mut self.failed, "failed"),
        };
        *count += 1;
        word
    }
}

#[derive(Debug, Default)]
pub struct Session {
    /// One for each kind of crash that was explored to its end, or on which something was lost until then.
    pub cells: Vec<Cell>,
    /// States that were not the same when they were looked at again: they count as most looks saw them.
    pub unsteady: Vec<String>,
    /// Where the recording lies, if a promise was broken and a folder was named.
    pub saved: Option<PathBuf>,
    /// What ended it early, or could not be saved or taken away; what was found stays.
    pub troubles: Vec<SessionError>,
    pub is_whole: bool,
}

/// Who is told of states, and may end the work between two.
pub trait Listener: Sync {
    fn looked(&self);
    fn is_stopped(&self) -> bool;
    fn ended(&self) {}
}

/// In the order of the requests; one after the other where a loss window is asked for, as what others sync shortens it, or
/// one file system would be mounted twice. What broke a promise is saved in a folder of its own, by its number from 1.
pub fn perform_all(
    means: &Means,
    requests: &[Request],
    at_once: usize,
    save_to: Option<&Path>,
    listener: &dyn Listener,
) -> Vec<Result<Session, SessionError>> {
    let is_alone = |request: &Request| {
        !request.exposed_for.is_zero() || matches!(request.writer, Writer::Log(_))
    };
    let at_once = if requests.iter().any(is_alone) { 1 } else { at_once };
    let next = AtomicUsize::new(0);
    let done: Vec<_> = requests.iter().map(|_| OnceLock::new()).collect();
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
            listener.ended();
            let _ = done[number].set(session);
        }
        // Only an empty one goes: what is in use still stays to be seen.
        let _ = fs::remove_dir(&means.folder);
    };
    std::thread::scope(|scope| {
        for lane in 0..at_once.clamp(1, requests.len().max(1)) {
            let work = &work;
            scope.spawn(move || work(lane));
        }
    });
    done.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// # Errors
/// What the machine or the writer refused before anything was explored. A failure that is found is none.
pub fn perform(
    means: &Means,
    request: &Request,
    save_to: Option<&Path>,
    listener: &dyn Listener,
) -> Result<Session, SessionError> {
    let mut bench = recorded(means, request, listener)?;
    let mut session = Session::default();
    let ended = bench.explore_all(&mut session.cells);
    session.is_whole = ended.is_ok();
    session.unsteady = std::mem::take(&mut bench.unsteady);
    let is_kept = |cell: &Cell| !cell.kept_all() && (request.keeps_all || cell.is_promised());
    let hangs = matches!(ended, Err(SessionError::At { .. })) || !session.unsteady.is_empty();
    let is_saved = hangs || session.cells.iter().any(is_kept);
    session.troubles.extend(ended.err());
    if let Some(folder) = save_to.filter(|_| is_saved) {
        match bench.save(folder) {
            Err(error) => session.troubles.push(error),
            Ok(()) => {
                let again = bench.again(folder);
                session.cells.iter_mut().for_each(|cell| cell.again = Some(again.clone()));
                session.saved = Some(folder.to_owned());
            }
        }
    }
    session.troubles.extend(bench.end().err());
    Ok(session)
}

fn recorded<'l>(
    means: &Means,
    request: &Request,
    listener: &'l dyn Listener,
) -> Result<Bench<'l>, SessionError> {
    let Request { candidate, image_bytes, checker_each, .. } = request;
    if let Writer::Log(path) = &request.writer {
        let disk = Disk::of_recording(means, candidate, path, *image_bytes)?;
        let log = recorder::recording(path, *image_bytes).map_err(SessionError::Refused)?;
        let recording = foreign(&log, request)?;
        return Bench::with(means, disk, recording, log, listener);
    }
    let mut disk = Disk::make(means, candidate, *image_bytes, &mut Vec::new())?;
    let mut away = away(means, &disk, &request.writer, listener)?;
    let recording = record(&mut disk, away.as_mut(), request, listener)?;
    let mut prober = Prober::of(disk, away, *checker_each)?;
    let path = means.folder.join("crash-recording");
    // Of a session that was killed.
    let _ = fs::remove_file(&path);
    let saved = prober.disk().recorder().order(&Order::SaveLog(path.clone()));
    let log = saved.map(|()| recorder::recording(&path, 0));
    // It goes, whatever came of it.
    let _ = fs::remove_file(&path);
    let log = log?.map_err(SessionError::Refused)?;
    Bench::of(means, prober, recording, log, listener)
}

/// Where the session has another kernel.
fn away(
    means: &Means,
    disk: &Disk,
    writer: &Writer,
    listener: &dyn Listener,
) -> Result<Option<Away>, SessionError> {
    let Some(guests) = &means.guests else { return Ok(None) };
    let Writer::Ours(words) = writer else {
        let words = "guests have our own writers alone, and no commands: leave --engine out";
        return Err(SessionError::Refused(words.into()));
    };
    let stop = || listener.is_stopped();
    Ok(Some(Away::boot(guests, &means.program, (disk, words), &stop)?))
}

/// A recording on its disk, ready to be looked at.
pub struct Bench<'l> {
    means: Means,
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
    due: &Due,
    (state, remains, closely): (&State, &Remains, bool),
) -> Result<Found, SessionError> {
    match listener.is_stopped() {
        true => Err(SessionError::Interrupted),
        false => prober
            .look(remains, due.at(remains.crash), check, closely)
            .map_err(|cause| SessionError::At { state: state.to_string(), cause }),
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
        let mut recording = Recording::read(folder)?;
        recording.request.check = own_check.to_vec();
        let path = folder.join(LOG);
        let log = recorder::recording(&path, 0).map_err(SessionError::Refused)?;
        let disk = Disk::of_recording(means, &recording.request.candidate, &path, 0)?;
        Self::with(means, disk, recording, log, listener)
    }

    /// On a disk that has the recording.
    fn with(
        means: &Means,
        mut disk: Disk,
        recording: Recording,
        log: Log,
        listener: &'l dyn Listener,
    ) -> Result<Self, SessionError> {
        let (clean, start, end, has) = (recording.clean, recording.start, recording.end, log.end());
        if clean > start || start > end || end > has {
            let [start, end, has] = [start, end, has].map(|at| at.0);
            let words = format!("records from {start} to {end} are not in a log of {has} entries");
            return Err(SessionError::Refused(words));
        }
        // A guest mounts it when it boots.
        let begin = Remains { safe: clean, crash: clean, kept: Vec::new() };
        disk.recorder().order(&Order::Serve(begin))?;
        let away = away(means, &disk, &recording.request.writer, listener)?;
        let prober = Prober::of(disk, away, recording.request.checker_each)?;
        Self::of(means, prober, recording, log, listener)
    }

    fn of(
        means: &Means,
        prober: Prober,
        recording: Recording,
        mut log: Log,
        listener: &'l dyn Listener,
    ) -> Result<Self, SessionError> {
        log.entries.truncate(recording.end.0);
        let (words, lines) = (recording.request.check.clone(), recording.lines.clone());
        let check: Box<dyn Check> = match &recording.request.writer {
            Writer::Ours(words) => Box::new(subject(words)?),
            _ if words.is_empty() => {
                let words = "a command wrote this recording: name its check, as --check";
                return Err(SessionError::Refused(words.into()));
            }
            _ => Box::new(Command { words, lines, patience: program::CHECK_PATIENCE }),
        };
        let (means, unsteady) = (means.clone(), Vec::new());
        Ok(Self { means, prober, recording, log, check, listener, unsteady })
    }

    /// Where the check turned out to see nothing, what it saw counts for nothing.
    fn explore_all(&mut self, cells: &mut Vec<Cell>) -> Result<(), SessionError> {
        for crash in self.recording.request.crashes.clone() {
            let crash = crash.parse().map_err(StateError::from)?;
            let (mut explored, began) = (Explored::default(), Instant::now());
            let ended = self.explore(crash, &mut explored);
            let per_s = explored.images as f64 / began.elapsed().as_secs_f64();
            let is_blind = matches!(ended, Err(SessionError::Stopped(_)));
            if ended.is_ok() || (!is_blind && explored.tally.failed > 0) {
                let smallest = self.smallest(crash, &explored);
                cells.push(Cell { smallest, per_s, ..self.cell(crash, explored)? });
            }
            ended?;
        }
        if !self.recording.times_ns.is_empty() {
            let exposure = Some(self.exposure()?);
            let has_cache = |it: Device| it.is_honest() && it.cache != Cache::None;
            let lost = cells.iter_mut().filter(|cell| cell.crash.device().is_some_and(has_cache));
            lost.for_each(|cell| cell.exposure = exposure);
        }
        Ok(())
    }

    /// Of what nobody synced, by a power loss of any disk with a cache.
    fn exposure(&mut self) -> Result<Exposure, SessionError> {
        let Self { prober, recording, log, check, listener, .. } = self;
        let Recording { start, due, times_ns, .. } = recording;
        let windows = Windows::new(log, *start, Crash::PowerLoss(Device::default()));
        exposure(&windows, due, times_ns, &mut |state, remains| {
            see(prober, check.as_mut(), *listener, due, (state, remains, false))
        })
    }

    fn explore(&mut self, crash: Crash, explored: &mut Explored) -> Result<(), SessionError> {
        let Self { prober, recording, log, check, listener, unsteady, .. } = self;
        let Request { states, seed, ref writer, .. } = recording.request;
        let windows = Windows::new(log, recording.start, crash);
        let is_ours = matches!(writer, Writer::Ours(_));
        let sees = if is_ours { Sees::Records } else { Sees::Verdict };
        let mut left = CONFIRMED_MAX;
        let mut look = |state: &State, remains: &Remains| {
            let due = &recording.due;
            let mut see =
                |close| see(prober, check.as_mut(), *listener, due, (state, remains, close));
            let found = see(false)?;
            if !found.is_fault() || left == 0 || state.kept == Kept::Start {
                return Ok(found);
            }
            left -= 1;
            let again = see(true)?;
            if is_alike(&found, &again) {
                return Ok(again);
            }
            unsteady.push(format!("{state}: {}, then {}", found.words(), again.words()));
            let third = see(true)?;
            let most = if third.is_fault() || !again.is_fault() { third } else { again };
            Ok::<_, SessionError>(most)
        };
        let plan = Plan { states, seed };
        let told = &mut |_: &State, _: &Found| listener.looked();
        explore(&windows, &recording.due, plan, sees, &mut look, told, explored)
    }

    /// States of the first failures that lose the least and still fail in the same way.
    fn smallest(&mut self, crash: Crash, explored: &Explored) -> Vec<State> {
        let Self { prober, recording, log, check, listener, .. } = self;
        let windows = Windows::new(log, recording.start, crash);
        let of_failure = |failure: &Failure| {
            let is_damaged = has_damage(&failure.found);
            // What cannot be looked at any more is not smaller.
            let mut fails = |state: &State| {
                let Some(remains) = state.remains(&windows).ok() else { return false };
                let (check, look) = (check.as_mut(), (state, &remains, is_damaged));
                let seen = see(prober, check, *listener, &recording.due, look);
                seen.is_ok_and(|again| is_alike(&failure.found, &again))
            };
            reduced(&failure.state, &windows, REDUCE_LOOKS, &mut fails)
        };
        explored.failures.iter().take(REDUCED_MAX).map(of_failure).collect()
    }

    fn cell(&mut self, crash: Crash, explored: Explored) -> Result<Cell, SessionError> {
        let Recording { request, start, due, .. } = &self.recording;
        let last = due.0.last().unwrap_or(start);
        Ok(Cell {
            candidate: request.candidate.clone(),
            kernel: self.means.kernel(),
            subject: request.writer.name(),
            promised: request.promised()?,
            crash,
            explored,
            smallest: Vec::new(),
            exposure: None,
            cost: Cost::of(&self.log, *start, self.log.end().min(*last), due.all()),
            seed: request.seed,
            asked: request.states as u64,
            image_bytes: self.log.bytes,
            again: None,
            checked: self.prober.take_checked(),
            per_s: 0.0,
        })
    }

    /// One state again; the image as the crash left it goes into a new file where one is named.
    pub fn look(&mut self, state: &State, image: Option<&Path>) -> Result<Found, SessionError> {
        let windows = Windows::new(&self.log, self.recording.start, state.crash);
        let remains = state.remains(&windows)?;
        if let Some(path) = image {
            let saved = recorder::save_image(&self.log.image_of(&remains), path);
            saved.map_err(|error| file(path, error))?;
        }
        let due = self.recording.due.at(remains.crash);
        Ok(self.prober.look(&remains, due, self.check.as_mut(), true)?)
    }

    pub fn end(self) -> Result<(), SessionError> {
        Ok(self.prober.end()?)
    }

    /// The command that looks at one of its states again, but for the state.
    fn again(&self, folder: &Path) -> String {
        let check = self.recording.request.check.last();
        let check = check.map(|check| format!(" --check {}", quoted(check))).unwrap_or_default();
        let words = |guests: &Guests| {
            format!(" --engine {} --kernel {}", guests.engine, guests.kernel.release)
        };
        // It was made here, and not by a stranger.
        let kernel = self.means.guests.as_deref().map_or(" --risk-this-kernel".into(), words);
        let folder = quoted(&folder.to_string_lossy());
        format!("{} crash --of {folder}{check}{kernel} --state", typed())
    }

    /// What is needed to make its states again, into a new folder; whole, or not at all.
    fn save(&self, folder: &Path) -> Result<(), SessionError> {
        fs::create_dir(folder).map_err(|error| file(folder, error))?;
        let saved = self.save_in(folder);
        if saved.is_err() {
            let _ = fs::remove_dir_all(folder);
        }
        saved
    }

    /// The recorder may be gone: the log is this program's own.
    fn save_in(&self, folder: &Path) -> Result<(), SessionError> {
        let [log, facts] = [LOG, FACTS].map(|name| folder.join(name));
        recorder::save_log(&self.log, &log).map_err(SessionError::Refused)?;
        let text = serde_json::to_string(&self.recording).map_err(|error| file(&facts, error))?;
        fs::write(&facts, text).map_err(|error| file(&facts, error))
    }
}

const LOG: &str = "disk.log";

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
