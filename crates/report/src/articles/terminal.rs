use std::collections::BTreeMap;

use pickfs_analysis::articles::{Answer, Article, Outcome};

use super::words::{CAVEAT, COLUMNS, answered_by, claims_text, counts, details, outcome_text};
use crate::terminal::{
    colour::Paint,
    paragraph::{hanging, wrap},
    plain,
};

const MARGIN: usize = 4;

pub fn claims_screen(
    articles: &[&Article],
    answers: &[Answer],
    columns: usize,
    colour: bool,
) -> String {
    let paint = Paint { on: colour };
    let columns = columns.max(60);
    let mut out = String::new();
    for article in articles {
        let own: Vec<&Answer> =
            answers.iter().filter(|answer| answer.article == article.id).collect();
        out.push_str(&paint.bold(&hanging(
            &article.id,
            &format!("{} ({})", article.title, article.by),
            5,
            columns,
        )));
        out.push_str(&hanging("", &article.setting, 5, columns));
        out.push_str(&format!("     {}\n\n", counts_text(&own)));
        for answer in own.iter().filter(|answer| !answer.runs.is_empty()) {
            out.push_str(&told(answer, columns, paint));
        }
        out.push_str(&untested(&own, columns, paint));
        out.push('\n');
    }
    out.push_str(&paint.faint(&(wrap(CAVEAT, columns).join("\n") + "\n")));
    out
}

fn counts_text(answers: &[&Answer]) -> String {
    let numbers = counts(answers.iter().copied());
    let some = COLUMNS.iter().zip(numbers).filter(|(_, count)| *count > 0);
    let said: Vec<String> = some.map(|(word, count)| format!("{count} {word}")).collect();
    format!("{}: {}", claims_text(answers.len()), said.join("; "))
}

fn told(answer: &Answer, columns: usize, paint: Paint) -> String {
    let saw = if answer.claim.saw.is_empty() {
        String::new()
    } else {
        format!(" (it saw: {})", answer.claim.saw)
    };
    let mut out = hanging("", &plain(&format!("{}{saw}", answer.claim.says)), 2, columns);
    let outcome = plain(&outcome_text(&answer.outcome));
    let line = hanging("", &format!("-> {outcome}"), MARGIN, columns);
    out.push_str(&match answer.outcome {
        Outcome::Seen | Outcome::Weaker => paint.best(&line),
        Outcome::Opposite => paint.bold(&line),
        _ => line,
    });
    for detail in details(answer) {
        out.push_str(&hanging("", &plain(&detail), MARGIN + 3, columns));
    }
    let by = format!("{} by {}", answer.claim.id, plain(&answered_by(answer)));
    out.push_str(&paint.faint(&hanging("", &by, MARGIN + 3, columns)));
    out.push('\n');
    out
}

fn untested(answers: &[&Answer], columns: usize, paint: Paint) -> String {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.runs.is_empty()) {
        by_reason.entry(outcome_text(&answer.outcome)).or_default().push(&answer.claim.id);
    }
    let mut out = String::new();
    for (reason, ids) in by_reason {
        out.push_str(&hanging("", &plain(&reason), 2, columns));
        out.push_str(&paint.faint(&hanging("", &ids.join(", "), MARGIN, columns)));
    }
    out
}
