//! `pickfs doctor`: what this machine can test.

use pickfs_guest::{ENGINES, Engine, PackageCache, engine::find};
use pickfs_lab::{
    doctor::diagnose,
    guest_check::{CheckResult, Checked, check_guests},
    interrupt::Interrupt,
    launch::worker_program,
};
use pickfs_model::quantity::bytes_text;
use pickfs_report::terminal::doctor_screen;

use anyhow::Context;

use crate::{
    args::DoctorArgs, commands::guest_modules::build_modules, exit::Exit, screen::columns,
};

/// Long enough to meet a timer tick of the host a few hundred times.
const WATCH_S: f64 = 2.0;

/// Prints the diagnosis.
pub fn doctor(args: &DoctorArgs) -> anyhow::Result<Exit> {
    if args.guests {
        return guests(args);
    }
    let diagnosis = diagnose(WATCH_S);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&diagnosis)?),
        false => print!("{}", doctor_screen(&diagnosis, columns())),
    }
    Ok(Exit::Done)
}

/// Tries each file system in an engine, one line each as it goes.
fn guests(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let engine = engine_of(args)?;
    let cache = PackageCache::open_default()?;
    let kernel = engine.kernel(&cache, None)?;
    if args.build_modules {
        build_modules(engine, &cache, &kernel, &args.names)?;
    }
    // What was built now is one of its modules.
    let kernel = engine.kernel(&cache, None)?;
    println!("{}: {}, kernel {}", engine.name(), engine.about(), kernel.release);
    let (worker, interrupt) = (worker_program()?, Interrupt::on_signals()?);
    let folder = std::env::current_dir()?;
    let mut tell = |checked: &Checked| println!("{}", line_of(checked));
    let all = check_guests(engine, &kernel, &worker, &folder, &args.names, &interrupt, &mut tell)?;
    let has_failed = |checked: &Checked| matches!(checked.result, CheckResult::Failed(_));
    match all.iter().any(has_failed) {
        true => Ok(Exit::TrialsFailed),
        false => Ok(Exit::Done),
    }
}

fn engine_of(args: &DoctorArgs) -> anyhow::Result<&'static dyn Engine> {
    let Some(name) = &args.engine else {
        let mut fitting = ENGINES.iter().copied().filter(|engine| engine.obstacle().is_none());
        return fitting.next().context("no engine for guests runs on this machine");
    };
    let known = || ENGINES.iter().map(|engine| engine.name()).collect::<Vec<_>>().join(", ");
    let engine =
        find(name).with_context(|| format!("no engine `{name}`; there are {}", known()))?;
    match engine.obstacle() {
        Some(why) => anyhow::bail!("{name} does not run here: {why}"),
        None => Ok(engine),
    }
}

fn line_of(checked: &Checked) -> String {
    let (word, text) = match &checked.result {
        CheckResult::Kept { files, bytes, driver, block_bytes } => {
            let compared = bytes_text(*bytes);
            let text = format!(
                "{files} files, {compared} compared; driver {driver}, blocks of {block_bytes} bytes, \
                 {:.1} s",
                checked.took_s
            );
            ("ok  ", text)
        }
        CheckResult::Skipped(reason) => ("skip", reason.clone()),
        CheckResult::Failed(reason) => ("FAIL", reason.clone()),
    };
    format!("  {word} {:<14} {text}", checked.fs)
}
