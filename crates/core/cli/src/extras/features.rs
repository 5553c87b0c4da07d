use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
    time::SystemTime,
};

use anyhow::{Context, bail};
use pickfs_candidate::{
    Availability, availability,
    fs::{Support, find},
};
use pickfs_features::{
    Asked, Detail, Listener, Request, TORN_TIME,
    answers::{FeatureRow, FeatureTable, Presence},
    capabilities, features_document, not_here, survey,
};
#[cfg(feature = "guest")]
use pickfs_lab::launch::worker_program;
use pickfs_lab::{environment, interrupt::Interrupt};
use pickfs_record::{
    BackingSpec, CandidateSpec, FORMAT,
    quantity::{bytes_text, parse_bytes},
};
use pickfs_report::document::{html::html, markdown::markdown, terminal::terminal as printed};

use crate::{
    args::FeaturesArgs, commands::write_to, exit::Exit, overrides::one_or_more, places::places,
    private, screen, terminal,
};

pub fn features(args: &FeaturesArgs) -> anyhow::Result<Exit> {
    let backing = backing(args)?;
    let is_root = rustix::process::geteuid().is_root();
    let all = candidates(args)?;
    let (away, here): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|candidate| is_for_guests(args, is_root, candidate));
    let is_made = args.dirs.is_empty() && !here.is_empty();
    if is_made && !is_root {
        bail!(
            "only root makes and mounts file systems; run with sudo, ask a --dir, or ask guests with --engine qemu"
        );
    }
    if is_made {
        private::enter(None, || "; nothing was written, and what was mounted is gone".into())?;
    }
    let listener = &mut Line { interrupt: Interrupt::on_signals()?, is_drawn: false };
    let folder = OwnFolder::make(args)?;
    let mut table = head(&backing);
    let request =
        Request { candidates: here, run_dir: folder.0.clone(), backing, torn_time: TORN_TIME };
    let rows = survey(&request, listener).map_err(anyhow::Error::from).and_then(|mut rows| {
        if !away.is_empty() {
            let request = Request { candidates: away, ..request };
            rows.extend(in_guests(args, &request, is_root, listener)?);
        }
        Ok(rows)
    });
    listener.clear();
    table.rows = rows?;
    let place = |row: &FeatureRow| all.iter().position(|candidate| candidate.label == row.label);
    table.rows.sort_by_key(place);
    drop(folder);
    if listener.interrupt.is_raised() {
        terminal::tell("interrupted: what was mounted and made is taken away, no table is written");
        return Ok(Exit::Interrupted);
    }
    write(args, &table)?;
    let detail = if args.all { Detail::All } else { Detail::Differences };
    let document = features_document(&table, detail);
    let columns = terminal::width().unwrap_or_else(screen::columns);
    terminal::put(&printed(&document, columns, terminal::has_colour()));
    Ok(exit_of(&table))
}

/// Whether it is asked in a guest, by the words of `run`. What no guest has is for this machine to tell.
fn is_for_guests(args: &FeaturesArgs, is_root: bool, candidate: &CandidateSpec) -> bool {
    let Some(row) = find(&candidate.fs).filter(|_| args.dirs.is_empty()) else { return false };
    let is_here = || matches!(availability(&candidate.fs), Availability::Ready);
    let has_guest = !matches!(row.guest.support, Support::None | Support::HostProgram);
    match args.engine.as_str() {
        "native" => false,
        "auto" => cfg!(feature = "guest") && !(is_root && (is_here() || !has_guest)),
        _ => true,
    }
}

fn candidates(args: &FeaturesArgs) -> anyhow::Result<Vec<CandidateSpec>> {
    if !args.dirs.is_empty() {
        return Ok(places(&args.dirs)?.0);
    }
    let mut words: Vec<&str> = args.candidates.iter().flat_map(|word| one_or_more(word)).collect();
    if words.is_empty() {
        words = pickfs_candidate::fs::names();
    }
    words.into_iter().map(|word| Ok(word.parse()?)).collect()
}

/// Where nothing else was asked for, a guest that cannot be had is a reason and no end; but who is not root has asked
/// nobody then.
fn in_guests(
    args: &FeaturesArgs,
    request: &Request,
    is_root: bool,
    listener: &mut Line,
) -> anyhow::Result<Vec<FeatureRow>> {
    match asked_in_guests(args, request, listener) {
        Err(error) if args.engine == "auto" && !is_root => {
            bail!("{error:#}; run with sudo, or ask a --dir")
        }
        Err(error) if args.engine == "auto" => {
            let reason = format!("{error:#}");
            let of = |candidate| not_here(candidate, &reason, "leave it out, or --engine native");
            Ok(request.candidates.iter().map(of).collect())
        }
        rows => rows,
    }
}

#[cfg(not(feature = "guest"))]
fn asked_in_guests(_: &FeaturesArgs, _: &Request, _: &mut Line) -> anyhow::Result<Vec<FeatureRow>> {
    bail!("this build is without guest; build pickfs with its feature guest")
}

