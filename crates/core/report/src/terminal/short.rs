use pickfs_record::{
    finding::{AnswerEnd, Ending, Findings, Panel, Row},
    plan::Statistic,
    quantity::{significant, span_text},
    typed::{program, quoted},
};

use super::{
    Screen,
    colour::Paint,
    grid::{Align, Grid},
    paragraph::{hanging, wrap},
    plain, reasons,
};
use crate::{
    Subject, factors, notes,
    ranking::{self, verdict_cell},
    subject::{counted, is_floor, summary},
    wording::{metric_name, metric_value, op_name, range_text, rate_range_text},
};

pub const LINES_MAX: usize = 24;
/// Columns from which on the lines are counted, and names stand in a margin.
const COLUMNS: usize = 80;
const NARROW: usize = 60;
const BAR: f64 = 12.0;
const MARGIN: usize = 10;
const FAILURES_MAX: usize = 2;

#[derive(Debug, Clone, Copy)]
struct Much {
    answers: usize,
    rows: usize,
    others: usize,
    doubts: usize,
}

const MUCH: [Much; 7] = [
    Much { answers: 3, rows: 8, others: 2, doubts: 3 },
    Much { answers: 3, rows: 6, others: 1, doubts: 3 },
    Much { answers: 2, rows: 6, others: 0, doubts: 3 },
    Much { answers: 2, rows: 4, others: 0, doubts: 2 },
    Much { answers: 1, rows: 4, others: 0, doubts: 2 },
    Much { answers: 1, rows: 3, others: 0, doubts: 1 },
    Much { answers: 1, rows: 2, others: 0, doubts: 0 },
];

pub(super) fn write(subject: &Subject, screen: &Screen, paint: Paint) -> String {
    let columns = screen.columns.max(30);
    let texts = MUCH.iter().map(|much| text(subject, screen, columns, paint, *much));
    let fits = |text: &String| columns < COLUMNS || text.lines().count() <= LINES_MAX;
    let mut texts = texts.collect::<Vec<_>>().into_iter();
    let last = texts.next_back().unwrap_or_default();
    texts.find(fits).unwrap_or(last)
}

fn text(subject: &Subject, screen: &Screen, columns: usize, paint: Paint, much: Much) -> String {
    let findings = subject.findings;
    let mut out = String::new();
    if findings.endings.is_empty() {
        let question = plain(&subject.run.plan.question);
        let mut rows = findings.panels.iter().flat_map(|panel| &panel.rows);
        let word = if rows.any(|row| row.trials > 0) { "MEASURED" } else { "NO ANSWER" };
        out.push_str(&paint.name(&named(word, &question, columns), word));
    }
    out.push_str(&answers(findings, columns, paint, much.answers));
    let panel = lead_panel(findings);
    if let Some(panel) = panel {
        out.push('\n');
        out.push_str(&bars(subject, panel, columns, paint, much.rows));
    }
    let others =
        findings.panels.iter().filter(|other| panel.is_some_and(|p| p.title != other.title));
    for other in others.take(much.others) {
        out.push_str(&values(subject, other, columns));
    }
    if much.others > 0 {
        out.push_str(&factors::lines(subject, MARGIN, columns, paint));
        out.push_str(&reasons(subject, columns, paint));
    }
    out.push('\n');
    out.push_str(&failures(findings, columns, paint));
    let doubts = notes::in_words(subject);
    let gap = if doubts.is_empty() || much.doubts == 0 { "" } else { "\n" };
    for (what, cure) in doubts.iter().take(much.doubts) {
        let text = match cure.is_empty() {
            true => what.clone(),
            false => format!("{what}: {cure}"),
        };
        out.push_str(&paint.warning(&named("doubt", &plain(&text), columns), "doubt"));
    }
    out.push_str(gap);
    out.push_str(&foot(subject, screen, columns, paint));
    out
}

