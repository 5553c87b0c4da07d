//! Where a lane is, and what passes between hosts: names of files, times on one clock, numbers that were given.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use pickfs_record::{OpIndex, quantity::duration_text, trial::Among};

use super::record::{read_whole, read_words, write_words};
use crate::{
    bench::Bench,
    fault::Fault,
    phase::Gate,
    workload::{Found, Session},
};

/// For a file that its writer has synced and closed, and nobody has looked for before.
const TOLD_LIMIT: Duration = Duration::from_secs(20);
const NAP: Duration = Duration::from_millis(20);
/// A name for each of some asks.
pub(super) const EVENTS_MAX: u64 = 100_000;

#[derive(Clone)]
pub(super) struct Site {
    pub(super) folder: PathBuf,
    pub(super) lane: u32,
    pub(super) among: Among,
    pub(super) gate: Gate,
    /// From one event to the next.
    pub(super) period_ns: u64,
    pub(super) events: u64,
}

impl Site {
    pub(super) fn of(session: &Session, among: Among) -> Site {
        let (spec, rate_per_s) = (&session.spec, session.params.number("rate"));
        let events = (rate_per_s * spec.measure_ns as f64 / 1e9).max(1.0) as u64;
        Site {
            folder: spec.directory.clone(),
            lane: spec.lane,
            among,
            gate: session.gate.clone(),
            period_ns: (1e9 / rate_per_s) as u64,
            events,
        }
    }

    pub(super) fn name(&self, number: u64) -> PathBuf {
        self.folder.join(format!("name-{number}"))
    }

    fn told_path(&self) -> PathBuf {
        self.folder.join("told")
    }

    /// Times of the own clock, by number, to all others.
    pub(super) fn tell(&self, own_ns: &[u64]) -> Result<(), Fault> {
        let times: Vec<u64> = own_ns.iter().map(|at_ns| self.among.first_ns(*at_ns)).collect();
        write_words(&self.told_path(), &times)
    }

    /// The same on the own clock here, when all have ended.
    pub(super) fn told(&self) -> Result<Vec<u64>, Fault> {
        let (path, began) = (self.told_path(), Instant::now());
        while began.elapsed() < TOLD_LIMIT {
            if let Some(told) = read_words(&read_whole(&path)?) {
                return Ok(told.into_iter().map(|at_ns| self.among.own_ns(at_ns)).collect());
            }
            thread::sleep(NAP);
        }
        let reason = format!(
            "{}, which the first host closed {TOLD_LIMIT:?} ago, is not seen here",
            path.display()
        );
        Err(Fault::Failed { reason })
    }
}

fn numbers_path(session: &Session, lane: u32) -> PathBuf {
    session.spec.directory.join(format!("numbers-{lane}"))
}

/// Each of which only one lane may have been given.
pub(super) fn keep_numbers(session: &Session, numbers: &[u64]) -> Result<(), Fault> {
    write_words(&numbers_path(session, session.spec.lane), numbers)
}

/// Those of the session's lane that no other one was given.
pub(super) fn read_numbers(session: &Session) -> Result<Found, Fault> {
    let (mut times, mut own) = (BTreeMap::<u64, u64>::new(), Vec::new());
    for lane in 0..session.spec.lanes {
        let given = read_words(&read_whole(&numbers_path(session, lane))?).unwrap_or_default();
        given.iter().for_each(|number| *times.entry(*number).or_default() += 1);
        if lane == session.spec.lane {
            own = given;
        }
    }
    let records = own.iter().filter(|number| times.get(number) == Some(&1)).count() as u64;
    let lost = own.len() as u64 - records;
    let text = || format!("increments lost: {lost} of its {} numbers were given twice", own.len());
    Ok(Found { records, damage: (lost > 0).then(text) })
}

/// Times that began on another host, and ended here. They are kept unless clocks are too loose for them: then gives
/// why.
pub(super) fn keep(
    bench: &mut Bench,
    op: OpIndex,
    spans: &[(u64, u64)],
    error_ns: u64,
) -> Option<String> {
    let mut lengths: Vec<u64> = spans.iter().map(|(from, to)| to.saturating_sub(*from)).collect();
    lengths.sort_unstable();
    let median_ns = *lengths.get(lengths.len() / 2)?;
    if error_ns > median_ns / 10 {
        let [median, error] = [median_ns, error_ns].map(|ns| duration_text(ns as f64));
        return Some(format!(
            "times from host to host are not shown: half are within {median}, and clocks are known to {error}"
        ));
    }
    for (from_ns, to_ns) in spans {
        bench.operation_alone(op, (*from_ns).min(*to_ns), *to_ns, 0);
    }
    None
}
