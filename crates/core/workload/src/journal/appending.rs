//! Each of the three is an operation of its own; append and durable also have a response time, which holds
//! all that the record waited for.

use std::{path::Path, sync::Arc};

use pickfs_journal::{Framing, Journal, Options, Sync, SyncEvery};
use pickfs_record::Clock;

use crate::{
    bench::Bench,
    drive::{Due, Work},
    fault::Fault,
    journal::{
        content::Content,
        params::{self, GROUP_RECORDS_MAX, OpPlaces},
        published::Published,
        record_size::RecordSize,
        stamp::Stamper,
    },
    param::Resolved,
    recording::Recording,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) records: u64,
    pub(super) bytes_written: u64,
    pub(super) syncs: u64,
    pub(super) rolls: u64,
    pub(super) rewrites: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SyncWhen {
    Never,
    EachWrite,
    Records(usize),
    /// When no further record is due.
    Group,
}

impl SyncWhen {
    fn of(options: &Options) -> SyncWhen {
        match (options.sync, options.sync_every) {
            (sync, _) if sync == Sync::None || sync.is_write_through() => SyncWhen::Never,
            (_, SyncEvery::Record) => SyncWhen::EachWrite,
            (_, SyncEvery::Records(count)) => SyncWhen::Records(count.get() as usize),
            (_, SyncEvery::GroupCommit) => SyncWhen::Group,
        }
    }
}

pub struct Appending {
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
    /// Arrivals whose record is encoded and not written; empty unless `batch` is above 1.
    unwritten: Vec<Due>,
    /// Arrivals whose record is written and not synced.
    unsynced: Vec<(Due, u64)>,
    ops: OpPlaces,
    stamper: Option<Stamper>,
    slowdown: f64,
    keep_files: usize,
    pub(super) published: Arc<Published>,
}

impl Appending {
    /// `params` are those of the `journal` workload; the recording is needed where they say so.
    pub fn create(
        directory: &Path,
        params: &Resolved,
        recording: Option<&Recording>,
        seed: u64,
    ) -> Result<Self, Fault> {
        let size = params::size_of(params, recording);
        let batch = params::batch(params);
        let journal = Journal::create(directory, params::options(params, &size))?;
        let options = journal.options().clone();
        let sync_when = SyncWhen::of(&options);
        let group = match sync_when {
            SyncWhen::Records(count) => count + batch,
            _ => GROUP_RECORDS_MAX + batch,
        };
        let every = params.integer("rewrite_every");
        let mut appending = Appending {
            content: Content::new(params::content_kind(params), size.largest_bytes(), seed),
            payload: vec![0; size.largest_bytes() as usize],
            is_write_through: options.sync.is_write_through(),
            journal,
            size,
            seed,
            done: Done::default(),
            files: Vec::with_capacity(1 << 16),
            batch,
            sync_when,
            is_ready: false,
            next_sequence: 1,
            unwritten: Vec::with_capacity(batch),
            unsynced: Vec::with_capacity(group),
            ops: OpPlaces::of(params),
            stamper: (every > 0).then(|| Stamper::new(directory.into(), every)),
            slowdown: params.number("slowdown"),
            keep_files: params.integer("keep_files") as usize,
            published: Arc::new(Published::default()),
        };
        appending.note_file();
        Ok(appending)
    }

    /// Bare records have no header to check; recovery does not know them.
    pub(super) fn is_raw(&self) -> bool {
        self.journal.options().framing == Framing::Raw
    }

    #[cold]
    fn roll<C: Clock>(&mut self, clock: &C, now_ns: u64, bench: &mut Bench) -> Result<u64, Fault> {
        self.sync_unsynced(clock, now_ns, bench)?;
        let start_ns = clock.now_ns();
        self.journal.roll()?;
        let end_ns = clock.now_ns();
        bench.operation_alone(self.ops.roll, start_ns, end_ns, 0);
        self.done.rolls += 1;
        self.note_file();
        Ok(end_ns)
    }

    fn note_file(&mut self) {
        let file_index = file_index(&self.journal);
        self.files.push((file_index, self.journal.written_sequence() + 1));
        let oldest = self.files[self.files.len().saturating_sub(self.keep_files + 1)].0;
        self.published.begin_file(file_index, oldest);
        self.published.advance(self.journal.position_bytes());
    }

