//! Replay: hands every record from a sequence on to a callback, at any time, also while a writer is
//! appending. It reads up to the last whole record, takes no lock and changes nothing.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use crate::error::{DamageKind, Error, Result};
use crate::layout::{FILE_HEADER_BYTES, FileHeader, RECORD_HEADER_BYTES, RecordHeader};
use crate::name;
use crate::recovery;
use crate::scan::{self, Step, Window};
use crate::storage::{Open, Storage};
use crate::survey::{Hole, damage, header_of, indices};

/// Looks at a hole before it counts as damage: a writer fills what was not there yet.
const LOOKS_MAX: u32 = 4;
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    pub sequence: u64,
    pub payload: &'a [u8],
    pub file_index: u64,
    /// Where its header starts.
    pub offset_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Those handed to the callback.
    pub records: u64,
    /// Sequence of the last whole record that was read, handed over or not; `None` if there was none.
    pub last_sequence: Option<u64>,
}

/// Replays the journal in `dir` from `from_sequence` (1 for all) until its end, or until the callback
/// breaks. Records that were retired are missing at the front. A hole with whole records behind it is
/// [`Error::Damage`], after all records before it were handed over.
pub fn replay(
    dir: impl AsRef<Path>,
    from_sequence: u64,
    callback: impl FnMut(Record<'_>) -> ControlFlow<()>,
) -> Result<Replayed> {
    replay_in(&recovery::open(dir.as_ref())?, from_sequence, callback)
}

pub fn replay_in<S: Storage>(
    storage: &S,
    from_sequence: u64,
    callback: impl FnMut(Record<'_>) -> ControlFlow<()>,
) -> Result<Replayed> {
    let mut reader = Reader {
        storage,
        from_sequence,
        callback,
        replayed: Replayed { records: 0, last_sequence: None },
        expected: None,
    };
    let Some(mut file) = start(storage, from_sequence)? else {
        return Ok(reader.replayed);
    };
    while let Some(next) = reader.file(file)? {
        file = next;
    }
    Ok(reader.replayed)
}

struct Begun<F> {
    index: u64,
    file: F,
    header: FileHeader,
}

/// If it is there and was begun.
fn begun<S: Storage>(storage: &S, index: u64) -> Result<Option<Begun<S::File>>> {
    let name = name::of_index(index);
    let file = match storage.open(&name, Open::Read) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open", name)(error)),
    };
    Ok(header_of(&file, index)?.ok().map(|header| Begun { index, file, header }))
}

/// The last file that begins at or before `from_sequence`, or else the first of all.
fn start<S: Storage>(storage: &S, from_sequence: u64) -> Result<Option<Begun<S::File>>> {
    let mut best = None;
    for index in indices(storage)? {
        let Some(candidate) = begun(storage, index)? else {
            continue;
        };
        if best.is_some() && candidate.header.first_sequence > from_sequence {
            break;
        }
        best = Some(candidate);
    }
    Ok(best)
}

/// Behind `index`.
fn next_begun<S: Storage>(storage: &S, index: u64) -> Result<Option<Begun<S::File>>> {
    let mut later = indices(storage)?.into_iter().filter(|later| *later > index);
    later.find_map(|later| begun(storage, later).transpose()).transpose()
}

struct Reader<'s, S, C> {
    storage: &'s S,
    from_sequence: u64,
    callback: C,
    replayed: Replayed,
    expected: Option<u64>,
}

impl<S: Storage, C: FnMut(Record<'_>) -> ControlFlow<()>> Reader<'_, S, C> {
    /// Returns the next one, if there is any.
    fn file(&mut self, begun: Begun<S::File>) -> Result<Option<Begun<S::File>>> {
        let failed = || Error::io("read", name::of_index(begun.index));
        let mut window = Window::new(&begun.file).map_err(failed())?;
        let mut expected = self.expected.unwrap_or(begun.header.first_sequence);
        let mut offset_bytes = FILE_HEADER_BYTES;
        for look in 0.. {
            let walked = self.walk(&mut window, &begun, &mut offset_bytes, &mut expected);
            let Some(kind) = walked.map_err(failed())? else {
                return Ok(None);
            };
            self.expected = Some(expected);
            // The order matters: first see what comes later, then look again at what comes before.
            let later =
                scan::later_records(&mut window, offset_bytes, begun.header.salt(), expected);
            let later = later.map_err(failed())?;
            let next = next_begun(self.storage, begun.index)?;
            let goes_on = next.as_ref().is_none_or(|next| next.header.first_sequence == expected);
            let hole = !later.is_empty() || !goes_on;
            if !hole && (next.is_some() || look > 0) {
                return Ok(next);
            }
            if hole && look >= LOOKS_MAX {
                let hole = Hole { index: begun.index, offset_bytes, kind, expected };
                return Err(damage(hole, later));
            }
            if hole && look > 0 {
                std::thread::sleep(LOOK_AGAIN_AFTER);
            }
            window.refresh().map_err(failed())?;
        }
        Ok(None)
    }

    /// `None` if the callback breaks.
    fn walk(
        &mut self,
        window: &mut Window<'_, S::File>,
        begun: &Begun<S::File>,
        offset_bytes: &mut u64,
        expected: &mut u64,
    ) -> std::io::Result<Option<DamageKind>> {
        loop {
            match scan::step(window, *offset_bytes, begun.header.salt(), *expected)? {
                Step::End(kind) => return Ok(Some(kind)),
                Step::Record(header) => {
                    self.replayed.last_sequence = Some(header.sequence);
                    let flow = self.hand_over(window, begun.index, *offset_bytes, header)?;
                    *offset_bytes += header.record_bytes();
                    *expected += 1;
                    if flow.is_break() {
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn hand_over(
        &mut self,
        window: &mut Window<'_, S::File>,
        file_index: u64,
        offset_bytes: u64,
        header: RecordHeader,
    ) -> std::io::Result<ControlFlow<()>> {
        if header.sequence < self.from_sequence {
            return Ok(ControlFlow::Continue(()));
        }
        let record = window.get(offset_bytes, header.record_bytes() as usize)?;
        let payload =
            &record[RECORD_HEADER_BYTES..RECORD_HEADER_BYTES + header.payload_bytes as usize];
        self.replayed.records += 1;
        let sequence = header.sequence;
        Ok((self.callback)(Record { sequence, payload, file_index, offset_bytes }))
    }
}
