//! The ledger: what the slow laps of each operation were spent with, by cause and holder, and the
//! slowest of them opened. Bounded in memory, whatever the length of the run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pickfs_record::stall::{
    CauseRow, ContextNote, LapPart, OpStalls, OpenLap, PartKind, SampledIn,
};

use crate::naming::Named;

pub const WORST_MAX: usize = 64;
/// Parts of an opened lap; beyond, the shortest are put together.
const PARTS_MAX: usize = 40;
/// Rows of an operation; beyond, further holders of a cause share one row.
const ROWS_MAX: usize = 256;
/// Who is meant where there are too many to name.
const OTHERS: &str = "others";

/// Its parts sum to its time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NamedLap {
    pub start_ns: u64,
    pub end_ns: u64,
    pub offset_bytes: u64,
    pub thread: String,
    /// With their lengths, in order.
    pub parts: Vec<(Named, u64)>,
    /// Samples of where it was on a processor: a function in words, and the number of a stack.
    pub samples: Vec<(String, u32)>,
    /// What else went on meanwhile.
    pub context: Vec<ContextNote>,
}

#[derive(Debug, Default)]
pub struct Ledger {
    ops: BTreeMap<String, OpLedger>,
}

#[derive(Debug, Default)]
struct OpLedger {
    sums: OpStalls,
    rows: HashMap<(String, String), CauseRow>,
    samples: HashMap<String, SampledIn>,
    /// Laps by length, the shortest first.
    worst: BTreeMap<(u64, u64), OpenLap>,
}

impl Ledger {
    pub fn add(&mut self, op: &str, lap: &NamedLap) {
        if !self.ops.contains_key(op) {
            self.ops.insert(op.to_owned(), OpLedger::default());
        }
        self.ops.get_mut(op).expect("it was just put there").add(lap);
    }

    pub fn opens(&self, op: &str, length_ns: u64) -> bool {
        self.ops.get(op).is_none_or(|ledger| ledger.opens(length_ns))
    }

    /// Stacks are still numbers of the probe.
    pub fn finish(self) -> Vec<OpStalls> {
        let each = self.ops.into_iter().map(|(op, ledger)| ledger.finish(op));
        each.collect()
    }
}

impl OpLedger {
    fn add(&mut self, lap: &NamedLap) {
        self.sums.laps += 1;
        let mut seen = BTreeSet::new();
        for (named, length_ns) in &lap.parts {
            self.sums.total_ns += length_ns;
            *self.sum_of(named.kind) += length_ns;
            let key = self.key(named);
            let is_first = seen.insert(key.clone());
            self.row(key).add(named, *length_ns, is_first);
        }
        lap.samples.iter().for_each(|(function, stack)| self.sampled(function, *stack));
        self.open(lap);
    }

    fn sampled(&mut self, function: &str, stack: u32) {
        let is_full = self.samples.len() >= ROWS_MAX && !self.samples.contains_key(function);
        let function = if is_full { OTHERS } else { function };
        if let Some(known) = self.samples.get_mut(function) {
            known.samples += 1;
            return;
        }
        let row = SampledIn { function: function.to_owned(), samples: 1, stack: Some(stack) };
        self.samples.insert(function.to_owned(), row);
    }

    fn sum_of(&mut self, kind: PartKind) -> &mut u64 {
        match kind {
            PartKind::OnCpu => &mut self.sums.on_cpu_ns,
            PartKind::Blocked => &mut self.sums.blocked_ns,
            PartKind::CpuWait => &mut self.sums.cpu_wait_ns,
            PartKind::Unexplained => &mut self.sums.unexplained_ns,
        }
    }

