use std::time::Instant;

use anyhow::Context;
use pickfs_candidate::{
    fs::{FILE_SYSTEMS, FileSystem, find},
    knob,
};
use pickfs_features::{
    Asked, KEEPS, Listener, TORN_TIME,
    answers::{FeatureRow, Presence, Verdict},
    capabilities,
    guests::{Request, survey},
};
use pickfs_guest::{ENGINES, Engine, PackageCache, qemu_program, rebuilt, trials::tour::Means};
use pickfs_lab::{interrupt::Interrupt, launch::worker_program};
use pickfs_record::{BackingSpec, CandidateSpec};

use super::fetch;
use crate::{args::DoctorArgs, exit::Exit, terminal};

/// The image that every file system is made on: XFS wants 300 MiB.
const IMAGE_BYTES: u64 = 320 << 20;
const WORDS: [&str; 3] = ["ok  ", "skip", "FAIL"];

/// One question of `features`, in guests.
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
    // Two processors would spin for each other where this machine has others to serve.
    let (processors, interrupt) = (1, &interrupt);
    let means =
        Means { engine, kernel: &kernel, cache: &cache, worker: &worker, processors, interrupt };
    let request = Request {
        means,
        candidates: &candidates(&args.names)?,
        backing: &BackingSpec::Loop { size_bytes: IMAGE_BYTES, directory: None },
        folder: &std::env::current_dir()?,
        torn_time: TORN_TIME,
        only: Some(KEEPS),
    };
    let mut teller = Teller { interrupt, began: Instant::now() };
    let began = teller.began;
    let (rows, left) = survey(&request, &mut teller)?;
    let count = |place| rows.iter().filter(|row| found(row).0 == place).count();
    let ([kept, skipped, failed], took_s) = ([0, 1, 2].map(count), began.elapsed().as_secs_f64());
    terminal::line(&format!(
        "{kept} kept all, {skipped} skipped, {failed} failed; {took_s:.0} s in all"
    ));
    if interrupt.is_raised() {
        return Ok(Exit::Interrupted);
    }
    left.map_or(Ok(()), Err)?;
    match failed {
        0 => Ok(Exit::Done),
        _ => Ok(Exit::TrialsFailed),
    }
}

/// All file systems where none is named.
fn candidates(names: &[String]) -> anyhow::Result<Vec<(CandidateSpec, &'static FileSystem)>> {
    let asked = |row: &&FileSystem| names.is_empty() || names.iter().any(|name| name == row.name);
    let mut rows: Vec<&'static FileSystem> = FILE_SYSTEMS.iter().filter(asked).collect();
    // Those have a guest of their own, when the shared one is over.
    rows.sort_by_key(|row| row.is_made_inside());
    rows.into_iter().map(|row| Ok((row.name.parse()?, row))).collect()
}

struct Teller<'a> {
    interrupt: &'a Interrupt,
    /// Of the row, with the boot of its guest where it is the first.
    began: Instant,
}

impl Listener for Teller<'_> {
    fn hear(&mut self, asked: Asked) {
        let row = match asked {
            Asked::Row(row) => row,
            Asked::Again(candidate, why) => {
                return terminal::line(&format!("  hung {:<14} {why}; once more", candidate.fs));
            }
            _ => return,
        };
        let (place, text) = found(row);
        let (word, took_s) = (WORDS[place], self.began.elapsed().as_secs_f64());
        terminal::line(&format!("  {word} {:<14} {text}, {took_s:.1} s", row.fs));
        self.began = Instant::now();
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_raised()
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

/// Which of [`WORDS`] a file system gets, and what is to be said of it.
fn found(row: &FeatureRow) -> (usize, String) {
    let place = capabilities().iter().position(|capability| capability.key == KEEPS);
    let answer = place.and_then(|place| row.answers.get(place));
    match (&row.presence, answer) {
        (Presence::Asked { driver, .. }, Some(answer)) if answer.verdict == Verdict::Yes => {
            (0, format!("{}, driver {driver}", answer.words))
        }
        (Presence::Missing { reason, remedy }, _) => (1, format!("{reason}; {remedy}")),
        (Presence::Failed { reason }, _) => (2, reason.clone()),
        (Presence::Asked { .. }, answer) => {
            (2, answer.map_or_else(|| "no answer".into(), |answer| answer.words.clone()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_features::answers::Answer;

    #[test]
    fn what_was_asked_and_lost_bytes_has_failed() {
        let row = |presence, verdict| {
            let answers = capabilities().into_iter().map(|_| Answer::new(verdict, "500 files"));
            let (answers, label, fs) = (answers.collect(), "x".into(), "x".into());
            FeatureRow { label, fs, presence, answers, origin: None, classification: None }
        };
        let asked = || {
            let [driver, options, engine, kernel] = ["x"; 4].map(String::from);
            Presence::Asked { driver, options, engine, kernel }
        };
        assert_eq!(found(&row(asked(), Verdict::Yes)), (0, "500 files, driver x".into()));
        assert_eq!(found(&row(asked(), Verdict::Failed)), (2, "500 files".into()));
        let missing = Presence::Missing { reason: "no".into(), remedy: "yes".into() };
        assert_eq!(found(&row(missing, Verdict::Yes)), (1, "no; yes".into()));
    }
}
