use std::{
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use pickfs_analysis::stalls::table_of;
use pickfs_explain::calls::{CallWatch, CallsRefused, CallsSeen, SleepWatch, WatchOptions};
use pickfs_record::{ExplainAlso, quantity::parse_duration_ns};
use pickfs_report::{
    calls::calls_document, document::terminal::terminal as printed, stalls::stalls_document,
};
use pickfs_sys::{
    foreground::Foreground, namespace::exit_code, proc_root::ProcRoot, process::Process,
};

use crate::{
    commands::explain::{ExplainArgs, screen_of},
    exit::Exit,
    screen::columns,
    terminal,
};

/// How often it is asked whether a watched process still runs.
const LOOK_EACH: Duration = Duration::from_millis(200);
/// What shells answer for a command that is not there, or that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

pub fn of_command(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let above_ns = above_ns(args)?;
    let foreground = Foreground::begin().context("signals not held back")?;
    let calls = CallWatch::of_children(&options(args, above_ns));
    let begin = possible(calls, None)?;
    let child = match started(&foreground, &args.command) {
        Ok(child) => child,
        Err(exit) => return Ok(exit),
    };
    let watch = begin(child.id(), above_ns);
    let status = foreground.wait_for(child).context("the command was not waited for")?;
    let name = Path::new(&args.command[0]).file_name().unwrap_or(&args.command[0]);
    show(&watch(), &name.to_string_lossy(), args)?;
    Ok(Exit::Command(u8::try_from(exit_code(status)).unwrap_or(1)))
}

fn started(foreground: &Foreground, words: &[OsString]) -> Result<Child, Exit> {
    let child = foreground.start(Command::new(&words[0]).args(&words[1..]));
    child.map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        terminal::tell(&format!("pickfs: {} not started: {error}", words[0].to_string_lossy()));
        Exit::Command(if is_missing { NOT_FOUND } else { NOT_RUNNABLE })
    })
}

pub fn of_process(process: u32, args: &ExplainArgs) -> anyhow::Result<Exit> {
    let above_ns = above_ns(args)?;
    let until = match args.seconds {
        Some(seconds) => {
            let time = Duration::try_from_secs_f64(seconds);
            let time = time.with_context(|| format!("--seconds {seconds} is no time"))?;
            Instant::now().checked_add(time)
        }
        None => None,
    };
    let foreground = Foreground::begin().context("signals not held back")?;
    if !is_there(process) {
        bail!("no process {process} to watch: it is not there, or has ended");
    }
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let calls = CallWatch::of_process(process, &options(args, above_ns));
    let watch = possible(calls, Some(process))?(process, above_ns);
    while is_there(process) && until.is_none_or(|until| Instant::now() < until) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if foreground.is_asked_within(left.unwrap_or(LOOK_EACH).min(LOOK_EACH)) {
            break;
        }
    }
    show(&watch(), &format!("{} ({process})", name.trim_end()), args)?;
    Ok(Exit::Done)
}

/// One that has ended stays in the list until its parent has asked for it.
fn is_there(process: u32) -> bool {
    Process::read(process, &ProcRoot::own()).is_ok_and(|process| process.state != 'Z')
}

fn options(args: &ExplainArgs, above_ns: u64) -> WatchOptions {
    let also = ExplainAlso { samples_hz: args.samples, context: args.context };
    WatchOptions { stalls_above_ns: Some(above_ns), also }
}

fn above_ns(args: &ExplainArgs) -> anyhow::Result<u64> {
    parse_duration_ns(&args.over).context("--over")
}

/// Begins to watch a process, where that was not done before it began, and gives what ends the watch.
type Begin = Box<dyn FnOnce(u32, u64) -> Box<dyn FnOnce() -> CallsSeen>>;

/// Its calls, or its sleeps alone where calls cannot be seen.
fn possible(calls: Result<CallWatch, CallsRefused>, process: Option<u32>) -> anyhow::Result<Begin> {
    let because = match calls {
        Ok(watch) => return Ok(Box::new(|_, _| Box::new(|| watch.finish()))),
        Err(CallsRefused::NoEvents { cause }) => cause.to_string(),
        Err(error) => return Err(error.into()),
    };
    SleepWatch::is_possible(process, &because)?;
    Ok(Box::new(move |process, above_ns| {
        let watch = SleepWatch::of_process(process, above_ns, &because);
        Box::new(|| watch.finish())
    }))
}

fn show(seen: &CallsSeen, subject: &str, args: &ExplainArgs) -> anyhow::Result<()> {
    let text = match args.json {
        true => {
            let (calls, stalls) = (&seen.calls, &seen.stalls);
            let words = serde_json::json!({
                "format": pickfs_record::FORMAT, "subject": subject, "calls": calls, "stalls": stalls,
                "missing": seen.missing,
            });
            format!("{words}\n")
        }
        false => text(seen, subject, args),
    };
    match (&args.output, args.process) {
        (Some(path), _) => {
            fs::write(path, text).with_context(|| format!("{} not written", path.display()))?;
        }
        (None, Some(_)) => terminal::put(&text),
        (None, None) => terminal::draw(&text),
    }
    Ok(())
}

fn text(seen: &CallsSeen, subject: &str, args: &ExplainArgs) -> String {
    let mut text: String = seen.missing.iter().map(|what| format!("not seen: {what}\n")).collect();
    // Without them nothing was counted, and the ledger says what was not seen.
    if seen.calls.counts.events > 0 {
        text.push_str(&printed(&calls_document(&seen.calls), columns(), false));
        text.push('\n');
    }
    if let Some(stalls) = &seen.stalls {
        let mut table = table_of(subject, stalls, seen.calls.began_ns);
        for op in &mut table.ops {
            op.operations_all = seen.calls.row(&op.op).map_or(0, |row| row.service.count);
        }
        text.push_str(&printed(&stalls_document(&[table], &screen_of(args)), columns(), false));
    }
    text
}
