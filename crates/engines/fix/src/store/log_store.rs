use std::ops::{ControlFlow, RangeInclusive};

use super::{Entry, EntryKind, Gate, SessionNumber, Store, StoreError, marks::Marks};

/// Byte records in one order: a queue, a journal, a replicated pair. Everything of the engine's is in the bytes.
pub trait Log: Send {
    /// Gives its number, which rises.
    fn append(&mut self, record: &[u8]) -> Result<u64, StoreError>;

    /// Returns when every appended record is as safe as it must be before that step. A log for which an append is
    /// enough leaves it as it is.
    fn wait(&mut self, _gate: Gate) -> Result<(), StoreError> {
        Ok(())
    }

    /// From this number on, with their numbers, to the last one or until `each` breaks.
    fn read(
        &mut self,
        from: u64,
        each: &mut dyn FnMut(u64, &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    fn idle(&mut self) -> Result<(), StoreError> {
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

fn decoded(number: u64, record: &[u8]) -> Result<Entry<'_>, StoreError> {
    let what = || "is none of this engine".to_string();
    Entry::decode(record).ok_or_else(|| StoreError::Damaged { record: number, what: what() })
}

/// Sessions that a record may name: more than any limit of sessions allows is damage.
const SESSIONS_MAX: SessionNumber = 65_536;

impl<L: Log> Store for LogStore<L> {
    #[inline]
    fn keep(&mut self, entry: &Entry<'_>) -> Result<(), StoreError> {
        entry.encode(&mut self.record);
        let number = self.log.append(&self.record)?;
        Self::note(&mut self.marks, entry, number);
        Ok(())
    }

    #[inline]
    fn wait(&mut self, gate: Gate) -> Result<(), StoreError> {
        self.log.wait(gate)
    }

    fn resend(
        &mut self,
        session: SessionNumber,
        range: RangeInclusive<u64>,
        each: &mut dyn FnMut(&Entry<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
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

    fn replay(
        &mut self,
        each: &mut dyn FnMut(&Entry<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
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

    fn idle(&mut self) -> Result<(), StoreError> {
        self.log.idle()
    }
}