    fn key(&self, named: &Named) -> (String, String) {
        let key = (named.cause.clone(), named.who.clone());
        match self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&key) {
            true => (key.0, OTHERS.into()),
            false => key,
        }
    }

    fn row(&mut self, key: (String, String)) -> &mut CauseRow {
        let (cause, who) = key.clone();
        self.rows.entry(key).or_insert_with(|| CauseRow { cause, who, ..CauseRow::default() })
    }

    fn opens(&self, length_ns: u64) -> bool {
        let shortest_ns = self.worst.first_key_value().map_or(0, |((least_ns, _), _)| *least_ns);
        self.worst.len() < WORST_MAX || length_ns >= shortest_ns
    }

    fn open(&mut self, lap: &NamedLap) {
        let key = (lap.end_ns - lap.start_ns, u64::MAX - lap.start_ns);
        let is_full = self.worst.len() >= WORST_MAX;
        if is_full && self.worst.first_key_value().is_some_and(|(least, _)| *least >= key) {
            return;
        }
        let open = OpenLap {
            start_ns: lap.start_ns,
            end_ns: lap.end_ns,
            offset_bytes: lap.offset_bytes,
            thread: lap.thread.clone(),
            parts: merged(lap.parts.iter().map(part).collect()),
            context: lap.context.clone(),
        };
        self.worst.insert(key, open);
        if self.worst.len() > WORST_MAX {
            self.worst.pop_first();
        }
    }

    fn finish(self, op: String) -> OpStalls {
        let mut causes: Vec<CauseRow> = self.rows.into_values().collect();
        let order =
            |row: &CauseRow| (std::cmp::Reverse(row.total_ns), row.cause.clone(), row.who.clone());
        causes.sort_by_key(order);
        let mut samples: Vec<SampledIn> = self.samples.into_values().collect();
        samples.sort_by_key(|row| (std::cmp::Reverse(row.samples), row.function.clone()));
        let worst = self.worst.into_values().rev().collect();
        OpStalls { op, causes, samples, worst, ..self.sums }
    }
}

trait Adds {
    fn add(&mut self, named: &Named, length_ns: u64, is_first: bool);
}

impl Adds for CauseRow {
    fn add(&mut self, named: &Named, length_ns: u64, is_first: bool) {
        self.laps += u64::from(is_first);
        self.times += 1;
        self.total_ns += length_ns;
        if length_ns >= self.max_ns {
            self.max_ns = length_ns;
            (self.stack, self.waker_stack) = (named.stack, named.waker_stack);
        }
    }
}

fn part((named, length_ns): &(Named, u64)) -> LapPart {
    LapPart {
        kind: named.kind,
        length_ns: *length_ns,
        cause: named.cause.clone(),
        who: named.who.clone(),
        stack: named.stack,
        waker_stack: named.waker_stack,
    }
}

