//! It fits 100 columns, wraps to 80, and needs no colour.

pub(crate) mod colour;
pub(crate) mod grid;
pub(crate) mod paragraph;
mod phased;
mod short;

pub use colour::colour_of;
pub use paragraph::{hanging, wrap};
pub use phased::phase_tables;
pub use short::LINES_MAX;

use pickfs_record::{
    finding::{Absent, Findings},
    quantity::span_text,
    typed::program,
};

use colour::Paint;

use crate::{
    Subject,
    conditions::{conditions, notice_text},
    document, factors,
    phases::is_phased,
    ranking, stalls, trust,
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

const MARGIN: usize = 10;

pub fn first_screen(subject: &Subject, screen: &Screen) -> String {
    match subject.findings.panels.iter().any(is_phased) {
        true => whole_screen(subject, screen),
        false => {
            short::write(subject, screen, Paint { on: screen.colour }) + &trusted(subject, screen)
        }
    }
}

fn trusted(subject: &Subject, screen: &Screen) -> String {
    let nodes = trust::nodes(subject).map(|node| vec![node]).unwrap_or_default();
    let text = document::terminal::whole(&nodes, screen.columns, Paint { on: screen.colour });
    if text.is_empty() { text } else { format!("\n{text}") }
}

pub fn whole_screen(subject: &Subject, screen: &Screen) -> String {
    let paint = Paint { on: screen.colour };
    let columns = screen.columns.max(60);
    let is_phased = subject.findings.panels.iter().any(is_phased);
    let most = if is_phased { 1 } else { usize::MAX };
    let mut out = short::answers(subject.findings, columns, paint, most);
    let question = hanging("pickfs", &plain(&subject.run.plan.question), MARGIN, columns);
    out.push_str(&paint.bold(&question));
    // What an article saw, and what the run cannot tell, would push the ranking off the screen.
    let is_shown = |name: &str| !is_phased || matches!(name, "repeats" | "look at");
    for (name, text) in article(subject).into_iter().filter(|(name, _)| is_shown(name)) {
        out.push_str(&paint.name(&hanging(name, &plain(text), MARGIN, columns), name));
    }
    for (name, text) in conditions(subject) {
        out.push_str(&paint.name(&hanging(name, &plain(&text), MARGIN, columns), name));
    }
    out.push('\n');
    if is_phased {
        out.push_str(&phased::verdict(subject, columns, paint));
        out.push_str(&phased::ranking(subject, columns, paint));
    } else {
        out.push_str(&document::terminal::whole(&ranking::table::nodes(subject), columns, paint));
        out.push('\n');
        out.push_str(&verdict(subject.findings, columns, paint));
    }
    out.push_str(&factors::lines(subject, MARGIN, columns, paint));
    out.push_str(&reasons(subject, columns, paint));
    if is_phased {
        out.push_str(&phased::open_words(subject, columns, paint));
        out.push_str(&phased::left_out(subject.findings, columns));
        out.push_str(&next_steps(screen, columns, paint));
    } else {
        out.push_str(&open_ends(subject, screen, columns, paint));
    }
    out + &trusted(subject, screen)
}

fn article<'a>(subject: &Subject<'a>) -> Vec<(&'static str, &'a str)> {
    let Some(note) = &subject.run.plan.article else { return Vec::new() };
    let lines = [
        ("repeats", note.source.as_str()),
        ("it saw", &note.saw),
        ("look at", &note.look_at),
        ("cannot", &note.cannot_tell),
    ];
    lines.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

fn verdict(findings: &Findings, columns: usize, paint: Paint) -> String {
    let mut out = String::new();
    for (index, verdict) in findings.verdicts.iter().enumerate() {
        let name = if index == 0 { "details" } else { "" };
        let text = plain(&verdict.sentences.join(" "));
        out.push_str(&paint.name(&hanging(name, &text, MARGIN, columns), name));
        for command in &verdict.commands {
            out.push_str(&hanging("", &format!("$ {}", plain(command)), MARGIN, columns));
        }
    }
    out
}

fn reasons(subject: &Subject, columns: usize, paint: Paint) -> String {
    let mut sentences = stalls::words::headlines(subject);
    if let Some(last) = sentences.last_mut() {
        last.push_str(&format!(" {} explain RUN says more.", program()));
    }
    let mut out = String::new();
    for (index, sentence) in sentences.iter().enumerate() {
        let name = if index == 0 { "slow" } else { "" };
        out.push_str(&paint.strong(&hanging(name, &plain(sentence), MARGIN, columns), name));
    }
    out
}

fn open_ends(subject: &Subject, screen: &Screen, columns: usize, paint: Paint) -> String {
    let findings = subject.findings;
    let mut out = String::new();
    let open: Vec<_> = findings.not_yet.iter().map(|o| format!("{} ({})", o.what, o.why)).collect();
    if !open.is_empty() {
        let text = format!("{}.", plain(&open.join("; ")));
        out.push_str(&paint.warning(&hanging("NOT YET", &text, MARGIN, columns), "NOT YET"));
    }
    for notice in &findings.notices {
        let text = plain(&notice_text(subject, notice));
        out.push_str(&paint.warning(&hanging("doubt", &text, MARGIN, columns), "doubt"));
    }
    out.push_str(&absent(findings, columns));
    out.push_str(&next_steps(screen, columns, paint));
    out
}

fn absent(findings: &Findings, columns: usize) -> String {
    let line =
        |absent: &Absent| hanging(&plain(&absent.how), &absent_text(absent), MARGIN, columns);
    findings.absent.iter().map(line).collect()
}

fn next_steps(screen: &Screen, columns: usize, paint: Paint) -> String {
    let mut out = String::new();
    if let Some(next) = screen.next {
        let text = format!("{}   (about {})", next.command, span_text(next.duration_s));
        out.push_str(&paint.strong(&hanging("next", &plain(&text), MARGIN, columns), "next"));
    }
    if let Some(report) = screen.report {
        out.push_str(&hanging("report", &plain(report), MARGIN, columns));
    }
    out
}

fn absent_text(absent: &Absent) -> String {
    let at = if absent.levels.is_empty() { String::new() } else { format!(" {}", absent.levels) };
    let remedy = match absent.remedy.is_empty() {
        true => String::new(),
        false => format!("; {}", absent.remedy),
    };
    plain(&format!("{}{at}: {}{remedy}", absent.label, absent.reason))
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
