//! All lines at once, and what came of each.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::{SyncSender, sync_channel},
    thread,
    time::{Duration, Instant},
};

use pickfs_lab::{
    interrupt::Interrupt,
    length::{cells_asked, expected_s, takes_what_it_takes},
};
use pickfs_record::{Event, Plan, quantity::span_text};
use pickfs_store::{EXTENSION, RunFile};
use pickfs_workload::BUILD;

use crate::{
    line::{Line, Part},
    spoken::{Request, Said},
};

/// How long a host may take for each step, and how large its file may be.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// To its hello, and between two signs of life.
    pub silence: Duration,
    /// From its hello to the next sign: kernels of guests may have to come first.
    pub begin: Duration,
    /// From one sign of ours to the next.
    pub beat: Duration,
    /// All of it.
    pub whole: Duration,
    /// To end in order when it was asked to.
    pub end: Duration,
    pub file_bytes_max: u64,
}

/// Beside twice the plan's own time: images are written, machines have to settle.
const SLACK: Duration = Duration::from_secs(900);
const WEEK: Duration = Duration::from_secs(7 * 86_400);
/// Of a plan of programs, which take what they take.
const UNKNOWN: Duration = Duration::from_secs(2 * 86_400);
const LOOK_EACH: Duration = Duration::from_millis(100);
/// Words of all hosts that wait to be shown.
const HEARD_WAITING: usize = 16;

impl Limits {
    pub fn of(plan: &Plan) -> Limits {
        let planned = Duration::try_from_secs_f64(2.0 * expected_s(plan, &cells_asked(plan)));
        let whole = match (takes_what_it_takes(plan), planned) {
            (false, Ok(planned)) => planned.min(WEEK) + SLACK,
            _ => UNKNOWN,
        };
        Limits {
            silence: Duration::from_secs(60),
            begin: SLACK,
            beat: Duration::from_secs(10),
            whole,
            end: Duration::from_secs(90),
            file_bytes_max: 256 << 20,
        }
    }
}

/// What is asked of hosts.
pub struct Ask<'a> {
    pub hosts: &'a [String],
    /// Starts the program on one of them, with its line on standard streams.
    pub command: &'a (dyn Fn(&str) -> Command + Sync),
    pub plan: &'a Plan,
    /// Where runs are kept: `HOST.pickfs`.
    pub folder: &'a Path,
    pub limits: Limits,
    pub interrupt: &'a Interrupt,
}

/// The run that came, or why none did.
pub type End = Result<PathBuf, String>;

#[derive(Debug)]
pub enum Heard {
    Event(Box<Event>),
    End(End),
}

/// Waits for all hosts; one that is lost stops no other. Ends are in the order of the hosts.
pub fn gather(ask: &Ask<'_>, hear: &mut dyn FnMut(&str, &Heard)) -> Vec<End> {
    let (to, from) = sync_channel(HEARD_WAITING);
    let mut ends = vec![Err(String::new()); ask.hosts.len()];
    thread::scope(|scope| {
        for at in 0..ask.hosts.len() {
            let to = to.clone();
            scope.spawn(move || {
                let end = follow(ask, at, &to);
                drop(to.send((at, Heard::End(end))));
            });
        }
        drop(to);
        for (at, heard) in from {
            hear(&ask.hosts[at], &heard);
            if let Heard::End(end) = heard {
                ends[at] = end;
            }
        }
    });
    ends
}

fn follow(ask: &Ask<'_>, at: usize, to: &SyncSender<(usize, Heard)>) -> End {
    let (host, mut plan) = (&ask.hosts[at], ask.plan.clone());
    // Each host has an order of its own: what follows what is not the same on all.
    plan.design.seed = plan.design.seed.wrapping_add(at as u64);
    let part = ask.folder.join(format!(".{host}.part"));
    let command = (ask.command)(host);
    let program = command.get_program().to_string_lossy().into_owned();
    let line = Line::open(command, part.clone(), ask.limits.file_bytes_max);
    let mut line = line.map_err(|why| format!("cannot start {program}: {why}; install it"))?;
    let spoken = converse(&mut line, &plan, ask, |event| {
        drop(to.send((at, Heard::Event(event))));
    });
    drop(line);
    let path = ask.folder.join(format!("{host}.{EXTENSION}"));
    let kept = spoken.and_then(|()| keep(&part, &plan, path));
    kept.map_err(|why| {
        let _ = fs::remove_file(&part);
        why.replace('\n', " ")
    })
}

