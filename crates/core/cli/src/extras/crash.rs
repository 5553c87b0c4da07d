use std::{
    collections::BTreeSet,
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use anyhow::{Context, anyhow, bail};
use pickfs_candidate::{
    Availability, availability,
    fs::{Ground, find, names},
    identity::boot_id,
};
use pickfs_crash::{
    ground::{Guests, Means},
    model::{Crash, Device},
    oracle::Subject,
    recording::Recording,
    report::{Cell, LeftOut, blind, document, json, seen},
    session::{Bench, Listener, Request, Session, SessionError, Writer, perform_all},
    witness,
};
use pickfs_guest::{PackageCache, trials::kernels::Tools};
use pickfs_lab::{
    interrupt::Interrupt,
    launch::{new_folder, worker_program},
};
use pickfs_record::{
    CandidateSpec,
    quantity::{parse_bytes, parse_duration_ns},
};
use pickfs_report::document::{html::html, markdown::markdown};
use pickfs_sys::{block::BlockDevice, mount::mount_of};

use super::{fetch, guests::engine_of};
use crate::{
    commands::{
        crash::{CrashArgs, RealDisk},
        run::give_to_caller,
        write_to,
    },
    exit::Exit,
    overrides::named_plan,
    private, terminal,
};

/// So many of the first in the table of file systems, where a user names none.
const CANDIDATES: usize = 3;
const OPTIONS: &str = include_str!("crash-options.txt");
const WRITERS: [&str; 15] = [
    "journal/append/fdatasync",
    "journal/pwrite/fdatasync/none",
    "journal/pwrite/fdatasync/zero-filled",
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
/// More wait for the same kernel.
const AT_ONCE: usize = 8;
const REDRAW_EACH: Duration = Duration::from_millis(200);

pub fn crash(args: &CrashArgs) -> anyhow::Result<Exit> {
    if let Some(real_disk) = &args.real_disk {
        return of_real_disk(real_disk);
    }
    let is_foreign = args.of.is_some() || args.log.is_some();
    if is_foreign && args.engine.is_none() && !args.risk_this_kernel {
        bail!(
            "this kernel would mount a disk that somebody recorded, and one that was damaged on purpose can crash it or \
             take it over: look at a recording of our own writers with --engine qemu, at a log or a command's recording in a guest of \
             yours, or say --risk-this-kernel if you know whose it is"
        );
    }
    let requests = if args.of.is_some() { Vec::new() } else { requests(args)? };
    let is_others = !args.command.is_empty() || is_foreign;
    if args.check.is_some() && !is_others {
        bail!("--check is for a command: pickfs crash --check CMD -- COMMAND");
    }
    if !rustix::process::geteuid().is_root() {
        bail!("only root makes and mounts file systems; run with sudo");
    }
    for (node, module) in [("/dev/fuse", "fuse"), ("/dev/loop-control", "loop")] {
        if !Path::new(node).exists() {
            bail!("{node} is missing; load the kernel's module with modprobe {module}");
        }
    }
    private::enter(None, || "; what was mounted is gone, a folder of the session may stay".into())?;
    let line = Line::new(requests.len())?;
    let folder = OwnFolder(new_folder(&args.out, "crash")?.canonicalize()?);
    let (program, guests) = (worker_program(), guests(args, &requests)?);
    let means = Means { program, folder: folder.0.join("work"), guests };
    match &args.of {
        Some(recording) => looked_again(args, &means, recording, &line),
        None => explored(args, &means, &requests, &folder.0, &line),
    }
}

fn of_real_disk(what: &RealDisk) -> anyhow::Result<Exit> {
    match what {
        RealDisk::Witnessed { dir, writer, records } => {
            witness::write(dir, writer, *records, &mut terminal::say)?;
            terminal::tell("all records were written before the power went; ask for more");
        }
        RealDisk::Witness { file } => {
            let began = &mut || {
                let path = file.display();
                terminal::tell(&format!(
                    "the first record is due: cut that machine's power now or later, end this, boot it, copy {path} there, \
                     and ask `pickfs crash judge DIR {path}`"
                ));
            };
            let records = witness::witness(std::io::stdin(), file, began)?;
            terminal::tell(&format!("{records} records were heard of"));
        }
        RealDisk::Judge { dir, file } => {
            let judged = witness::judge(dir, file, &boot_id())?;
            terminal::show(&judged.document());
            if judged.found.is_fault() {
                return Ok(Exit::TrialsFailed);
            }
        }
    }
    Ok(Exit::Done)
}

/// With all that makes these candidates.
fn guests(args: &CrashArgs, requests: &[Request]) -> anyhow::Result<Option<Arc<Guests>>> {
    let Some(engine) = &args.engine else { return Ok(None) };
    let cache = PackageCache::open_default()?.asking(fetch::ask());
    let engine = engine_of(engine, &cache)?;
    let kernel = engine.kernel(&cache, args.kernel.as_deref())?;
    let recorded = args.of.as_deref().map(Recording::read).transpose()?;
    let mut tools = Tools::default();
    for request in requests.iter().chain(recorded.as_ref().map(|recorded| &recorded.request)) {
        find(&request.candidate.fs).map_or(Ok(()), |row| tools.want(&cache, row))?;
    }
    Ok(Some(Arc::new(Guests { engine, kernel, tools })))
}

fn explored(
    args: &CrashArgs,
    means: &Means,
    requests: &[Request],
    folder: &Path,
    line: &Line,
) -> anyhow::Result<Exit> {
    // A state waits for its disk half of the time; a guest is a busy processor.
    let each = if means.guests.is_some() { 1 } else { 2 };
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = args.at_once.unwrap_or_else(|| (each * processors()).min(AT_ONCE));
    let sessions = perform_all(means, requests, at_once, Some(folder), line);
    line.clear();
    let (mut cells, mut has_failed) = (Vec::new(), false);
    let mut left_out = LeftOut { all: requests.len(), ..LeftOut::default() };
    for (request, session) in requests.iter().zip(sessions) {
        let of_error = |error| Session { troubles: vec![error], ..Session::default() };
        let session = session.unwrap_or_else(of_error);
        let ended = session.troubles.first().filter(|_| !session.is_whole);
        let how = ended.map(|error| left_out.count(error));
        tell(&format!("{} on {}", request.writer.name(), request.candidate.label), how, &session);
        session.saved.iter().for_each(|saved| give_to_caller(saved));
        let is_troubled = !session.troubles.is_empty() && how != Some("skipped");
        has_failed |= is_troubled || !session.unsteady.is_empty();
        cells.extend(session.cells);
    }
    give_to_caller(folder);
    let is_interrupted = line.interrupt.is_raised();
    if is_interrupted {
        let LeftOut { all, skipped, failed, interrupted } = left_out;
        let whole = all - skipped - failed - interrupted;
        terminal::tell(&format!("interrupted after {whole} of {all} recordings"));
    }
    let ended = |exit| if is_interrupted { Exit::Interrupted } else { exit };
    if cells.is_empty() {
        return Ok(ended(Exit::Failed));
    }
    terminal::show(&document(&cells, left_out));
    write(args, &cells, left_out)?;
    let mut seen = seen(&cells);
    // A loss stays one, whatever was not explored beside it.
    seen.retain(|seen| !has_failed || seen.survived.failed > 0);
    if !seen.is_empty() {
        pickfs_lab::survived::note(&seen)?;
        terminal::tell("later runs on this kernel declare no more than was measured here");
    }
    if blind(&cells).is_some() {
        return Ok(ended(Exit::Failed));
    }
    let is_broken = cells.iter().any(|cell| cell.is_promised() && !cell.kept_all());
    if is_broken && args.engine.is_none() && args.command.is_empty() && args.log.is_none() {
        terminal::tell(
            "whether another kernel says the same: the command that is told, with --engine qemu",
        );
    }
    let is_broken = has_failed || is_broken;
    Ok(ended(if is_broken { Exit::TrialsFailed } else { Exit::Done }))
}

/// What went wrong, and how to see it again.
fn tell(name: &str, how: Option<&str>, session: &Session) {
    let how = how.map(|how| format!(" {how}")).unwrap_or_default();
    for error in &session.troubles {
        if !matches!(error, SessionError::Interrupted) {
            terminal::tell(&format!("{name}{how}: {error}"));
        }
    }
    for state in &session.unsteady {
        terminal::tell(&format!("{name}, not twice the same: {state}"));
    }
    let lost = || session.cells.iter().filter(|cell| !cell.kept_all());
    match lost().find(|cell| cell.is_promised()).or(lost().next()).and_then(Cell::command) {
        Some(command) => terminal::tell(&format!("{name} lost something; see it again: {command}")),
        None => session.saved.iter().for_each(|saved| {
            terminal::tell(&format!("{name}: the recording is in {}", saved.display()));
        }),
    }
}

fn write(args: &CrashArgs, cells: &[Cell], left_out: LeftOut) -> anyhow::Result<()> {
    write_to(&args.markdown, || Ok(markdown(&document(cells, left_out))))?;
    write_to(&args.html, || Ok(html(&document(cells, left_out))))?;
    write_to(&args.json, || Ok(serde_json::to_string_pretty(&json(cells, left_out))? + "\n"))
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
        image.into_iter().for_each(give_to_caller);
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
        for name in names().into_iter().take(CANDIDATES) {
            match availability(name) {
                Availability::Missing(missing) if args.engine.is_none() => {
                    terminal::tell(&missing.to_string());
                }
                _ => words.push(name),
            }
        }
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
        let silence = parse_duration_ns(&args.silence).context("--silence")?;
        let longest = parse_duration_ns(&args.longest).context("--longest")?;
        if silence == 0 || longest == 0 {
            bail!("--silence 0s and --longest 0s end every command at once: name a time, as 5m");
        }
        let [silence, longest] = [silence, longest].map(Duration::from_nanos);
        return Ok(vec![Writer::Program { words, before, silence, longest }]);
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

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.0.join("work"));
        let _ = fs::remove_dir(&self.0);
    }
}

struct Line {
    interrupt: Interrupt,
    recordings: usize,
    ended: AtomicU64,
    looked: AtomicU64,
    began: Instant,
    drawn: Mutex<Instant>,
}

impl Line {
    fn new(recordings: usize) -> anyhow::Result<Self> {
        let (ended, looked, began) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
        let interrupt = Interrupt::on_signals()?;
        Ok(Self { interrupt, recordings, ended, looked, began, drawn: Mutex::new(began) })
    }

    fn clear(&self) {
        if std::io::stderr().is_terminal() {
            terminal::redraw("");
        }
    }
}

impl Listener for Line {
    fn ended(&self) {
        self.ended.fetch_add(1, Relaxed);
    }

    fn looked(&self) {
        let looked = self.looked.fetch_add(1, Relaxed) + 1;
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.elapsed() >= REDRAW_EACH && std::io::stderr().is_terminal() {
            *drawn = Instant::now();
            let rate = looked as f64 / self.began.elapsed().as_secs_f64();
            let (ended, all) = (self.ended.load(Relaxed), self.recordings);
            let states = format!("{looked} states, {rate:.0} a second");
            terminal::redraw(&format!("{ended} of {all} recordings, {states}"));
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
