use pickfs_analysis::phases::{Kind, PhaseTable, tables};
use pickfs_model::finding::Panel;

use super::{
    footnotes::marks,
    lines::{Cell, Line, Lines},
    words::ratio_head,
};
use crate::{Subject, html::markup::Page, subject::with_durability};

pub fn write(page: &mut Page, subject: &Subject, panel: &Panel) {
    let title = if panel.title.is_empty() { "All cells" } else { &panel.title };
    page.element("h3", &with_durability(title, panel));
    page.element(
        "p class=\"muted\"",
        &format!(
            "Medians over trials with their range. A ratio is the rate of {reference} divided by \
             the candidate's, as the articles print it: above 1, {reference} is faster. It is the \
             geometric mean of the blocks, not the quotient of the medians, with its interval; \
             where that leaves out 1 the ratio is bold.",
            reference = panel.reference
        ),
    );
    for (index, found) in tables(subject.run, panel).iter().enumerate() {
        table(page, subject, panel, found, index == 0 || found.kind == Kind::Derived);
    }
}

fn table(page: &mut Page, subject: &Subject, panel: &Panel, table: &PhaseTable, open: bool) {
    let lines = Lines::new(subject, panel, table);
    let open = if open { " open" } else { "" };
    page.raw(&format!("<details class=\"panel phases\"{open}>"));
    page.element("summary", &format!("{} ({} rows)", lines.title, table.rows.len()));
    head(page, subject, &lines);
    for line in &lines.lines {
        row(page, &lines, line);
    }
    page.close_table();
    for (index, note) in lines.notes.iter().enumerate() {
        page.element("p class=\"muted\"", &format!("[{}] {note}", index + 1));
    }
    page.raw("</details>\n");
}

fn head(page: &mut Page, subject: &Subject, lines: &Lines) {
    page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"><table><thead><tr><th></th>");
    for label in &lines.labels {
        page.raw("<th>");
        let class = subject.slot(label).class();
        page.raw(&format!("<span class=\"swatch\" style=\"background:var(--{class})\"></span>"));
        page.text(label);
        page.raw("</th>");
    }
    for at in &lines.compared {
        let (above, below) = ratio_head(lines.reference_label(), &lines.labels[*at]);
        page.raw("<th>");
        page.text(&above);
        page.element("small", &below);
        page.raw("</th>");
    }
    page.raw("</tr></thead><tbody>\n");
}

fn row(page: &mut Page, lines: &Lines, line: &Line) {
    let summary = if line.phase.is_none() { " class=\"mean\"" } else { "" };
    page.raw(&format!("<tr{summary}>"));
    page.element("td", &format!("{}{}", line.name, marks(&line.notes)));
    for cell in &line.cells {
        page.raw("<td>");
        page.text(&cell.rate);
        if let Some(range) = &cell.range {
            page.element("small", range);
        }
        page.raw("</td>");
    }
    for at in &lines.compared {
        ratio(page, &line.cells[*at]);
    }
    page.raw("</tr>\n");
}

fn ratio(page: &mut Page, cell: &Cell) {
    let bold = if cell.decided == Some(true) { " class=\"best\"" } else { "" };
    page.raw(&format!("<td{bold}>"));
    page.text(cell.ratio.as_deref().unwrap_or(""));
    if let Some(interval) = &cell.interval {
        page.element("small", interval);
    }
    page.raw("</td>");
}