/// A line for each of the first rows with a trial that gave no result: a row without a figure says why.
fn failures(findings: &Findings, columns: usize, paint: Paint) -> String {
    let rows = findings.panels.iter().flat_map(|panel| &panel.rows);
    let mut lines: Vec<String> = Vec::new();
    for row in rows.filter(|row| row.failed > 0) {
        let reason = row.failure.as_deref().unwrap_or("no reason kept");
        let text = format!(
            "{}: {} of {} trials: {reason}",
            row.label,
            row.failed,
            row.trials + row.failed
        );
        let line = plain(&text).chars().take(2 * (columns - MARGIN)).collect();
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let more = lines.split_off(lines.len().min(FAILURES_MAX)).len();
    let told = lines.into_iter().chain((more > 0).then(|| format!("{more} more")));
    told.map(|line| paint.warning(&named("failed", &line, columns), "failed")).collect()
}

pub(super) fn answers(findings: &Findings, columns: usize, paint: Paint, most: usize) -> String {
    let mut out = String::new();
    let (shown, rest) = findings.endings.split_at(findings.endings.len().min(most));
    for (index, ending) in shown.iter().enumerate() {
        out.push_str(&answer(ending, columns, paint, index == 0));
    }
    if !rest.is_empty() {
        let count = |end| rest.iter().filter(|ending| ending.end == end).count();
        let ends = [AnswerEnd::Winner, AnswerEnd::Equal, AnswerEnd::NoAnswer];
        let counts = ends.into_iter().map(|end| (end, count(end))).filter(|(_, count)| *count > 0);
        let counts: Vec<_> = counts.map(|(end, count)| format!("{count} {end}")).collect();
        out.push_str(&named("and", &format!("{} by other metrics", counts.join(", ")), columns));
    }
    out
}

fn answer(ending: &Ending, columns: usize, paint: Paint, is_first: bool) -> String {
    let word = ending.end.to_string();
    let line = named(&word, &plain(&ending.sentence), columns);
    let mut out = match ending.end {
        AnswerEnd::Winner => paint.strong(&line, &word),
        AnswerEnd::Equal => paint.equal(&line, &word),
        AnswerEnd::NoAnswer => paint.warning(&line, &word),
    };
    if let Some(turn) = &ending.turn {
        out.push_str(&paint.warning(&named("BUT", &format!("{}.", plain(turn)), columns), "BUT"));
    }
    if let Some(cure) = ending.cure.as_ref().filter(|_| is_first) {
        let about = cure.duration_s.map_or_else(String::new, |s| format!("   ({})", span_text(s)));
        out.push_str(&named("fix", &format!("{}{about}", plain(&cure.command)), columns));
    }
    out
}

fn named(name: &str, text: &str, columns: usize) -> String {
    if columns >= NARROW {
        return hanging(name, text, MARGIN, columns);
    }
    let lines = wrap(&format!("{name} {text}"), columns - 2);
    lines.join("\n  ") + "\n"
}

fn lead_panel(findings: &Findings) -> Option<&Panel> {
    let title = findings.endings.first().map(|ending| ending.panel.as_str());
    let mut panels = findings.panels.iter();
    panels.find(|panel| Some(panel.title.as_str()) == title).or_else(|| findings.panels.last())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shown {
    Value,
    Range,
    Bar,
    Rate,
    Tail,
    Claim,
}

const ROOMS: [&[Shown]; 6] = [
    &[Shown::Value, Shown::Range, Shown::Bar, Shown::Rate, Shown::Tail, Shown::Claim],
    &[Shown::Value, Shown::Range, Shown::Bar, Shown::Rate, Shown::Claim],
    &[Shown::Value, Shown::Range, Shown::Rate, Shown::Claim],
    &[Shown::Value, Shown::Range, Shown::Rate],
    &[Shown::Value, Shown::Rate],
    &[Shown::Value],
];

fn bars(subject: &Subject, panel: &Panel, columns: usize, paint: Paint, most: usize) -> String {
    let metric = subject.headline(panel);
    let rows: Vec<&Row> = ranking::ranked(subject, panel)
        .into_iter()
        .filter(|row| !is_floor(row) || counted(panel).iter().any(|one| one.cell == row.cell))
        .collect();
    let has = |shown: &Shown| match shown {
        Shown::Rate => metric.statistic != Statistic::Rate && rows.iter().any(|r| r.rate.is_some()),
        Shown::Tail => matches!(metric.statistic, Statistic::Quantile(q) if q < 0.99),
        Shown::Claim => rows.len() > 1,
        Shown::Value | Shown::Range | Shown::Bar => true,
    };
    let longest = rows.iter().filter_map(|row| Some(subject.value(row, &metric)?.median));
    let longest = longest.fold(0.0, f64::max);
    let table = Bars { subject, panel, metric: &metric, longest, label_max: columns / 3 };
    let rooms = ROOMS.map(|room| room.iter().copied().filter(has).collect::<Vec<_>>());
    let grids = rooms.map(|room| table.grid(&rows[..rows.len().min(most)], &room));
    let fits = |grid: &&Grid| grid.width() <= columns;
    let Some(grid) = grids.iter().find(fits).or(grids.last()) else { return String::new() };
    let asked = panel.rows.iter().find_map(|row| row.rate_asked);
    let parts = [
        Some(op_name(&metric.op).to_owned()),
        Some(panel.title.clone()).filter(|title| !title.is_empty()),
        asked.map(|rate| format!("{}/s asked", significant(rate))),
    ];
    let title = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let mut out = paint.bold(&format!("{}\n", wrap(&plain(&title), columns).join("\n")));
    let ends = subject.findings.endings.iter();
    let winner = ends.clone().any(|e| e.panel == panel.title && e.end == AnswerEnd::Winner);
    for (index, line) in grid.lines().into_iter().enumerate() {
        for line in line {
            out.push_str(&match index {
                0 => paint.faint(&line),
                1 if winner => paint.best(&line),
                _ => line,
            });
            out.push('\n');
        }
    }
    if rows.len() > most {
        out.push_str(&format!("and {} more\n", rows.len() - most));
    }
    out
}

struct Bars<'t> {
    subject: &'t Subject<'t>,
    panel: &'t Panel,
    metric: &'t pickfs_record::plan::Metric,
    longest: f64,
    label_max: usize,
}

impl Bars<'_> {
    fn grid(&self, rows: &[&Row], shown: &[Shown]) -> Grid {
        let mut head = vec![String::new()];
        head.extend(shown.iter().map(|shown| self.head(*shown)));
        let mut all = vec![head];
        for row in rows {
            let label: String = plain(&row.label);
            let is_long = label.chars().count() > self.label_max;
            let label = match is_long {
                true => label.chars().take(self.label_max - 2).chain("..".chars()).collect(),
                false => label,
            };
            let mut cells = vec![label];
            cells.extend(shown.iter().map(|shown| self.cell(row, *shown)));
            all.push(cells);
        }
        let mut columns = vec![Align::Left];
        columns.extend(shown.iter().map(|shown| match shown {
            Shown::Bar | Shown::Claim => Align::Left,
            _ => Align::Right,
        }));
        Grid { columns, rows: all }
    }

    fn head(&self, shown: Shown) -> String {
        match shown {
            Shown::Value => plain(&match self.metric.statistic {
                Statistic::Quantile(_) | Statistic::Rate => {
                    crate::wording::statistic_name(self.metric.statistic)
                }
                _ => ranking::number_head(self.metric),
            }),
            Shown::Range => "of trials".into(),
            Shown::Bar => String::new(),
            Shown::Rate => "held".into(),
            Shown::Tail => "p99".into(),
            Shown::Claim => format!("against {}", plain(ranking::reference(self.panel))),
        }
    }

    fn cell(&self, row: &Row, shown: Shown) -> String {
        let value = self.subject.value(row, self.metric);
        let text = match (shown, value) {
            (Shown::Value, Some(value)) => metric_value(self.metric, value.median),
            (Shown::Range, Some(value)) => match self.metric.statistic {
                _ if row.trials < 2 => return String::new(),
                Statistic::Rate => rate_range_text(value),
                Statistic::Figure(_) => {
                    format!("{}-{}", significant(value.low), significant(value.high))
                }
                _ => range_text(value),
            },
            (Shown::Bar, Some(value)) if self.longest > 0.0 => {
                let signs = (BAR * value.median / self.longest).ceil().clamp(1.0, BAR);
                return "#".repeat(signs as usize);
            }
            (Shown::Rate, _) => {
                row.rate.map_or_else(String::new, |rate| format!("{}/s", significant(rate.median)))
            }
            (Shown::Tail, _) => ranking::quantile_text(summary(row, self.metric), 0.99),
            (Shown::Claim, _) => verdict_cell(self.panel, row, self.metric).0,
            _ => "-".into(),
        };
        plain(&text)
    }
}

