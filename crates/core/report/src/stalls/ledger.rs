//! Why operations were slow: the ledger of causes, the slowest operations opened, and what to change.

use pickfs_analysis::stalls::{CauseLine, OpTable, StallTable, WorstOperation};
use pickfs_record::{
    CellId,
    quantity::{duration_text, grouped},
    stall::{CauseRow, OperationPart, PartKind, StallRecord},
};

use super::{
    bars,
    causes::{Causes, told},
    words,
};
use crate::{
    Subject,
    chart::{Chart, ChartKind, Look},
    document::{Cell, Column, Document, Fold, Kind, Node, Role, Table, facts, list, pair},
    wording::percent,
};

/// Causes with a smaller share of the slow time share one row.
const SHARE_MIN: f64 = 0.005;
/// Holders that are named under a cause.
const HOLDERS: usize = 3;
/// Cells that are open when the page opens.
const OPEN: usize = 4;
/// Operations that are drawn as bars.
const BARS: usize = 8;
/// Operations of a page that can be opened.
const OPENED: usize = 5;
/// What else went on during an operation: lines at most.
const NOTES: usize = 8;
/// Parts of an operation that have a row; the shortest others share one.
const PARTS: usize = 12;

/// How much a screen shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallScreen {
    /// Operations that are opened for each operation.
    pub operations: usize,
    /// Whether stacks are shown.
    pub stacks: bool,
}

/// All tables, what was seen and lost, and what to change.
pub fn stalls_document(tables: &[StallTable], screen: &StallScreen) -> Document {
    let causes = Causes::of(tables);
    let mut nodes = Vec::new();
    for table in tables {
        nodes.push(Node::Heading(2, table.subject.as_str().into()));
        for op in &table.ops {
            nodes.extend(ledger(table, op, &causes, screen.stacks));
            let worst = op.worst.iter().take(screen.operations);
            nodes.extend(worst.map(|worst| operation(worst, None, &causes, true)));
        }
        nodes.extend(seen(table));
    }
    nodes.extend(advice(words::advice(tables, 1)));
    if tables.is_empty() {
        let text = "nothing was explained: run the plan with --explain";
        nodes.push(Node::Paragraph(text.into()));
    }
    Document { title: "Why operations were slow".into(), nodes }
}

/// The section of a whole run; nothing where it was not explained.
pub(crate) fn section(subject: &Subject) -> Option<Node> {
    let text = "What the kernel was doing meanwhile, for each operation above the threshold: its time is \
                split without a gap. A share is of the time of slow operations, not of all.";
    let mut nodes = vec![Node::Note(text.into())];
    nodes.extend(advice(words::advice(&subject.stalls, words::MANY)));
    let causes = Causes::of(&subject.stalls);
    let charts = ChartKind::SlowOperations.draw(subject, Look::PAGE);
    let mut tables: Vec<_> = subject.stalls.iter().enumerate().collect();
    tables.sort_by_key(|(_, table)| std::cmp::Reverse(slow_ns(table)));
    for (place, (index, table)) in tables.into_iter().enumerate() {
        let own = charts.iter().filter(|chart| chart.panel == Some(index));
        nodes.push(Node::Fold(Fold {
            title: format!(
                "{}: {} in slow operations",
                table.subject,
                duration_text(slow_ns(table) as f64)
            ),
            is_open: place < OPEN && table.ops.iter().any(words::is_many),
            is_panel: true,
            nodes: of_cell(table, &causes, own),
            ..Fold::default()
        }));
    }
    let title = "Why operations were slow".into();
    (!subject.stalls.is_empty()).then_some(Node::Section("slow", title, nodes))
}

/// The time of all slow operations of a cell.
fn slow_ns(table: &StallTable) -> u64 {
    table.ops.iter().map(|op| op.sums.total_ns).sum()
}

fn of_cell<'c>(
    table: &StallTable,
    causes: &Causes,
    mut charts: impl Iterator<Item = &'c Chart>,
) -> Vec<Node> {
    let mut nodes = Vec::new();
    for op in &table.ops {
        if words::is_many(op) {
            let chart = charts.next().map(|chart| {
                Node::Chart(format!("chart-{}", chart.name), Box::new(chart.scene.clone()))
            });
            nodes.push(pair([chart.into_iter().collect(), ledger(table, op, causes, false)]));
        } else {
            let text = format!("{}: {}.", words::about(table, op), words::shares(op, false));
            nodes.push(Node::Paragraph(text.into()));
        }
    }
    nodes.extend(seen(table));
    if let Some(cell) = table.cell.as_ref().filter(|_| !table.ops.is_empty()) {
        nodes.push(Node::Jump(format!("cell-{}", cell.0), "The slowest operations, opened".into()));
    }
    nodes
}

