use std::{
    env,
    path::{Path, PathBuf},
    time::SystemTime,
};

use pickfs_lab::{
    interrupt::{Interrupt, is_interrupted},
    kernels::{self, Kernels},
    launch::{Launched, Listeners, NamedAgain, RUN_FILE, launch, resume},
    plans::built_in,
    preflight,
    run_lock::RunLock,
    sink::Sink,
};
use pickfs_model::{
    BackingSpec, Outcome, Plan, RunRecord, TrialRecord,
    typed::{program, quoted},
};

use crate::{
    agree,
    args::{Format, RunArgs},
    commands::{exec_fio, report, run_path},
    exit::Exit,
    fetch,
    overrides::chosen_plan,
    private,
    progress::{JsonLines, Progress},
    screen, terminal,
};

pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    let launched = perform(args)?;
    finish(&launched, args.json)
}

pub fn perform(args: &RunArgs) -> anyhow::Result<Launched> {
    if !args.fio.is_empty() {
        let plan = exec_fio::plan(&args.fio, &args.choice.changes)?;
        let cells = preflight::preflight(&plan)?.cells;
        args.fio.iter().try_for_each(|path| agree::to_file(path, &plan, &cells, args.yes))?;
        return perform_plan(&plan, &args.out, args.json);
    }
    let Some(path) = &args.resume else {
        let plan = chosen_plan(&args.choice)?;
        if built_in(&args.choice.plan).is_none() {
            let cells = preflight::preflight(&plan)?.cells;
            agree::to_file(Path::new(&args.choice.plan), &plan, &cells, args.yes)?;
        }
        return perform_plan(&plan, &args.out, args.json);
    };
    let begun = pickfs_store::RunFile::open(&run_path(path))?.read()?;
    agree::to_run(&run_path(path), &begun, args.yes)?;
    prepared(&begun.plan, || Some(path.clone()))?;
    let interrupt = Interrupt::on_signals()?;
    let mut sink = listener(args.json, &begun.plan);
    let to = Listeners { sink: sink.as_mut(), interrupt: &interrupt };
    let named = args.choice.changes.clone();
    let device = named.device.map(|device| NamedAgain {
        device,
        log_device: named.log_device,
        erase: named.erase,
    });
    Ok(resume(&run_path(path), device, to)?)
}

pub fn perform_plan(plan: &Plan, out: &Path, json: bool) -> anyhow::Result<Launched> {
    let began = SystemTime::now();
    prepared(plan, || begun_since(out, began))?;
    let interrupt = Interrupt::on_signals()?;
    let mut sink = listener(json, plan);
    let to = Listeners { sink: sink.as_mut(), interrupt: &interrupt };
    Ok(launch(plan, out, to)?)
}

fn prepared(plan: &Plan, of_killed: impl FnOnce() -> Option<PathBuf>) -> anyhow::Result<()> {
    kernels::bring_qemu(plan, fetch::ask());
    let expansion = preflight::preflight(plan)?;
    preflight::check_answerable(plan, &expansion)?;
    let cells = expansion.cells;
    preflight::check_privilege(plan, &cells)?;
    // Who may be asked is here, not behind the private namespace.
    Kernels::fetch(&cells, Some(fetch::ask()))?;
    // Mounts happen in a private namespace, so that a killed run leaves nothing. Who is not root runs
    // guests only, which mount nothing here.
    let mounts = !matches!(plan.backing, BackingSpec::Directory { .. });
    if !mounts || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    private::enter(|| match of_killed() {
        Some(run) => {
            let (run, program) = (quoted(&run.to_string_lossy()), program());
            format!("; finished trials are kept, go on with {program} run --resume {run}")
        }
        None => "; no trial was finished".into(),
    })
}

/// The run that was written in a folder since a moment, and that no lab holds.
fn begun_since(out: &Path, began: SystemTime) -> Option<PathBuf> {
    let written = |run: &PathBuf| run.join(RUN_FILE).metadata().and_then(|about| about.modified());
    let folders = std::fs::read_dir(out).ok()?.flatten().map(|entry| entry.path());
    let ours = folders.filter(|run| written(run).is_ok_and(|at| at >= began));
    ours.filter(|run| RunLock::take(run).is_ok()).max_by_key(|run| written(run).ok())
}

fn listener(json: bool, plan: &Plan) -> Box<dyn Sink> {
    if json { Box::new(JsonLines) } else { Box::new(Progress::new(plan)) }
}

pub fn finish(launched: &Launched, json: bool) -> anyhow::Result<Exit> {
    let findings = pickfs_analysis::findings(&launched.record);
    let folder = launched.file.parent().unwrap_or(Path::new("."));
    let written =
        report::write(&launched.file, &launched.record, &findings, &[Format::Html], folder)?;
    give_to_caller(folder);
    if json {
        terminal::put(&format!("{}\n", serde_json::to_string(&findings)?));
    } else {
        let page = written.first().map(AsRef::as_ref);
        screen::print_run(&launched.record, &findings, folder, page, false);
    }
    Ok(match failed(&launched.record) {
        Exit::Done => Exit::of_endings(&findings.endings),
        failed => failed,
    })
}

/// A failed trial and an interruption show in the exit code, whatever the answer.
pub fn failed(run: &RunRecord) -> Exit {
    let failed = |trial: &TrialRecord| matches!(trial.outcome, Outcome::Failed { .. });
    let failed = run.trials.iter().any(|trial| failed(trial) && !is_interrupted(trial));
    match &run.ended {
        Some(end) if end.how == "interrupted" => Exit::Interrupted,
        Some(end) if end.how == "failed" => Exit::TrialsFailed,
        _ if failed => Exit::TrialsFailed,
        _ => Exit::Done,
    }
}

/// Under sudo, the run's folder and its files, which we made, belong to who called it.
fn give_to_caller(folder: &Path) {
    let id = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
    let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) else { return };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    for path in files.chain([folder.to_owned()]) {
        let _ = std::os::unix::fs::lchown(&path, Some(user), Some(group));
    }
}
