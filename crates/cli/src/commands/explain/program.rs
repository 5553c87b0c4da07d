//! The calls of any program: one that we start, or one that runs.

use std::{
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

use anyhow::Context;
use pickfs_analysis::stalls::table_of;
use pickfs_model::quantity::parse_duration_ns;
use pickfs_probe::calls::{CallWatch, CallsSeen, WatchOptions};
use pickfs_report::{calls::calls_screen, stalls::stall_screen};
use pickfs_sys::{foreground::Foreground, namespace::exit_code};

use super::{ExplainArgs, screen_of};
use crate::{
    exit::Exit,
    screen::{columns, put},
};

/// How often it is asked whether a watched process still runs.
const LOOK_EACH: Duration = Duration::from_millis(200);
/// What shells answer for a command that is not there, or that cannot be run.
const NOT_FOUND: u8 = 127;
const NOT_RUNNABLE: u8 = 126;

/// Runs a command, explains its calls, and ends as it ended.
pub fn of_command(args: &ExplainArgs) -> anyhow::Result<Exit> {
    let options = options(args)?;
    let foreground = Foreground::begin().context("signals not held back")?;
    let watch = CallWatch::of_children(&options)?;
    let child = match started(&args.command) {
        Ok(child) => child,
        Err(exit) => return Ok(exit),
    };
    let status = foreground.wait_for(child).context("the command was not waited for")?;
    let name = Path::new(&args.command[0]).file_name().unwrap_or(&args.command[0]);
    show(&watch.finish(), &name.to_string_lossy(), args)?;
    Ok(Exit::Command(u8::try_from(exit_code(status)).unwrap_or(1)))
}

fn started(words: &[OsString]) -> Result<Child, Exit> {
    Command::new(&words[0]).args(&words[1..]).spawn().map_err(|error| {
        let is_missing = error.kind() == ErrorKind::NotFound;
        eprintln!("pickfs: {} not started: {error}", words[0].to_string_lossy());
        Exit::Command(if is_missing { NOT_FOUND } else { NOT_RUNNABLE })
    })
}

/// Watches a process for a while, and explains its calls.
pub fn of_process(process: u32, args: &ExplainArgs) -> anyhow::Result<Exit> {
    let options = options(args)?;
    let until = match args.seconds {
        Some(seconds) => {
            let time = Duration::try_from_secs_f64(seconds);
            let time = time.with_context(|| format!("--seconds {seconds} is no time"))?;
            Instant::now().checked_add(time)
        }
        None => None,
    };
    let foreground = Foreground::begin().context("signals not held back")?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    let watch = CallWatch::of_process(process, &options)?;
    while is_there(process) && until.is_none_or(|until| Instant::now() < until) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        if foreground.is_asked_within(left.unwrap_or(LOOK_EACH).min(LOOK_EACH)) {
            break;
        }
    }
    show(&watch.finish(), &format!("{} ({process})", name.trim_end()), args)?;
    Ok(Exit::Done)
}

fn is_there(process: u32) -> bool {
    Path::new(&format!("/proc/{process}")).exists()
}

fn options(args: &ExplainArgs) -> anyhow::Result<WatchOptions> {
    let above_ns = parse_duration_ns(&args.over).context("--over")?;
    Ok(WatchOptions { stalls_above_ns: Some(above_ns) })
}

fn show(seen: &CallsSeen, subject: &str, args: &ExplainArgs) -> anyhow::Result<()> {
    let text = match args.json {
        true => {
            let (calls, stalls) = (&seen.calls, &seen.stalls);
            let words = serde_json::json!({
                "format": pickfs_model::FORMAT, "subject": subject, "calls": calls, "stalls": stalls,
            });
            format!("{words}\n")
        }
        false => text(seen, subject, args),
    };
    match (&args.output, args.process) {
        (Some(path), _) => {
            fs::write(path, text).with_context(|| format!("{} not written", path.display()))?;
        }
        (None, Some(_)) => put(&text),
        (None, None) => eprint!("{text}"),
    }
    Ok(())
}

fn text(seen: &CallsSeen, subject: &str, args: &ExplainArgs) -> String {
    let mut text = calls_screen(&seen.calls, columns());
    if let Some(stalls) = &seen.stalls {
        let mut table = table_of(subject, stalls, seen.calls.began_ns);
        for op in &mut table.ops {
            op.laps_all = seen.calls.row(&op.op).map_or(0, |row| row.service.count);
        }
        text.push('\n');
        text.push_str(&stall_screen(&[table], &screen_of(args)));
    }
    text
}
