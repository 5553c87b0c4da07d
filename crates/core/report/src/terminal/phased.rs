use pickfs_record::{
    finding::{Findings, Panel},
    typed::program,
};

use super::{
    MARGIN, Screen, absent,
    colour::Paint,
    grid::{Align, Grid},
    hanging, open_ends, plain,
};
use crate::{
    Subject,
    conditions::notice_text,
    document,
    html::board::{self, Tile},
    phases::{self, is_phased},
    ranking::verdict_cell,
};

const SENTENCES: usize = 10;
const COMMANDS: usize = 2;
const REASONS: usize = 2;

pub(super) fn verdict(subject: &Subject, columns: usize, paint: Paint) -> String {
    let findings = subject.findings;
    let mut out = String::new();
    let tiles = board::tiles(subject);
    let answers = answers(&tiles).filter(|grid| grid.width() <= columns);
    let is_in_grid = |sentence: &str| {
        let sentence = sentence.to_lowercase();
        answers.is_some()
            && tiles.iter().any(|tile| sentence.starts_with(&tile.subject().to_lowercase()))
    };
    let mut commands: Vec<&String> = Vec::new();
    // What was left out has lines of its own below.
    let is_shown =
        |sentence: &&String| !sentence.starts_with("Left out: ") && !is_in_grid(sentence);
    let sentences: Vec<&String> =
        findings.verdicts.iter().flat_map(|verdict| &verdict.sentences).filter(is_shown).collect();
    for (line, sentence) in sentences.iter().take(SENTENCES).enumerate() {
        let name = if line == 0 { "details" } else { "" };
        out.push_str(&paint.name(&hanging(name, &plain(sentence), MARGIN, columns), name));
    }
    if sentences.len() > SENTENCES {
        let more = format!("And {} more on the page.", sentences.len() - SENTENCES);
        out.push_str(&hanging("", &more, MARGIN, columns));
    }
    if let Some(grid) = answers {
        for (index, line) in grid.lines().into_iter().flatten().enumerate() {
            out.push_str(&if index == 0 { paint.faint(&line) } else { line });
            out.push('\n');
        }
    }
    for command in findings.verdicts.iter().flat_map(|verdict| &verdict.commands) {
        if !commands.contains(&command) {
            commands.push(command);
        }
    }
    for command in commands.iter().take(COMMANDS) {
        out.push_str(&hanging("", &format!("$ {}", plain(command)), MARGIN, columns));
    }
    if commands.len() > COMMANDS {
        let more = format!("The page has the {} commands of all choices.", commands.len());
        out.push_str(&hanging("", &more, MARGIN, columns));
    }
    out
}

fn answers(tiles: &[Tile]) -> Option<Grid> {
    let asked: Vec<&Tile> = tiles.iter().filter(|tile| tile.best.is_some()).collect();
    let is_claimed = |tile: &&Tile| tile.best.as_ref().is_some_and(|best| !best.is_empty());
    let labels: Vec<&String> = asked.first()?.panel.rows.iter().map(|row| &row.label).collect();
    if asked.len() < 2 || !asked.iter().any(is_claimed) {
        return None;
    }
    let mut head = vec![String::new(), "choice".into()];
    head.extend(labels.iter().map(|label| plain(label)));
    let mut rows = vec![head];
    for tile in asked {
        let choice = tile.best.as_ref().map(|best| best.join(" or ")).unwrap_or_default();
        let choice = if choice.is_empty() { "nothing is claimed".into() } else { choice };
        let mut cells = vec![plain(&tile.short_title()), plain(&choice)];
        cells.extend(labels.iter().map(|label| {
            let row = tile.panel.rows.iter().find(|row| row.label == **label);
            row.map_or_else(String::new, |row| verdict_cell(tile.panel, row, &tile.metric).0)
        }));
        rows.push(cells);
    }
    let mut columns = vec![Align::Left, Align::Left];
    columns.extend(labels.iter().map(|_| Align::Right));
    Some(Grid { columns, rows })
}

pub(super) fn ranking(subject: &Subject, columns: usize, paint: Paint) -> String {
    let panels: Vec<&Panel> = subject.findings.panels.iter().filter(|p| is_phased(p)).collect();
    let mut out = format!("\n{}", phases::terminal::overview(subject, &panels, columns, paint));
    let text = format!(
        "ratios are geometric means of the blocks; {} show RUN --phases prints every table, note \
         and reason",
        program()
    );
    out.push_str(&hanging("tables", &text, MARGIN, columns));
    out
}

pub(super) fn open_words(subject: &Subject, columns: usize, paint: Paint) -> String {
    let findings = subject.findings;
    let open: Vec<&str> = findings.not_yet.iter().map(|open| open.what.as_str()).collect();
    // `disturbed (4 of 9 trials), the first: ...` is `disturbed (4 of 9 trials)` here.
    let doubts = findings.notices.iter().map(|notice| {
        let text = notice_text(subject, notice);
        text.split([',', ':']).next().unwrap_or_default().to_string()
    });
    let mut out = String::new();
    for (name, text) in
        [("NOT YET", open.join("; ")), ("doubts", doubts.collect::<Vec<_>>().join("; "))]
    {
        if !text.is_empty() {
            out.push_str(&paint.warning(&hanging(name, &plain(&text), MARGIN, columns), name));
        }
    }
    out
}

pub(super) fn left_out(findings: &Findings, columns: usize) -> String {
    if findings.absent.len() <= REASONS {
        return absent(findings, columns);
    }
    let mut named: Vec<(&str, Vec<&str>)> = Vec::new();
    for row in &findings.absent {
        match named.iter_mut().find(|(how, _)| *how == row.how) {
            Some((_, labels)) if labels.contains(&row.label.as_str()) => {}
            Some((_, labels)) => labels.push(&row.label),
            None => named.push((&row.how, vec![&row.label])),
        }
    }
    let line = |(how, labels): (&str, Vec<&str>)| {
        let text = format!("{} (the reasons are with the tables)", labels.join(", "));
        hanging(&plain(how), &plain(&text), MARGIN, columns)
    };
    named.into_iter().map(line).collect()
}

pub fn phase_tables(subject: &Subject, columns: usize, colour: bool) -> String {
    let (paint, columns) = (Paint { on: colour }, columns.max(60));
    let panels = subject.findings.panels.iter().filter(|panel| is_phased(panel));
    let nodes: Vec<_> = panels.flat_map(|panel| phases::tables::nodes(subject, panel)).collect();
    if nodes.is_empty() {
        return String::new();
    }
    let tables = document::terminal::whole(&nodes, columns, paint);
    let open = open_ends(subject, &Screen::default(), columns, paint);
    let sentences = subject.findings.verdicts.iter().flat_map(|verdict| &verdict.sentences);
    let verdict: String = sentences
        .enumerate()
        .map(|(line, text)| {
            hanging(if line == 0 { "details" } else { "" }, &plain(text), MARGIN, columns)
        })
        .collect();
    format!("{verdict}\n{tables}\n{open}")
}
