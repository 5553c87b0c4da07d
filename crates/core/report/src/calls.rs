//! The file-system calls of a program.
//!
//! ```text
//! call      calls  errors     bytes   total     p50     p99   p99.9     max
//! fsync       200          -          812 ms  3.9 ms  6.1 ms  9.8 ms  9.8 ms
//! pwrite64  1,200          4.69 MiB  9.6 ms  7.1 us ...
//! ```

use pickfs_record::{
    CallsRecord,
    calls::CallRow,
    quantity::{bytes_text, duration_text, grouped},
};

use crate::{
    document::{Column, Document, Kind, Node, Table, facts, list},
    wording::percent,
};

const SHOWN: [(f64, &str); 3] = [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9")];
/// A quantile has fewer episodes beyond it than this: it stands in brackets (validity rule 7 asks for
/// ten, and for several trials; one watch is one trial).
const EPISODES_MIN: u64 = 10;

/// The table, with what was seen and lost and what tracing cost.
pub fn calls_document(record: &CallsRecord) -> Document {
    let mut nodes = vec![match record.calls.is_empty() {
        true => Node::Paragraph("no call on a file was made".into()),
        false => Node::Table(table(record)),
    }];
    let failed = record.calls.iter().filter(|row| !row.errors.is_empty());
    let errors: Vec<String> = failed.map(errors_text).collect();
    nodes.extend((!errors.is_empty()).then(|| list(errors)));
    nodes.push(facts([("seen", seen_text(record))]));
    Document { title: "File-system calls".into(), nodes }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count as i64), if count == 1 { one } else { many })
}

fn table(record: &CallsRecord) -> Table {
    let heads = ["calls", "errors", "bytes", "total"].into_iter();
    let heads = heads.chain(SHOWN.iter().map(|(_, name)| *name)).chain(["max"]);
    let mut table = Table::new([("call", Kind::Word)]);
    table.columns.extend(heads.map(|head| Column::new(head, Kind::Number)));
    record.calls.iter().for_each(|call| table.row(row(call)));
    table
}

fn row(row: &CallRow) -> Vec<String> {
    let count = |count: u64| if count == 0 { String::new() } else { grouped(count as i64) };
    let bytes = row.bytes_read + row.bytes_written;
    let time = |time_ns: u64| match row.service.count {
        0 => String::new(),
        _ => duration_text(time_ns as f64),
    };
    let mut cells = vec![
        row.call.clone(),
        grouped(row.service.count as i64),
        count(row.failed()),
        if bytes == 0 { String::new() } else { bytes_text(bytes) },
        time(row.total_ns),
    ];
    cells.extend(SHOWN.iter().map(|(q, _)| match row.service.quantile(*q) {
        Some(quantile) if is_thin(row, *q) => {
            format!("({})", duration_text(quantile.value_ns as f64))
        }
        Some(quantile) => duration_text(quantile.value_ns as f64),
        None => String::new(),
    }));
    cells.push(time(row.service.max_ns));
    cells
}

fn is_thin(row: &CallRow, q: f64) -> bool {
    row.service.quantile(q).is_some_and(|quantile| quantile.episodes < EPISODES_MIN)
}

fn errors_text(row: &CallRow) -> String {
    let each = row.errors.iter();
    let each: Vec<String> = each.map(|error| format!("{} {}", error.count, error.name)).collect();
    format!("{}: errors: {}", row.call, each.join(", "))
}

fn seen_text(record: &CallsRecord) -> String {
    let counts = &record.counts;
    let mut words = vec![format!(
        "{} by {} of {} within {}",
        counted(counts.calls, "call", "calls"),
        counted(counts.threads, "thread", "threads"),
        counted(counts.processes, "process", "processes"),
        duration_text(record.watched_ns as f64),
    )];
    let unended: u64 = record.calls.iter().map(|row| row.unended).sum();
    let told = [
        (unended, "that had not come back"),
        (counts.events_lost, "events lost: counts are too low, and tails are not to be trusted"),
        (counts.cut, "calls dropped, as one end may be among the lost events"),
    ];
    words.extend(told.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    if record.cost_ns > 0.0 {
        words.push(format!(
            "tracing adds about {} to a call here, {} % of their time",
            duration_text(record.cost_ns),
            percent(record.cost_share()),
        ));
    }
    if record.calls.iter().any(|row| SHOWN.iter().any(|(q, _)| is_thin(row, *q))) {
        words.push("in brackets: fewer than ten episodes lie beyond it".into());
    }
    words.join("; ")
}

#[cfg(test)]
mod tests {
    use pickfs_record::{
        calls::{CallCounts, CallError},
        record::{QuantileRow, Times},
    };

    use super::*;
    use crate::document::terminal::terminal;

    fn record() -> CallsRecord {
        let quantile = |q, value_ns, episodes| QuantileRow { q, value_ns, episodes };
        let service = Times {
            count: 1_200,
            max_ns: 9_800_000,
            quantiles: vec![quantile(0.5, 7_100, 300), quantile(0.999, 9_800_000, 1)],
            ..Times::default()
        };
        let row = CallRow {
            call: "pwrite64".into(),
            service,
            total_ns: 1_000_000_000,
            bytes_written: 3 << 20,
            errors: vec![CallError { errno: 28, name: "ENOSPC".into(), count: 2 }],
            unended: 1,
            bytes_read: 0,
        };
        let counts = CallCounts { calls: 1_200, threads: 3, processes: 2, ..CallCounts::default() };
        CallsRecord {
            calls: vec![row],
            counts,
            cost_ns: 500.0,
            began_ns: 7,
            watched_ns: 2_000_000_000,
        }
    }

    #[test]
    fn each_call_has_a_row_and_what_few_episodes_carry_stands_in_brackets() {
        let text = terminal(&calls_document(&record()), 100, false);
        let row = text.lines().nth(1).expect("a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[..3], ["pwrite64", "1,200", "2"]);
        assert!(row.contains("3 MiB") && row.contains("(9.80 ms)"), "{text}");
        assert!(text.contains("errors: 2 ENOSPC"), "{text}");
        assert!(text.contains("1 that had not come back"), "{text}");
        assert!(text.contains("0.50 us to a call"), "{text}");
    }

    #[test]
    fn nothing_and_loss_are_said() {
        let mut record = CallsRecord::default();
        record.counts.events_lost = 7;
        let text = terminal(&calls_document(&record), 100, false);
        assert!(text.starts_with("no call on a file"), "{text}");
        assert!(text.contains("7 events lost") && text.contains("not to be trusted"), "{text}");
    }
}
