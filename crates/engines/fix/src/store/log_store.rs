use std::ops::{ControlFlow, RangeInclusive};

use super::{Each, Entry, EntryKind, Gate, Result, SessionNumber, Store, StoreError};

/// Records with their numbers, until it breaks.
pub type EachRecord<'a> = dyn FnMut(u64, &[u8]) -> ControlFlow<()> + 'a;

/// Byte records in one order: a queue, a journal, a replicated pair. Everything of the engine's is in the bytes.
pub trait Log: Send {
    /// Gives its number, which rises.
    fn append(&mut self, record: &[u8]) -> Result<u64>;

    /// Returns when every appended record is as safe as it must be before that step. A log for which an append is
    /// enough leaves it as it is.
    fn wait(&mut self, _gate: Gate) -> Result {
        Ok(())
    }

    /// From this number on, with their numbers, to the last one or until `each` breaks.
    fn read(&mut self, from: u64, each: &mut EachRecord<'_>) -> Result;

    fn idle(&mut self) -> Result {
        Ok(())
    }
}

/// With a sparse index for resending.
pub struct LogStore<L> {
    log: L,
    record: Vec<u8>,
    marks: Vec<Marks>,
}

impl<L: Log> LogStore<L> {
    pub fn new(log: L) -> Self {
        LogStore { log, record: Vec::with_capacity(4096), marks: Vec::with_capacity(64) }
    }

    pub fn log(&self) -> &L {
        &self.log
    }

    #[inline]
    fn note(marks: &mut Vec<Marks>, entry: &Entry<'_>, record: u64) {
        let session = entry.session as usize;
        while marks.len() <= session {
            marks.push(Marks::new());
        }
        match entry.kind {
            EntryKind::OutBusiness => marks[session].note(entry.sequence, record),
            EntryKind::Reset => marks[session].clear(),
            _ => {}
        }
    }
}

fn decoded(number: u64, record: &[u8]) -> Result<Entry<'_>> {
    let what = || "is none of this engine".to_string();
    Entry::decode(record).ok_or_else(|| StoreError::Damaged { record: number, what: what() })
}

/// Sessions that a record may name: more than any limit of sessions allows is damage.
const SESSIONS_MAX: SessionNumber = 65_536;

impl<L: Log> Store for LogStore<L> {
    #[inline]
    fn keep(&mut self, entry: &Entry<'_>) -> Result {
        entry.encode(&mut self.record);
        let number = self.log.append(&self.record)?;
        Self::note(&mut self.marks, entry, number);
        Ok(())
    }

    #[inline]
    fn wait(&mut self, gate: Gate) -> Result {
        self.log.wait(gate)
    }

    fn resend(
        &mut self,
        session: SessionNumber,
        range: RangeInclusive<u64>,
        each: &mut Each<'_>,
    ) -> Result {
        let marks = self.marks.get(session as usize);
        let Some(from) = marks.and_then(|marks| marks.before(*range.start())) else {
            return Ok(());
        };
        let mut wrong = None;
        self.log.read(from, &mut |number, record| match decoded(number, record) {
            Ok(entry) if entry.session != session => ControlFlow::Continue(()),
            Ok(entry) if entry.kind != EntryKind::OutBusiness => ControlFlow::Continue(()),
            Ok(entry) if entry.sequence < *range.start() => ControlFlow::Continue(()),
            Ok(entry) if entry.sequence > *range.end() => ControlFlow::Break(()),
            Ok(entry) => each(&entry),
            Err(error) => {
                wrong = Some(error);
                ControlFlow::Break(())
            }
        })?;
        wrong.map_or(Ok(()), Err)
    }

    fn replay(&mut self, each: &mut dyn FnMut(&Entry<'_>) -> Result) -> Result {
        let mut wrong = None;
        let marks = &mut self.marks;
        self.log.read(1, &mut |number, record| {
            let taken = decoded(number, record).and_then(|entry| {
                if entry.session >= SESSIONS_MAX {
                    let what = format!("names session {}", entry.session);
                    return Err(StoreError::Damaged { record: number, what });
                }
                Self::note(marks, &entry, number);
                each(&entry)
            });
            match taken {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    wrong = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        wrong.map_or(Ok(()), Err)
    }

    fn idle(&mut self) -> Result {
        self.log.idle()
    }
}

// Where a session's outgoing messages stand in a log: one mark for every so many, in room that never grows.

/// Marks of one session before every second one is let go.
const MARKS_MAX: usize = 4096;

#[derive(Debug, Clone)]
pub(super) struct Marks {
    /// Sequence number and record, both rising.
    marks: Vec<(u64, u64)>,
    /// Messages from one mark to the next.
    stride: u64,
}

impl Marks {
    pub(super) fn new() -> Self {
        Marks { marks: Vec::with_capacity(MARKS_MAX), stride: 16 }
    }

    #[inline]
    pub(super) fn note(&mut self, sequence: u64, record: u64) {
        if self.marks.last().is_none_or(|(last, _)| sequence >= last + self.stride) {
            self.add(sequence, record);
        }
    }

    fn add(&mut self, sequence: u64, record: u64) {
        if self.marks.len() == MARKS_MAX {
            let mut at = 0;
            self.marks.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.stride *= 2;
        }
        self.marks.push((sequence, record));
    }

    /// From which to look for a number; `None` where no such message is known.
    pub(super) fn before(&self, sequence: u64) -> Option<u64> {
        let behind = self.marks.partition_point(|(marked, _)| *marked <= sequence);
        // Numbers before the first mark can only stand behind it.
        self.marks.get(behind.saturating_sub(1)).map(|(_, record)| *record)
    }

    pub(super) fn clear(&mut self) {
        self.marks.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stands_at_or_before_every_number_and_the_room_is_bounded() {
        let mut marks = Marks::new();
        assert_eq!(marks.before(1), None);
        for sequence in 1..=1_000_000 {
            marks.note(sequence, 3 * sequence);
        }
        for sequence in [1, 2, 17, 500_000, 999_999, 1_000_000] {
            let record = marks.before(sequence).unwrap();
            assert!(record <= 3 * sequence && record + 3 * 2 * 1024 > 3 * sequence, "{record}");
        }
        assert!(marks.marks.len() <= MARKS_MAX && marks.marks.capacity() == MARKS_MAX);
    }
}
