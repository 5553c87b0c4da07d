use std::{
    env,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::bail;
use pickfs_analysis::trust::trust;
use pickfs_lab::{
    interrupt::Interrupt,
    launch::{Launched, Listeners, NamedAgain, RUN_FILE, launch, resume},
    plans::{TOUR, built_in},
    preflight,
    run_lock::RunLock,
    sink::Sink,
};
use pickfs_record::{
    BackingSpec, Plan,
    typed::{program, quoted},
};

use crate::{
    agree,
    args::{Format, RunArgs},
    commands::{compare, exec_fio, read_run, report, run_path},
    exit::{Exit, no_answer},
    extras,
    overrides::chosen_plan,
    private,
    progress::{JsonLines, Progress},
    screen, terminal,
};

pub fn run(args: &RunArgs) -> anyhow::Result<Exit> {
    if args.as_host {
        return extras::as_host(args);
    }
    if args.hosts.is_some() {
        return extras::on_hosts(args);
    }
    if args.choice.plan == TOUR.0 {
        return tour(args);
    }
    if let Some(earlier) = &args.again {
        return again(earlier, args);
    }
    let launched = perform(args)?;
    finish(&launched, args.json)
}

/// Runs the plan of a run again in another order, which has another carry-over, and says what became of its choices.
fn again(earlier: &Path, args: &RunArgs) -> anyhow::Result<Exit> {
    let (_, before) = read_run(earlier)?;
    let plan = || {
        let named = &args.choice.changes;
        let nodes = [named.device.as_deref(), named.log_device.as_deref()];
        agree::to_run(&run_path(earlier), &before, args.yes)?;
        let mut plan = renamed(before.plan.clone(), nodes, named.erase)?;
        plan.design.seed = named.seed.unwrap_or_else(pickfs_lab::plan_file::drawn_seed);
        Ok(plan)
    };
    let launched = perform_plan(plan, &args.out, args.json)?;
    let exit = finish(&launched, args.json)?;
    if !args.json {
        terminal::put("\n");
    }
    compare::print(&[(&before, earlier), (&launched.record, &launched.file)], args.json)?;
    Ok(exit)
}

/// A device is named again each time: a stored name may be another disk by now, and a stored
/// consent was for then.
fn renamed(
    mut plan: Plan,
    [device, log]: [Option<&Path>; 2],
    may_erase: bool,
) -> anyhow::Result<Plan> {
    match (&mut plan.backing, device) {
        (BackingSpec::Device { path, erase, log_device, .. }, Some(node)) => {
            match (log_device.as_mut(), log) {
                (Some(path), Some(node)) => *path = std::path::absolute(node)?,
                (Some(path), None) => bail!(
                    "the plan put logs on {}, and all on it would be lost; name the device again with \
                     --log-device",
                    path.display()
                ),
                (None, Some(_)) => bail!("the plan ran on no log device; leave --log-device out"),
                (None, None) => {}
            }
            *path = std::path::absolute(node)?;
            *erase = may_erase;
        }
        (BackingSpec::Device { path, .. }, None) => bail!(
            "the plan ran on {}, and all on it would be lost; name the device again with --device",
            path.display()
        ),
        (_, Some(_)) => bail!("the plan ran on no device; leave --device out"),
        (_, None) => {}
    }
    Ok(plan)
}

/// Runs each stop; an interrupt ends the tour, a failed trial does not. A tour asks nothing: how its stops are answered
/// does not show in the exit code.
fn tour(args: &RunArgs) -> anyhow::Result<Exit> {
    let mut worst = Exit::Done;
    // Outside a stop may have ended before the one that entered: inside each reads its own words.
    private::plan()?;
    for stop in TOUR.1 {
        terminal::tell(&format!("\n=== {stop} ==="));
        let mut words = args.clone();
        words.choice.plan = (*stop).into();
        match run(&words) {
            Err(error) => match no_answer(&error) {
                Some(why) => terminal::tell(screen::no_answer_text(why).trim_end()),
                None => return Err(error),
            },
            Ok(Exit::Interrupted) => return Ok(Exit::Interrupted),
            Ok(failed @ (Exit::Failed | Exit::TrialsFailed)) => worst = failed,
            Ok(_) => {}
        }
    }
    Ok(worst)
}

/// Runs a plan, or goes on with a run.
fn perform(args: &RunArgs) -> anyhow::Result<Launched> {
    let Some(path) = &args.resume else {
        return perform_plan(|| asked(args), &args.out, args.json);
    };
    let begun = pickfs_store::RunFile::open(&run_path(path))?.read()?;
    agree::to_run(&run_path(path), &begun, args.yes)?;
    prepared(&begun.plan, None, || Some(path.clone()))?;
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

/// The plan that the words ask for, shown and agreed to where it came from elsewhere.
pub fn asked(args: &RunArgs) -> anyhow::Result<Plan> {
    let own = || built_in(&args.choice.plan).is_some();
    let (plan, files) = match &args.fio[..] {
        [] if own() => return chosen_plan(&args.choice),
        [] => (chosen_plan(&args.choice)?, vec![PathBuf::from(&args.choice.plan)]),
        jobs => (exec_fio::plan(jobs, &args.choice.changes)?, jobs.to_vec()),
    };
    let cells = preflight::preflight(&plan)?.cells;
    files.iter().try_for_each(|file| agree::to_file(file, &plan, &cells, args.yes))?;
    Ok(plan)
}

/// Reads words once, outside: the program in the private namespaces gets the plan itself.
pub fn perform_plan(
    words: impl FnOnce() -> anyhow::Result<Plan>,
    out: &Path,
    json: bool,
) -> anyhow::Result<Launched> {
    perform_heard(words, out, |plan, _| listener(json, plan))
}

/// The same with somebody else to listen.
pub fn perform_heard(
    words: impl FnOnce() -> anyhow::Result<Plan>,
    out: &Path,
    listener: impl FnOnce(&Plan, &Interrupt) -> Box<dyn Sink>,
) -> anyhow::Result<Launched> {
    let plan = match private::plan()? {
        Some(plan) => plan,
        None => {
            let (plan, began) = (words()?, SystemTime::now());
            prepared(&plan, Some(&plan), || begun_since(out, began))?;
            plan
        }
    };
    let interrupt = Interrupt::on_signals()?;
    let mut sink = listener(&plan, &interrupt);
    let to = Listeners { sink: sink.as_mut(), interrupt: &interrupt };
    Ok(launch(&plan, out, to)?)
}

fn prepared(
    plan: &Plan,
    handed: Option<&Plan>,
    of_killed: impl FnOnce() -> Option<PathBuf>,
) -> anyhow::Result<()> {
    extras::bring_qemu(plan);
    let expansion = preflight::preflight(plan)?;
    preflight::check_answerable(plan, &expansion)?;
    let cells = expansion.cells;
    preflight::check_privilege(plan, &cells)?;
    // Who may be asked is here, not behind the private namespace.
    extras::fetch_kernels(&cells)?;
    // Mounts happen in a private namespace, so that a killed run leaves nothing. Who is not root runs
    // guests only, which mount nothing here.
    let mounts = !matches!(plan.backing, BackingSpec::Directory { .. });
    if !mounts || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    private::enter(handed, || match of_killed() {
        Some(run) => {
            let (run, program) = (quoted(&run.to_string_lossy()), program());
            format!("; finished trials are kept, go on with {program} --resume {run}")
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
    let trust = trust(&launched.record, &findings);
    if json {
        terminal::put(&format!("{}\n", serde_json::to_string(&findings)?));
        if let Some(trust) = &trust {
            terminal::put(&format!("{}\n", serde_json::to_string(trust)?));
        }
    } else {
        let page = written.first().map(AsRef::as_ref);
        screen::print_run(&launched.record, &findings, folder, page, false);
    }
    // Which of two names of one candidate is faster is no question.
    let endings = if trust.is_some() { &[] } else { &findings.endings[..] };
    Ok(Exit::of_run(&launched.record, endings))
}

/// Under sudo, the run's folder and its files, which we made, belong to who called it.
pub fn give_to_caller(folder: &Path) {
    let id = |name: &str| env::var(name).ok()?.parse::<u32>().ok();
    let (Some(user), Some(group)) = (id("SUDO_UID"), id("SUDO_GID")) else { return };
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path());
    for path in files.chain([folder.to_owned()]) {
        let _ = std::os::unix::fs::lchown(&path, Some(user), Some(group));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pickfs_record::DeviceState;
    use pickfs_testkit::{FakeRun, fake_run};

    #[test]
    fn a_device_is_named_again_and_its_consent_given_again() {
        let image = fake_run(&FakeRun::default()).plan;
        let (path, state) = ("/dev/old".into(), DeviceState::Filled);
        let (size_bytes, log_device) = (None, Some("/dev/old-log".into()));
        let backing = BackingSpec::Device { path, erase: true, state, size_bytes, log_device };
        let device = Plan { backing, ..image.clone() };
        let again = |plan: &Plan, nodes: [Option<&str>; 2]| {
            renamed(plan.clone(), nodes.map(|node| node.map(Path::new)), false)
        };
        for (nodes, word) in
            [([None, None], "--device"), ([Some("/dev/new"), None], "--log-device")]
        {
            let refused = again(&device, nodes).unwrap_err().to_string();
            assert!(refused.contains("/dev/old") && refused.contains(word), "{refused}");
        }
        let new = again(&device, [Some("/dev/new"), Some("/dev/log")]).unwrap();
        let BackingSpec::Device { path, erase, log_device, .. } = new.backing else { panic!() };
        assert_eq!((path.to_str(), erase), (Some("/dev/new"), false));
        assert_eq!(log_device.unwrap().to_str(), Some("/dev/log"));
        assert!(again(&image, [Some("/dev/new"), None]).is_err());
        assert_eq!(again(&image, [None, None]).unwrap(), image);
    }
}
