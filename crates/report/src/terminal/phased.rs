//! The screen of a phased run: advice line by line, the table that matters most, the means of all
//! others; and every table where asked.

use pickfs_model::finding::{Findings, Panel};

use super::{MARGIN, colour::Paint, hanging, plain};
use crate::{
    Subject,
    phases::{self, is_phased},
};

/// A sentence a line, and the commands of all choices once.
pub(super) fn verdict(findings: &Findings, columns: usize, paint: Paint) -> String {
    let mut out = String::new();
    let mut commands: Vec<&String> = Vec::new();
    for (index, verdict) in findings.verdicts.iter().enumerate() {
        for (line, sentence) in verdict.sentences.iter().enumerate() {
            let name = if index + line == 0 { "VERDICT" } else { "" };
            let text = hanging(name, &plain(sentence), MARGIN, columns);
            out.push_str(&paint.strong(&text, name));
        }
        for command in &verdict.commands {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    for command in commands {
        out.push_str(&hanging("", &format!("$ {}", plain(command)), MARGIN, columns));
    }
    out
}

/// The first table of the first panel, the means of all others, and where they are.
pub(super) fn opening(subject: &Subject, columns: usize, paint: Paint) -> String {
    let panels: Vec<&Panel> = subject.findings.panels.iter().filter(|p| is_phased(p)).collect();
    let mut out = format!("\n{}", phases::terminal::opening(subject, &panels, columns, paint));
    let text = "ratios are geometric means of the blocks, not quotients of the medians; pickfs show \
                RUN --phases prints every table";
    out.push_str(&hanging("tables", text, MARGIN, columns));
    out
}

/// Every table of a phased run; empty for a run that is one loop.
pub fn phase_tables(subject: &Subject, columns: usize, colour: bool) -> String {
    let paint = Paint { on: colour };
    let panels = subject.findings.panels.iter().filter(|panel| is_phased(panel));
    let printed = panels.map(|p| phases::terminal::all(subject, p, columns.max(60), paint));
    printed.collect::<Vec<_>>().join("\n")
}