/// What to do about the causes that matter.
fn advice(found: Vec<(String, String)>) -> Vec<Node> {
    match found.is_empty() {
        true => Vec::new(),
        false => vec![Node::Heading(3, "What to change".into()), facts(found)],
    }
}

/// What was seen, what was lost, and what could not be seen.
fn seen(table: &StallTable) -> Vec<Node> {
    let mut nodes = Vec::new();
    if table.ops.is_empty() {
        let above = duration_text(table.above_ns as f64);
        nodes.push(Node::Paragraph(format!("No operation took longer than {above}.").into()));
    }
    let mut rows = vec![("seen", words::counted(table))];
    rows.extend(words::tier(table).map(|tier| ("read", tier)));
    rows.extend(table.missing.iter().map(|missing| ("not seen", missing.clone())));
    nodes.push(facts(rows));
    nodes
}

/// The table of causes of one operation.
fn ledger(table: &StallTable, op: &OpTable, causes: &Causes, stacks: bool) -> Vec<Node> {
    let number = Kind::Number;
    let mut found = Table::new([
        ("share", number),
        ("total", number),
        ("times", number),
        ("longest", number),
        ("cause", Kind::Text),
    ]);
    let (shown, small): (Vec<_>, Vec<_>) =
        op.causes.iter().partition(|line| line.share >= SHARE_MIN);
    for line in shown {
        found.row(figures(line.share, &line.sum, cause(line, causes, stacks)));
    }
    if !small.is_empty() {
        let mut sum = CauseRow::default();
        for line in &small {
            sum.total_ns += line.sum.total_ns;
            sum.times += line.sum.times;
            sum.max_ns = sum.max_ns.max(line.sum.max_ns);
        }
        let share = small.iter().map(|line| line.share).sum();
        let plural = if small.len() == 1 { "" } else { "s" };
        let words = format!("{} smaller cause{plural}", small.len());
        found.row(figures(share, &sum, words.into()));
    }
    let about = Node::Paragraph(format!("{}.", words::about(table, op)).into());
    let samples = words::samples(op).map(|text| Node::Paragraph(format!("{text}.").into()));
    [about, Node::Table(found)].into_iter().chain(samples).collect()
}

fn figures(share: f64, sum: &CauseRow, cause: Cell) -> [Cell; 5] {
    [
        format!("{} %", percent(share)).into(),
        duration_text(sum.total_ns as f64).into(),
        grouped(sum.times as i64).into(),
        duration_text(sum.max_ns as f64).into(),
        cause,
    ]
}

fn cause(line: &CauseLine, causes: &Causes, stacks: bool) -> Cell {
    let slot = causes.slot(&line.words.cause);
    let mut text = Role::Candidate(slot).of(&line.words.title);
    if stacks {
        let found = [("asleep in", &line.stack), ("woken from", &line.waker_stack)];
        for (name, stack) in found.into_iter().filter(|(_, stack)| !stack.is_empty()) {
            text = text.and(format!("\n{name} {}", stack.join(" < ")));
        }
    }
    let holders = holders(line);
    Cell::from(text).under((!holders.is_empty()).then(|| format!("by {holders}")))
}

/// `reader in xfs_file_buffered_read (95 %), kworker (2 %), 3 others`.
fn holders(line: &CauseLine) -> String {
    let named: Vec<_> = line.by.iter().filter(|row| !row.who.is_empty()).collect();
    let share = |row: &CauseRow| percent(row.total_ns as f64 / line.sum.total_ns.max(1) as f64);
    let text = |row: &&CauseRow| match named.len() {
        1 => row.who.clone(),
        _ => format!("{} ({} %)", row.who, share(row)),
    };
    let mut texts: Vec<String> = named.iter().take(HOLDERS).map(text).collect();
    if named.len() > HOLDERS {
        texts.push(format!("{} others", named.len() - HOLDERS));
    }
    texts.join(", ")
}

/// The ledger of one operation of a cell, for a place beside its quantiles; nothing where there is none.
pub(crate) fn beside(subject: &Subject, cell: &CellId, op: &str) -> Option<Vec<Node>> {
    let table = table_of(subject, cell)?;
    let found = table.ops.iter().find(|known| known.op == op)?;
    let mut nodes = vec![Node::Heading(3, "Why it was slow".into())];
    nodes.extend(ledger(table, found, &Causes::of(&subject.stalls), false));
    Some(nodes)
}

