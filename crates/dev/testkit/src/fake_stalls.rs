//! Reasons for the spikes of a fake run, as a probe would have given them: the truth is known.
//!
//! Every spike becomes an opened operation of three parts: 70 % blocked (by a reader's inode lock on xfs,
//! by the commit of the journal elsewhere), 20 % waiting for a processor, 10 % on one.

use std::collections::BTreeMap;

use pickfs_record::{
    Outcome, RunRecord, StallRecord, TrialRecord,
    record::{OpRecord, Operation},
    stall::{
        CauseRow, CauseWords, ContextNote, OpStalls, OpenOperation, OperationPart, PartKind,
        ProbeTier, SampledIn, StallCounts,
    },
};

const CAUSES: [(&str, &str, &str); 4] = [
    ("xfs-inode-lock", "another holds the lock of this xfs inode", "let readers map the file"),
    ("jbd2-commit", "waiting for an ext4 journal commit", "sync less often"),
    ("cpu-wait", "waiting for a processor", "give the thread a processor of its own"),
    ("on-cpu", "on a processor, or in a pause of the whole machine", ""),
];

pub fn explained(mut run: RunRecord) -> RunRecord {
    let fs: BTreeMap<_, _> =
        run.cells.iter().map(|cell| (cell.id.clone(), cell.candidate.fs.clone())).collect();
    for trial in &mut run.trials {
        if trial.outcome == Outcome::Finished {
            let is_xfs = fs.get(&trial.cell).is_some_and(|fs| fs == "xfs");
            trial.stalls = Some(record(trial, is_xfs));
        }
    }
    run
}

fn record(trial: &TrialRecord, is_xfs: bool) -> StallRecord {
    let words = |(cause, title, advice): (&str, &str, &str)| CauseWords {
        cause: cause.into(),
        title: title.into(),
        advice: advice.into(),
    };
    let slow = trial.ops.iter().filter(|op| !op.spikes.is_empty());
    StallRecord {
        tier: ProbeTier::Scheduler,
        channels: vec!["switches and wakings of threads with kernel stacks".into()],
        missing: Vec::new(),
        above_ns: 100_000,
        ops: slow.map(|op| stalls(op, is_xfs)).collect(),
        causes: CAUSES.map(words).to_vec(),
        stacks: vec![
            vec!["rwsem_down_write_slowpath".into(), "xfs_file_buffered_write".into()],
            vec!["rwsem_wake".into(), "xfs_file_buffered_read".into()],
        ],
        counts: StallCounts { events: 1_000, threads: 2, ..StallCounts::default() },
    }
}

fn stalls(op: &OpRecord, is_xfs: bool) -> OpStalls {
    let worst: Vec<OpenOperation> =
        op.spikes.iter().map(|spike| operation(spike, is_xfs)).collect();
    let mut causes: BTreeMap<&str, CauseRow> = BTreeMap::new();
    let mut sums =
        OpStalls { op: op.op.clone(), operations: worst.len() as u64, ..OpStalls::default() };
    for part in worst.iter().flat_map(|operation| &operation.parts) {
        let row = causes.entry(&part.cause).or_insert_with(|| CauseRow {
            cause: part.cause.clone(),
            who: part.who.clone(),
            stack: part.stack,
            waker_stack: part.waker_stack,
            ..CauseRow::default()
        });
        row.operations += 1;
        row.times += 1;
        row.total_ns += part.length_ns;
        row.max_ns = row.max_ns.max(part.length_ns);
        sums.total_ns += part.length_ns;
        match part.kind {
            PartKind::OnCpu => sums.on_cpu_ns += part.length_ns,
            PartKind::Blocked => sums.blocked_ns += part.length_ns,
            PartKind::CpuWait => sums.cpu_wait_ns += part.length_ns,
            PartKind::Unexplained => sums.unexplained_ns += part.length_ns,
        }
    }
    sums.causes = causes.into_values().collect();
    sums.causes.sort_by_key(|row| std::cmp::Reverse(row.total_ns));
    let function = "rep_movs_alternative in xfs_file_buffered_write".into();
    sums.samples = vec![SampledIn { function, samples: 7, stack: Some(0) }];
    OpStalls { worst, ..sums }
}

fn operation(spike: &Operation, is_xfs: bool) -> OpenOperation {
    let length_ns = spike.end_ns - spike.start_ns;
    let (blocked_ns, waited_ns) = (length_ns * 7 / 10, length_ns / 5);
    let (cause, who) = match is_xfs {
        true => ("xfs-inode-lock", "reader in xfs_file_buffered_read"),
        false => ("jbd2-commit", ""),
    };
    let part = |kind, length_ns, cause: &str, who: &str| OperationPart {
        kind,
        length_ns,
        cause: cause.into(),
        who: who.into(),
        stack: None,
        waker_stack: None,
    };
    let blocked = part(PartKind::Blocked, blocked_ns, cause, who);
    OpenOperation {
        start_ns: spike.start_ns,
        end_ns: spike.end_ns,
        offset_bytes: spike.offset_bytes,
        thread: "appender".into(),
        parts: vec![
            part(PartKind::OnCpu, length_ns - blocked_ns - waited_ns, "on-cpu", ""),
            OperationPart { stack: Some(0), waker_stack: Some(1), ..blocked },
            part(PartKind::CpuWait, waited_ns, "cpu-wait", "hog"),
        ],
        context: vec![ContextNote {
            what: "ext4 journal commit".into(),
            device: "7:0".into(),
            who: "jbd2/loop0-8".into(),
            times: 1,
            start_ns: spike.start_ns,
            end_ns: spike.end_ns,
            overlap_ns: length_ns / 2,
        }],
    }
}
