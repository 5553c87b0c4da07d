//! Every name in a link is looked up among the names here, and the path beside it
//! is opened: no text of a client becomes a path. A run whose file lies outside the
//! folder (a link) is a row that says so and is never opened. What was read is kept
//! until the file changes.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use pickfs_record::{Findings, RunRecord};
use pickfs_report::chart::latency_map;
use pickfs_store::{RunFile, StoreError, run_paths};

use crate::runs::{RunLine, RunSummary};

/// Name of the run file in a run's folder: such a run has the name of its folder.
const RUN_FILE: &str = "run.pickfs";
const LOADED_MAX: usize = 4;

#[derive(Debug)]
pub struct Loaded {
    pub run: RunRecord,
    pub findings: Findings,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    written: SystemTime,
    bytes: u64,
}

#[derive(Debug, Clone)]
pub struct Place {
    pub name: String,
    /// Where it is; nothing where that is outside the folder.
    path: Option<PathBuf>,
}

pub struct Shelf {
    folder: PathBuf,
    lines: Mutex<HashMap<PathBuf, (Stamp, RunLine)>>,
    loaded: Mutex<Vec<(PathBuf, Stamp, Arc<Loaded>)>>,
}

impl Shelf {
    pub fn open(folder: &Path) -> io::Result<Shelf> {
        let folder = fs::canonicalize(folder)?;
        fs::read_dir(&folder)?;
        Ok(Shelf { folder, lines: Mutex::default(), loaded: Mutex::default() })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn places(&self) -> io::Result<Vec<Place>> {
        let mut places: Vec<Place> =
            run_paths(&self.folder)?.iter().map(|path| self.place(path)).collect();
        places.sort_by(|one, other| one.name.cmp(&other.name));
        places.dedup_by(|one, other| one.name == other.name);
        Ok(places)
    }

    fn place(&self, path: &Path) -> Place {
        let inner = path.strip_prefix(&self.folder).unwrap_or(path);
        let named = match (inner.file_name(), inner.parent()) {
            (Some(file), Some(run)) if file == RUN_FILE && run != Path::new("") => run,
            _ => inner,
        };
        let within = |path: &PathBuf| path.starts_with(&self.folder) && path.is_file();
        let path = fs::canonicalize(path).ok().filter(within);
        Place { name: named.to_string_lossy().into_owned(), path }
    }

    pub fn find(&self, name: &str) -> Option<Place> {
        self.places().ok()?.into_iter().find(|place| place.name == name)
    }

    pub fn lines(&self) -> io::Result<Vec<RunLine>> {
        let mut lines: Vec<RunLine> = self.places()?.iter().map(|place| self.line(place)).collect();
        let started = |line: &RunLine| line.about.as_ref().map(|about| about.started.clone()).ok();
        lines.sort_by_key(|line| std::cmp::Reverse(started(line)));
        Ok(lines)
    }

    fn line(&self, place: &Place) -> RunLine {
        let known = place.stamp().and_then(|(path, stamp)| {
            let lines = locked(&self.lines);
            let (kept, line) = lines.get(path)?;
            (*kept == stamp).then(|| line.clone())
        });
        if let Some(line) = known {
            return line;
        }
        let line = RunLine { name: place.name.clone(), about: summary(place) };
        if let Some((path, stamp)) = place.stamp() {
            locked(&self.lines).insert(path.to_owned(), (stamp, line.clone()));
        }
        line
    }

    pub fn load(&self, place: &Place) -> Result<Arc<Loaded>, String> {
        let (path, stamp) = place.stamp().ok_or_else(|| outside(place))?;
        let mut kept = locked(&self.loaded);
        if let Some(at) = kept.iter().position(|(p, s, _)| p == path && *s == stamp) {
            let found = kept.remove(at);
            kept.insert(0, found);
            return Ok(kept[0].2.clone());
        }
        drop(kept);
        let file = place.open()?;
        let mut run = file.read().map_err(|error| self.told(&error))?;
        let findings = pickfs_analysis::findings(&run);
        let is_mapped = latency_map::is_mapped(&run.plan);
        file.add_logs(&mut run, is_mapped).map_err(|error| self.told(&error))?;
        let loaded = Arc::new(Loaded { run, findings });
        let mut kept = locked(&self.loaded);
        kept.retain(|(p, _, _)| p != path);
        kept.insert(0, (path.to_owned(), stamp, loaded.clone()));
        kept.truncate(LOADED_MAX);
        Ok(loaded)
    }

    fn told(&self, error: &StoreError) -> String {
        error.to_string()
    }
}

impl Place {
    /// Why it is not served, where it lies outside the folder.
    pub fn outside(&self) -> Option<String> {
        self.path.is_none().then(|| outside(self))
    }

    pub fn open(&self) -> Result<RunFile, String> {
        let path = self.path.as_ref().ok_or_else(|| outside(self))?;
        RunFile::open_read_only(path).map_err(|error| error.to_string())
    }

    pub fn stamp(&self) -> Option<(&Path, Stamp)> {
        let path = self.path.as_deref()?;
        let about = fs::metadata(path).ok()?;
        Some((path, Stamp { written: about.modified().ok()?, bytes: about.len() }))
    }

    /// Seconds since the file was last written.
    pub fn idle_s(&self) -> Option<u64> {
        let (_, stamp) = self.stamp()?;
        Some(stamp.written.elapsed().unwrap_or_default().as_secs())
    }
}

fn outside(place: &Place) -> String {
    format!("{} is a link out of the folder; it is not served", place.name)
}

fn summary(place: &Place) -> Result<RunSummary, String> {
    let file = place.open()?;
    let told = |error: StoreError| error.to_string();
    let run = file.read_head().map_err(told)?;
    let (trials, damaged) = file.trial_count().map_err(told)?;
    if let Some(number) = damaged {
        return Err(format!("trial {number} of {} is damaged; restore the file", place.name));
    }
    let mut about = RunSummary::new(&run, trials);
    if run.ended.is_some() {
        let run = file.read().map_err(told)?;
        about.ending = pickfs_analysis::findings(&run).endings.into_iter().next();
    }
    Ok(about)
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
