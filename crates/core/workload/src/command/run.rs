use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    thread,
};

use pickfs_record::{Clock, INTERRUPTED, MonotonicClock};
use pickfs_sys::{
    program::{Ended, Launch, Program, Stream, adopt_orphans, reap},
    signal_wait::is_ignored,
    write_watch::WriteWatch,
};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    iterator::Signals,
};

use super::{
    calls::{self, Seen, Watching},
    output::{Listening, Output, end_of},
    place::Place,
    stray,
};
use crate::fault::Fault;

static INTERRUPT: AtomicBool = AtomicBool::new(false);
static READY: OnceLock<()> = OnceLock::new();

#[derive(Debug)]
pub(crate) struct Ran {
    /// When it was about to be started, on the CLOCK_MONOTONIC line.
    pub(crate) began_ns: u64,
    pub(crate) wall_ns: u64,
    /// How it ended, and what all its processes that have ended used.
    pub(crate) ended: Ended,
    pub(crate) output: Output,
    pub(crate) errors: Output,
    /// Processes of it that live on, by name.
    pub(crate) left: String,
    /// Files that it wrote outside of the mount, as far as they were looked for.
    pub(crate) outside: Vec<PathBuf>,
    /// Its calls on files, where they were watched; or why they were not.
    pub(crate) calls: Option<Result<Seen, String>>,
}

impl Ran {
    pub(crate) fn succeeded(&self, what: &str) -> Result<(), Fault> {
        if self.ended.code == Some(0) {
            return Ok(());
        }
        let end = end_of(&[&self.output, &self.errors]);
        let said =
            if end.is_empty() { "it said nothing".into() } else { format!("it said: {end}") };
        Err(Fault::Failed { reason: format!("{what} ended with {}; {said}", self.ended.how()) })
    }
}

/// What must hold before the first program of a trial: orphans come to us, and who asks us to end
/// ends the programs first.
pub(crate) fn ready() -> Result<(), Fault> {
    adopt_orphans().map_err(Fault::io("adopt orphans by", "prctl"))?;
    if READY.set(()).is_err() {
        return Ok(());
    }
    let heeded = [SIGTERM, SIGINT, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal));
    let signals = Signals::new(heeded);
    let mut signals = signals.map_err(Fault::io("listen to signals in", "/proc/self"))?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            INTERRUPT.store(true, SeqCst);
            stray::kill_all();
        }
        // Whoever asks twice does not want to wait.
        if signals.forever().next().is_some() {
            std::process::exit(1);
        }
    });
    Ok(())
}

pub(crate) fn check_interrupt() -> Result<(), Fault> {
    match INTERRUPT.load(SeqCst) {
        true => Err(Fault::Failed { reason: INTERRUPTED.into() }),
        false => Ok(()),
    }
}

/// `input` is its standard input.
pub(crate) fn run(words: &[String], place: &Place, input: Stream) -> Result<Ran, Fault> {
    run_watched(words, place, input, None)
}

pub(super) fn run_watched(
    words: &[String],
    place: &Place,
    input: Stream,
    watching: Option<Watching>,
) -> Result<Ran, Fault> {
    check_interrupt()?;
    let words: Vec<OsString> = words.iter().map(|word| place.filled(word)).collect();
    let launch = Launch {
        words: &words,
        directory: &place.directory,
        account: place.account.as_ref(),
        variables: place.variables(),
    };
    let streams = [input, Stream::Piped, Stream::Piped];
    let before = stray::living();
    // This thread starts the program, so that the program and all below it are watched, and no other.
    // In a namespace of our own we see who writes beside the mount; elsewhere it would be everybody.
    let mount = place.directory.parent().filter(|_| pickfs_sys::namespace::is_private());
    let beside = mount.and_then(|mount| WriteWatch::beside(mount).ok());
    let watch = watching.map(calls::watch);
    let began_ns = MonotonicClock.now_ns();
    let mut program =
        Program::start(&launch, streams).map_err(|error| not_started(&words, error))?;
    let (output, errors) = program.streams();
    let output = Listening::to(output.expect("standard output is piped"));
    let errors = Listening::to(errors.expect("standard error is piped"));
    let waited = program.wait_for_end();
    let wall_ns = MonotonicClock.now_ns() - began_ns;
    waited.map_err(Fault::io("wait for", Path::new(&words[0])))?;
    let mut ended = program.wait().map_err(Fault::io("wait for", Path::new(&words[0])))?;
    let calls = watch.map(|watch| watch.map(|end| end()));
    let outside = beside.map(|watch| outside(&watch)).unwrap_or_default();
    let left = stray::names(&stray::new_since(&before));
    let (output, errors) = (output.finish(), errors.finish());
    while let Some((_, orphan)) = reap().map_err(Fault::io("reap", "orphans"))? {
        ended.user_ns += orphan.user_ns;
        ended.system_ns += orphan.system_ns;
        ended.input_output += orphan.input_output;
    }
    check_interrupt()?;
    Ok(Ran { began_ns, wall_ns, ended, output, errors, left, outside, calls })
}

fn outside(watch: &WriteWatch) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for written in watch.take() {
        if written.process_id != std::process::id() && !paths.contains(&written.path) {
            paths.push(written.path);
        }
    }
    paths
}

fn not_started(words: &[OsString], error: std::io::Error) -> Fault {
    let name = words[0].to_string_lossy();
    let reason = match error.kind() {
        std::io::ErrorKind::NotFound if !name.contains('/') => {
            format!("`{name}` not found in PATH; install it, or name it by its path")
        }
        _ => format!("`{name}` not started: {error}"),
    };
    Fault::Failed { reason }
}
