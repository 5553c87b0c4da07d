//! Nodes as Markdown.

use super::{Cell, Document, Fold, Kind, Node, Role, RowKind, Table, Text};
use crate::markdown::{cell, code, fenced, text};

/// A document of its own.
pub fn markdown(document: &Document) -> String {
    nodes(&document.nodes).trim_start().into()
}

/// Nodes as a part of a text; each begins with an empty line.
pub fn nodes(nodes: &[Node]) -> String {
    nodes.iter().map(node).collect()
}

fn node(node: &Node) -> String {
    match node {
        Node::Heading(level, words) => {
            format!("\n{} {}\n", "#".repeat(usize::from(*level)), spans(words, cell))
        }
        Node::Section(_, title, inside) => format!("\n### {}\n{}", cell(title), nodes(inside)),
        Node::End(_, word, sentence) => format!("\n**{}** {}\n", text(word), text(sentence)),
        Node::Paragraph(words) | Node::Note(words) => format!("\n{}\n", spans(words, text)),
        Node::List(entries) => {
            let entries = entries.iter().map(|words| format!("- {}\n", spans(words, text)));
            format!("\n{}", entries.collect::<String>())
        }
        Node::Facts(rows) => {
            let entry = |(name, value): &(String, Text)| match name.as_str() {
                "" => format!("- {}\n", spans(value, text)),
                name => format!("- {}: {}\n", text(name), spans(value, text)),
            };
            format!("\n{}", rows.iter().map(entry).collect::<String>())
        }
        Node::Table(found) => table(found),
        Node::Code(lines) => format!("\n{}", fenced(lines)),
        Node::Fold(found) => fold(found),
        Node::Box(_, inside) => nodes(inside),
        Node::Chart(..) | Node::Jump(..) => String::new(),
    }
}

fn spans(words: &Text, escape: fn(&str) -> String) -> String {
    let one = |span: &super::Span| match span.role {
        _ if span.text.is_empty() => String::new(),
        Role::Strong | Role::NoAnswer | Role::Opposite => format!("**{}**", escape(&span.text)),
        Role::Code => code(&span.text.replace(['\n', '\r', '|'], " ")),
        _ => escape(&span.text),
    };
    words.0.iter().map(one).collect()
}

fn fold(fold: &Fold) -> String {
    let inside = nodes(&fold.nodes);
    let open = if fold.is_open { " open" } else { "" };
    format!("\n<details{open}><summary>{}</summary>\n{inside}\n</details>\n", text(&fold.title))
}

fn table(table: &Table) -> String {
    let head = table.columns.iter().map(|column| match column.under.as_str() {
        "" => spans(&column.head, cell),
        under => format!("{} ({})", spans(&column.head, cell), cell(under)),
    });
    let rule = table.columns.iter().enumerate().map(|(at, column)| match column.kind {
        Kind::Number if at > 0 => "--:",
        Kind::Mark => ":-:",
        _ => ":--",
    });
    let has_notes = table.rows.iter().any(|row| !row.note.is_empty());
    let notes = |words: &str| has_notes.then(|| cell(words));
    let head = line(head.chain(notes("notes")));
    let mut out = format!("\n{head}{}", line(rule.map(String::from).chain(notes(":--"))));
    for row in &table.rows {
        let cells = row.cells.iter().map(|found| match row.kind {
            RowKind::Group => format!("**{}**", whole(found)),
            _ => whole(found),
        });
        let rest = table.columns.len().saturating_sub(row.cells.len());
        let rest = std::iter::repeat_n(String::new(), rest);
        out.push_str(&line(cells.chain(rest).chain(notes(&row.note))));
    }
    for note in &table.notes {
        out.push_str(&format!("\n{}\n", spans(note, text)));
    }
    out
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

/// A cell in one line: an interval stands as it is, a range in brackets.
fn whole(found: &Cell) -> String {
    let words = spans(&found.text, lines);
    let more = [&found.range, &found.under].into_iter().filter(|more| !more.is_empty());
    let more = more.map(|more| match more.starts_with(['[', '(']) {
        true => format!(" {}", cell(more)),
        false => format!(" ({})", cell(more)),
    });
    words + &more.collect::<String>()
}

/// Words of a cell whose line feeds are kept.
fn lines(words: &str) -> String {
    words.split('\n').map(cell).collect::<Vec<_>>().join("<br>")
}
