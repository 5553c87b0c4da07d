//! What the served disk holds, and what it does with what it is told.

use std::sync::Arc;

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
    /// What is written goes with the state; else it is recorded.
    pub(super) is_replay: bool,
    pub(super) log: Log,
    data_bytes: u64,
    /// Up to which `safe_image` has the log.
    safe: Position,
    safe_image: Pages,
}

impl Store {
    pub(super) fn of(log: Log, is_replay: bool) -> Self {
        let (image, safe_image) = (log.base(), log.base());
        Self { image, is_replay, log, data_bytes: 0, safe: Position(0), safe_image }
    }

    /// From now on the disk is this state. Cheap where `safe` does not go back.
    pub(super) fn serve(&mut self, state: &Remains) -> Result<(), String> {
        if !self.is_replay {
            return Err("no recording is replayed".into());
        }
        if state.safe < self.safe {
            (self.safe, self.safe_image) = (Position(0), self.log.base());
        }
        self.log.put(self.safe, state.safe, &mut self.safe_image);
        self.safe = state.safe;
        self.image = self.safe_image.clone();
        self.log.put_kept(&state.kept, &mut self.image);
        Ok(())
    }

    /// Less where the disk ends.
    pub(super) fn read(&self, offset: u64, length: u64) -> Vec<u8> {
        let end = offset.saturating_add(length).min(self.log.bytes);
        let mut bytes = vec![0; end.saturating_sub(offset) as usize];
        self.image.read(offset, &mut bytes);
        bytes
    }

    pub(super) fn write(&mut self, offset: u64, data: Arc<[u8]>) -> Result<(), Errno> {
        self.place(offset, data.len() as u64)?;
        if !self.is_replay {
            self.data_bytes += data.len() as u64;
            if self.data_bytes > DATA_BYTES_MAX {
                return Err(Errno::ENOSPC);
            }
        }
        self.image.put(offset, &data);
        self.note(What::Write { sector: offset / SECTOR, data, fua: false });
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
        // Of a whole journal they take the space of one piece.
        let zeros: Arc<[u8]> = vec![0; ZEROS_BYTES.min(length) as usize].into();
        (0..length).step_by(ZEROS_BYTES as usize).try_for_each(|at| match length - at {
            rest @ ..ZEROS_BYTES => self.write(offset + at, zeros[..rest as usize].into()),
            _ => self.write(offset + at, Arc::clone(&zeros)),
        })
    }

    /// Whole sectors of the disk.
    fn place(&self, offset: u64, length: u64) -> Result<(), Errno> {
        let end = offset.checked_add(length).ok_or(Errno::EINVAL)?;
        let is_whole = offset % SECTOR == 0 && length % SECTOR == 0;
        if is_whole && end <= self.log.bytes { Ok(()) } else { Err(Errno::EINVAL) }
    }

    fn note(&mut self, what: What) {
        if !self.is_replay {
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
        let mut store = Store::of(Log::of(1 << 20, 0xa5, []), false);
        store.write(0, [1u8; 4096].into()).unwrap();
        store.write(512, [2u8; 512].into()).unwrap();
        store.flush();
        store.write_zeros(0, 512).unwrap();
        store.discard(8192, 512).unwrap();
        assert_eq!(store.log.end(), Position(5));
        assert!(store.serve(&Remains::default()).is_err(), "it is recorded still");
        store.is_replay = true;
        let first = |store: &Store| [0, 512].map(|at| store.read(0, 1024)[at]);
        let state = |at, crash, kept| Remains { safe: Position(at), crash: Position(crash), kept };
        store.serve(&state(3, 5, vec![Piece { entry: 3, sectors: 0..1 }])).unwrap();
        assert_eq!(first(&store), [0, 2]);
        store.write(0, [7u8; 1024].into()).unwrap();
        assert_eq!(first(&store), [7, 7]);
        store.serve(&state(3, 3, vec![])).unwrap();
        assert_eq!(first(&store), [1, 2]);
        store.serve(&state(1, 3, vec![])).unwrap();
        assert_eq!(first(&store), [1, 1], "it goes back");
    }

    #[test]
    fn half_sectors_and_what_lies_behind_the_end_are_refused() {
        let mut store = Store::of(Log::of(4096, 0, []), false);
        assert_eq!(store.write(1, [0u8; 512].into()), Err(Errno::EINVAL));
        assert_eq!(store.write(0, [0u8; 100].into()), Err(Errno::EINVAL));
        assert_eq!(store.discard(4096, 512), Err(Errno::EINVAL));
        assert_eq!(store.write_zeros(u64::MAX - 511, 512), Err(Errno::EINVAL));
        assert_eq!(store.read(4000, 200).len(), 96);
        assert!(store.read(u64::MAX, 5).is_empty());
    }
}
