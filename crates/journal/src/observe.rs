//! Instrumentation for a linked journal: a histogram of all appends, and the worst append, sync and roll
//! of each second, handed to an [`Observer`] - the figures that showed the articles' authors that their
//! 300 microsecond spikes were rolls. A plain [`Journal`] contains nothing of this, so it costs nothing
//! where it is not used; [`Observed`] adds two readings of the clock to an append.
//!
//! ```
//! use pickfs_journal::{Journal, Observed, Observer, Options, Second};
//!
//! struct Print;
//! impl Observer for Print {
//!     fn second(&mut self, second: &Second) {
//!         println!("worst append {} ns, worst roll {} ns", second.append.max_ns(), second.roll.max_ns());
//!     }
//! }
//!
//! let dir = tempfile::tempdir()?;
//! let mut journal = Observed::new(Journal::create(dir.path(), Options::default())?, Print);
//! journal.append(b"an order")?;
//! journal.finish();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::time::Instant;

use crate::directory::Directory;
use crate::error::Result;
use crate::histogram::Histogram;
use crate::journal::{Appended, Journal};
use crate::storage::Storage;

const SECOND_NS: u64 = 1_000_000_000;

/// What happened in one second. A second without an append is not reported.
#[derive(Debug, Clone, Default)]
pub struct Second {
    /// Seconds since the journal was put under observation.
    pub number: u64,
    /// Write calls.
    pub append: Histogram,
    /// Sync calls.
    pub sync: Histogram,
    /// Rolls, each with its sync.
    pub roll: Histogram,
}

/// Takes the figures of each second.
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
    /// Puts a journal under observation.
    pub fn new(journal: Journal<S>, observer: O) -> Self {
        Self { journal, observer, start: Instant::now(), second: Second::default() }
    }

    /// As [`Journal::append`], timed.
    pub fn append(&mut self, payload: &[u8]) -> Result<Appended> {
        self.journal.encode(payload)?;
        let mut lap = self.now_ns();
        let rolled = self.journal.needs_roll();
        if rolled {
            self.journal.roll()?;
            lap = note(&mut self.second.roll, lap, self.start);
        }
        let appended = self.journal.write_encoded()?;
        lap = note(&mut self.second.append, lap, self.start);
        if self.journal.sync_due() {
            self.journal.sync()?;
            lap = note(&mut self.second.sync, lap, self.start);
        }
        self.turn_to(lap / SECOND_NS);
        Ok(Appended { rolled, ..appended })
    }

    /// As [`Journal::sync`], timed.
    pub fn sync(&mut self) -> Result<()> {
        let lap = self.now_ns();
        self.journal.sync()?;
        let lap = note(&mut self.second.sync, lap, self.start);
        self.turn_to(lap / SECOND_NS);
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

    /// The journal, for what is not timed.
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
        if second.append.count() + second.sync.count() + second.roll.count() > 0 {
            self.observer.second(second);
            second.append.clear();
            second.sync.clear();
            second.roll.clear();
        }
        second.number = number;
    }
}

fn note(histogram: &mut Histogram, began_ns: u64, start: Instant) -> u64 {
    let now_ns = start.elapsed().as_nanos() as u64;
    histogram.record(now_ns.saturating_sub(began_ns));
    now_ns
}
