//! Nodes as a page: the one place where words become markup.

use super::{Cell, Column, Document, Fold, Kind, Node, Role, Row, RowKind, Table, Text};
use crate::{
    chart::palette::heat_class,
    html::{framed, markup::Page},
    svg::{Setting, escape, svg},
};

/// A page of its own; it loads nothing.
pub fn html(document: &Document) -> String {
    framed(&document.title, "", &fragment(&document.nodes))
}

/// Nodes as markup.
pub fn fragment(nodes: &[Node]) -> String {
    let mut page = Page::default();
    write(&mut page, nodes);
    page.text
}

/// Nodes as a part of a page.
pub(crate) fn write(page: &mut Page, nodes: &[Node]) {
    for node in nodes {
        match node {
            Node::Heading(level, words) => inside(page, &format!("h{level}"), words),
            Node::Section(id, title, nodes) => {
                page.section(id, title);
                write(page, nodes);
                page.raw("</section>\n");
            }
            Node::Paragraph(words) => inside(page, "p", words),
            Node::End(role, word, sentence) => {
                page.raw(&format!("<p class=\"end {}\">", class(*role)));
                wrapped(page, "strong", word);
                page.text(&format!(" {sentence}"));
                page.raw("</p>\n");
            }
            Node::Note(words) => inside(page, "p class=\"muted\"", words),
            Node::List(entries) => {
                page.raw("<ul>\n");
                entries.iter().for_each(|words| inside(page, "li", words));
                page.raw("</ul>\n");
            }
            Node::Facts(rows) => {
                page.raw("<dl class=\"facts\">\n");
                for (name, value) in rows {
                    page.element("dt", name);
                    inside(page, "dd", value);
                }
                page.raw("</dl>\n");
            }
            Node::Table(found) => table(page, found),
            Node::Chart(name, scene) => {
                let picture = svg(scene, Setting::Page);
                page.raw(&match name.as_str() {
                    "" => format!("<figure>{picture}</figure>\n"),
                    id => format!(
                        "<figure id=\"{}\"><div class=\"tools\"></div>{picture}</figure>\n",
                        escape(id)
                    ),
                });
            }
            Node::Code(lines) => page.element("pre tabindex=\"0\"", lines),
            Node::Fold(found) => fold(page, found),
            Node::Box(class, nodes) => {
                let class = if class.is_empty() { "" } else { &format!(" class=\"{class}\"") };
                page.raw(&format!("<div{class}>"));
                write(page, nodes);
                page.raw("</div>\n");
            }
            Node::Jump(to, words) => {
                page.raw("<p><a href=\"#");
                page.text(to);
                page.raw("\">");
                page.text(words);
                page.raw("</a></p>\n");
            }
        }
    }
}

fn inside(page: &mut Page, tag: &str, words: &Text) {
    page.raw(&format!("<{tag}>"));
    spans(page, words);
    let name = tag.split(' ').next().unwrap_or(tag);
    page.raw(&format!("</{name}>\n"));
}

fn spans(page: &mut Page, words: &Text) {
    for span in words.0.iter().filter(|span| !span.text.is_empty()) {
        let class = class(span.role);
        match span.role {
            Role::Plain => lines(page, &span.text),
            Role::Strong => wrapped(page, "strong", &span.text),
            Role::Code => wrapped(page, "code", &span.text),
            Role::Candidate(slot) => {
                let colour = slot.class();
                page.raw(&format!(
                    "<span class=\"swatch\" style=\"background:var(--{colour})\"></span>"
                ));
                page.text(&span.text);
            }
            _ => wrapped(page, &format!("span class=\"{class}\""), &span.text),
        }
    }
}

/// Words whose line feeds are kept.
fn lines(page: &mut Page, words: &str) {
    for (index, line) in words.split('\n').enumerate() {
        if index > 0 {
            page.raw("<br>");
        }
        page.text(line);
    }
}

fn wrapped(page: &mut Page, tag: &str, words: &str) {
    page.raw(&format!("<{tag}>"));
    page.text(words);
    page.raw(&format!("</{}>", tag.split(' ').next().unwrap_or(tag)));
}

fn class(role: Role) -> &'static str {
    match role {
        Role::Muted => "muted",
        Role::Strong => "best",
        Role::Winner => "winner",
        Role::Equal => "equal",
        Role::NoAnswer => "none",
        Role::Opposite => "opposite",
        Role::Plain | Role::Code | Role::Candidate(_) => "",
    }
}

fn fold(page: &mut Page, fold: &Fold) {
    let class = if fold.is_panel { " class=\"panel\"" } else { "" };
    let open = if fold.is_open { " open" } else { "" };
    page.raw(&format!("<details{class}{open}"));
    if !fold.id.is_empty() {
        page.raw(" id=\"");
        page.text(&fold.id);
        page.raw("\"");
    }
    page.raw(">");
    page.element("summary", &fold.title);
    write(page, &fold.nodes);
    page.raw("</details>\n");
}

