use std::{
    fs::Permissions,
    hash::{BuildHasher, RandomState},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Instant,
};

use pickfs_candidate::{
    TargetError,
    identity::Identity,
    interlock::same_device,
    undo::{CleanOutcome, UndoError, UndoLog},
};
use pickfs_record::{
    BackingSpec, Cell, Environment, Event, FORMAT, Plan, RunRecord, plan::StopRule, typed::program,
};
use pickfs_store::{RunFile, StoreError};
use pickfs_sys::{account::closed_on_the_way, block::BlockDevice, namespace};
use thiserror::Error;

use crate::{
    engines::{Kernels, any_in_guests, engines},
    environment, expand,
    grounds::Grounds,
    interrupt::Interrupt,
    length,
    machine::{Machine, Means},
    origin,
    preflight::{self, PreflightError},
    referee::{FixedBlocks, Race, Referee, Ruling},
    run::{self, RunParts},
    run_lock::{self, RunLock, Running},
    settle::Quiet,
    sink::Sink,
    stages::Stages,
};

#[derive(Debug, Error)]
pub enum LaunchError {
    #[error(transparent)]
    Preflight(#[from] PreflightError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Refused(String),
    #[error(transparent)]
    Running(#[from] Running),
    #[error(transparent)]
    Undo(#[from] UndoError),
}

#[derive(Debug)]
pub struct Launched {
    pub record: RunRecord,
    pub file: PathBuf,
}

pub struct Listeners<'a> {
    pub sink: &'a mut dyn Sink,
    pub interrupt: &'a Interrupt,
}

pub const RUN_FILE: &str = "run.pickfs";

pub fn launch(plan: &Plan, folder: &Path, mut to: Listeners<'_>) -> Result<Launched, LaunchError> {
    let mut expansion = preflight::preflight(plan)?;
    preflight::check_privilege(plan, &expansion.cells)?;
    let kernels = kernels(&expansion.cells)?;
    kernels.iter().for_each(|kernels| kernels.leave_out(&mut expansion));
    preflight::check_answerable(plan, &expansion)?;
    put_back_settings(to.sink)?;
    if let Some(text) = length::too_short(plan, &expansion.cells) {
        to.sink.accept(&Event::Noticed { text });
    }
    let run_folder = new_folder(folder, &plan.name)?;
    let _lock = RunLock::take(&run_folder)?;
    let (record, file, grounds) =
        begin(plan, &run_folder, expansion, &mut to).inspect_err(|_| {
            // Only a folder that is still empty goes: a run that did not begin leaves nothing.
            let _ = std::fs::remove_dir(&run_folder);
        })?;
    go(record, file, (grounds, kernels), &run_folder, to)
}

/// Settings that a run left changed when it was killed would falsify this one.
fn put_back_settings(sink: &mut dyn Sink) -> Result<(), LaunchError> {
    for one in UndoLog::open_default().put_back_settings()? {
        match one.outcome {
            CleanOutcome::Undone => {
                let text = format!("a run was killed; put back: {}", one.what);
                sink.accept(&Event::Noticed { text });
            }
            // What would be measured is not this machine.
            CleanOutcome::Failed(why) => {
                return Err(LaunchError::Refused(format!(
                    "a run was killed and left a setting changed: {}; putting it back failed: {why}; run `sudo {} \
                     doctor --clean`, or put it back by hand and remove its note",
                    one.what,
                    program()
                )));
            }
            CleanOutcome::AlreadyGone(_) | CleanOutcome::InUse => {}
        }
    }
    Ok(())
}

fn begin(
    plan: &Plan,
    run_folder: &Path,
    expansion: expand::Expansion,
    to: &mut Listeners<'_>,
) -> Result<(RunRecord, RunFile, Grounds), LaunchError> {
    let mut grounds = prepare(&plan.backing, run_folder, &expansion.cells, to)?;
    let card = grounds.card(length::CARD_S)?;
    let mut record = empty_record(plan, run_folder, expansion, card);
    for (identity, key) in grounds.identities().into_iter().flatten().zip(IDENTITY_KEYS) {
        record.environment.put(key, serde_json::to_string(identity).unwrap_or_default());
    }
    if let Some(mark) = origin::mark(&record.plan, &record.cells) {
        record.environment.put(origin::MARK_KEY, mark);
    }
    let file = RunFile::create(&run_folder.join(RUN_FILE), &record)?;
    Ok((record, file, grounds))
}

#[derive(Debug, Clone)]
pub struct NamedAgain {
    pub device: PathBuf,
    pub log_device: Option<PathBuf>,
    pub erase: bool,
}

pub fn resume(
    path: &Path,
    device: Option<NamedAgain>,
    mut to: Listeners<'_>,
) -> Result<Launched, LaunchError> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.into());
    let run_folder = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    let _lock = RunLock::take(&run_folder)?;
    let file = RunFile::open_to_write(path)?;
    let record = file.read()?;
    preflight::check_privilege(&record.plan, &record.cells)?;
    check_unfinished(path, &record)?;
    put_back_settings(to.sink)?;
    check_build(path, &record)?;
    for difference in changed(&record.environment) {
        to.sink.accept(&Event::Noticed { text: difference });
    }
    let backing = confirmed(&record, device)?;
    let kernels = kernels(&record.cells)?;
    let grounds = prepare(&backing, &run_folder, &record.cells, &mut to)?;
    go(record, file, (grounds, kernels), &run_folder, to)
}