#[cfg(feature = "guest")]
fn asked_in_guests(
    args: &FeaturesArgs,
    request: &Request,
    listener: &mut Line,
) -> anyhow::Result<Vec<FeatureRow>> {
    use pickfs_guest::{PackageCache, engine, trials::tour::Means};
    let cache = PackageCache::open_default()?.asking(super::fetch::ask());
    let engine = super::guests::engine_of(&args.engine, &cache)?;
    let kernel = engine.kernel(&cache, args.kernel.as_deref())?;
    let candidates = request.candidates.iter();
    let candidates: Vec<_> =
        candidates.filter_map(|one| Some((one.clone(), find(&one.fs)?))).collect();
    let request = pickfs_features::guests::Request {
        means: Means {
            engine,
            kernel: &kernel,
            cache: &cache,
            worker: &worker_program(),
            processors: engine::processors(),
            interrupt: &listener.interrupt.clone(),
        },
        candidates: &candidates,
        backing: &request.backing,
        folder: &request.run_dir,
        torn_time: request.torn_time,
        only: None,
    };
    let (rows, left) = pickfs_features::guests::survey(&request, listener)?;
    if let Some(error) = left {
        listener.clear();
        terminal::tell(&format!("every question was asked; after that: {error}"));
    }
    Ok(rows)
}

fn backing(args: &FeaturesArgs) -> anyhow::Result<BackingSpec> {
    let size_bytes = parse_bytes(&args.size)?;
    Ok(match (args.dirs.is_empty(), args.ram) {
        (false, _) => places(&args.dirs)?.1,
        (true, true) => BackingSpec::Ram { size_bytes },
        (true, false) => BackingSpec::Loop { size_bytes, directory: None },
    })
}

fn head(backing: &BackingSpec) -> FeatureTable {
    FeatureTable {
        format: FORMAT,
        started: pickfs_lab::run::now_text(),
        build: pickfs_workload::BUILD.into(),
        machine: environment::capture(),
        ground: ground(backing),
        capabilities: capabilities(),
        rows: Vec::new(),
    }
}

fn ground(backing: &BackingSpec) -> String {
    match backing {
        BackingSpec::Directory { .. } => {
            let paths = backing.directories().into_iter().map(|path| path.display().to_string());
            let paths: Vec<String> = paths.collect();
            format!(
                "the director{} {}",
                if paths.len() > 1 { "ies" } else { "y" },
                paths.join(", ")
            )
        }
        BackingSpec::Ram { size_bytes } => {
            format!("a loop image of {} in memory", bytes_text(*size_bytes))
        }
        BackingSpec::Loop { size_bytes, .. }
        | BackingSpec::Device { size_bytes: Some(size_bytes), .. } => {
            format!("a loop image of {}", bytes_text(*size_bytes))
        }
        BackingSpec::Device { path, .. } => format!("the device {}", path.display()),
    }
}

fn write(args: &FeaturesArgs, table: &FeatureTable) -> anyhow::Result<()> {
    let document = features_document(table, Detail::All);
    write_to(&args.markdown, || Ok(markdown(&document)))?;
    write_to(&args.html, || Ok(html(&document)))?;
    write_to(&args.json, || Ok(serde_json::to_string_pretty(table)? + "\n"))
}

/// A candidate that failed shows in the exit code; one that is not here does not, unless all are not.
fn exit_of(table: &FeatureTable) -> Exit {
    let failed = |row: &FeatureRow| matches!(row.presence, Presence::Failed { .. });
    let is_asked = |row: &FeatureRow| matches!(row.presence, Presence::Asked { .. });
    match table.rows.iter().any(failed) {
        true => Exit::TrialsFailed,
        false if table.rows.iter().any(is_asked) => Exit::Done,
        false => Exit::NoAnswer,
    }
}

/// The folder for image and mount point; nothing in a directory that is only asked.
struct OwnFolder(PathBuf);

impl OwnFolder {
    fn make(args: &FeaturesArgs) -> anyhow::Result<Self> {
        if !args.dirs.is_empty() {
            return Ok(Self(PathBuf::new()));
        }
        let above = args.image_dir.as_deref().unwrap_or(Path::new("."));
        let above =
            above.canonicalize().with_context(|| format!("no folder {}", above.display()))?;
        // In the private namespace every process has the same number.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let path = above.join(format!("pickfs-features-{:x}", since.as_nanos()));
        fs::create_dir(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

struct Line {
    interrupt: Interrupt,
    is_drawn: bool,
}

impl Line {
    fn draw(&mut self, text: &str) {
        if std::io::stderr().is_terminal() {
            terminal::redraw(text);
            self.is_drawn = true;
        }
    }

    fn clear(&mut self) {
        if self.is_drawn {
            terminal::redraw("");
            self.is_drawn = false;
        }
    }
}

impl Listener for Line {
    fn hear(&mut self, asked: Asked) {
        match asked {
            Asked::Preparing(done, total) => {
                self.draw(&format!("writing the image: {} %", done * 100 / total.max(1)));
            }
            Asked::Question(candidate, capability) => {
                self.draw(&format!("{candidate}: {}", capability.label));
            }
            Asked::Again(candidate, why) => {
                self.clear();
                terminal::tell(&format!("{candidate}: {why}; once more"));
            }
            Asked::Row(_) => self.clear(),
        }
    }

    fn is_stopped(&self) -> bool {
        self.interrupt.is_raised()
    }
}
