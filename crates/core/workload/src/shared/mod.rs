//! What hosts see of each other on a file system that they share. Each value of `ask` is a question.
//!
//! ```text
//! first host's first lane    makes the files ─┐        an event at each arrival ─► tells when each began ─┐
//! other hosts' first lanes   ─────────────────┴─ open  look, each `every`, and note when they see it     ─┴─► the difference
//! ```
//!
//! What was acknowledged is read on another host when all have closed it; if it is not there, the trial has failed.
//! All numbers of `lock` and `map` are read there too: where two hosts were given one, an increment was lost.

mod answer;
mod append;
mod fault;
mod lock;
mod look;
mod record;
mod site;
mod tell;

use std::{fs::File, thread, time::Duration};

use pickfs_record::{
    Arrival, Clock, Durability, MonotonicClock,
    quantity::duration_text,
    record::LoadRecord,
    trial::{Among, TrialSpec},
};
use pickfs_sys::mapped_file::MappedFile;
use rustix::system::uname;
use serde_json::Value;

use crate::{
    arrival,
    drive::{Pace, Span, Work},
    fault::Fault,
    measurement::{Measured, Measurement},
    param::{Check, Literal, Param, ParamError, Resolved},
    workload::{Found, Prepared, Session, Workload},
};

use answer::Talk;
use append::Append;
use fault::Making;
use lock::Locking;
use look::Looking;
use record::{BYTES_MAX, BYTES_MIN, Pen, Reader, write_kept, write_words};
use site::{EVENTS_MAX, Site, keep_numbers, read_numbers};
use tell::{CURRENT, MAPPED_BYTES, Sign, Telling};

const TOGETHER: &str = "together";
const TAIL: &str = "tail";
const MAPPED: &str = "mapped";

const PARAMS: &[Param] = &[
    param! { "ask" = Text("append"),
    Words(|| vec!["append", "tail", "create", "remove", "rename", "answer", "lock", "map"]);
    "what is asked: appends of all hosts to one file; when others see what one appended, created, removed or renamed; \
     there and back between two; a number under a lock; stores and increments in a mapped page" },
    Param { default: Literal::Integer(100), ..arrival::RATE },
    param! { "size" = Integer(256), Rule("a multiple of 8 from 64 to 64KiB", size_value); "of a record" },
    param! { "sync" = Text("none"), Words(|| vec!["none", "fdatasync", "close"]);
    "what follows each append" },
    param! { "look" = Text("open"), Words(|| vec!["open", "reopen", "stat"]);
    "how an appended file is looked at: it stays open, is opened anew for each look, or is asked for its size before" },
    param! { "every" = Text("1ms"), Duration(1_000_000_000); "from one look, or lock, to the next" },
    param! { "wait" = Text("2s"), Duration(60_000_000_000);
    "for how long others go on looking behind the end; shorter than --ranks-patience" },
    param! { "fault" = Text(""), Text;
    "with ask append: for `sh -c`, on the first host in the middle of the measurement, as to kill a server and start it \
     again; appends that are refused are then counted, and made again; it is run with --allow-fault alone" },
];

pub(crate) const WORKLOAD: Workload = Workload {
    name: "shared",
    about: "what hosts see of each other on a file system that they share",
    params: PARAMS,
    ops,
    // What the server has acknowledged; no client sees what that outlives.
    durability: |_| Durability::Unknown,
    prepare,
    scheduled: &["append", "create", "remove", "rename", "store"],
    check,
    read_back,
    ..Workload::LOOP
};

fn ops(params: &Resolved) -> Vec<String> {
    let names: &[&str] = match params.text("ask") {
        "append" if params.text("fault").is_empty() => &["append"],
        "append" => &["append", "refused append"],
        "tail" => &["append", "append seen"],
        "create" => &["create", "create seen"],
        "remove" => &["remove", "remove seen"],
        "rename" => &["rename", "rename seen"],
        "answer" => &["round trip"],
        "lock" => &["lock", "hand-over"],
        _ => &["store", "store seen"],
    };
    names.iter().map(|name| (*name).into()).collect()
}

fn size_value(value: &Value) -> Option<Value> {
    let size = Check::Bytes(BYTES_MIN as u64, BYTES_MAX as u64).accept(value)?;
    (size.as_u64()? % 8 == 0).then_some(size)
}

fn check(params: &Resolved) -> Result<(), ParamError> {
    match (params.text("fault"), params.text("ask")) {
        ("", _) | (_, "append") => Ok(()),
        _ => Err(params.together("fault", "it goes with ask = append")),
    }
}

/// What a lane does in the trial.
enum Part {
    /// Beside the first lane of its host, or as a host that reads what others wrote.
    StandsBy,
    Appends(Append),
    Tells(Telling),
    Looks(Looking),
    Asks(Talk),
    Answers(Talk),
    Locks(Locking),
}