fn values(subject: &Subject, panel: &Panel, columns: usize) -> String {
    let metric = subject.headline(panel);
    let each: Vec<String> = ranking::ranked(subject, panel)
        .into_iter()
        .filter_map(|row| {
            let value = subject.value(row, &metric)?;
            Some(format!("{} {}", ranking::label(row), metric_value(&metric, value.median)))
        })
        .collect();
    if each.is_empty() {
        return String::new();
    }
    let name = metric_name(&metric).replace(", service time", "");
    let text = format!("{}, {name}: {}", panel.title, each.join(", "));
    let lines = wrap(&plain(text.trim_start_matches(", ")), columns.saturating_sub(2));
    lines.join("\n  ") + "\n"
}

fn foot(subject: &Subject, screen: &Screen, columns: usize, paint: Paint) -> String {
    let mut out = String::new();
    let first = subject.findings.endings.first();
    let is_winner = first.is_some_and(|ending| ending.end == AnswerEnd::Winner);
    let mut verdicts = subject.findings.verdicts.iter();
    let made = verdicts.find(|verdict| first.is_some_and(|ending| ending.panel == verdict.panel));
    if let Some(verdict) = made.filter(|verdict| is_winner && !verdict.commands.is_empty()) {
        out.push_str(&named("make", &plain(&verdict.commands.join("; ")), columns));
    }
    if let Some(next) = screen.next {
        let text = format!("{}   (about {})", next.command, span_text(next.duration_s));
        out.push_str(&paint.name(&named("next", &plain(&text), columns), "next"));
    }
    if let Some(report) = screen.report {
        out.push_str(&named("report", &plain(report), columns));
    }
    let all = format!("{} show {} --doubts", program(), quoted(screen.run.unwrap_or("RUN")));
    out.push_str(&named("all of it", &plain(&all), columns));
    out
}
