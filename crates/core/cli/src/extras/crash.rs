use std::{
    collections::BTreeSet,
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use pickfs_candidate::fs::{Ground, find, names};
use pickfs_crash::{
    Found,
    ground::Means,
    model::{Crash, Device},
    oracle::Subject,
    report::{Cell, blind, document, json, seen},
    session::{Bench, Listener, Request, SessionError, Writer, perform_all},
};
use pickfs_lab::{interrupt::Interrupt, launch::worker_program, run::now_text};
use pickfs_record::{
    CandidateSpec,
    quantity::{parse_bytes, parse_duration_ns},
};
use pickfs_report::document::{html::html, markdown::markdown};
use pickfs_sys::{block::BlockDevice, mount::mount_of};

use crate::{commands::crash::CrashArgs, exit::Exit, overrides::named_plan, private, terminal};

/// So many of the first in the table of file systems, where a user names none.
const CANDIDATES: usize = 3;
const OPTIONS: &str = include_str!("crash-options.txt");
const WRITERS: [&str; 14] = [
    "journal/append/fdatasync",
    "journal/pwrite/fdatasync",
    "journal/pwrite/o-dsync",
    "journal/mmap/msync",
    "journal/direct/o-dsync",
    "journal/append/none",
    "journal/pwrite/sync-file-range",
    "journal/direct/none",
    "queue/msync",
    "queue/none",
    "fix/journal-fdatasync",
    "pair/fdatasync",
    "save/both",
    "save/file",
];
const SIZE_BYTES: u64 = 64 << 20;
const REDRAW_EACH: Duration = Duration::from_millis(200);

pub fn crash(args: &CrashArgs) -> anyhow::Result<Exit> {
    let requests = if args.of.is_some() { Vec::new() } else { requests(args)? };
    let is_others = !args.command.is_empty() || args.of.is_some() || args.log.is_some();
    if args.check.is_some() && !is_others {
        bail!("--check is for a command: pickfs crash --check CMD -- COMMAND");
    }
    if !rustix::process::geteuid().is_root() {
        bail!("only root makes and mounts file systems; run with sudo");
    }
    private::enter(None, || "; what was mounted is gone, a folder of the session may stay".into())?;
    let line = Line::new()?;
    let folder = OwnFolder::make(&args.out)?;
    let means = Means { program: worker_program(), folder: folder.0.join("work") };
    match &args.of {
        Some(recording) => looked_again(args, &means, recording, &line),
        None => explored(args, &means, &requests, &folder.0, &line),
    }
}

fn explored(
    args: &CrashArgs,
    means: &Means,
    requests: &[Request],
    folder: &Path,
    line: &Line,
) -> anyhow::Result<Exit> {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = args.at_once.unwrap_or_else(processors);
    let sessions = perform_all(means, requests, at_once, Some(folder), line);
    line.clear();
    let (mut cells, mut has_failed, mut not_explored) = (Vec::new(), false, 0);
    for (request, session) in requests.iter().zip(sessions) {
        match session {
            Ok(session) => {
                let (writer, label) = (request.writer.name(), &request.candidate.label);
                if let Some(saved) = session.saved {
                    let saved = saved.display();
                    terminal::tell(&format!(
                        "{writer} on {label} lost something: its states can be made again, --of {saved}"
                    ));
                }
                for state in &session.unsteady {
                    has_failed = true;
                    terminal::tell(&format!("{writer} on {label}, not twice the same: {state}"));
                }
                cells.extend(session.cells);
            }
            Err(SessionError::Interrupted) => {}
            Err(error) => {
                (has_failed, not_explored) = (true, not_explored + 1);
                let (writer, label) = (request.writer.name(), &request.candidate.label);
                terminal::tell(&format!("{writer} on {label} was not explored: {error}"));
            }
        }
    }
    if line.interrupt.is_raised() {
        terminal::tell("interrupted: what was mounted is taken away, no table is written");
        return Ok(Exit::Interrupted);
    }
    if cells.is_empty() {
        return Ok(Exit::Failed);
    }
    write(args, &cells, not_explored)?;
    terminal::show(&document(&cells, not_explored));
    let seen = if has_failed { Vec::new() } else { seen(&cells) };
    if !seen.is_empty() {
        pickfs_lab::survived::note(&seen)?;
        terminal::tell("runs on this kernel go by what was measured here, and say so");
    }
    if blind(&cells).is_some() {
        return Ok(Exit::Failed);
    }
    let is_broken = |cell: &Cell| cell.is_promised() && !cell.kept_all();
    Ok(if has_failed || cells.iter().any(is_broken) { Exit::TrialsFailed } else { Exit::Done })
}

fn write(args: &CrashArgs, cells: &[Cell], not_explored: usize) -> anyhow::Result<()> {
    let put = |path: &Option<PathBuf>, text: &dyn Fn() -> anyhow::Result<String>| match path {
        None => Ok(()),
        Some(path) => {
            fs::write(path, text()?).with_context(|| format!("cannot write {}", path.display()))
        }
    };
    put(&args.markdown, &|| Ok(markdown(&document(cells, not_explored))))?;
    put(&args.html, &|| Ok(html(&document(cells, not_explored))))?;
    put(&args.json, &|| Ok(serde_json::to_string_pretty(&json(cells, not_explored))? + "\n"))
}

fn looked_again(
    args: &CrashArgs,
    means: &Means,
    recording: &Path,
    line: &Line,
) -> anyhow::Result<Exit> {
    let mut bench = Bench::open(means, recording, &shell(&args.check), line)?;
    let mut is_broken = false;
    for (text, number) in args.states_again.iter().zip(0..) {
        let state = text.parse().with_context(|| format!("--state {text}"))?;
        let image = args.save.as_deref().filter(|_| number == 0);
        let found = bench.look(&state, image)?;
        is_broken |= found.is_fault();
        terminal::line(&format!("{text}: {} due, {} there", found.due, found.survived));
        found.losses.iter().for_each(|loss| terminal::line(&format!("  {loss}")));
    }
    bench.end()?;
    Ok(if is_broken { Exit::TrialsFailed } else { Exit::Done })
}

fn requests(args: &CrashArgs) -> anyhow::Result<Vec<Request>> {
    let (crashes, writers) = (crashes(args)?, writers(args)?);
    let exposed_for = args.exposed.as_deref().map_or(Ok(0), parse_duration_ns);
    let exposed_for = Duration::from_nanos(exposed_for.context("--exposed")?);
    let size = args.size.as_deref().map(parse_bytes).transpose().context("--size")?;
    let mut requests = Vec::new();
    for candidate in candidates(args)? {
        let least = find(&candidate.fs).map_or(0, |row| row.minimum_bytes);
        let image_bytes = size.unwrap_or(SIZE_BYTES.max(least)).next_multiple_of(4096);
        requests.extend(writers.iter().map(|writer| Request {
            candidate: candidate.clone(),
            writer: writer.clone(),
            check: shell(&args.check),
            image_bytes,
            records: args.records,
            exposed_for,
            crashes: crashes.clone(),
            states: args.states as usize,
            seed: args.seed,
            checker_each: args.fsck_each,
            keeps_all: args.keep,
        }));
    }
    Ok(requests)
}

fn candidates(args: &CrashArgs) -> anyhow::Result<Vec<CandidateSpec>> {
    let mut words: Vec<&str> = args.candidates.iter().map(String::as_str).collect();
    if args.options {
        words.extend(options());
    }
    if words.is_empty() && args.plan.is_empty() {
        words.extend(names().into_iter().take(CANDIDATES));
    }
    let parsed: Result<Vec<CandidateSpec>, _> = words.into_iter().map(str::parse).collect();
    let mut candidates = parsed?;
    for plan in &args.plan {
        let is_on_disk = |candidate: &CandidateSpec| {
            find(&candidate.fs).is_some_and(|row| row.ground == Ground::BlockDevice)
        };
        candidates.extend(named_plan(plan)?.candidates.into_iter().filter(is_on_disk));
    }
    let mut known = BTreeSet::new();
    candidates.retain(|candidate| known.insert(candidate.to_string()));
    Ok(candidates)
}

fn options<'a>() -> impl Iterator<Item = &'a str> {
    OPTIONS.lines().filter(|line| !line.starts_with('#'))
}

fn writers(args: &CrashArgs) -> anyhow::Result<Vec<Writer>> {
    if !args.command.is_empty() {
        let (words, before) = (args.command.clone(), shell(&args.setup));
        return Ok(vec![Writer::Program { words, before }]);
    }
    if let Some(file) = &args.log {
        let file = file.canonicalize().with_context(|| format!("--log {}", file.display()))?;
        return Ok(vec![Writer::Log(file)]);
    }
    let mut words = args.writer.clone();
    if words.is_empty() {
        words.extend(WRITERS.map(String::from));
    }
    words.iter().map(|word| Ok(Writer::Ours(subject(word)?.to_string()))).collect()
}

fn shell(text: &Option<String>) -> Vec<String> {
    let words = |text: &String| vec!["sh".into(), "-c".into(), text.clone()];
    text.as_ref().map_or_else(Vec::new, words)
}

fn subject(word: &str) -> anyhow::Result<Subject> {
    word.parse().map_err(|error| anyhow!("--writer: {error}"))
}

fn crashes(args: &CrashArgs) -> anyhow::Result<Vec<String>> {
    let unit = match args.unit.as_str() {
        "physical" => physical_sector().to_string(),
        word => word.to_owned(),
    };
    let flush = if args.lying { "lying" } else { "honest" };
    let mut all = vec![Crash::ProcessKill, Crash::KernelCrash];
    for cache in &args.cache {
        let cache = if cache == "any" { "any-order" } else { cache };
        let device = format!("{cache}/{unit}/{flush}").parse::<Device>();
        let device = device.map_err(|error| anyhow!("--cache, --unit: {error}"))?;
        all.push(Crash::PowerLoss(device));
    }
    let all: Vec<String> = all.iter().map(Crash::to_string).collect();
    let kind = |crash: &str| crash.split(':').next().unwrap_or_default().to_owned();
    if let Some(word) = args.crashes.iter().find(|word| all.iter().all(|one| kind(one) != **word)) {
        bail!("--crash {word}: use process-kill, kernel-crash, power-loss");
    }
    let is_asked = |crash: &String| args.crashes.is_empty() || args.crashes.contains(&kind(crash));
    Ok(all.into_iter().filter(is_asked).collect())
}

/// Of the disk below this folder: most disks that are bought today have 4096.
fn physical_sector() -> u32 {
    let source = mount_of(Path::new(".")).map(|entry| entry.source);
    let facts = source.ok().and_then(|node| BlockDevice::at(Path::new(&node)).ok());
    facts.and_then(|device| device.facts().physical_sector_bytes).unwrap_or(4096)
}

/// Of this session: recordings that lost something stay in it.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn make(out: &Path) -> anyhow::Result<Self> {
        let cannot = |path: &Path| format!("cannot make {}", path.display());
        fs::create_dir_all(out).with_context(|| cannot(out))?;
        let out = out.canonicalize().with_context(|| cannot(out))?;
        let day: String = now_text().chars().take(10).collect();
        for number in 1.. {
            let suffix = if number == 1 { String::new() } else { format!("-{number}") };
            let path = out.join(format!("{day}-crash{suffix}"));
            match fs::create_dir(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                made => {
                    made.with_context(|| cannot(&path))?;
                    return Ok(Self(path));
                }
            }
        }
        unreachable!("there is always a next number")
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.0.join("work"));
        let _ = fs::remove_dir(&self.0);
    }
}

