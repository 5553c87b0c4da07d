//! A run beside a published table.
//!
//! Each row has both ratios in the same direction, and a word. The header says which file
//! system's rate is divided by which.

use pickfs_analysis::published::{
    Word,
    beside::{Beside, Pair, Part},
    word::WORDS,
};
use pickfs_record::quantity::significant;

use crate::{
    document::{Cell, Column, Document, Kind, Node, Role, RowKind, Table, Text, facts},
    wording::ratio_number,
};

/// What is compared, the words counted, then a table for each part of the published one.
pub fn beside_document(beside: &Beside) -> Document {
    let title = format!("{} beside {}", beside.run, beside.table);
    let mut rows = vec![("table", format!("{}.", beside.about)), ("rows", summary(beside))];
    rows.extend(beside.notes.iter().map(|note| ("note", note.clone())));
    let mut nodes = vec![Node::Heading(2, title.clone().into()), facts(rows)];
    nodes.extend(beside.parts.iter().flat_map(part_nodes));
    Document { title, nodes }
}

fn part_nodes(part: &Part) -> Vec<Node> {
    let mut nodes = if part.candidates.is_empty() { Vec::new() } else { ratio_nodes(part).into() };
    if part.rows.iter().any(|row| !row.rates.is_empty()) {
        nodes.extend(rate_nodes(part));
    }
    nodes
}

/// Of a file of the user's own: what both counted in a second.
fn rate_nodes(part: &Part) -> [Node; 2] {
    let mut table = Table::new([("", Kind::Word), ("unit", Kind::Word)]);
    for (index, name) in [&part.reference].into_iter().chain(&part.candidates).enumerate() {
        for under in ["published", "here"] {
            let column = Column::new(name.clone(), Kind::Number).under(under);
            table.columns.push(Column { part: Some(index), ..column });
        }
    }
    for row in &part.rows {
        let unit = row.rates.first().map_or("", |pair| pair.unit.as_str());
        let rates = row.rates.iter().flat_map(|pair| [pair.published, pair.measured]);
        let rates = rates.map(|rate| Cell::from(rate.map_or_else(|| "-".into(), significant)));
        table.row([Cell::from(&row.label), Cell::from(unit)].into_iter().chain(rates));
    }
    [Node::Heading(3, format!("{}, rates", part.title).into()), Node::Table(table)]
}

fn ratio_nodes(part: &Part) -> [Node; 2] {
    let title = format!("{}, >1: {} faster", part.title, part.reference);
    let mut table = Table::new([("", Kind::Word)]);
    for (index, candidate) in part.candidates.iter().enumerate() {
        let column = |kind, under: &str| Column {
            part: Some(index),
            ..Column::new(format!("{} / {candidate}", part.reference), kind).under(under)
        };
        table.columns.push(column(Kind::Number, "published"));
        table.columns.push(column(Kind::Number, "here"));
        table.columns.push(Column { part: Some(index), ..Column::new("", Kind::Word) });
    }
    for row in &part.rows {
        let cells = row.pairs.iter().flat_map(pair_cells);
        table.row([Cell::from(&row.label)].into_iter().chain(cells));
    }
    if part.means.iter().any(Option::is_some) {
        let cells = (0..part.candidates.len()).flat_map(|index| mean_cells(part, index));
        let name = Cell::from("GEOMETRIC MEAN");
        table.row_of(RowKind::Mean, [name].into_iter().chain(cells));
    }
    [Node::Heading(3, title.into()), Node::Table(table)]
}

fn pair_cells(pair: &Pair) -> [Cell; 3] {
    let published = match pair.published {
        Some(ratio) => ratio_number(ratio),
        None if pair.published_failed => "failed".into(),
        None => "-".into(),
    };
    let measured = pair.measured.map_or_else(|| "-".into(), |ratio| ratio_number(ratio.value));
    [published.into(), measured.into(), word_text(pair).into()]
}

/// The word, with the reason where a row has a particular one.
fn word_text(pair: &Pair) -> Text {
    let role = match pair.word {
        Word::SameSide => Role::Winner,
        Word::OppositeSide => Role::Opposite,
        _ => Role::Plain,
    };
    role.of(match &pair.why {
        Some(why) if why.as_str() != "not in this run" => format!("{}: {why}", pair.word.text()),
        _ => pair.word.text().into(),
    })
}

/// Published, measured, and of how many rows: those that both have.
fn mean_cells(part: &Part, index: usize) -> [Cell; 3] {
    let mean = part.means.get(index).copied().flatten();
    let texts = mean.map_or(["-".into(), "-".into(), String::new()], |mean| {
        let of = format!("of {} rows", mean.rows);
        [ratio_number(mean.published), ratio_number(mean.measured), of]
    });
    texts.map(Cell::from)
}

/// `14 same side, 3 opposite side, ...` over all parts.
fn summary(beside: &Beside) -> String {
    let pairs = || {
        let rows = beside.parts.iter().flat_map(|part| &part.rows);
        rows.flat_map(|row| &row.pairs)
    };
    let counts = WORDS.into_iter().filter_map(|(word, text)| {
        let count = pairs().filter(|pair| pair.word == word).count();
        (count > 0).then(|| format!("{count} {text}"))
    });
    let texts: Vec<String> = counts.collect();
    match texts.is_empty() {
        true => "no row could be compared".into(),
        false => texts.join(", "),
    }
}
