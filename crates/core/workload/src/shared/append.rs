//! All hosts append to one file. An append is whole and at the end of the file, or the file system does not keep
//! O_APPEND between hosts (open(2) says so of NFS).

use pickfs_record::{Clock, OpIndex};

use super::{
    is_reader,
    record::{Pen, Record, read_whole, sift},
};
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

    fn settle<C: Clock>(&mut self, clock: &C, _bench: &mut Bench) -> Result<u64, Fault> {
        self.pen.close()?;
        Ok(clock.now_ns())
    }
}

/// Records of the session's lane in the file that all have written.
pub(super) fn read_back(session: &Session, name: &str) -> Result<Found, Fault> {
    let (spec, size) = (&session.spec, session.params.integer("size") as usize);
    let among = spec.among.unwrap_or_default();
    // Lanes that wrote are read by the host that did not.
    if among.hosts > 2 && !is_reader(among.host, among.hosts) {
        return Ok(Found { records: 0, damage: None });
    }
    let mut own = Vec::new();
    let strays = sift(&read_whole(&spec.directory.join(name))?, size, |record| {
        if record.lane == spec.lane {
            own.push((record.number, record.attempt));
        }
    });
    own.sort_unstable();
    let all = own.len();
    own.dedup();
    let once = own.len();
    own.dedup_by_key(|(number, _)| *number);
    let Some((last, _)) = own.last() else { return Ok(Found { records: 0, damage: None }) };
    let records = own.len() as u64;
    // What was refused may have left a part of itself.
    let has_strays = u64::from(session.params.text("fault").is_empty());
    let kinds = [
        (last.saturating_add(1) - records, "lost before others that are there"),
        ((all - once) as u64, "there twice"),
        (has_strays * strays.torn, "torn, of whichever host"),
        (has_strays * strays.mixed, "mixed with others, of whichever host"),
        (has_strays * strays.holes, "holes of zeros"),
    ];
    let kinds = kinds.iter().filter(|(count, _)| *count > 0);
    let damage: Vec<String> = kinds.map(|(count, what)| format!("{count} {what}")).collect();
    let damage = Some(damage.join(", ")).filter(|text| !text.is_empty());
    Ok(Found { records, damage })
}
