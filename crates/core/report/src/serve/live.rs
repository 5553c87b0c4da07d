//! It shows what is kept and no result: whoever looks while it runs would stop when
//! they like what they see.

use pickfs_record::RunRecord;
use serde_json::json;

use super::{frame, link, runs::planned_text};
use crate::svg::escape;

const SCRIPT: &str = include_str!("live.js");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveRow {
    pub number: u32,
    pub block: u32,
    pub cell: String,
    pub outcome: String,
}

impl LiveRow {
    pub fn new(run: &RunRecord, number: u32, cell: &str, block: u32, outcome: String) -> LiveRow {
        let found = run.cells.iter().find(|known| known.id.0 == cell);
        let cell = found.map_or_else(
            || cell.to_owned(),
            |cell| format!("{} {}", cell.candidate.label, cell.levels_text()).trim().to_owned(),
        );
        LiveRow { number, block, cell, outcome }
    }

    pub fn json(&self) -> String {
        json!({
            "number": self.number, "block": self.block, "cell": self.cell, "outcome": self.outcome,
        })
        .to_string()
    }
}

const ROWS_MAX: usize = 200;

pub fn live_page(name: &str, head: &RunRecord, rows: &[LiveRow], idle_s: Option<u64>) -> String {
    let links = [(link::run(name), "Report so far"), (link::files(name), "Files")];
    let mut page = frame::open_below("follow", &links, &head.plan.question);
    let planned = head.cells.len() * head.plan.design.blocks as usize;
    page.raw(&format!(
        "<p><progress id=\"share\" max=\"{planned}\" value=\"{}\"></progress></p>\n\
         <p role=\"status\"><strong id=\"count\">{}</strong> ",
        rows.len(),
        rows.len()
    ));
    page.text(&format!("{} trials kept. ", planned_text(head)));
    page.raw("<span id=\"state\">");
    page.text(&state(head, idle_s));
    page.raw("</span></p>\n");
    let text = "The report is worth reading when the run is over: to stop when one likes what one \
                sees is to choose the result. A page that is open here costs the measuring machine \
                a look at the file every two seconds.";
    page.element("p class=\"muted\"", text);
    page.raw("<div class=\"wide slim\" tabindex=\"0\" role=\"region\" aria-label=\"Trials\">");
    page.raw("<table><thead><tr><th>trial</th><th>block</th><th class=\"left\">cell</th>");
    page.raw("<th class=\"left\">outcome</th></tr></thead><tbody id=\"rows\">\n");
    for row in rows.iter().rev().take(ROWS_MAX) {
        page.raw("<tr>");
        page.element("td", &row.number.to_string());
        page.element("td", &row.block.to_string());
        page.element("td class=\"left\"", &row.cell);
        page.element("td class=\"left\"", &row.outcome);
        page.raw("</tr>\n");
    }
    page.close_table();
    if head.ended.is_some() {
        return frame::close(page, None);
    }
    let after = rows.last().map_or(0, |row| row.number);
    let events = escape(&link::events(name, after));
    page.raw(&format!("<div id=\"follow\" data-events=\"{events}\" hidden></div>\n"));
    page.raw("<noscript><p>Load this page again to see more.</p></noscript>\n");
    frame::close(page, Some(SCRIPT))
}

fn state(head: &RunRecord, idle_s: Option<u64>) -> String {
    match (&head.ended, idle_s) {
        (Some(end), _) => format!("Ended: {}. {}", end.how, end.note),
        (None, Some(idle_s)) if idle_s > 3_600 => {
            format!("Nothing was written for {} hours: it may have been killed.", idle_s / 3_600)
        }
        (None, _) => "Not ended.".into(),
    }
}
