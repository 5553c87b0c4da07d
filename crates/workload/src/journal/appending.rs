//! The measured work: one record each turn.
//!
//! A turn rolls if the record does not fit, writes, and syncs if the policy says so. Each of the
//! three is a lap of its own; append and durable also have a response time, which holds all that the
//! record waited for.

use pickfs_journal::{Framing, Journal, Sync, SyncEvery};
use pickfs_measure::{Clock, OpIndex};

use crate::{
    bench::Bench,
    drive::{Turn, Work},
    fault::Fault,
    journal::{
        content::Content,
        params::{GROUP_RECORDS_MAX, Op},
        record_size::RecordSize,
    },
};

/// What was done, in whole numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) records: u64,
    pub(super) bytes_written: u64,
    pub(super) syncs: u64,
    pub(super) rolls: u64,
}

/// When the policy wants a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncWhen {
    /// Never, by a call of its own.
    Never,
    /// After each write.
    EachWrite,
    /// After this many records.
    Records(usize),
    /// When no further record is due.
    Group,
}

/// A journal under load.
pub(super) struct Appending {
    pub(super) journal: Journal,
    pub(super) content: Content,
    pub(super) size: RecordSize,
    pub(super) seed: u64,
    pub(super) done: Done,
    /// File index and first sequence of each file, in order.
    pub(super) files: Vec<(u64, u64)>,
    payload: Vec<u8>,
    batch: usize,
    sync_when: SyncWhen,
    is_write_through: bool,
    is_ready: bool,
    next_sequence: u64,
    /// Turns whose record is encoded and not written; empty unless `batch` is above 1.
    unwritten: Vec<Turn>,
    /// Turns whose record is written and not synced.
    unsynced: Vec<(Turn, u64)>,
}

impl Appending {
    pub(super) fn new(
        journal: Journal,
        content: Content,
        size: RecordSize,
        seed: u64,
        batch: usize,
    ) -> Self {
        let options = journal.options().clone();
        let sync_when = match (options.sync, options.sync_every) {
            (sync, _) if sync == Sync::None || sync.is_write_through() => SyncWhen::Never,
            (_, SyncEvery::Record) => SyncWhen::EachWrite,
            (_, SyncEvery::Records(count)) => SyncWhen::Records(count.get() as usize),
            (_, SyncEvery::GroupCommit) => SyncWhen::Group,
        };
        let group = match sync_when {
            SyncWhen::Records(count) => count + batch,
            _ => GROUP_RECORDS_MAX + batch,
        };
        let mut files = Vec::with_capacity(1 << 16);
        files.push((file_index(&journal), 1));
        Appending {
            payload: vec![0; size.largest_bytes() as usize],
            is_write_through: options.sync.is_write_through(),
            journal,
            content,
            size,
            seed,
            done: Done::default(),
            files,
            batch,
            sync_when,
            is_ready: false,
            next_sequence: 1,
            unwritten: Vec::with_capacity(batch),
            unsynced: Vec::with_capacity(group),
        }
    }

    /// Bare records have no header to check; recovery does not know them.
    pub(super) fn is_raw(&self) -> bool {
        self.journal.options().framing == Framing::Raw
    }

    #[cold]
    fn roll<C: Clock>(&mut self, clock: &C, now_ns: u64, bench: &mut Bench) -> Result<u64, Fault> {
        let first_ns = self.sync_unsynced(clock, now_ns, bench)?;
        self.journal.roll()?;
        let end_ns = clock.now_ns();
        bench.lap_alone(index(Op::Roll), first_ns, end_ns, 0);
        self.done.rolls += 1;
        let first_sequence = self.journal.written_sequence() + 1;
        self.files.push((file_index(&self.journal), first_sequence));
        Ok(end_ns)
    }

    /// Writes what is encoded, in the turn of the last of it.
    #[inline]
    fn write<C: Clock>(&mut self, clock: &C, turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        let mut start_ns = turn.start_ns;
        if self.journal.needs_roll() {
            start_ns = self.roll(clock, start_ns, bench)?;
        }
        let appended = self.journal.write_encoded()?;
        let end_ns = clock.now_ns();
        bench.lap(index(Op::Append), start_ns, end_ns, appended.offset_bytes);
        self.done.records += u64::from(appended.records);
        if self.sync_when == SyncWhen::Never {
            if self.is_write_through {
                bench.lap(index(Op::Durable), turn.start_ns, end_ns, appended.offset_bytes);
            }
        } else {
            self.unsynced.push((*turn, appended.offset_bytes));
        }
        if !self.unwritten.is_empty() {
            self.note_batch(appended.offset_bytes, end_ns, bench);
        }
        Ok(end_ns)
    }

