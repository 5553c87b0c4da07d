use pickfs_analysis::articles::of_run;
use pickfs_record::{
    finding::{Ending, Verdict},
    plan::ArticleNote,
    quantity::span_text,
    visible::steers,
};

use crate::{
    Subject, articles, card,
    conditions::{absent, conditions, notice_text},
    document::markdown::nodes,
    factors,
    phases::is_phased,
    ranking, stalls,
    terminal::NextStep,
};

pub fn markdown(subject: &Subject, next: Option<&NextStep>) -> String {
    let mut out = format!("## {}\n\n", cell(&subject.run.plan.question));
    if let Some(note) = &subject.run.plan.article {
        out.push_str(&article(note));
    }
    subject.findings.endings.iter().for_each(|found| out.push_str(&ending(found)));
    let phased = subject.findings.panels.iter().any(is_phased);
    for verdict in &subject.findings.verdicts {
        out.push_str(&match phased {
            true => sentences(verdict),
            false => format!("{}\n\n", text(&verdict.sentences.join(" "))),
        });
        if !verdict.commands.is_empty() {
            out.push_str(&fenced(&verdict.commands.join("\n")));
        }
    }
    out.push_str(&open_ends(subject, next));
    for (name, value) in conditions(subject) {
        out.push_str(&format!("- {name}: {}\n", text(&value)));
    }
    out.push_str(&nodes(&ranking::table::nodes(subject)));
    let sections = [
        factors::section(subject),
        stalls::ledger::section(subject),
        (!subject.findings.absent.is_empty()).then(|| absent(subject)),
        Some(card::section(subject.run)),
        articles::of_run(&of_run(subject.run, subject.findings)),
    ];
    out.push_str(&nodes(&sections.into_iter().flatten().collect::<Vec<_>>()));
    out
}

fn ending(found: &Ending) -> String {
    let mut out = format!("**{}** {}", found.end, text(&found.sentence));
    if let Some(turn) = &found.turn {
        out.push_str(&format!(" But {}.", text(turn)));
    }
    if let Some(cure) = &found.cure {
        out.push_str(&format!(" Cure: {}", code(&cure.command)));
    }
    out + "\n\n"
}

/// The advice of a phased run, one sentence an entry.
fn sentences(verdict: &Verdict) -> String {
    let entries = verdict.sentences.iter().map(|sentence| format!("- {}\n", text(sentence)));
    entries.collect::<String>() + "\n"
}

fn article(note: &ArticleNote) -> String {
    let mut out = format!("> Repeats {}. It saw: {}.", text(&note.source), text(&note.saw));
    out.push_str(&format!(" Look at: {}.", text(&note.look_at)));
    if !note.cannot_tell.is_empty() {
        out.push_str(&format!(" This run cannot tell: {}.", text(&note.cannot_tell)));
    }
    out + "\n\n"
}

fn open_ends(subject: &Subject, next: Option<&NextStep>) -> String {
    let mut out = String::new();
    for open in &subject.findings.not_yet {
        out.push_str(&format!("- not yet: {} ({})\n", text(&open.what), text(&open.why)));
    }
    for notice in &subject.findings.notices {
        out.push_str(&format!("- doubt: {}\n", text(&notice_text(subject, notice))));
    }
    if let Some(next) = next {
        let span = span_text(next.duration_s);
        out.push_str(&format!("- next: {} (about {span})\n", code(&next.command)));
    }
    out
}

pub(crate) fn fenced(commands: &str) -> String {
    let fence = "`".repeat(longest_run(commands).max(2) + 1);
    format!("{fence}sh\n{commands}\n{fence}\n\n")
}

pub(crate) fn code(words: &str) -> String {
    let fence = "`".repeat(longest_run(words) + 1);
    format!("{fence}{words}{fence}")
}

fn longest_run(words: &str) -> usize {
    words.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

pub(crate) fn cell(words: &str) -> String {
    text(words).replace('|', "\\|")
}

pub(crate) fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c if steers(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_leave_its_cell() {
        assert_eq!(cell("a|b\n<img>*x*"), "a\\|b &lt;img&gt;\\*x\\*");
    }

    #[test]
    fn commands_with_backticks_stay_code() {
        assert_eq!(code("echo `x`"), "``echo `x```");
        assert!(fenced("```").starts_with("````sh\n"));
    }
}
