//! Operations that are done once in a trial, by suite: rates with their ranges, ratios with their intervals.

use pickfs_analysis::{
    phases::{Kind as TableKind, PhaseTable, RowRatio, ratio, tables},
    wording::unique,
};
use pickfs_record::{
    Heat, WorkUnit,
    finding::{Panel, PhaseCell, PhaseRow},
    quantity::counted,
};

use crate::{
    Subject,
    chart::palette::HEAT_STEPS,
    document::{Cell, Column, Fold, Kind, Node, Role, Row, RowKind, Table, Text},
    ranking::lost_word,
    subject::with_durability,
    wording::{factors, range_number, rate_number, ratio_number, unit_name},
};

const UNDECIDED: &str = "~ its interval holds 1: no difference at this precision";
/// Ratio at which the colour of a cell ends.
const REACH: f64 = 4.0;

/// A heading, how to read the tables, and the tables; the first is open, and those of derived rows. Nothing where a
/// panel has no such operations.
pub fn nodes(subject: &Subject, panel: &Panel) -> Vec<Node> {
    if panel.phases.is_empty() {
        return Vec::new();
    }
    let title = if panel.title.is_empty() { "All cells" } else { &panel.title };
    let about = format!(
        "Medians over trials with their range. A ratio is the rate of {reference} divided by the \
         candidate's: above 1, {reference} is faster. It is the median over the blocks, not the \
         quotient of the medians, with its interval, which holds for it alone; where that leaves out 1 the ratio is bold. Blue is faster than {reference}, orange slower.",
        reference = panel.reference
    );
    let heading = Node::Heading(3, with_durability(title, panel).into());
    let fold = |(index, found): (usize, &PhaseTable)| {
        let unit = found.unit.map_or_else(String::new, |unit| format!(", {}", unit_name(unit)));
        Node::Fold(Fold {
            title: format!("{}{unit} ({})", found.title, counted(found.rows.len() as u64, "row")),
            is_open: index == 0 || found.kind == TableKind::Derived,
            is_panel: true,
            nodes: vec![Node::Table(table(subject, panel, found))],
            ..Fold::default()
        })
    };
    let found = tables(subject.run, panel);
    let folds = found.iter().enumerate().map(fold);
    let overview = overview(subject, panel, &found).map(Node::Table);
    [heading, Node::Note(about.into())].into_iter().chain(overview).chain(folds).collect()
}

/// The mean of each table; nothing where there are not two of them, or no ratios.
fn overview(subject: &Subject, panel: &Panel, found: &[PhaseTable]) -> Option<Table> {
    let tables: Vec<_> = found.iter().filter(|table| table.kind != TableKind::Derived).collect();
    let ratio = |table: &PhaseTable, at: usize| table.means.get(at).and_then(|mean| mean.ratio);
    let has_ratio = |at: &usize| tables.iter().any(|table| ratio(table, *at).is_some());
    let compared: Vec<usize> = (0..panel.rows.len()).filter(has_ratio).collect();
    let mut columns = columns(subject, panel, &compared);
    columns.retain(|column| !matches!(column.head.role(), Role::Candidate(_)));
    columns[0].head = "mean of each table".into();
    columns.insert(1, Column::new("rows", Kind::Number));
    let mut all = Table { columns, brief: UNDECIDED, ..Table::default() };
    for table in &tables {
        let cells = compared.iter().map(|at| {
            let found = Found { ratio: ratio(table, *at), ..Found::default() };
            ratio_cell(&found, RowKind::Plain)
        });
        let name = Cell::from(&table.title);
        all.row([name, table.rows.len().to_string().into()].into_iter().chain(cells));
    }
    (tables.len() > 1 && !compared.is_empty()).then_some(all)
}

/// One candidate's part of a line.
#[derive(Debug, Clone, Default)]
struct Found {
    rate: String,
    range: String,
    ratio: Option<RowRatio>,
    /// Rows that a mean is taken of, where they are not all.
    over: Option<usize>,
}

