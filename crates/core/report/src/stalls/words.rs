use pickfs_analysis::stalls::{OpTable, StallTable};
use pickfs_record::{
    quantity::{duration_text, grouped},
    stall::{OpenOperation, ProbeTier},
};

use super::causes::Causes;
use crate::{
    Subject,
    wording::{op_name, percent},
};

/// Causes that have less than this share of the slow time are not named in a sentence.
const NAMED: f64 = 0.1;
const SENTENCES: usize = 3;
const SAMPLES: usize = 5;
/// Slow operations from which on an operation gets a picture, a table and advice.
pub const MANY: u64 = 10;

pub fn about(table: &StallTable, op: &OpTable) -> String {
    let of_all = match op.operations_all {
        0 => String::new(),
        all => format!(" of {}", grouped(all as i64)),
    };
    format!(
        "{}: {}{of_all} operations took longer than {}, {} in all",
        op_name(&op.op),
        grouped(op.sums.operations as i64),
        duration_text(table.above_ns as f64),
        duration_text(op.sums.total_ns as f64)
    )
}

/// The causes that matter, each perhaps with who held it longest.
pub fn shares(op: &OpTable, has_holders: bool) -> String {
    let named = op.causes.iter().filter(|line| line.share >= NAMED);
    let texts = named.map(|line| {
        let by = line.by.first().map_or("", |row| row.who.as_str());
        let by = if by.is_empty() || !has_holders { "" } else { &format!(" (by {by})") };
        format!("{} % {}{by}", percent(line.share), line.words.title)
    });
    let texts: Vec<_> = texts.collect();
    if texts.is_empty() { "many small causes".into() } else { texts.join(", ") }
}

pub fn is_many(op: &OpTable) -> bool {
    op.sums.operations >= MANY
}

/// One sentence for each cell with many slow operations, those with the most slow time first: about the
/// operation that the plan compares, or else the one with the most slow time.
pub fn headlines(subject: &Subject) -> Vec<String> {
    let compared = subject.run.plan.design.primary.first().map(|metric| metric.op.as_str());
    let chosen = |table: &'_ StallTable| -> Option<OpTable> {
        let mut many = table.ops.iter().filter(|op| is_many(op));
        let of_plan = many.clone().find(|op| Some(op.op.as_str()) == compared);
        of_plan.or_else(|| many.next()).cloned()
    };
    let mut found: Vec<_> =
        subject.stalls.iter().filter_map(|table| Some((table, chosen(table)?))).collect();
    found.sort_by_key(|(_, op)| std::cmp::Reverse(op.sums.total_ns));
    let sentence = |(table, op): &(&StallTable, OpTable)| {
        format!("{}, {}: {}.", table.subject, about(table, op), shares(op, false))
    };
    found.iter().take(SENTENCES).map(sentence).collect()
}

/// A sentence for each operation of each cell, with the holders: what the plan compares first, then by slow time.
pub(crate) fn in_full(subject: &Subject) -> Option<Vec<String>> {
    let asked = &subject.run.plan.design.primary;
    let is_asked = |op: &OpTable| asked.iter().any(|metric| metric.names(&op.op));
    let each = subject.stalls.iter().flat_map(|table| table.ops.iter().map(move |op| (table, op)));
    let mut all: Vec<_> = each.collect();
    all.sort_by_key(|(_, op)| (!is_asked(op), std::cmp::Reverse(op.sums.total_ns)));
    let told = |(table, op): (&StallTable, &OpTable)| {
        format!("{}, {}: {}.", table.subject, about(table, op), shares(op, true))
    };
    (!all.is_empty()).then(|| all.into_iter().map(told).collect())
}

pub fn tier(table: &StallTable) -> Option<String> {
    let name = match table.tier? {
        ProbeTier::Scheduler => "tier scheduler",
        ProbeTier::Switches => "tier switches, without privilege",
    };
    Some(match table.channels.is_empty() {
        true => name.into(),
        false => format!("{name}: {}", table.channels.join("; ")),
    })
}

pub fn counted(table: &StallTable) -> String {
    let counts = &table.counts;
    let mut words = vec![format!("{} events", grouped(counts.events as i64))];
    let told = [
        (counts.events_lost, "events lost"),
        (counts.operations_missed, "slow operations not joined"),
        (counts.operations_unwatched, "slow operations of threads that were not watched yet"),
        (counts.samples, "samples in slow operations"),
        (counts.context_events, "context events"),
        (counts.context_lost, "context events lost"),
    ];
    let told = told.iter().filter(|(count, _)| *count > 0);
    words.extend(told.map(|(count, what)| format!("{} {what}", grouped(*count as i64))));
    if counts.run_delay_ns > 0 {
        let delay = duration_text(counts.run_delay_ns as f64);
        words.push(format!(
            "all threads together waited {delay} for a processor, in slow operations or not"
        ));
    }
    words.join(", ")
}

/// `on a processor, by 312 samples: 41 % copy in xfs_file_buffered_write, 12 % the program itself`;
/// nothing where none were taken.
pub fn samples(op: &OpTable) -> Option<String> {
    let all: u64 = op.samples.iter().map(|line| line.samples).sum();
    let each = op.samples.iter().take(SAMPLES);
    let each: Vec<String> =
        each.map(|line| format!("{} % {}", percent(line.share), line.function)).collect();
    let more = match op.samples.len().saturating_sub(SAMPLES) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let plural = if all == 1 { "" } else { "s" };
    let text = format!("on a processor, by {} sample{plural}: ", grouped(all as i64));
    (all > 0).then(|| format!("{text}{}{more}", each.join(", ")))
}

/// `ext4 journal commit of 7:0 by jbd2/loop0-8: 3.10 ms of it`; the longest of them.
pub fn meanwhile(operation: &OpenOperation, notes: usize) -> Vec<String> {
    let each = operation.context.iter().take(notes).map(|note| {
        let of =
            if note.device.is_empty() { String::new() } else { format!(" of {}", note.device) };
        let by = if note.who.is_empty() { String::new() } else { format!(" by {}", note.who) };
        let times = if note.times == 1 { String::new() } else { format!(", {} times", note.times) };
        let overlap = match note.overlap_ns {
            0 => String::new(),
            overlap_ns => format!(", {} of it", duration_text(overlap_ns as f64)),
        };
        format!("{}{of}{by}{times}{overlap}", note.what)
    });
    each.collect()
}

/// What to do about the causes that matter, once for each cause of the run: of operations with so many slow operations.
pub fn advice(tables: &[StallTable], operations_min: u64) -> Vec<(String, String)> {
    let causes = Causes::of(tables);
    let ops = tables.iter().flat_map(|table| &table.ops);
    let many = ops.filter(|op| op.sums.operations >= operations_min);
    let lines = many.flat_map(|op| &op.causes);
    let mut found: Vec<(String, String)> = Vec::new();
    for line in lines.filter(|line| line.share >= NAMED && !line.words.advice.is_empty()) {
        let title = causes.title(&line.words.cause);
        if !found.iter().any(|(known, _)| known == title) {
            found.push((title.into(), line.words.advice.clone()));
        }
    }
    found
}