fn check_build(path: &Path, record: &RunRecord) -> Result<(), LaunchError> {
    match record.build == pickfs_workload::BUILD {
        true => Ok(()),
        false => Err(LaunchError::Refused(format!(
            "{} was begun by build {}, this is {}; begin a new run, or use that build",
            path.display(),
            record.build,
            pickfs_workload::BUILD
        ))),
    }
}

fn check_unfinished(path: &Path, record: &RunRecord) -> Result<(), LaunchError> {
    match referee(&record.plan).rule(record, record.last_block(), 0.0) {
        Ruling::Continue(_) => Ok(()),
        Ruling::Stop { how, note } => Err(LaunchError::Refused(format!(
            "run {} is over ({how}: {note}); show it with {} show, or start another one",
            path.display(),
            program()
        ))),
    }
}

/// Where the pinned device of a run and its log device are kept, among the facts of its start.
const IDENTITY_KEYS: [&str; 2] = ["device.identity", "log_device.identity"];

/// The backing of a resumed run. A device that is still the pinned one holds what the run
/// left there; any other (after a reboot, every one) must be named again (rule 17).
fn confirmed(record: &RunRecord, again: Option<NamedAgain>) -> Result<BackingSpec, LaunchError> {
    let mut backing = record.plan.backing.clone();
    let BackingSpec::Device { path, erase, log_device, .. } = &mut backing else {
        return Ok(backing);
    };
    let log = log_device.as_ref().map(|log| format!(" --log-device {}", log.display()));
    let words = format!("--device {}{}", path.display(), log.unwrap_or_default());
    let other = |why: String| {
        let text = format!("{why}; to go on, name the device again: --resume RUN {words} --erase");
        LaunchError::Refused(text)
    };
    if let Some(again) = again {
        if again.log_device.is_some() != log_device.is_some() {
            return Err(other("the run was begun with other devices".into()));
        }
        (*path, *log_device, *erase) = (again.device, again.log_device, again.erase);
        let nodes = [Some(&*path), log_device.as_ref()].into_iter().flatten();
        nodes.zip(IDENTITY_KEYS).try_for_each(|(node, key)| check_same_disk(record, key, node))?;
        return Ok(backing);
    }
    for (_, key) in [Some(&*path), log_device.as_ref()].into_iter().flatten().zip(IDENTITY_KEYS) {
        let pinned = record.environment.get(key).unwrap_or_default();
        let pinned = serde_json::from_str(pinned).map_err(|error| other(error.to_string()))?;
        same_device(&pinned).map_err(|refusal| other(refusal.to_string()))?;
    }
    *erase = true;
    Ok(backing)
}