/// One line per phase, then GEOMETRIC MEAN and MAX RATIO.
fn table(subject: &Subject, panel: &Panel, table: &PhaseTable) -> Table {
    let mut notes: Vec<(String, String)> = Vec::new();
    let mut lines: Vec<(String, RowKind, Vec<Found>)> = Vec::new();
    for index in &table.rows {
        let phase = &panel.phases[*index];
        let cells = phase.cells.iter().enumerate();
        let marks: String =
            footnotes(subject, panel, phase).map(|note| number(&mut notes, note)).collect();
        let cells = cells.map(|cell| found(subject, panel, phase, cell)).collect();
        lines.push((format!("{}{marks}", name(panel, table, phase)), RowKind::Plain, cells));
    }
    if table.rows.len() > 1 && table.kind != TableKind::Derived {
        lines.extend(summaries(table));
    }
    let has_ratio = |at: &usize| lines.iter().any(|(_, _, cells)| cells[*at].ratio.is_some());
    let compared: Vec<usize> = (0..panel.rows.len()).filter(has_ratio).collect();
    let rows = lines.iter().map(|(name, kind, cells)| {
        let rates = cells.iter().map(|found| Cell::from(&found.rate).range(&found.range));
        let ratios = compared.iter().map(|at| ratio_cell(&cells[*at], *kind));
        let cells = [Cell::from(name)].into_iter().chain(rates).chain(ratios).collect();
        Row { kind: *kind, cells, note: String::new() }
    });
    let mut texts: Vec<Text> = Vec::new();
    let ratios = lines.iter().flat_map(|(_, _, cells)| cells).filter_map(|found| found.ratio);
    if !compared.is_empty() && ratios.clone().all(|ratio| ratio.interval.is_none()) {
        texts.push("too few blocks for intervals: nothing is called different".into());
    }
    let numbered = notes.iter().enumerate();
    texts.extend(numbered.map(|(index, (_, note))| format!("[{}] {note}", index + 1).into()));
    Table {
        columns: columns(subject, panel, &compared),
        rows: rows.collect(),
        notes: texts,
        brief: UNDECIDED,
        ..Table::default()
    }
}

fn columns(subject: &Subject, panel: &Panel, compared: &[usize]) -> Vec<Column> {
    let reference = &panel.reference;
    let mut columns = vec![Column::new("", Kind::Word)];
    columns.extend(panel.rows.iter().enumerate().map(|(at, row)| {
        let head = Role::Candidate(subject.slot(&row.label)).of(&row.label);
        let part = (row.label != *reference).then_some(at);
        let priority = u8::from(part.is_some() && compared.contains(&at));
        Column { priority, part, ..Column::new(head, Kind::Number) }
    }));
    columns.extend(compared.iter().map(|at| {
        let head = Column::new(format!("{reference}/{}", panel.rows[*at].label), Kind::Number);
        Column { part: Some(*at), ..head.under(format!(">1: {reference} faster")) }
    }));
    columns
}

/// Where a table holds rows of several states or units, each says its own. Derived rows have the names of their phases.
fn name(panel: &Panel, table: &PhaseTable, phase: &PhaseRow) -> String {
    let is_derived = table.kind == TableKind::Derived;
    let mut rows = table.rows.iter().map(|row| &panel.phases[*row]);
    let heat = match phase.heat.filter(|_| !is_derived && rows.any(|row| row.heat != phase.heat)) {
        Some(Heat::Cold) => ", cold",
        Some(Heat::Hot) => ", hot",
        None => "",
    };
    let name = if phase.is_derived { &phase.phase } else { &phase.label };
    let unit = match table.unit {
        Some(_) => String::new(),
        None => format!(" ({})", unit_name(phase.unit)),
    };
    format!("{name}{unit}{heat}")
}

fn found(
    subject: &Subject,
    panel: &Panel,
    phase: &PhaseRow,
    (at, cell): (usize, &PhaseCell),
) -> Found {
    let row = &panel.rows[at];
    let Some(rate) = cell.rate else {
        return Found { rate: lost_word(subject, row, &phase.phase), ..Found::default() };
    };
    let range = if cell.trials > 1 { range_number(phase.unit, rate) } else { String::new() };
    let ratio = ratio(panel, &row.label, &phase.phase);
    Found { rate: rate_number(phase.unit, rate.median), range, ratio, over: None }
}

fn ratio_cell(found: &Found, kind: RowKind) -> Cell {
    let Some(ratio) = found.ratio else {
        return if kind == RowKind::Plain { "-".into() } else { "".into() };
    };
    let value = ratio_number(ratio.value);
    let decided = ratio.interval.map(|(low, high)| low > 1.0 || high < 1.0);
    let role = if decided == Some(true) { Role::Strong } else { Role::Plain };
    let over = found.over.map(|rows| format!("({rows} rows)"));
    let interval = ratio.interval.map(|(low, high)| factors(low, high));
    let under: Vec<String> = interval.into_iter().chain(over.clone()).collect();
    let sign = if decided == Some(false) { "~" } else { "" };
    let over = over.map_or_else(String::new, |over| format!(" {over}"));
    Cell {
        brief: Some(format!("{value}{sign}{over}")),
        heat: Some(heat(ratio.value)),
        ..Cell::from(role.of(value)).under(Some(under.join(" ")))
    }
}

