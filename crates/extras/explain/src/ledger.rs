//! The ledger: what the slow times of each operation were spent with, by cause and holder, and the
//! slowest of them opened. Bounded in memory, whatever the length of the run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pickfs_record::stall::{CauseRow, OpStalls, OpenOperation, OperationPart, PartKind, SampledIn};

pub const WORST_MAX: usize = 64;
/// Parts of an opened operation; beyond, the shortest are put together.
const PARTS_MAX: usize = 40;
/// Rows of an operation; beyond, further holders of a cause share one row.
const ROWS_MAX: usize = 256;
/// Who is meant where there are too many to name.
const OTHERS: &str = "others";

#[derive(Debug, Default)]
pub struct Ledger {
    ops: BTreeMap<String, OpLedger>,
}

#[derive(Debug, Default)]
struct OpLedger {
    sums: OpStalls,
    rows: HashMap<(String, String), CauseRow>,
    samples: HashMap<String, SampledIn>,
    /// Operations by length, the shortest first.
    worst: BTreeMap<(u64, u64), OpenOperation>,
}

impl Ledger {
    /// An operation whose parts sum to its time, and samples of where it was on a processor: a function in words, and the
    /// number of a stack.
    pub fn add(&mut self, op: &str, operation: OpenOperation, samples: &[(String, u32)]) {
        if !self.ops.contains_key(op) {
            self.ops.insert(op.to_owned(), OpLedger::default());
        }
        self.ops.get_mut(op).expect("it was just put there").add(operation, samples);
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
    fn add(&mut self, operation: OpenOperation, samples: &[(String, u32)]) {
        self.sums.operations += 1;
        let mut seen = BTreeSet::new();
        for part in &operation.parts {
            self.sums.total_ns += part.length_ns;
            *self.sum_of(part.kind) += part.length_ns;
            let key = self.key(part);
            let is_first = seen.insert(key.clone());
            let row = self.row(key);
            row.operations += u64::from(is_first);
            row.times += 1;
            row.total_ns += part.length_ns;
            if part.length_ns >= row.max_ns {
                row.max_ns = part.length_ns;
                (row.stack, row.waker_stack) = (part.stack, part.waker_stack);
            }
        }
        samples.iter().for_each(|(function, stack)| self.sampled(function, *stack));
        self.open(operation);
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

    fn key(&self, part: &OperationPart) -> (String, String) {
        let key = (part.cause.clone(), part.who.clone());
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

    fn open(&mut self, operation: OpenOperation) {
        let key = (operation.end_ns - operation.start_ns, u64::MAX - operation.start_ns);
        let is_full = self.worst.len() >= WORST_MAX;
        if is_full && self.worst.first_key_value().is_some_and(|(least, _)| *least >= key) {
            return;
        }
        self.worst.insert(key, OpenOperation { parts: merged(operation.parts), ..operation });
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

/// Neighbours of one cause become one; beyond [`PARTS_MAX`] the shortest join the part before them, as
/// if they were part of it, so that the sum stays.
fn merged(parts: Vec<OperationPart>) -> Vec<OperationPart> {
    let same = |a: &OperationPart, b: &OperationPart| {
        a.kind == b.kind && a.cause == b.cause && a.who == b.who
    };
    let mut kept: Vec<OperationPart> = Vec::new();
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

    fn part(kind: PartKind, cause: &str, who: &str, length_ns: u64) -> OperationPart {
        let (cause, who, stack) = (cause.into(), who.into(), Some(3));
        OperationPart { kind, length_ns, cause, who, stack, waker_stack: None }
    }

    fn operation(start_ns: u64, parts: &[OperationPart]) -> OpenOperation {
        let end_ns = start_ns + parts.iter().map(|part| part.length_ns).sum::<u64>();
        OpenOperation { start_ns, end_ns, parts: parts.to_vec(), ..OpenOperation::default() }
    }

    #[test]
    fn totals_of_the_ledger_sum_to_the_slow_time() {
        let mut ledger = Ledger::default();
        let lock = |length_ns| {
            part(PartKind::Blocked, "xfs-inode-lock", "r2 in xfs_file_buffered_read", length_ns)
        };
        let cpu = |length_ns| part(PartKind::CpuWait, "cpu-wait", "rustc", length_ns);
        let on = |length_ns| part(PartKind::OnCpu, "on-cpu", "", length_ns);
        ledger.add("append", operation(0, &[on(10), lock(500), cpu(40), lock(300)]), &[]);
        ledger.add("append", operation(5_000, &[on(20), lock(700)]), &[]);
        ledger.add("sync", operation(9_000, &[on(400)]), &[]);
        let ops = ledger.finish();
        let append = &ops[0];
        assert_eq!((append.op.as_str(), append.operations, append.total_ns), ("append", 2, 1_570));
        assert_eq!((append.on_cpu_ns, append.blocked_ns, append.cpu_wait_ns), (30, 1_500, 40));
        let first = &append.causes[0];
        assert_eq!((first.cause.as_str(), first.operations, first.times), ("xfs-inode-lock", 2, 3));
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
    fn an_hour_of_operations_stays_small() {
        let mut ledger = Ledger::default();
        for number in 0..100_000u64 {
            let who = format!("thread {number}");
            let parts = [part(PartKind::CpuWait, "cpu-wait", &who, number % 977 + 1)];
            ledger.add("append", operation(number * 10_000, &parts), &[]);
        }
        let op = ledger.finish().remove(0);
        assert_eq!(
            (op.operations, op.worst.len(), op.causes.len()),
            (100_000, WORST_MAX, ROWS_MAX + 1)
        );
        assert!(op.worst.iter().all(|operation| operation.end_ns - operation.start_ns == 977));
        assert!(op.causes.iter().any(|row| row.who == OTHERS));
    }

    #[test]
    fn samples_are_counted_by_function_and_bounded() {
        let mut ledger = Ledger::default();
        for number in 0..1_000u32 {
            let few = (format!("rare {number}"), number);
            let samples = [few, ("copy in xfs_file_buffered_write".into(), 7)];
            ledger.add("append", OpenOperation { end_ns: 1, ..OpenOperation::default() }, &samples);
        }
        let samples = ledger.finish().remove(0).samples;
        assert_eq!(samples.iter().map(|row| row.samples).sum::<u64>(), 2_000);
        assert_eq!((samples.len(), samples[0].samples, samples[0].stack), (257, 1_000, Some(7)));
        assert_eq!(samples[1].function, OTHERS);
    }

    #[test]
    fn an_opened_operation_with_many_parts_keeps_its_sum() {
        let mut parts = Vec::new();
        for number in 0..300u64 {
            parts.push(part(PartKind::OnCpu, "on-cpu", "", 1 + number % 3));
            parts.push(part(PartKind::Blocked, "write-back", "device completion", 10 + number));
        }
        let operation = operation(0, &parts);
        let mut ledger = Ledger::default();
        ledger.add("sync", operation.clone(), &[]);
        let open = ledger.finish().remove(0).worst.remove(0);
        assert_eq!(open.parts.len(), PARTS_MAX);
        assert_eq!(open.parts.iter().map(|part| part.length_ns).sum::<u64>(), operation.end_ns);
    }
}