/// The slowest operations of a cell: as bars, and each opened to its parts with both kernel stacks.
pub(crate) fn slowest(subject: &Subject, cell: &CellId) -> Vec<Node> {
    let Some(table) = table_of(subject, cell) else { return Vec::new() };
    let causes = Causes::of(&subject.stalls);
    let mut nodes = Vec::new();
    for op in &table.ops {
        let Some(scene) = bars::draw(op, &causes, BARS, Look::PAGE) else { continue };
        nodes.push(Node::Chart(String::new(), Box::new(scene)));
        for worst in op.worst.iter().take(OPENED) {
            let trial = subject.run.trials.iter().find(|trial| trial.number == worst.trial);
            let record = trial.and_then(|trial| trial.stalls.as_ref());
            nodes.extend(record.map(|record| operation(worst, Some(record), &causes, false)));
        }
    }
    nodes
}

fn table_of<'a>(subject: &'a Subject, cell: &CellId) -> Option<&'a StallTable> {
    subject.stalls.iter().find(|table| table.cell.as_ref() == Some(cell))
}

fn operation(
    worst: &WorstOperation,
    record: Option<&StallRecord>,
    causes: &Causes,
    is_open: bool,
) -> Node {
    let word = Kind::Word;
    let mut table = Table::new([
        ("after", Kind::Number),
        ("lasted", Kind::Number),
        ("what", word),
        ("cause", Kind::Text),
        ("by", word),
    ]);
    table.columns[2].priority = 1;
    if record.is_some() {
        let stack = |name| Column { priority: 1, ..Column::new(name, Kind::Stack) };
        table.columns.extend(["asleep in", "woken from"].map(stack));
    }
    let parts = &worst.operation.parts;
    let shortest_ns = shortest_shown(parts);
    let (mut after_ns, mut left) = (0, (0u64, 0u64));
    for part in parts {
        if part.length_ns >= shortest_ns {
            table.row(part_cells(part, after_ns, record, causes));
        } else {
            left = (left.0 + 1, left.1 + part.length_ns);
        }
        after_ns += part.length_ns;
    }
    if left.0 > 0 {
        let length = duration_text(left.1 as f64);
        table.notes.push(format!("And {} shorter parts, {length}.", left.0).into());
    }
    let mut nodes = vec![Node::Table(table)];
    let meanwhile = words::meanwhile(&worst.operation, NOTES);
    if !meanwhile.is_empty() {
        nodes.push(Node::Paragraph("Meanwhile, on the whole machine:".into()));
        nodes.push(list(meanwhile));
    }
    let title = told(worst, causes).map_or_else(String::new, |(_, title)| title);
    Node::Fold(Fold { is_open, ..Fold::closed(title, nodes) })
}

/// The length of the last part that has a row, when the longest ones have.
fn shortest_shown(parts: &[OperationPart]) -> u64 {
    let mut lengths_ns: Vec<u64> = parts.iter().map(|part| part.length_ns).collect();
    lengths_ns.sort_unstable_by_key(|length_ns| std::cmp::Reverse(*length_ns));
    lengths_ns.get(PARTS - 1).copied().unwrap_or(0)
}

fn part_cells(
    part: &OperationPart,
    after_ns: u64,
    record: Option<&StallRecord>,
    causes: &Causes,
) -> Vec<String> {
    let kind = match part.kind {
        PartKind::OnCpu => "on a processor",
        PartKind::Blocked => "blocked",
        PartKind::CpuWait => "waiting for a processor",
        PartKind::Unexplained => "not known",
    };
    let mut cells = vec![
        duration_text(after_ns as f64),
        duration_text(part.length_ns as f64),
        kind.into(),
        causes.title(&part.cause).into(),
        part.who.clone(),
    ];
    if let Some(record) = record {
        let stacks = [part.stack, part.waker_stack];
        cells.extend(stacks.map(|stack| record.stack(stack).join(" < ")));
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twelve_longest_parts_have_rows() {
        let part = |length_ns| OperationPart { length_ns, ..OperationPart::default() };
        let many: Vec<OperationPart> = (1..=20).map(part).collect();
        assert_eq!(shortest_shown(&many), 9);
        assert_eq!(shortest_shown(&many[..3]), 0);
    }
}
