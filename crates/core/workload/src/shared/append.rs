//! All hosts append to one file. An append is whole and at the end of the file, or the file system does not keep
//! O_APPEND between hosts (open(2) says so of NFS).

use std::collections::BTreeSet;

use pickfs_record::{Clock, OpIndex};

use super::record::{Pen, Record, read_whole, sift};
use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
    workload::{Found, Session},
};

pub(super) struct Append {
    pen: Pen,
    /// The same number again until it is acknowledged.
    pub(super) next: Record,
    goes_on: bool,
    pub(super) refused: u64,
    pub(super) last_refusal: String,
}

impl Append {
    /// One that is refused fails the trial, unless a fault was asked for.
    pub(super) fn new(session: &Session, name: &str) -> Append {
        let next = Record { lane: session.spec.lane, ..Record::default() };
        let goes_on = !session.params.text("fault").is_empty();
        let pen = Pen::new(session, name);
        Append { pen, next, goes_on, refused: 0, last_refusal: String::new() }
    }
}

impl Work for Append {
    fn ready(&mut self, _time_ns: u64) -> Result<(), Fault> {
        self.pen.fill(&self.next);
        Ok(())
    }

    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        let put = self.pen.put();
        let end_ns = clock.now_ns();
        match put {
            Ok(()) => {
                bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
                self.next = Record { number: self.next.number + 1, attempt: 0, ..self.next };
            }
            Err(error) if self.goes_on => {
                bench.record(OpIndex(1), arrival.start_ns, end_ns, 0);
                self.next.attempt += 1;
                self.refused += 1;
                self.last_refusal = error.to_string();
            }
            Err(error) => return Err(Fault::io("append to", &self.pen.path)(error)),
        }
        Ok(end_ns)
    }
}

/// Records of the session's lane in the file that all have written.
pub(super) fn read_back(session: &Session, name: &str) -> Result<Found, Fault> {
    let (spec, size) = (&session.spec, session.params.integer("size") as usize);
    let all = sift(&read_whole(&spec.directory.join(name))?, size);
    let own = || all.whole.iter().filter(|record| record.lane == spec.lane);
    let numbers: BTreeSet<u64> = own().map(|record| record.number).collect();
    let once: BTreeSet<(u64, u32)> = own().map(|one| (one.number, one.attempt)).collect();
    let Some(last) = numbers.last() else { return Ok(Found { records: 0, damage: None }) };
    let kinds = [
        (last + 1 - numbers.len() as u64, "lost before others that are there"),
        ((own().count() - once.len()) as u64, "there twice"),
        (all.torn, "torn, of whichever host"),
        (all.mixed, "mixed with others, of whichever host"),
        (all.holes, "holes of zeros"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let damage: Vec<String> = kinds.map(|(count, what)| format!("{count} {what}")).collect();
    let damage = Some(damage.join(", ")).filter(|text| !text.is_empty());
    Ok(Found { records: numbers.len() as u64, damage })
}
