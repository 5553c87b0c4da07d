//! It fits 100 columns, wraps to 80, and needs no colour.

pub(crate) mod colour;
pub(crate) mod grid;
pub(crate) mod paragraph;

pub use colour::colour_of;
pub use paragraph::{hanging, wrap};

use crate::{
    Subject,
    document::{Node, Role, facts, terminal},
    operations, run,
};

#[derive(Debug, Clone, PartialEq)]
pub struct NextStep {
    pub command: String,
    pub duration_s: f64,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Screen<'a> {
    /// Columns; at least 30 are used, 60 where tables are shown.
    pub columns: usize,
    pub colour: bool,
    pub next: Option<&'a NextStep>,
    pub report: Option<&'a str>,
    pub run: Option<&'a str>,
}

/// All that the page says but its pictures and its cells.
pub fn whole_screen(subject: &Subject, screen: &Screen) -> String {
    let mut nodes = run::answers(subject, usize::MAX);
    let question = Role::Strong.of(&subject.run.plan.question);
    let report = screen.report.map(|report| ("report", report.into()));
    nodes.push(facts([("question", question)].into_iter().chain(report)));
    let (before, after) = run::sections(subject, screen.next);
    nodes.extend(before.into_iter().chain(after));
    terminal::open(&nodes, screen.columns.max(60), screen.colour)
}

/// Every table of phases; nothing where there are none.
pub fn phase_tables(subject: &Subject, columns: usize, colour: bool) -> String {
    let panels = subject.findings.panels.iter();
    let tables: Vec<Node> = panels.flat_map(|panel| operations::nodes(subject, panel)).collect();
    if tables.is_empty() {
        return String::new();
    }
    let nodes: Vec<_> =
        run::words(subject).into_iter().chain(tables).chain(run::doubts(subject, None)).collect();
    terminal::whole(&nodes, columns.max(60), colour)
}

/// Text that cannot steer a terminal: control characters become a replacement sign.
pub(crate) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{FFFD}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_steer_the_terminal() {
        assert_eq!(plain("\u{1b}[31mred\u{7}"), "\u{FFFD}[31mred\u{FFFD}");
    }
}