/// A device that was named again may have another node, but it must be the same disk: results
/// of two are never mixed (rule 5).
fn check_same_disk(record: &RunRecord, key: &str, path: &Path) -> Result<(), LaunchError> {
    let pinned = record.environment.get(key).unwrap_or_default();
    let Ok(pinned) = serde_json::from_str::<Identity>(pinned) else { return Ok(()) };
    let now = Identity::of(path).map_err(TargetError::from)?;
    let lasting = |disk: &Identity| {
        (disk.size_bytes, disk.wwn.clone(), disk.serial.clone(), disk.dm_uuid.clone())
    };
    match lasting(&pinned) == lasting(&now) {
        true => Ok(()),
        false => Err(LaunchError::Refused(format!(
            "{} is not the disk that the run was begun on as {} (size, world-wide name or serial number differ); \
             start another run",
            path.display(),
            pinned.path.display()
        ))),
    }
}

/// What guests of these cells boot; none where all run under this machine's kernel.
fn kernels(cells: &[Cell]) -> Result<Option<Box<dyn Kernels>>, LaunchError> {
    match engines().filter(|_| any_in_guests(cells)) {
        Some(engines) => engines.fetch(cells).map(Some).map_err(LaunchError::Refused),
        None => Ok(None),
    }
}

fn go(
    record: RunRecord,
    mut file: RunFile,
    (grounds, kernels): (Grounds, Option<Box<dyn Kernels>>),
    run_folder: &Path,
    to: Listeners<'_>,
) -> Result<Launched, LaunchError> {
    let plan = record.plan.clone();
    let (mount_point, _used) = mount_point(run_folder);
    let quiet = quiet(&plan.backing, run_folder);
    let (worker, interrupt) = (worker_program(), to.interrupt.clone());
    let means = Means { plan: plan.clone(), worker, quiet, interrupt };
    let machine =
        grounds.scratch.map(|scratch| Machine::new(means.clone(), scratch, mount_point.clone()));
    let guests = grounds.image.zip(kernels);
    let guests = guests.map(|(image, kernels)| kernels.stage(means.clone(), image));
    let mut stages = Stages { means, machine, guests, began: Instant::now() };
    announce(&record, file.path(), to.sink);
    let mut referee = referee(&plan);
    let parts = RunParts {
        stage: &mut stages,
        file: &mut file,
        sink: to.sink,
        referee: referee.as_mut(),
        interrupt: to.interrupt,
        disturbed: pickfs_analysis::disturbed::is_disturbed,
    };
    let record = run::carry_out(record, parts);
    let removed = stages.remove();
    let _ = std::fs::remove_dir(&mount_point);
    let record = record?;
    removed?;
    Ok(Launched { record, file: file.path().into() })
}

/// Where candidates are mounted: in the run's folder, or, where that lies behind a folder that not
/// everybody may pass, beside it in a place of the system. The mount is in our private namespace either
/// way, and the image stays where it is. The lock tells `pickfs doctor --clean` that the place is used.
fn mount_point(run_folder: &Path) -> (PathBuf, Option<RunLock>) {
    let inside = run_folder.join("mnt");
    if !namespace::is_private() || closed_on_the_way(run_folder).is_none() {
        return (inside, None);
    }
    run_lock::clean_left_outside();
    let name = format!("pickfs-{:016x}", RandomState::new().hash_one(run_folder));
    let is_made = |path: &PathBuf| {
        let open = || std::fs::set_permissions(path, Permissions::from_mode(0o755));
        std::fs::create_dir(path).and_then(|()| open()).is_ok()
    };
    let outside = run_lock::OUTSIDE.map(|above| Path::new(above).join(&name));
    match outside.into_iter().find(is_made) {
        Some(made) => (made.clone(), RunLock::take(&made).ok()),
        None => (inside, None),
    }
}

fn referee(plan: &Plan) -> Box<dyn Referee> {
    match plan.design.stop {
        StopRule::Blocks { .. } => Box::new(FixedBlocks(plan.design.blocks)),
        StopRule::Decided { budget_s, .. } => Box::new(Race::new(plan.design.blocks, budget_s)),
    }
}

