use std::{ops::ControlFlow, path::Path};

use pickfs_journal::replay;
use pickfs_queue as queue;

use super::Kind;
use crate::epoch::Position;
use crate::error::{Error, Result};
use crate::wire::record;

/// What a reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    Done,
    /// The message is not kept any more; the oldest that is.
    Gone {
        oldest: u64,
    },
}

/// From number `from` on. [`Error::Foreign`] where a record is not of a pair.
pub fn read(
    dir: &Path,
    kind: Kind,
    from: u64,
    mut callback: impl FnMut(Position, &[u8]) -> ControlFlow<()>,
) -> Result<Read> {
    let mut before = None;
    let mut failed = None;
    let mut outcome = Read::Done;
    let mut take = |stored: u64, bytes: &[u8]| match checked(dir, stored, bytes, before) {
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
        Ok((at, _)) if at.sequence < from => {
            before = Some(at);
            ControlFlow::Continue(())
        }
        Ok((at, _)) if before.is_none() && at.sequence > from => {
            outcome = Read::Gone { oldest: at.sequence };
            ControlFlow::Break(())
        }
        Ok((at, payload)) => {
            before = Some(at);
            callback(at, payload)
        }
    };
    match kind {
        // In a journal of a pair both numbers are the same.
        Kind::Journal => drop(replay(dir, from, |record| take(record.sequence, record.payload))?),
        Kind::Queue => queue_from(dir, from, take)?,
    }
    failed.map_or(Ok(outcome), Err)
}

/// The numbers of a queue are the pair's or higher, so `from` leads to the message or before it.
fn queue_from(
    dir: &Path,
    from: u64,
    mut take: impl FnMut(u64, &[u8]) -> ControlFlow<()>,
) -> Result<()> {
    let queue = queue::Queue::open_read_only(dir)?;
    let mut tailer = queue.tailer()?;
    match tailer.seek_sequence(from) {
        Err(queue::Error::Retired { .. }) => tailer.seek_start()?,
        sought => sought?,
    }
    while let Some(message) = tailer.poll()? {
        if take(message.sequence, message.payload).is_break() {
            break;
        }
    }
    Ok(())
}

fn checked<'a>(
    dir: &Path,
    stored: u64,
    bytes: &'a [u8],
    before: Option<Position>,
) -> Result<(Position, &'a [u8])> {
    let foreign = |reason| Error::Foreign { path: dir.to_path_buf(), sequence: stored, reason };
    let (at, payload) = record(bytes).ok_or_else(|| foreign("it is too short"))?;
    let follows =
        before.is_none_or(|before| at.sequence == before.sequence + 1 && at.epoch >= before.epoch);
    match follows {
        true => Ok((at, payload)),
        false => Err(foreign("it does not follow the one before")),
    }
}

/// Nothing for the number 0.
pub(crate) fn at(dir: &Path, sequence: u64) -> Result<Position> {
    let mut found = Position::default();
    if sequence > 0 {
        read(dir, Kind::Journal, sequence, |at, _| {
            found = at;
            ControlFlow::Continue(())
        })?;
    }
    Ok(found)
}

/// The last message of a queue; nothing where it holds none.
///
/// Looks back from the end, further each time: numbers that were left out have no message.
pub(crate) fn last_of_queue(dir: &Path) -> Result<Position> {
    let queue = queue::Queue::open_read_only(dir)?;
    let mut tailer = queue.tailer()?;
    tailer.seek_end()?;
    let end = tailer.next_sequence();
    let mut back = 1;
    loop {
        let start = end.saturating_sub(back).max(1);
        match tailer.seek_sequence(start) {
            Err(queue::Error::Retired { .. }) => tailer.seek_start()?,
            sought => sought?,
        }
        let mut last = None;
        while let Some(message) = tailer.poll()? {
            last = record(message.payload).map(|(at, _)| at);
        }
        match last {
            Some(last) => return Ok(last),
            None if start == 1 || back > end => return Ok(Position::default()),
            None => back *= 4,
        }
    }
}
