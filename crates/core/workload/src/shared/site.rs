//! Where a lane is, and what passes between hosts: names of files, times on one clock, numbers that were given.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use pickfs_record::{OpIndex, quantity::duration_text, trial::Among};

use super::record::{BYTES_MIN, Record, read_whole, sift, write_all};
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
/// Of an attempt: nothing follows.
const END: u32 = 1;

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
        let record = |number, time_ns| Record { lane: self.lane, number, attempt: 0, time_ns };
        let times = (0..).zip(own_ns).map(|(n, at_ns)| record(n, self.among.first_ns(*at_ns)));
        let end = Record { attempt: END, ..record(own_ns.len() as u64, 0) };
        write_all(&self.told_path(), times.chain([end]))
    }

    /// The same on the own clock here, when all have ended.
    pub(super) fn told(&self) -> Result<Vec<u64>, Fault> {
        let (path, began) = (self.told_path(), Instant::now());
        while began.elapsed() < TOLD_LIMIT {
            let mut found = Vec::new();
            sift(&read_whole(&path)?, BYTES_MIN, |record| found.push(record));
            let end = found.pop();
            if end.is_some_and(|end| end.attempt == END && end.number == found.len() as u64) {
                return Ok(found.iter().map(|one| self.among.own_ns(one.time_ns)).collect());
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
    let lane = session.spec.lane;
    let record = |number: &u64| Record { lane, number: *number, ..Record::default() };
    write_all(&numbers_path(session, lane), numbers.iter().map(record))
}

/// Those of the session's lane that no other one was given.
pub(super) fn read_numbers(session: &Session) -> Result<Found, Fault> {
    let (mut times, mut own) = (BTreeMap::<u64, u64>::new(), Vec::new());
    for lane in 0..session.spec.lanes {
        sift(&read_whole(&numbers_path(session, lane))?, BYTES_MIN, |record| {
            *times.entry(record.number).or_default() += 1;
            if lane == session.spec.lane {
                own.push(record.number);
            }
        });
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