impl Part {
    /// That it was given, none of which another lane may have.
    fn numbers(&self) -> &[u64] {
        match self {
            Part::Tells(Telling { sign: Sign::Page(_, numbers), .. })
            | Part::Looks(Looking { sign: Sign::Page(_, numbers), .. })
            | Part::Locks(Locking { numbers, .. }) => numbers,
            _ => &[],
        }
    }
}

fn prepare(session: &Session) -> Result<Box<dyn Prepared>, Fault> {
    let among = session.spec.among.filter(|among| among.hosts > 1);
    let among = among.ok_or_else(|| Fault::Skipped {
        reason: "hosts are asked about each other; name two at least with --ranks".into(),
    })?;
    let site = Site::of(session, among);
    let asks_of_each = !["append", "answer", "lock"].contains(&session.params.text("ask"));
    if asks_of_each && site.events > EVENTS_MAX {
        let reason = format!("rate × measure is over {EVENTS_MAX} events; ask for a lower rate");
        return Err(Fault::Failed { reason });
    }
    if session.spec.lane == 0 {
        make(session, &site)?;
    }
    // Nobody looks for a file before it is there: some file systems remember for long that it was not.
    session.gate.pass()?;
    Ok(Box::new(part(session, site)?))
}

fn make(session: &Session, site: &Site) -> Result<(), Fault> {
    let empty = |name: &str| write_kept(&site.folder.join(name), b"");
    match session.params.text("ask") {
        "append" => empty(TOGETHER),
        "tail" => empty(TAIL),
        "create" => Ok(()),
        "remove" => (0..site.events).try_for_each(|number| {
            let path = site.name(number);
            File::create_new(&path).map(drop).map_err(Fault::io("create", &path))
        }),
        "rename" => write_words(&site.folder.join(CURRENT), &[0]),
        "answer" => answer::FILES.iter().try_for_each(|name| empty(name)),
        "lock" => lock::make(&site.folder),
        _ => write_kept(&site.folder.join(MAPPED), &[0; MAPPED_BYTES]),
    }
}

fn part(session: &Session, site: Site) -> Result<Part, Fault> {
    let Among { host, hosts, leads, .. } = site.among;
    let (ask, is_first) = (session.params.text("ask"), session.spec.lane == 0);
    Ok(match ask {
        "append" if is_reader(host, hosts) => Part::StandsBy,
        "append" => Part::Appends(Append::new(session, TOGETHER)),
        _ if !leads => Part::StandsBy,
        "answer" if is_first => Part::Asks(Talk::new(session, true)),
        "answer" if host == 1 => Part::Answers(Talk::new(session, false)),
        "answer" => Part::StandsBy,
        "lock" => Part::Locks(Locking::new(site)?),
        _ if is_first => Part::Tells(Telling::new(site.clone(), sign(session, &site)?)),
        _ => Part::Looks(Looking::new(site.clone(), sign(session, &site)?)),
    })
}

fn sign(session: &Session, site: &Site) -> Result<Sign, Fault> {
    Ok(match session.params.text("ask") {
        "tail" => Sign::Tail(Pen::new(session, TAIL), Reader::new(session, TAIL)),
        "create" => Sign::Names { come: true },
        "remove" => Sign::Names { come: false },
        "rename" => Sign::Current,
        _ => Sign::Page(mapped(site)?, Vec::new()),
    })
}

/// The last of three hosts and more writes nothing, so that no page of its own hides what is lost.
fn is_reader(host: u32, hosts: u32) -> bool {
    hosts > 2 && host + 1 == hosts
}

/// The lane that reads what all others wrote, by the first lanes of each host; none where that is for each other's.
pub fn reader_of_all(spec: &TrialSpec, first_lanes: &[usize]) -> Option<usize> {
    let appends = spec.workload.name == WORKLOAD.name
        && spec.workload.params.get("ask").and_then(|ask| ask.as_str()) == Some("append");
    first_lanes.last().copied().filter(|_| appends && first_lanes.len() > 2)
}

fn mapped(site: &Site) -> Result<MappedFile, Fault> {
    let path = site.folder.join(MAPPED);
    let file = File::options().read(true).write(true).open(&path);
    let file = file.map_err(Fault::io("open", &path))?;
    MappedFile::map(&file, &path, MAPPED_BYTES)
        .map_err(|error| Fault::Skipped { reason: format!("{error}; it takes no shared mapping") })
}

/// The loop of one lane, with these of the operations.
fn driven(
    session: &Session,
    ops: &[String],
    arrival: Arrival,
    more_ns: u64,
    work: &mut impl Work,
) -> Result<Measured, Fault> {
    let measurement = Measurement { ops: ops.into(), ..session.measurement(false) };
    let mut pace = Pace::new(arrival, session.spec.seed, 0);
    measurement.run(work, &mut pace, Span::time(session.spec.measure_ns + more_ns))
}