/// Neighbours of one cause become one; beyond [`PARTS_MAX`] the shortest join the part before them, as
/// if they were part of it, so that the sum stays.
fn merged(parts: Vec<LapPart>) -> Vec<LapPart> {
    let same = |a: &LapPart, b: &LapPart| a.kind == b.kind && a.cause == b.cause && a.who == b.who;
    let mut kept: Vec<LapPart> = Vec::new();
    for part in parts {
        match kept.last_mut() {
            Some(last) if same(last, &part) => last.length_ns += part.length_ns,
            _ => kept.push(part),
        }
    }
    while kept.len() > PARTS_MAX {
        let shortest = (1..kept.len()).min_by_key(|at| kept[*at].length_ns).unwrap_or(1);
        let gone = kept.remove(shortest);
        kept[shortest - 1].length_ns += gone.length_ns;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: PartKind, cause: &str, who: &str) -> Named {
        Named { kind, cause: cause.into(), who: who.into(), stack: Some(3), waker_stack: None }
    }

    fn lap(start_ns: u64, parts: &[(Named, u64)]) -> NamedLap {
        let end_ns = start_ns + parts.iter().map(|(_, length_ns)| length_ns).sum::<u64>();
        NamedLap { start_ns, end_ns, parts: parts.to_vec(), ..NamedLap::default() }
    }

    #[test]
    fn totals_of_the_ledger_sum_to_the_slow_time() {
        let mut ledger = Ledger::default();
        let lock = || named(PartKind::Blocked, "xfs-inode-lock", "r2 in xfs_file_buffered_read");
        let cpu = || named(PartKind::CpuWait, "cpu-wait", "rustc");
        let on = || named(PartKind::OnCpu, "on-cpu", "");
        ledger.add("append", &lap(0, &[(on(), 10), (lock(), 500), (cpu(), 40), (lock(), 300)]));
        ledger.add("append", &lap(5_000, &[(on(), 20), (lock(), 700)]));
        ledger.add("sync", &lap(9_000, &[(on(), 400)]));
        let ops = ledger.finish();
        let append = &ops[0];
        assert_eq!((append.op.as_str(), append.laps, append.total_ns), ("append", 2, 1_570));
        assert_eq!((append.on_cpu_ns, append.blocked_ns, append.cpu_wait_ns), (30, 1_500, 40));
        let first = &append.causes[0];
        assert_eq!((first.cause.as_str(), first.laps, first.times), ("xfs-inode-lock", 2, 3));
        assert_eq!((first.total_ns, first.max_ns, first.stack), (1_500, 700, Some(3)));
        let rows: u64 = append.causes.iter().map(|row| row.total_ns).sum();
        assert_eq!(rows, append.total_ns);
        assert_eq!(append.worst[0].end_ns - append.worst[0].start_ns, 850);
        assert_eq!(
            append.worst[0].leading(),
            Some(("xfs-inode-lock", "r2 in xfs_file_buffered_read", 800))
        );
        assert_eq!(ops[1].op, "sync");
    }

    #[test]
    fn an_hour_of_laps_stays_small() {
        let mut ledger = Ledger::default();
        for number in 0..100_000u64 {
            let who = format!("thread {number}");
            let parts = [(named(PartKind::CpuWait, "cpu-wait", &who), number % 977 + 1)];
            ledger.add("append", &lap(number * 10_000, &parts));
        }
        let op = ledger.finish().remove(0);
        assert_eq!((op.laps, op.worst.len(), op.causes.len()), (100_000, WORST_MAX, ROWS_MAX + 1));
        assert!(op.worst.iter().all(|lap| lap.end_ns - lap.start_ns == 977));
        assert!(op.causes.iter().any(|row| row.who == OTHERS));
    }

    #[test]
    fn samples_are_counted_by_function_and_bounded() {
        let mut ledger = Ledger::default();
        for number in 0..1_000u32 {
            let few = (format!("rare {number}"), number);
            let samples = vec![few, ("copy in xfs_file_buffered_write".into(), 7)];
            ledger.add("append", &NamedLap { samples, end_ns: 1, ..NamedLap::default() });
        }
        let samples = ledger.finish().remove(0).samples;
        assert_eq!(samples.iter().map(|row| row.samples).sum::<u64>(), 2_000);
        assert_eq!((samples.len(), samples[0].samples, samples[0].stack), (257, 1_000, Some(7)));
        assert_eq!(samples[1].function, OTHERS);
    }

    #[test]
    fn an_opened_lap_with_many_parts_keeps_its_sum() {
        let mut parts = Vec::new();
        for number in 0..300u64 {
            parts.push((named(PartKind::OnCpu, "on-cpu", ""), 1 + number % 3));
            parts.push((named(PartKind::Blocked, "write-back", "device completion"), 10 + number));
        }
        let lap = lap(0, &parts);
        let mut ledger = Ledger::default();
        ledger.add("sync", &lap);
        let open = ledger.finish().remove(0).worst.remove(0);
        assert_eq!(open.parts.len(), PARTS_MAX);
        assert_eq!(open.parts.iter().map(|part| part.length_ns).sum::<u64>(), lap.end_ns);
    }
}