    #[inline]
    fn stamp<C: Clock>(&mut self, clock: &C, now_ns: u64, bench: &mut Bench) -> Result<u64, Fault> {
        let Some(stamper) = &mut self.stamper else { return Ok(now_ns) };
        if !stamper.is_due(self.done.records) {
            return Ok(now_ns);
        }
        let file_index = self.files.last().map_or(0, |file| file.0);
        let (start_ns, end_ns) = stamper.stamp(clock, file_index)?;
        bench.operation_alone(self.ops.rewrite, start_ns, end_ns, 0);
        self.done.rewrites += 1;
        Ok(end_ns)
    }

    // A return between two of these system calls makes the next one slower by some 200 ns (BENCHMARKS.md).
    #[inline(always)]
    fn write<C: Clock>(
        &mut self,
        clock: &C,
        arrival: &Due,
        bench: &mut Bench,
    ) -> Result<u64, Fault> {
        let mut start_ns = arrival.start_ns;
        if self.journal.needs_roll() {
            start_ns = self.roll(clock, start_ns, bench)?;
        }
        let appended = self.journal.write_encoded()?;
        let end_ns = self.end_of(clock, start_ns);
        bench.record(self.ops.append, start_ns, end_ns, appended.offset_bytes);
        self.done.records += u64::from(appended.records);
        self.published.advance(self.journal.position_bytes());
        if self.sync_when == SyncWhen::Never {
            if self.is_write_through {
                bench.record(self.ops.durable, arrival.start_ns, end_ns, appended.offset_bytes);
            }
        } else {
            self.unsynced.push((*arrival, appended.offset_bytes));
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
            bench.operation_of(self.ops.append, &earlier, end_ns, offset_bytes);
            if self.sync_when != SyncWhen::Never {
                self.unsynced.push((earlier, offset_bytes));
            } else if self.is_write_through {
                bench.operation_of(self.ops.durable, &earlier, end_ns, offset_bytes);
            }
        }
        self.unwritten.clear();
    }

    /// When an operation that began at `start_ns` has ended, the planted slowdown included.
    #[inline]
    fn end_of<C: Clock>(&self, clock: &C, start_ns: u64) -> u64 {
        let end_ns = clock.now_ns();
        if self.slowdown <= 1.0 {
            return end_ns;
        }
        let longer_ns = (end_ns - start_ns) as f64 * self.slowdown;
        clock.wait_until(start_ns + longer_ns as u64, u64::MAX);
        clock.now_ns()
    }

    #[inline]
    fn wants_sync(&self, arrival: &Due, now_ns: u64) -> bool {
        match self.sync_when {
            SyncWhen::Never => false,
            SyncWhen::EachWrite => true,
            SyncWhen::Records(count) => self.unsynced.len() >= count,
            SyncWhen::Group => {
                arrival.next_due_ns.is_none_or(|due_ns| due_ns > now_ns)
                    || self.unsynced.len() >= GROUP_RECORDS_MAX
            }
        }
    }

