use pickfs_analysis::articles::of_run;
use pickfs_model::{
    finding::{Ending, Panel, Verdict},
    plan::{ArticleNote, Statistic},
    quantity::span_text,
    visible::steers,
};

use crate::{
    Subject, articles, card,
    conditions::{absent, conditions, notice_text},
    document::markdown::nodes,
    factors,
    notes::Notes,
    phases::{self, is_phased},
    program,
    ranking::{self, SHOWN, is_one_number},
    stalls,
    subject::{durability_text, is_mixed, summary},
    terminal::NextStep,
    wording::{metric_name, op_name, quantile_name, range_text, survives_text, view_name},
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
    for panel in &subject.findings.panels {
        out.push_str(&match is_phased(panel) {
            true => nodes(&phases::tables::nodes(subject, panel)),
            false => table(subject, panel),
        });
        out.push_str(&nodes(&program::beside(subject, panel)));
    }
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

fn table(subject: &Subject, panel: &Panel) -> String {
    let metric = subject.headline(panel);
    let metrics = ranking::compared(subject, panel);
    let levels = if panel.title.is_empty() { String::new() } else { format!(", {}", panel.title) };
    let title = match is_one_number(&metric) {
        true => format!("{}{levels}", metric_name(&metric)),
        false => format!("{}{levels}, {}", op_name(&metric.op), view_name(metric.view)),
    };
    let notes = Notes::new(subject, panel);
    let survives = durability_text(panel).map_or(String::new(), |text| text + ". ");
    let about = survives + &ranking::ratios_text(panel, &metrics);
    let mut out = format!("\n### {}\n\n{}\n\n", cell(&title), text(about.trim_end()));
    let is_rate = metric.statistic == Statistic::Rate;
    let mut header = vec![subject.compares().to_string()];
    header.extend(is_rate.then(|| ranking::rate_head(panel).to_string()));
    let numbers = ranking::numbers(panel, &metric, &metrics);
    header.extend(numbers.iter().map(ranking::number_head));
    header.extend(ranking::shown(&metric).iter().map(|q| quantile_name(*q)));
    header.extend((!is_one_number(&metric)).then(|| "largest of n".to_string()));
    let service = ranking::service_quantile(&metric);
    header.extend(service.map(|q| format!("service {}", quantile_name(q))));
    header.extend(is_mixed(panel).then(|| "survives".to_string()));
    header.extend(metrics.iter().map(|metric| ranking::against(panel, metric, &metrics)));
    header.extend(["trials".into(), "notes".into()]);
    out.push_str(&line(&header));
    let rule: Vec<_> = (0..header.len())
        .map(|i| if i == 0 || i == header.len() - 1 { ":--" } else { "--:" }.to_string())
        .collect();
    out.push_str(&format!("| {} |\n", rule.join(" | ")));
    for row in ranking::ranked(subject, panel) {
        let op = summary(row, &metric);
        let mut cells = vec![ranking::label(row)];
        cells.extend(is_rate.then(|| {
            let (rate, range) = ranking::rate_cell(subject, row, &metric);
            range.map_or(rate.clone(), |range| format!("{rate} ({range})"))
        }));
        for number in &numbers {
            let (value, range) = ranking::number_cell(row, number);
            cells.push(range.map_or(value.clone(), |range| format!("{value} ({range})")));
        }
        for &q in ranking::shown(&metric) {
            let value = ranking::quantile_text(op, q);
            let first = op.and_then(|op| ranking::quantile(op, q)).filter(|q| q.carried);
            let range = first.filter(|_| q == SHOWN[0] && !is_rate && row.trials > 1);
            let range = range.map(|q| format!(" ({})", range_text(q.value_ns)));
            cells.push(format!("{value}{}", range.unwrap_or_default()));
        }
        cells.extend((!is_one_number(&metric)).then(|| ranking::largest_text(op)));
        cells.extend(service.map(|q| ranking::service_text(row, &metric, q)));
        cells.extend(is_mixed(panel).then(|| survives_text(row.durability).to_string()));
        for metric in &metrics {
            let (words, interval) = ranking::verdict_cell(panel, row, metric);
            cells.push(interval.map_or(words.clone(), |interval| format!("{words} {interval}")));
        }
        cells.extend([row.trials.to_string(), notes.words(row)]);
        out.push_str(&line(&cells));
    }
    if ranking::is_any_uncarried(panel, &metric, ranking::shown(&metric)) {
        out.push_str("\n`-`: fewer than ten slow episodes over three trials.\n");
    }
    for note in &notes.of_all {
        out.push_str(&format!("\nAll rows: {}.\n", text(note)));
    }
    out
}

pub(crate) fn line<T: AsRef<str>>(cells: &[T]) -> String {
    let cells: Vec<_> = cells.iter().map(|text| cell(text.as_ref())).collect();
    format!("| {} |\n", cells.join(" | "))
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
