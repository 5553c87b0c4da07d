//! The stores of the FIX engine: an order that came in and its answer, acknowledged when the answer may leave.

use std::path::Path;

use pickfs_fix::store::{Entry, EntryKind, Gate, Profile, Store};

use super::record::{Reading, record};
use super::subject::{SubjectError, Writes};
use crate::check::{Found, Loss};

/// The smallest: the orders of a recording fill more than one.
const FILE_BYTES: u64 = 64 << 10;

pub(crate) struct Session(Box<dyn Store>);

fn entry(kind: EntryKind, sequence: u64, message: &[u8]) -> Entry<'_> {
    Entry { kind, session: 0, sequence, next: sequence + 1, time_ns: 1, message }
}

impl Writes for Session {
    fn append(&mut self, number: u64) -> Result<(), SubjectError> {
        let Self(store) = self;
        let message = record(number);
        store.keep(&entry(EntryKind::In, number, &message))?;
        store.wait(Gate::Business)?;
        store.keep(&entry(EntryKind::OutBusiness, number, &message))?;
        store.wait(Gate::Reply)?;
        Ok(())
    }
}

pub(crate) fn begin(dir: &Path, profile: Profile) -> Result<Session, SubjectError> {
    let mut store = profile.open(dir, FILE_BYTES)?;
    store.keep(&entry(EntryKind::Session, 0, b"FIX.4.4:A->B"))?;
    store.wait(Gate::Reply)?;
    Ok(Session(store))
}

pub(crate) fn look(dir: &Path, profile: Profile, mut found: Found) -> Found {
    let (mut orders, mut answers) = (Reading::default(), Reading::default());
    let read = profile.open(dir, FILE_BYTES).and_then(|mut store| {
        store.replay(&mut |entry| {
            let reading = match entry.kind {
                EntryKind::In => &mut orders,
                EntryKind::OutBusiness | EntryKind::OutAdministrative => &mut answers,
                _ => return Ok(()),
            };
            // Behind a wrong one no more is counted: the numbers do not follow.
            let _ = reading.take(entry.sequence, entry.message);
            Ok(())
        })
    });
    if let Err(error) = read {
        found.losses.push(Loss::Refused(error.to_string()));
    }
    // An order counts with its answer.
    let survived = orders.survived.min(answers.survived);
    Found { survived, ..answers.end(orders.end(found)) }
}