    /// The records that came ahead of the last one in its write.
    fn note_batch(&mut self, offset_bytes: u64, end_ns: u64, bench: &mut Bench) {
        for at in 0..self.unwritten.len() {
            let earlier = self.unwritten[at];
            bench.lap_of(index(Op::Append), &earlier, end_ns, offset_bytes);
            if self.sync_when != SyncWhen::Never {
                self.unsynced.push((earlier, offset_bytes));
            } else if self.is_write_through {
                bench.lap_of(index(Op::Durable), &earlier, end_ns, offset_bytes);
            }
        }
        self.unwritten.clear();
    }

    #[inline]
    fn wants_sync(&self, turn: &Turn, now_ns: u64) -> bool {
        match self.sync_when {
            SyncWhen::Never => false,
            SyncWhen::EachWrite => true,
            SyncWhen::Records(count) => self.unsynced.len() >= count,
            SyncWhen::Group => {
                turn.next_due_ns.is_none_or(|due_ns| due_ns > now_ns)
                    || self.unsynced.len() >= GROUP_RECORDS_MAX
            }
        }
    }

    /// One sync for all records that wait for it.
    #[inline]
    fn sync_unsynced<C: Clock>(
        &mut self,
        clock: &C,
        start_ns: u64,
        bench: &mut Bench,
    ) -> Result<u64, Fault> {
        if self.unsynced.is_empty() {
            return Ok(start_ns);
        }
        self.journal.sync()?;
        let end_ns = clock.now_ns();
        self.done.syncs += 1;
        bench.lap_alone(index(Op::Sync), start_ns, end_ns, self.unsynced[0].1);
        for (turn, offset_bytes) in &self.unsynced {
            bench.lap_of(index(Op::Durable), turn, end_ns, *offset_bytes);
        }
        self.unsynced.clear();
        Ok(end_ns)
    }
}

#[inline]
fn index(op: Op) -> OpIndex {
    OpIndex(op as usize)
}

/// The number in the name of the current file.
fn file_index(journal: &Journal) -> u64 {
    journal.file_name().split('.').next().and_then(|stem| stem.parse().ok()).unwrap_or(0)
}

impl Work for Appending {
    fn ready(&mut self, time_ns: u64) -> Result<(), Fault> {
        if self.is_ready {
            return Ok(());
        }
        let bytes = self.size.of(self.seed, self.next_sequence);
        let payload = &mut self.payload[..bytes as usize];
        self.content.fill(payload, self.next_sequence, time_ns);
        self.journal.encode(payload)?;
        self.done.bytes_written += self.journal.options().record_bytes(bytes as usize) as u64;
        self.next_sequence += 1;
        self.is_ready = true;
        Ok(())
    }

    #[inline]
    fn turn<C: Clock>(&mut self, clock: &C, turn: &Turn, bench: &mut Bench) -> Result<u64, Fault> {
        self.is_ready = false;
        let is_next_due = turn.next_due_ns.is_none_or(|due_ns| due_ns <= turn.start_ns);
        if is_next_due && self.unwritten.len() + 1 < self.batch {
            self.unwritten.push(*turn);
            return Ok(turn.start_ns);
        }
        let end_ns = self.write(clock, turn, bench)?;
        if self.wants_sync(turn, end_ns) {
            return self.sync_unsynced(clock, end_ns, bench);
        }
        Ok(end_ns)
    }

    fn settle(&mut self) -> Result<(), Fault> {
        if self.journal.needs_roll() {
            self.journal.roll()?;
            self.files.push((file_index(&self.journal), self.journal.written_sequence() + 1));
        }
        let appended = self.journal.write_encoded()?;
        self.done.records += u64::from(appended.records);
        self.journal.sync()?;
        self.is_ready = false;
        self.unwritten.clear();
        self.unsynced.clear();
        Ok(())
    }

    fn bytes_written(&self) -> u64 {
        self.done.bytes_written
    }
}