fn table(page: &mut Page, table: &Table) {
    if table.rows.iter().any(|row| row.kind == RowKind::Same) {
        page.raw(
            "<label class=\"switch\"><input type=\"checkbox\"> only where they differ</label>\n",
        );
    }
    let cards = if table.has_ranges { " cards" } else { "" };
    page.raw(&format!(
        "<div class=\"wide{cards}\" tabindex=\"0\" role=\"region\"><table><thead><tr>"
    ));
    for column in &table.columns {
        page.raw(match column.kind {
            Kind::Number => "<th>",
            Kind::Mark => "<th class=\"mark\">",
            Kind::Word => "<th class=\"word\">",
            Kind::Text | Kind::Stack => "<th class=\"text\">",
        });
        spans(page, &column.head);
        small(page, &column.under);
        page.raw("</th>");
    }
    page.raw("</tr></thead><tbody>\n");
    table.rows.iter().for_each(|found| row(page, table, found));
    page.close_table();
    table.notes.iter().for_each(|note| inside(page, "p class=\"muted\"", note));
}

/// A row, its note under it.
fn row(page: &mut Page, table: &Table, row: &Row) {
    let columns = &table.columns;
    page.raw(match (row.kind, row.note.is_empty()) {
        (RowKind::Plain | RowKind::Best, true) => "<tr>",
        (RowKind::Plain | RowKind::Best, false) => "<tr class=\"noted\">",
        (RowKind::Floor, true) => "<tr class=\"floor\">",
        (RowKind::Floor, false) => "<tr class=\"floor noted\">",
        (RowKind::Group, _) => "<tr class=\"group\">",
        (RowKind::Mean, _) => "<tr class=\"mean\">",
        (RowKind::Same, _) => "<tr class=\"same\">",
    });
    for (at, (found, column)) in row.cells.iter().zip(columns).enumerate() {
        cell(page, column, found, at > 0 && table.has_ranges);
    }
    if let Some(rest) = columns.len().checked_sub(row.cells.len()).filter(|rest| *rest > 0) {
        page.raw(&format!("<td colspan=\"{rest}\"></td>"));
    }
    page.raw("</tr>\n");
    if !row.note.is_empty() {
        let across = columns.len();
        page.raw(&format!("<tr class=\"below\"><td colspan=\"{across}\"><div>"));
        page.text(&row.note);
        page.raw("</div></td></tr>\n");
    }
}

fn cell(page: &mut Page, column: &Column, cell: &Cell, has_head: bool) {
    let kind = match column.kind {
        Kind::Number => "",
        Kind::Mark => "mark",
        Kind::Word => "word",
        Kind::Text => "text",
        Kind::Stack => "text stack",
    };
    // The role of words alone colours their whole cell.
    let is_whole = cell.text.0.len() == 1;
    let role = class(cell.text.role());
    let classes = match (kind, if is_whole { role } else { "" }) {
        ("", "") => String::new(),
        ("", one) | (one, "") => format!(" class=\"{one}\""),
        (kind, role) => format!(" class=\"{kind} {role}\""),
    };
    page.raw(&format!("<td{classes}"));
    if has_head {
        page.raw(" data-head=\"");
        page.text(&column.head.words());
        page.raw("\"");
    }
    if let Some(step) = cell.heat {
        page.raw(&format!(" style=\"background:var(--{})\"", heat_class(step)));
    }
    if !cell.tip.is_empty() {
        page.raw(" title=\"");
        page.text(&cell.tip);
        page.raw("\"");
    }
    page.raw(">");
    if !cell.link.is_empty() {
        page.raw("<a href=\"#");
        page.text(&cell.link);
        page.raw("\">");
    }
    match is_whole && !role.is_empty() {
        true => lines(page, &cell.text.words()),
        false => spans(page, &cell.text),
    }
    page.raw(if cell.link.is_empty() { "" } else { "</a>" });
    small(page, &cell.range);
    small(page, &cell.under);
    if let Some(places) = cell.dot {
        let [from, at, to] = places.map(|place| 8.0 + 144.0 * place);
        page.raw(&format!(
            "<svg class=\"dot\" viewBox=\"0 0 160 20\" aria-hidden=\"true\"><path class=\"s-muted\" \
             d=\"M80 0V20\" stroke-dasharray=\"2 2\"/><path class=\"s-ink\" stroke-width=\"3\" \
             d=\"M{from:.1} 10H{to:.1}\"/><circle class=\"f-ink\" cx=\"{at:.1}\" cy=\"10\" r=\"4.5\"/></svg>"
        ));
    }
    page.raw("</td>");
}

fn small(page: &mut Page, words: &str) {
    if !words.is_empty() {
        page.raw("<small>");
        page.text(words);
        page.raw("</small>");
    }
}
