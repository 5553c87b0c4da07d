use anyhow::Context;
use pickfs_candidate::{
    fs::{FileSystem, find},
    knob,
};
use pickfs_guest::{
    ENGINES, Engine, PackageCache, qemu_program, rebuilt,
    trials::{
        check::{CheckResult, Checked, check},
        tour::Means,
    },
};
use pickfs_lab::{interrupt::Interrupt, launch::worker_program};
use pickfs_record::quantity::bytes_text;

use super::fetch;
use crate::{args::DoctorArgs, exit::Exit, terminal};

pub fn guests(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let cache = PackageCache::open_default()?.asking(fetch::ask());
    let engine = engine_of(args.engine.as_deref().unwrap_or("qemu"), &cache)?;
    let mut kernel = engine.kernel(&cache, args.kernel.as_deref())?;
    if args.build_modules {
        let rows = args.names.iter().filter_map(|name| find(name));
        let types: Vec<_> = rows.map(FileSystem::type_in_a_guest).collect();
        let is_asked = |fs_type: &str| args.names.is_empty() || types.contains(&fs_type);
        rebuilt::build(&cache, &kernel, &is_asked, &mut |text| terminal::line(text))?;
        // What was built now is one of its modules.
        kernel = engine.kernel(&cache, args.kernel.as_deref())?;
    }
    terminal::line(&format!("{}: {}, kernel {}", engine.name(), engine.about(), kernel.release));
    let (worker, interrupt) = (worker_program(), Interrupt::on_signals()?);
    let folder = std::env::current_dir()?;
    let mut tell = |checked: &Checked| terminal::line(&line_of(checked));
    let (kernel, cache, worker, interrupt) = (&kernel, &cache, &worker, &interrupt);
    // Two processors would spin for each other where this machine has others to serve.
    let means = Means { engine, kernel, cache, worker, processors: 1, interrupt };
    let all = check(means, &args.names, &folder, &mut tell)?;
    terminal::line(&total_of(&all));
    let has_failed = |checked: &Checked| matches!(checked.result, CheckResult::Failed(_));
    match all.iter().any(has_failed) {
        true => Ok(Exit::TrialsFailed),
        false => Ok(Exit::Done),
    }
}

/// By the words of the knob; whether KVM runs a guest here is tried with QEMU itself.
pub fn engine_of(name: &str, cache: &PackageCache) -> anyhow::Result<Engine> {
    knob::find(knob::ENGINE)?.check(name)?;
    if let Some(engine) = Engine::find(name) {
        return Ok(engine);
    }
    anyhow::ensure!(matches!(name, "qemu" | "auto"), "{name} is no guest; use qemu");
    qemu_program::get(cache)?;
    let mut fitting = ENGINES.into_iter().filter(|engine| engine.obstacle().is_none());
    fitting.next().context("no engine for guests runs on this machine")
}

fn total_of(all: &[Checked]) -> String {
    let count = |fits: fn(&CheckResult) -> bool| all.iter().filter(|c| fits(&c.result)).count();
    let kept = count(|result| matches!(result, CheckResult::Kept { .. }));
    let skipped = count(|result| matches!(result, CheckResult::Skipped(_)));
    let took_s: f64 = all.iter().map(|checked| checked.took_s).sum();
    let failed = all.len() - kept - skipped;
    format!("{kept} kept all, {skipped} skipped, {failed} failed; {took_s:.0} s in all")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_counts_rows_and_adds_their_time() {
        let row = |result| Checked { fs: "x".into(), result, took_s: 2.5 };
        let (driver, block_bytes) = ("x".to_owned(), "4096".to_owned());
        let kept = CheckResult::Kept { files: 500, bytes: 1, driver, block_bytes };
        let all = [
            row(kept),
            row(CheckResult::Skipped("no".into())),
            row(CheckResult::Failed("?".into())),
        ];
        assert_eq!(total_of(&all), "1 kept all, 1 skipped, 1 failed; 8 s in all");
    }
}
