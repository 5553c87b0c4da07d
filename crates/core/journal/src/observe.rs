//! A histogram of all appends, and the worst append, sync and roll of each second, handed to an
//! [`Observer`]: two readings of the clock for an append, and nothing for a plain [`Journal`].

use std::time::Instant;

use crate::Histogram;
use crate::directory::Directory;
use crate::error::Result;
use crate::journal::{Appended, Journal};
use crate::storage::Storage;

const SECOND_NS: u64 = 1_000_000_000;
const HOUR_NS: u64 = 3_600 * SECOND_NS;

/// Nanoseconds, each within 1 % and cut at an hour. A second without an append is not reported.
#[derive(Debug, Clone)]
pub struct Second {
    /// Since the journal was put under observation.
    pub number: u64,
    pub append: Histogram<u64>,
    pub sync: Histogram<u64>,
    pub roll: Histogram<u64>,
}

impl Default for Second {
    fn default() -> Self {
        let empty = Histogram::new_with_max(HOUR_NS, 2).expect("these bounds are allowed");
        Self { number: 0, append: empty.clone(), sync: empty.clone(), roll: empty }
    }
}

pub trait Observer {
    /// Called by the appending thread, after the first append of a later second and outside of what is
    /// timed. It holds the next append up, so copy and return.
    fn second(&mut self, second: &Second);
}

/// A journal whose calls are timed.
pub struct Observed<O, S: Storage = Directory> {
    journal: Journal<S>,
    observer: O,
    start: Instant,
    second: Second,
}

impl<O: Observer, S: Storage> Observed<O, S> {
    pub fn new(journal: Journal<S>, observer: O) -> Self {
        Self { journal, observer, start: Instant::now(), second: Second::default() }
    }

    pub fn append(&mut self, payload: &[u8]) -> Result<Appended> {
        self.journal.encode(payload)?;
        let mut at_ns = self.now_ns();
        let rolled = self.journal.needs_roll();
        if rolled {
            self.journal.roll()?;
            at_ns = note(&mut self.second.roll, at_ns, self.start);
        }
        let appended = self.journal.write_encoded()?;
        at_ns = note(&mut self.second.append, at_ns, self.start);
        if self.journal.sync_due() {
            self.journal.sync()?;
            at_ns = note(&mut self.second.sync, at_ns, self.start);
        }
        self.turn_to(at_ns / SECOND_NS);
        Ok(Appended { rolled, ..appended })
    }

    pub fn sync(&mut self) -> Result<()> {
        let at_ns = self.now_ns();
        self.journal.sync()?;
        let at_ns = note(&mut self.second.sync, at_ns, self.start);
        self.turn_to(at_ns / SECOND_NS);
        Ok(())
    }

    /// Reports the second that is over, if any, without an append. For a thread that is idle.
    pub fn tick(&mut self) {
        let number = self.now_ns() / SECOND_NS;
        self.turn_to(number);
    }

    /// Reports the last, unfinished second and gives the journal back.
    pub fn finish(mut self) -> Journal<S> {
        self.turn_to(u64::MAX);
        self.journal
    }

    pub fn journal(&self) -> &Journal<S> {
        &self.journal
    }

    fn now_ns(&self) -> u64 {
        self.start.elapsed().as_nanos() as u64
    }

    fn turn_to(&mut self, number: u64) {
        let second = &mut self.second;
        if number == second.number {
            return;
        }
        if second.append.len() + second.sync.len() + second.roll.len() > 0 {
            self.observer.second(second);
            second.append.reset();
            second.sync.reset();
            second.roll.reset();
        }
        second.number = number;
    }
}

fn note(histogram: &mut Histogram<u64>, began_ns: u64, start: Instant) -> u64 {
    let now_ns = start.elapsed().as_nanos() as u64;
    histogram.saturating_record(now_ns.saturating_sub(began_ns));
    now_ns
}
