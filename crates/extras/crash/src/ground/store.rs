//! What the served disk holds, and what it does with what it is told.

use fuser::Errno;

use crate::{
    image::Pages,
    log::{Log, Position, Put, Remains, SECTOR, What},
};

/// Zeros are written in pieces of it.
const ZEROS_BYTES: u64 = 1 << 20;
/// Of a recording; behind it writes are refused.
const DATA_BYTES_MAX: u64 = 4 << 30;

#[derive(Debug)]
pub(super) struct Store {
    image: Pages,
    mode: Mode,
    log: Log,
    data_bytes: u64,
    /// Up to which `safe_image` has the log.
    safe: Position,
    safe_image: Pages,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A disk like any other.
    Raw,
    Record,
    /// What is written goes with the state.
    Replay,
}

impl Store {
    pub(super) fn filled(bytes: u64, fill: u8) -> Self {
        Self::of(Log::of(Pages::filled(bytes, fill), []), Mode::Raw)
    }

    pub(super) fn of_log(log: Log) -> Self {
        Self::of(log, Mode::Replay)
    }

    fn of(log: Log, mode: Mode) -> Self {
        let (image, safe_image) = (log.base.clone(), log.base.clone());
        Self { image, mode, log, data_bytes: 0, safe: Position(0), safe_image }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.image.bytes()
    }

    /// What is on the disk now is the base of the recording.
    pub(super) fn record(&mut self) {
        self.log.base = self.image.clone();
        self.mode = Mode::Record;
    }

    /// Ends the recording; the disk is as it was before it.
    pub(super) fn replay(&mut self) {
        self.mode = Mode::Replay;
        self.safe = Position(0);
        self.safe_image = self.log.base.clone();
        self.image = self.log.base.clone();
    }

    pub(super) fn is_recording(&self) -> bool {
        self.mode == Mode::Record
    }

    pub(super) fn log(&self) -> &Log {
        &self.log
    }

    pub(super) fn position(&self) -> Position {
        self.log.end()
    }

    /// From now on the disk is this state. Cheap where `safe` does not go back.
    pub(super) fn serve(&mut self, state: &Remains) -> Result<(), String> {
        if self.mode != Mode::Replay {
            return Err("no recording is replayed".into());
        }
        if state.safe < self.safe {
            self.replay();
        }
        self.log.put(self.safe, state.safe, &mut self.safe_image);
        self.safe = state.safe;
        self.image = self.safe_image.clone();
        self.log.put_kept(&state.kept, &mut self.image);
        Ok(())
    }

    /// Less where the disk ends.
    pub(super) fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.bytes());
        let mut bytes = vec![0; end.saturating_sub(offset) as usize];
        self.image.read(offset, &mut bytes);
        bytes
    }

    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.place(offset, bytes.len() as u64)?;
        if self.mode == Mode::Record {
            self.data_bytes += bytes.len() as u64;
            if self.data_bytes > DATA_BYTES_MAX {
                return Err(Errno::ENOSPC);
            }
            self.note(What::Write { sector: offset / SECTOR, data: bytes.into(), fua: false });
        }
        self.image.put(offset, bytes);
        Ok(())
    }

    pub(super) fn flush(&mut self) {
        self.note(What::Flush);
    }

    pub(super) fn discard(&mut self, offset: u64, length: u64) -> Result<(), Errno> {
        self.place(offset, length)?;
        self.note(What::Discard { sector: offset / SECTOR, sectors: length / SECTOR });
        self.image.zero(offset, length);
        Ok(())
    }

    pub(super) fn write_zeros(&mut self, offset: u64, length: u64) -> Result<(), Errno> {
        self.place(offset, length)?;
        let zeros = vec![0; ZEROS_BYTES.min(length) as usize];
        (0..length).step_by(ZEROS_BYTES as usize).try_for_each(|at| {
            self.write(offset + at, &zeros[..(length - at).min(ZEROS_BYTES) as usize])
        })
    }

    /// Whole sectors of the disk.
    fn place(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let end = offset.checked_add(length).ok_or(Errno::EINVAL)?;
        let is_whole = offset % SECTOR == 0 && length % SECTOR == 0;
        if is_whole && end <= self.bytes() { Ok(()) } else { Err(Errno::EINVAL) }
    }

    fn note(&mut self, what: What) {
        if self.mode == Mode::Record {
            self.log.entries.push(what);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Piece;

    #[test]
    fn what_is_recorded_is_replayed_and_what_a_state_writes_is_dropped_with_it() {
        let mut store = Store::filled(1 << 20, 0xa5);
        store.write(0, &[1; 4096]).unwrap();
        store.record();
        store.write(512, &[2; 512]).unwrap();
        store.flush();
        store.write_zeros(0, 512).unwrap();
        store.discard(8192, 512).unwrap();
        assert_eq!(store.position(), Position(4));
        store.replay();
        let first = |store: &Store| [0, 512].map(|at| store.read(0, 1024)[at]);
        let state = |at, crash, kept| Remains { safe: Position(at), crash: Position(crash), kept };
        assert_eq!(first(&store), [1, 1]);
        store.serve(&state(2, 4, vec![Piece { entry: 2, sectors: 0..1 }])).unwrap();
        assert_eq!(first(&store), [0, 2]);
        store.write(0, &[7; 1024]).unwrap();
        assert_eq!(first(&store), [7, 7]);
        store.serve(&state(2, 2, vec![])).unwrap();
        assert_eq!(first(&store), [1, 2]);
        store.serve(&state(0, 2, vec![])).unwrap();
        assert_eq!(first(&store), [1, 1], "it goes back");
    }

    #[test]
    fn half_sectors_and_what_lies_behind_the_end_are_refused() {
        let mut store = Store::filled(4096, 0);
        assert_eq!(store.write(1, &[0; 512]), Err(Errno::EINVAL));
        assert_eq!(store.write(0, &[0; 100]), Err(Errno::EINVAL));
        assert_eq!(store.discard(4096, 512), Err(Errno::EINVAL));
        assert_eq!(store.write_zeros(u64::MAX - 511, 512), Err(Errno::EINVAL));
        assert_eq!(store.read(4000, 200).len(), 96);
        assert!(store.read(u64::MAX, 5).is_empty());
    }
}