struct Line {
    interrupt: Interrupt,
    looked: AtomicU64,
    failed: AtomicU64,
    began: Instant,
    drawn: Mutex<Instant>,
}

impl Line {
    fn new() -> anyhow::Result<Self> {
        let (looked, failed, began) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
        let interrupt = Interrupt::on_signals()?;
        Ok(Self { interrupt, looked, failed, began, drawn: Mutex::new(began) })
    }

    fn clear(&self) {
        if std::io::stderr().is_terminal() {
            terminal::redraw("");
        }
    }
}

impl Listener for Line {
    fn looked(&self, found: &Found) {
        let looked = self.looked.fetch_add(1, Relaxed) + 1;
        let failed = self.failed.fetch_add(u64::from(found.is_fault()), Relaxed);
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.elapsed() >= REDRAW_EACH && std::io::stderr().is_terminal() {
            *drawn = Instant::now();
            let rate = looked as f64 / self.began.elapsed().as_secs_f64();
            terminal::redraw(&format!(
                "{looked} states, {rate:.0} a second, {failed} lost something"
            ));
        }
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_raised()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_a_candidate_that_is_made_and_mounted() {
        for option in options() {
            let candidate: CandidateSpec = option.parse().expect(option);
            pickfs_candidate::fs::words::check(&candidate).expect(option);
            assert_eq!(candidate.to_string(), option);
        }
    }
}
