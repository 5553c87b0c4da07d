use std::ops::Range;

use super::{Cache, Crash, Device, Flush, Unit};
use crate::log::{Log, Piece, Position, SECTOR, What};

/// What a crash at each position may take away.
#[derive(Debug, Clone)]
pub struct Windows<'l> {
    log: &'l Log,
    crash: Crash,
    /// Everything before it is on the medium: the file system was made, mounted and synced.
    start: usize,
    /// Positions before which everything is on the medium, rising.
    fences: Vec<usize>,
}

impl<'l> Windows<'l> {
    /// `start` is at most the length of the log.
    pub fn new(log: &'l Log, start: Position, crash: Crash) -> Self {
        let start = start.0.min(log.entries.len());
        let behind = log.entries.iter().enumerate().skip(start);
        let fences = match crash {
            Crash::PowerLoss(Device { flush: Flush::Honest, cache, .. }) => {
                behind.filter(|(_, entry)| is_fence(entry, cache)).map(|(at, _)| at + 1).collect()
            }
            _ => Vec::new(),
        };
        Self { log, crash, start, fences }
    }

    pub fn log(&self) -> &'l Log {
        self.log
    }

    pub fn crash(&self) -> Crash {
        self.crash
    }

    pub fn start(&self) -> Position {
        Position(self.start)
    }

    /// Entries that a crash there may take away, whole or in pieces; the others before it stay. Between the start and the
    /// end of the log.
    pub fn at(&self, crash: Position) -> Range<usize> {
        let crash = crash.0.clamp(self.start, self.log.entries.len());
        match self.crash {
            Crash::ProcessKill | Crash::KernelCrash => crash..crash,
            Crash::PowerLoss(Device { cache: Cache::None, .. }) => {
                crash..(crash + 1).min(self.log.entries.len())
            }
            Crash::PowerLoss(_) => {
                let passed = self.fences.partition_point(|fence| *fence <= crash);
                let safe = passed.checked_sub(1).map_or(self.start, |last| self.fences[last]);
                safe..crash
            }
        }
    }

    /// What is behind a lost entry is lost, too.
    pub fn is_ordered(&self) -> bool {
        matches!(self.crash, Crash::PowerLoss(Device { cache: Cache::Ordered, .. }))
    }

    /// Whether a crash one entry later has another beginning of what may go: the last look at this one.
    pub fn ends_at(&self, crash: Position) -> bool {
        crash.0 >= self.log.entries.len()
            || self.at(crash).start != self.at(Position(crash.0 + 1)).start
    }

    /// A write that stays whatever else the disk loses. One that is under way may be torn all the same.
    pub(crate) fn is_forced(&self, entry: usize) -> bool {
        let has_cache = |device: &Device| device.is_honest() && device.cache != Cache::None;
        let is_fua = matches!(self.log.entries[entry], What::Write { fua: true, .. });
        is_fua && matches!(&self.crash, Crash::PowerLoss(device) if has_cache(device))
    }

    /// Of an entry; none of one that changes nothing or stays.
    pub fn pieces_of(&self, entry: usize) -> Vec<Piece> {
        let what = &self.log.entries[entry];
        match (what, self.crash) {
            _ if self.is_forced(entry) => Vec::new(),
            (What::Write { .. }, Crash::PowerLoss(Device { unit: Unit::Bytes(bytes), .. })) => {
                cut(entry, what.sectors(), u64::from(bytes) / SECTOR)
            }
            _ => cut(entry, what.sectors(), u64::MAX),
        }
    }

    pub fn pieces(&self, window: Range<usize>) -> Vec<Piece> {
        window.flat_map(|entry| self.pieces_of(entry)).collect()
    }
}

/// A write that is on the medium when it is answered drags those before it along where order is kept.
fn is_fence(entry: &What, cache: Cache) -> bool {
    match entry {
        What::Flush => true,
        What::Write { fua, .. } => *fua && cache == Cache::Ordered,
        _ => false,
    }
}

/// At multiples of `unit` sectors of the disk.
fn cut(entry: usize, of: Range<u64>, unit: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = of.start;
    while at < of.end {
        let end = (at / unit * unit).saturating_add(unit).min(of.end);
        pieces.push(Piece { entry, sectors: at - of.start..end - of.start });
        at = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sector: u64, sectors: usize, fua: bool) -> What {
        What::Write { sector, data: vec![1; sectors * 512].into(), fua }
    }

    fn device(cache: Cache, flush: Flush) -> Crash {
        Crash::PowerLoss(Device { cache, unit: Unit::Bytes(4096), flush })
    }

    fn example() -> Log {
        let told = [
            write(0, 8, false),
            write(8, 8, false),
            What::Flush,
            write(4, 8, false),
            write(16, 1, true),
            What::Discard { sector: 0, sectors: 4 },
        ];
        Log::of(1 << 20, 0, told)
    }

    #[test]
    fn what_may_go_begins_behind_the_last_flush_unless_it_lies() {
        let log = example();
        let from = |crash, at| Windows::new(&log, Position(0), crash).at(Position(at));
        let any = device(Cache::AnyOrder, Flush::Honest);
        assert_eq!([from(any, 2), from(any, 3), from(any, 6)], [0..2, 3..3, 3..6]);
        let ordered = device(Cache::Ordered, Flush::Honest);
        assert_eq!([from(ordered, 4), from(ordered, 6)], [3..4, 5..6]);
        assert_eq!(from(device(Cache::AnyOrder, Flush::Lying), 6), 0..6);
        assert_eq!(from(device(Cache::None, Flush::Lying), 3), 3..4);
        assert_eq!(from(device(Cache::None, Flush::Honest), 6), 6..6);
        assert_eq!(from(Crash::KernelCrash, 2), 2..2);
        let late = Windows::new(&log, Position(1), device(Cache::AnyOrder, Flush::Lying));
        assert_eq!([late.at(Position(2)), late.at(Position(0))], [1..2, 1..1]);
    }

    #[test]
    fn pieces_lie_at_blocks_of_the_disk_and_what_was_forced_is_none() {
        let log = example();
        let windows = Windows::new(&log, Position(0), device(Cache::AnyOrder, Flush::Honest));
        let pieces = windows.pieces(windows.at(Position(6)));
        let expected = [(3, 0..4), (3, 4..8), (5, 0..4)];
        assert_eq!(pieces, expected.map(|(entry, sectors)| Piece { entry, sectors }));
        assert!(windows.is_forced(4) && !windows.is_forced(3));
        let lying = Windows::new(&log, Position(0), device(Cache::AnyOrder, Flush::Lying));
        assert_eq!(lying.pieces(lying.at(Position(6))).len(), 6);
    }
}