    /// The clock is read once more before it: keeping the operation of the append is not the sync's time.
    #[inline]
    fn sync_unsynced<C: Clock>(
        &mut self,
        clock: &C,
        now_ns: u64,
        bench: &mut Bench,
    ) -> Result<u64, Fault> {
        if self.unsynced.is_empty() {
            return Ok(now_ns);
        }
        let start_ns = clock.now_ns();
        self.journal.sync()?;
        let end_ns = self.end_of(clock, start_ns);
        self.done.syncs += 1;
        bench.operation_alone(self.ops.sync, start_ns, end_ns, self.unsynced[0].1);
        for (arrival, offset_bytes) in &self.unsynced {
            bench.operation_of(self.ops.durable, arrival, end_ns, *offset_bytes);
        }
        self.unsynced.clear();
        Ok(end_ns)
    }
}

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

    #[inline(always)]
    fn run<C: Clock>(&mut self, clock: &C, arrival: &Due, bench: &mut Bench) -> Result<u64, Fault> {
        self.is_ready = false;
        let is_next_due = arrival.next_due_ns.is_none_or(|due_ns| due_ns <= arrival.start_ns);
        if is_next_due && self.unwritten.len() + 1 < self.batch {
            self.unwritten.push(*arrival);
            return Ok(arrival.start_ns);
        }
        let mut end_ns = self.write(clock, arrival, bench)?;
        if self.wants_sync(arrival, end_ns) {
            end_ns = self.sync_unsynced(clock, end_ns, bench)?;
        }
        self.stamp(clock, end_ns, bench)
    }

    /// The record that was made ready and whose arrival never came is written as well, and is no operation.
    fn settle<C: Clock>(&mut self, clock: &C, bench: &mut Bench) -> Result<u64, Fault> {
        if let Some(last) = self.unwritten.pop() {
            self.write(clock, &last, bench)?;
        }
        let ended_ns = self.sync_unsynced(clock, clock.now_ns(), bench)?;
        if self.journal.needs_roll() {
            self.journal.roll()?;
            self.note_file();
        }
        let appended = self.journal.write_encoded()?;
        self.done.records += u64::from(appended.records);
        self.journal.sync()?;
        self.is_ready = false;
        Ok(ended_ns)
    }

    fn bytes_written(&self) -> u64 {
        self.done.bytes_written
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use pickfs_record::{Arrival, RecorderOptions, recorder};
    use serde_json::json;

    use super::*;
    use crate::drive::{Driven, Pace, Span, drive};

    /// Each reading passes a microsecond; the one in the middle of a call passes a second.
    struct Stalls {
        now_ns: Cell<u64>,
        readings_left: Cell<u64>,
    }

    impl Clock for Stalls {
        fn now_ns(&self) -> u64 {
            let left = self.readings_left.get();
            self.readings_left.set(left.wrapping_sub(1));
            let passed_ns = if left == 0 { 1_000_000_000 } else { 1_000 };
            self.now_ns.set(self.now_ns.get() + passed_ns);
            self.now_ns.get()
        }

        fn wait_until(&self, due_ns: u64, _spin_below_ns: u64) {
            self.now_ns.set(self.now_ns.get().max(due_ns));
        }
    }

    /// 1,000 are due in a tenth of a second, and after the stall there is no time for what is left.
    fn stalled(every: serde_json::Value, readings: u64) -> (Driven, Vec<pickfs_record::OpRecord>) {
        let journal = crate::find("journal").expect("a row");
        let asked = json!({ "sync": "fdatasync", "sync_every": every, "preallocation": "none" });
        let params = journal.validate(asked.as_object().expect("object")).expect("legal");
        let folder = tempfile::tempdir().expect("a folder");
        let mut work = Appending::create(folder.path(), &params, None, 3).expect("made");
        let clock = Stalls { now_ns: Cell::new(7), readings_left: Cell::new(readings) };
        let mut pace = Pace::new(Arrival::Fixed { rate_per_s: 1e4 }, 1, 0);
        let options =
            RecorderOptions { ops: (journal.ops)(&params), responses: true, spikes_max: 0 };
        let (operations, keeper) = recorder(&options);
        let mut bench = Bench::new(operations, true, None);
        let span = Span { drain_ns: 50_000_000, ..Span::time(100_000_000) };
        let driven = drive(&clock, &mut work, &mut pace, &mut bench, span).expect("no fault");
        (driven, keeper.finish(bench.into_recorder().finish()))
    }

    #[test]
    fn every_record_that_was_due_counts_as_durable_or_as_late_at_least_by_what_is_known() {
        for every in [json!("record"), json!("group"), json!(64)] {
            // Of any six readings in a row one stands behind a sync, and another behind an append.
            for readings in 40..46 {
                let (driven, ops) = stalled(every.clone(), readings);
                assert!(driven.missed > 500, "{every} {readings}: {driven:?}");
                for op in ops.iter().filter(|op| op.op == "durable" || op.op == "append") {
                    let response = op.response.as_ref().expect("open");
                    let what = format!("{} {every} {readings}: {response:?}", op.op);
                    assert_eq!(
                        (op.service.count, response.count),
                        (driven.arrivals, 1_000),
                        "{what}"
                    );
                    let median_ns = response.quantile(0.5).expect("kept").value_ns;
                    assert!(median_ns > 900_000_000, "{what}");
                }
            }
        }
    }
}
