//! There and back again between two hosts, by one clock: the first one appends, the second one sees it and appends its
//! answer, and the first one sees that.

use std::{thread, time::Duration};

use pickfs_record::{Clock, OpIndex};

use super::record::{Pen, Reader, Record, Sight};
use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
    workload::Session,
};

pub(super) const FILES: [&str; 2] = ["there", "back"];

pub(super) struct Talk {
    pen: Pen,
    reader: Reader,
    next: Record,
    asks: bool,
    every: Duration,
    wait_ns: u64,
    pub(super) unanswered: u64,
}

impl Talk {
    /// As the first host, which asks, or as the second one.
    pub(super) fn new(session: &Session, asks: bool) -> Talk {
        let [said, heard] = if asks { FILES } else { [FILES[1], FILES[0]] };
        Talk {
            pen: Pen::new(session, said),
            reader: Reader::new(session, heard),
            next: Record { lane: session.spec.lane, ..Record::default() },
            asks,
            every: Duration::from_nanos(session.params.integer("every")),
            wait_ns: session.params.integer("wait"),
            unanswered: 0,
        }
    }

    fn say(&mut self) -> Result<(), Fault> {
        self.pen.fill(&self.next);
        self.pen.put().map_err(Fault::io("append to", &self.pen.path))?;
        self.next.number += 1;
        Ok(())
    }

    /// A file that cannot be read now may be at the next look.
    fn hears(&mut self, number: u64) -> bool {
        matches!(self.reader.look(number), Ok(Sight::Whole))
    }
}

impl Work for Talk {
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        let number = self.next.number;
        if !self.asks {
            if self.hears(number) {
                self.say()?;
            }
            return Ok(clock.now_ns());
        }
        self.say()?;
        let mut has_answer = self.hears(number);
        while !has_answer && clock.now_ns() - arrival.start_ns < self.wait_ns {
            thread::sleep(self.every);
            has_answer = self.hears(number);
        }
        // One that was not answered is kept with the time for which that was waited for.
        self.unanswered += u64::from(!has_answer);
        let end_ns = clock.now_ns();
        bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
        Ok(end_ns)
    }
}