fn announce(record: &RunRecord, file: &Path, sink: &mut dyn Sink) {
    sink.accept(&Event::RunStarted {
        run: record.name.clone(),
        file: file.display().to_string(),
        trials: record.plan.design.blocks * record.cells.len() as u32,
        expected_s: length::expected_s(&record.plan, &record.cells),
        seed: record.plan.design.seed,
        card: record.card.clone(),
        environment: record.environment.clone(),
    });
}

fn empty_record(
    plan: &Plan,
    run_folder: &Path,
    expansion: expand::Expansion,
    card: Environment,
) -> RunRecord {
    let name = run_folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    RunRecord {
        format: FORMAT,
        name,
        started: run::now_text(),
        build: pickfs_workload::BUILD.into(),
        plan: plan.clone(),
        environment: environment::capture(),
        card,
        cells: expansion.cells,
        skipped: expansion.skipped,
        trials: Vec::new(),
        ended: None,
    }
}

fn prepare(
    backing: &BackingSpec,
    run_folder: &Path,
    cells: &[Cell],
    to: &mut Listeners<'_>,
) -> Result<Grounds, LaunchError> {
    Ok(Grounds::prepare(backing, run_folder, cells, &mut |progress| {
        let share = progress.done_bytes as f64 / progress.total_bytes.max(1) as f64;
        to.sink.accept(&Event::Preparing { what: progress.what.into(), share });
        progress.stop.set(to.interrupt.is_raised());
    })?)
}

/// What must be quiet between trials: the disk at the bottom and its file system.
fn quiet(backing: &BackingSpec, run_folder: &Path) -> Quiet {
    let folders = match backing {
        BackingSpec::Loop { directory, .. } => vec![directory.as_deref().unwrap_or(run_folder)],
        BackingSpec::Directory { .. } => backing.directories(),
        BackingSpec::Ram { .. } => vec![run_folder],
        BackingSpec::Device { path, log_device, .. } => {
            let nodes = [Some(path), log_device.as_ref()].into_iter().flatten();
            let devices = nodes.filter_map(|node| BlockDevice::at(node).ok()).collect();
            return Quiet { host_folders: vec![run_folder.into()], devices };
        }
    };
    let mounts = folders.iter().filter_map(|folder| pickfs_sys::mount::mount_of(folder).ok());
    let devices = mounts.filter_map(|mount| BlockDevice::at(Path::new(&mount.source)).ok());
    let devices = devices.collect();
    Quiet { host_folders: folders.into_iter().map(Path::to_path_buf).collect(), devices }
}

/// What the machine says now and did not say when the run began.
fn changed(then: &Environment) -> Vec<String> {
    let now = environment::capture();
    let differences = then.differences(&now);
    let told = differences.iter().filter(|d| {
        !d.key.contains("at_start") && !IDENTITY_KEYS.contains(&d.key) && d.key != origin::MARK_KEY
    });
    told.map(|d| {
        let (then, now) = (d.here.unwrap_or("absent"), d.there.unwrap_or("absent"));
        format!("since the run began, {} changed from {then} to {now}", d.key)
    })
    .collect()
}

/// The program that workers run: this one, also when its file was replaced since it started.
pub fn worker_program() -> PathBuf {
    format!("/proc/{}/exe", std::process::id()).into()
}

/// `2026-11-21-quick`, or with a number behind it where that is taken.
pub fn new_folder(folder: &Path, name: &str) -> Result<PathBuf, LaunchError> {
    let folder = &std::path::absolute(folder).unwrap_or_else(|_| folder.into());
    let error = |path: &Path, cause| {
        let path = path.display();
        LaunchError::Refused(format!("cannot make {path}: {cause}; name another folder with --out"))
    };
    std::fs::create_dir_all(folder).map_err(|source| error(folder, source))?;
    let day: String = run::now_text().chars().take(10).collect();
    let mut number = 1;
    loop {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{day}-{name}{suffix}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(source) if source.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(error(&path, source)),
        }
    }
}