fn summaries(table: &PhaseTable) -> [(String, RowKind, Vec<Found>); 2] {
    let unit = table.unit.unwrap_or(WorkUnit::Calls);
    let number = |rate: Option<f64>| rate.map_or_else(String::new, |rate| rate_number(unit, rate));
    let mean = table.means.iter().map(|mean| {
        let rows = if mean.ratio.is_some() { mean.ratios } else { mean.rates };
        let over = Some(rows).filter(|rows| (1..table.rows.len()).contains(rows));
        Found { rate: number(mean.rate), ratio: mean.ratio, over, ..Found::default() }
    });
    let alone = |value| RowRatio { value, interval: None, blocks: 0 };
    let largest = table
        .means
        .iter()
        .map(|mean| Found { ratio: mean.ratio_max.map(alone), ..Found::default() });
    [
        ("GEOMETRIC MEAN".into(), RowKind::Mean, mean.collect()),
        ("MAX RATIO".into(), RowKind::Mean, largest.collect()),
    ]
}

/// The step of the colour: 0 within a few per cent of 1, negative where the candidate is faster than the reference.
fn heat(ratio: f64) -> i8 {
    let share = (ratio.ln() / REACH.ln()).clamp(-1.0, 1.0);
    (share * f64::from(HEAT_STEPS)).round() as i8
}

/// The mark of a note, which stands once for all rows with the same key.
fn number(notes: &mut Vec<(String, String)>, note: (String, String)) -> String {
    let known = notes.iter().position(|(key, _)| *key == note.0);
    let at = known.unwrap_or_else(|| {
        notes.push(note);
        notes.len() - 1
    });
    format!(" [{}]", at + 1)
}

/// A doubt of tails alone, which all trials of one length share: "not yet" and the gates tell of it.
pub const OF_TAILS: &str = "period-not-covered";

/// The doubts of a row and its trials without a result, each with what makes it the same as another: its counts, not the
/// words of a row.
fn footnotes(
    subject: &Subject,
    panel: &Panel,
    phase: &PhaseRow,
) -> impl Iterator<Item = (String, String)> {
    let kinds = phase.cells.iter().flat_map(|cell| &cell.flags).map(|(kind, _)| kind.as_str());
    let doubts = unique(kinds.filter(|kind| *kind != OF_TAILS))
        .into_iter()
        .map(|kind| doubt(subject, panel, phase, kind));
    let rows = panel.rows.iter().zip(&phase.cells);
    let lost = rows.filter_map(|(row, cell)| {
        let text = format!("{}, {}", row.label, lost_text(cell)?);
        Some((text.clone(), text))
    });
    doubts.chain(lost).collect::<Vec<_>>().into_iter()
}

/// `no result in 2 of 8 trials: write: EIO`; nothing where all have one.
pub(crate) fn lost_text(cell: &PhaseCell) -> Option<String> {
    let reason = cell.failure.as_deref().unwrap_or("no reason kept");
    let all = cell.failed + cell.trials;
    (cell.failed > 0).then(|| format!("no result in {} of {all} trials: {reason}", cell.failed))
}

/// `not-cold: xfs 8 of 8, ext4 8 of 8 trials; the first: 12 % of its pages were resident`.
fn doubt(subject: &Subject, panel: &Panel, phase: &PhaseRow, kind: &str) -> (String, String) {
    let count = |cell: &PhaseCell| cell.flags.iter().find(|(known, _)| known == kind).map(|f| f.1);
    let rows = || panel.rows.iter().zip(&phase.cells).filter(|(_, cell)| cell.trials > 0);
    let counts = rows().filter_map(|(row, cell)| {
        Some(format!("{} {} of {}", row.label, count(cell)?, cell.trials))
    });
    let key = match rows().all(|(_, cell)| count(cell) == Some(cell.trials)) {
        true => format!("{kind}: every trial"),
        false => format!("{kind}: {} trials", counts.collect::<Vec<_>>().join(", ")),
    };
    let trials = panel.rows.iter().flat_map(|row| subject.trials(&row.cell));
    let mut flags = trials.filter_map(|trial| trial.phase(&phase.phase)).flat_map(|own| &own.flags);
    let first = flags.find(|flag| flag.kind == kind);
    let text = first.map_or_else(|| key.clone(), |flag| format!("{key}; the first: {}", flag.text));
    (key, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_logarithmic_and_even_on_both_sides() {
        assert_eq!([1.0, REACH, 1.0 / REACH].map(heat), [0, HEAT_STEPS, -HEAT_STEPS]);
        assert_eq!(heat(2.0), -heat(0.5));
        assert_eq!([1e9, 0.0].map(heat), [HEAT_STEPS, -HEAT_STEPS]);
    }
}