/// How far a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Called,
    Greeted,
    Running,
}

/// Until the run's file is there.
fn converse(
    line: &mut Line,
    plan: &Plan,
    ask: &Ask<'_>,
    tell: impl Fn(Box<Event>),
) -> Result<(), String> {
    let (limits, began) = (&ask.limits, Instant::now());
    let (mut heard, mut beaten, mut stopped) = (began, began, None);
    let mut stage = Stage::Called;
    loop {
        let part = line.next(LOOK_EACH.min(limits.beat));
        if part.is_some() {
            heard = Instant::now();
        }
        // A run that is on its way has the time that it takes.
        if matches!(part, Some(Part::More)) {
            stopped = stopped.map(|_| heard);
        }
        match (part, stage) {
            (None | Some(Part::More), _) => {}
            (Some(Part::Said(Said::Hello { build })), Stage::Called) if build == BUILD => {
                line.say(request(plan)?);
                stage = Stage::Greeted;
            }
            (Some(Part::Said(Said::Hello { build })), Stage::Called) => {
                return Err(format!(
                    "another build, {build}; this is {BUILD}: put one program on all hosts, or name where it is with \
                     --hosts-program"
                ));
            }
            (Some(Part::Said(_)), Stage::Called) => return Err("it speaks before its hello".into()),
            (Some(Part::Said(said)), _) => {
                stage = Stage::Running;
                if let Said::Event(event) = said {
                    tell(event);
                }
            }
            (Some(Part::Whole), _) => {
                line.hang_up();
                line.is_over_within(limits.end);
                return Ok(());
            }
            (Some(Part::Broken(why)), _) => return Err(why),
            (Some(Part::Closed), _) => return Err(line.ending()),
        }
        if stage != Stage::Called && beaten.elapsed() >= limits.beat {
            line.say(b"\n".to_vec());
            beaten = Instant::now();
        }
        if ask.interrupt.is_raised() && stopped.is_none() {
            if stage == Stage::Called {
                return Err("interrupted before it answered".into());
            }
            line.hang_up();
            stopped = Some(Instant::now());
        }
        let silence = if stage == Stage::Greeted { limits.begin } else { limits.silence };
        late(Some(heard), silence, "nothing was heard of it for", line)?;
        late(stopped, limits.end, "it was asked to end, and did not within", line)?;
        late(Some(began), limits.whole, "twice the plan's time and more is over:", line)?;
    }
}

fn late(since: Option<Instant>, most: Duration, what: &str, line: &Line) -> Result<(), String> {
    match since.is_some_and(|since| since.elapsed() > most) {
        false => Ok(()),
        true => Err(line.with_last_words(&format!("{what} {}", span_text(most.as_secs_f64())))),
    }
}

fn request(plan: &Plan) -> Result<Vec<u8>, String> {
    let request = Request { build: BUILD.into(), plan: plan.clone() };
    let mut line = serde_json::to_vec(&request).map_err(|why| why.to_string())?;
    line.push(b'\n');
    Ok(line)
}

/// A run that came is read as a stranger's, must be the one that was asked for, and then has its name.
fn keep(part: &Path, plan: &Plan, path: PathBuf) -> End {
    let read = RunFile::open_read_only(part).and_then(|file| file.read());
    let run = read.map_err(|why| format!("its run cannot be read: {why}"))?;
    if run.build != BUILD || run.plan != *plan {
        return Err("its run is of another build or plan than was asked for".into());
    }
    let named = fs::rename(part, &path);
    named.map_err(|why| format!("{} cannot be written: {why}", path.display())).map(|()| path)
}