impl Prepared for Part {
    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let at_rate = Arrival::Fixed { rate_per_s: session.params.number("rate") };
        let by_turns = Arrival::Closed { pause_ns: session.params.integer("every") };
        let (ops, wait_ns) = (&session.ops[..], session.params.integer("wait"));
        let measured = match self {
            Part::StandsBy => {
                let load = LoadRecord { began_ns: MonotonicClock.now_ns(), ..Default::default() };
                thread::sleep(Duration::from_nanos(session.spec.measure_ns));
                Measured { load, ..Measured::default() }
            }
            Part::Appends(work) => appended(session, at_rate, work)?,
            Part::Tells(work) => driven(session, &ops[..1], at_rate, 0, work)?,
            Part::Looks(work) => {
                let measured = driven(session, &ops[1..], by_turns, wait_ns, work)?;
                looked(session, measured, work)
            }
            Part::Asks(work) => {
                let mut measured = driven(session, ops, by_turns, 0, work)?;
                measured.counts.insert("unanswered".into(), work.unanswered as f64);
                measured
            }
            Part::Answers(work) => beside(driven(session, &[], by_turns, wait_ns, work)?),
            Part::Locks(work) => {
                let mut measured = driven(session, ops, by_turns, 0, work)?;
                measured.notes.extend(work.note.take());
                measured
            }
        };
        if !self.numbers().is_empty() {
            keep_numbers(session, self.numbers())?;
        }
        // One that looks has passed it before it heard when each event was.
        if !matches!(self, Part::Looks(_)) {
            session.gate.pass()?;
        }
        Ok(measured)
    }

    /// What another host must find. Whether it sees what goes on beside that, is what was measured.
    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        Ok(match self {
            Part::Appends(work) => work.next.number,
            part => part.numbers().len() as u64,
        })
    }
}

fn appended(session: &Session, arrival: Arrival, work: &mut Append) -> Result<Measured, Fault> {
    let spec = &session.spec;
    let (text, half) = (session.params.text("fault"), Duration::from_nanos(spec.measure_ns / 2));
    let makes = spec.lane == 0 && !text.is_empty();
    let making = makes.then(|| Making::begin(text, &spec.directory, half)).transpose()?;
    let measured = driven(session, &session.ops, arrival, 0, work);
    // Also where the measurement failed: it may stand between the end of a server and its start.
    let made = making.map(Making::end).transpose();
    let mut measured = measured?;
    if let Some((took, ended)) = made? {
        let took = duration_text(took.as_nanos() as f64);
        measured.notes.push(format!("fault: ended by {ended} after {took}"));
    }
    if work.refused > 0 {
        measured.counts.insert("appends_refused".into(), work.refused as f64);
        measured.notes.push(format!("refused at last: {}", work.last_refusal));
    }
    if work.next.number == 0 {
        let reason = format!("no append was acknowledged; the last one: {}", work.last_refusal);
        return Err(Fault::Failed { reason });
    }
    Ok(measured)
}

/// Its arrivals are none of the load.
fn beside(measured: Measured) -> Measured {
    let LoadRecord { measured_ns, began_ns, .. } = measured.load;
    let load = LoadRecord { measured_ns, began_ns, ..LoadRecord::default() };
    Measured { load, ..measured }
}

fn looked(session: &Session, measured: Measured, work: &mut Looking) -> Measured {
    let mut measured = beside(measured);
    let counted = |name: &str| work.counts.get(name).copied().unwrap_or(0);
    let all = ["seen", "not_seen", "versions_skipped", "seen_too_early"];
    let all = all.map(counted).iter().sum::<u64>();
    let host = uname().nodename().to_string_lossy().into_owned();
    let wait = duration_text(session.params.integer("wait") as f64);
    for (name, what) in [
        ("not_seen", format!("not seen until {wait} behind the end")),
        ("seen_too_early", "seen before they happened, and not timed".into()),
    ] {
        if counted(name) > 0 {
            measured.notes.push(format!("{host}: {} of {all} {what}", counted(name)));
        }
    }
    measured.counts.extend(work.counts.iter().map(|(name, n)| (name.to_string(), *n as f64)));
    let every = duration_text(session.params.integer("every") as f64);
    measured.notes.push(format!("others look every {every}"));
    measured.notes.extend(work.note.take());
    measured
}

fn read_back(session: &Session) -> Result<Found, Fault> {
    match session.params.text("ask") {
        "append" => append::read_back(session, TOGETHER),
        "lock" | "map" => read_numbers(session),
        _ => Ok(Found { records: 0, damage: None }),
    }
}
