//! Sentences about slow laps that the forms share.

use pickfs_analysis::stalls::{OpTable, StallTable};
use pickfs_model::quantity::{duration_text, grouped};

use super::causes::Causes;
use crate::{
    Subject,
    wording::{op_name, percent},
};

/// Causes that have less than this share of the slow time are not named in a sentence.
const NAMED: f64 = 0.1;
/// Sentences at most.
const SENTENCES: usize = 3;
/// Slow laps from which on an operation gets a picture, a table and advice.
const MANY: u64 = 10;

/// `append: 1,161 of 39,927 laps were above 100 us, 1.41 s in all`.
pub fn about(table: &StallTable, op: &OpTable) -> String {
    let of_all = match op.laps_all {
        0 => String::new(),
        all => format!(" of {}", grouped(all as i64)),
    };
    format!(
        "{}: {}{of_all} laps took longer than {}, {} in all",
        op_name(&op.op),
        grouped(op.sums.laps as i64),
        duration_text(table.above_ns as f64),
        duration_text(op.sums.total_ns as f64)
    )
}

/// `61 % another holds the lock of this xfs inode, 35 % waiting for a processor`.
pub fn shares(op: &OpTable) -> String {
    let named = op.causes.iter().filter(|line| line.share >= NAMED);
    let texts: Vec<_> =
        named.map(|line| format!("{} % {}", percent(line.share), line.words.title)).collect();
    match texts.is_empty() {
        true => "many small causes".into(),
        false => texts.join(", "),
    }
}

/// Whether an operation has enough slow laps for more than a sentence.
pub fn is_many(op: &OpTable) -> bool {
    op.sums.laps >= MANY
}

/// One sentence for each cell with many slow laps, those with the most slow time first: about the
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
        format!("{}, {}", table.subject, sentence(table, op))
    };
    found.iter().take(SENTENCES).map(sentence).collect()
}

/// `append: 61 % of the time above 100 us was another holding a lock, 35 % waiting.`
fn sentence(table: &StallTable, op: &OpTable) -> String {
    format!(
        "{}: {} laps above {}: {}.",
        op_name(&op.op),
        grouped(op.sums.laps as i64),
        duration_text(table.above_ns as f64),
        shares(op)
    )
}

/// What was seen, what was lost, and what could not be seen.
pub fn seen(table: &StallTable) -> Vec<String> {
    let counts = &table.counts;
    let mut words = vec![format!("{} events seen", grouped(counts.events as i64))];
    let told = [
        (counts.events_lost, "events lost"),
        (counts.laps_missed, "slow laps not joined"),
        (counts.laps_unwatched, "slow laps of threads that were not watched yet"),
    ];
    let lost = told.iter().filter(|(count, _)| *count > 0);
    words.extend(lost.map(|(count, what)| format!("{} {what}", grouped(*count as i64))));
    let mut texts = vec![format!("{}.", words.join(", "))];
    texts.extend(table.missing.iter().map(|missing| format!("Not seen: {missing}.")));
    texts
}

/// What to do about the causes that matter, once for each cause of the run.
pub fn advice(tables: &[StallTable]) -> Vec<(String, String)> {
    let causes = Causes::of(tables);
    let many = tables.iter().flat_map(|table| &table.ops).filter(|op| is_many(op));
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
