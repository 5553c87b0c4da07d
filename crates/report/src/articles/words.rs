use pickfs_analysis::{
    articles::{Answer, Outcome},
    wording::{blocks_text, percent_over_one},
};

pub const CAVEAT: &str = "Each answer is of this machine. A claim over several pairs of rows is seen only where each \
    pair bears it out. Comparisons that no plan fixed stand with their own interval at 95 per cent: \
    of twenty of them one may be chance. Those that a plan fixed say so.";

pub fn outcome_text(outcome: &Outcome) -> String {
    let words = outcome.words();
    match outcome {
        Outcome::NoDifference { visible_ratio } => {
            format!("{words}: they differ by {} at most", percent_over_one(*visible_ratio))
        }
        Outcome::NotDecided { blocks, why } => {
            format!("{words} ({}): {why}", blocks_text(*blocks))
        }
        Outcome::NotTestable { reason } => format!("{words}: {reason}"),
        Outcome::Seen | Outcome::Weaker | Outcome::Opposite => words.into(),
    }
}

pub const COLUMNS: [&str; 6] = [
    "seen here",
    "seen here, but smaller",
    "opposite here",
    "no difference at this precision",
    "not decided",
    "not testable here",
];

pub fn counts<'a>(answers: impl Iterator<Item = &'a Answer> + Clone) -> [usize; 6] {
    COLUMNS.map(|word| answers.clone().filter(|answer| answer.outcome.words() == word).count())
}

pub fn details(answer: &Answer) -> Vec<String> {
    let Some(run) = answer.first() else { return Vec::new() };
    let mut lines: Vec<String> =
        run.evidence.iter().map(|evidence| evidence.text.clone()).collect();
    if !run.without.is_empty() {
        lines.push(format!("not in this run: {}", run.without.join(", ")));
    }
    lines.extend(
        answer.dissent().map(|other| format!("{} says: {}", other.run, other.outcome.words())),
    );
    lines
}

pub fn answered_by(answer: &Answer) -> String {
    let Some(run) = answer.first() else { return String::new() };
    match run.conditions.is_empty() {
        true => run.run.clone(),
        false => format!("{} ({})", run.run, run.conditions.join(", ")),
    }
}

pub fn claims_text(count: usize) -> String {
    if count == 1 { "1 claim".into() } else { format!("{count} claims") }
}
