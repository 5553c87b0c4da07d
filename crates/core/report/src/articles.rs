//! What the articles said and what this machine says: a document of its own, and a part of a run's page.
//!
//! ```text
//! pickfs compare RUN [RUN ...] --with claims [--article 002] [--markdown FILE] [--json]
//! ```

use std::collections::BTreeMap;

use pickfs_analysis::{
    articles::{Answer, Article, Outcome, RunAnswer},
    wording::{blocks_text, percent_over_one},
};

use crate::document::{Cell, Column, Document, Fold, Kind, Node, Role, Table, Text, list};

/// What a reader must know before believing any line.
const CAVEAT: &str = "Each answer is of this machine. A claim over several pairs of rows is seen only where each \
    pair bears it out. The claims on a workload share a part of the five per cent that all of a run may err, so few \
    blocks decide little; one that the plan asked itself says so.";

/// The six words with what they mean, in the order of their tables.
const WORDS: [(&str, &str); 6] = [
    ("seen here", "the interval of the ratio, or the value of every trial, bears the claim out"),
    ("seen here, but smaller", "the same direction, by less than the claim says"),
    ("opposite here", "the interval lies on the other side"),
    (
        "no difference at this precision",
        "the interval holds 1; the difference that would have been seen is named",
    ),
    (
        "not decided",
        "rows are there: too few blocks or slow episodes, trials too short for tails, a cold row that was warm",
    ),
    (
        "not testable here",
        "why: no such workload, run, file system or level; memory beside a disk; a fact and no measurement",
    ),
];

/// The answers to the claims of these articles. `runs` are the names of the runs that were asked, with what they
/// stand on.
pub fn claims_document(articles: &[&Article], answers: &[Answer], runs: &[String]) -> Document {
    let title = "What the articles said, what this machine says";
    let mut nodes = vec![Node::Heading(1, title.into()), Node::Note(CAVEAT.into())];
    let mut legend = Table::new([("answer", Kind::Word), ("meaning", Kind::Text)]);
    WORDS.into_iter().for_each(|(word, meaning)| legend.row([word, meaning]));
    nodes.push(closed("What the answers mean", vec![Node::Table(legend)]));
    match runs.is_empty() {
        true => nodes.push(Node::Paragraph("No run was asked yet.".into())),
        false => {
            nodes.push(Node::Paragraph("Runs that were asked:".into()));
            nodes.push(list(runs.iter().map(|run| with_conditions(run, answers))));
        }
    }
    if articles.len() > 1 {
        nodes.push(Node::Table(overview(articles, answers)));
    }
    articles.iter().for_each(|article| nodes.extend(section(article, &of(article, answers))));
    Document { title: title.into(), nodes }
}

/// The part of a run's page: the claims that it has rows for; nothing without any.
pub(crate) fn of_run(answers: &[Answer]) -> Option<Node> {
    let all: Vec<&Answer> = answers.iter().collect();
    let nodes = vec![Node::Note(CAVEAT.into()), Node::Table(told(&all, "this run says"))];
    let fold = Fold { is_panel: true, ..Fold::closed(claims_text(all.len()), nodes) };
    let nodes = vec![Node::Fold(fold)];
    let title = "What articles said of this".into();
    (!all.is_empty()).then_some(Node::Section("articles", title, nodes))
}

fn closed(title: &str, nodes: Vec<Node>) -> Node {
    Node::Fold(Fold::closed(title.into(), nodes))
}

fn of<'a>(article: &Article, answers: &'a [Answer]) -> Vec<&'a Answer> {
    answers.iter().filter(|answer| answer.article == article.id).collect()
}

/// How many answers have each word, in the order of [`WORDS`].
fn counts(answers: &[&Answer]) -> [usize; 6] {
    WORDS.map(|(word, _)| answers.iter().filter(|answer| answer.outcome.words() == word).count())
}

fn overview(articles: &[&Article], answers: &[Answer]) -> Table {
    let mut table = Table::new([("article", Kind::Word), ("claims", Kind::Number)]);
    // What each article's own line says again gives way.
    let column = |word| Column { priority: 1, ..Column::new(word, Kind::Number) };
    table.columns.extend(WORDS.map(|(word, _)| column(word)));
    for article in articles {
        let own = of(article, answers);
        let name = format!("{} {}", article.id, article.title);
        let numbers = [own.len()].into_iter().chain(counts(&own)).map(|count| count.to_string());
        table.row([name].into_iter().chain(numbers));
    }
    table
}

fn section(article: &Article, answers: &[&Answer]) -> Vec<Node> {
    let (seen, rest): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| !answer.runs.is_empty());
    let some = WORDS.iter().zip(counts(answers)).filter(|(_, count)| *count > 0);
    let said: Vec<String> = some.map(|((word, _), count)| format!("{count} {word}")).collect();
    let mut nodes = vec![
        Node::Heading(2, format!("{}  {}", article.id, article.title).into()),
        Node::Note(format!("{}. {}.", article.by, article.setting).into()),
        Node::Paragraph(format!("{}: {}", claims_text(answers.len()), said.join("; ")).into()),
    ];
    if !seen.is_empty() {
        nodes.push(Node::Table(told(&seen, "this machine says")));
    }
    if !rest.is_empty() {
        nodes.push(list(by_reason(&rest)));
    }
    nodes
}

/// A run with the conditions that its name does not tell.
fn with_conditions(run: &str, answers: &[Answer]) -> String {
    let of = |known: &&RunAnswer| run.starts_with(&format!("{},", known.run));
    let first = answers.iter().flat_map(|answer| &answer.runs).find(of);
    let conditions = first.into_iter().flat_map(|run| &run.conditions);
    let rest = conditions.filter(|known| !run.contains(*known)).map(|it| format!(", {it}"));
    format!("{run}{}", rest.collect::<String>())
}

/// Claims that no run has rows for, gathered by the reason.
fn by_reason(answers: &[&Answer]) -> Vec<Text> {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for answer in answers {
        by_reason.entry(outcome_text(&answer.outcome)).or_default().push(&answer.claim.id);
    }
    let text = |(reason, ids): (String, Vec<&str>)| {
        let ids = ids.into_iter().enumerate().map(|(index, id)| {
            Text::from(if index == 0 { ": " } else { ", " }).and(Role::Code.of(id))
        });
        ids.fold(Text::from(reason), Text::and)
    };
    by_reason.into_iter().map(text).collect()
}

/// Claims that a run has rows for.
pub(crate) fn told(answers: &[&Answer], says: &str) -> Table {
    let kind = Kind::Text;
    let mut table =
        Table::new([("the article said", kind), (says, kind), ("how it was seen", kind)]);
    for answer in answers {
        let role = match answer.outcome {
            Outcome::Seen | Outcome::Weaker => Role::Winner,
            Outcome::Opposite => Role::Opposite,
            _ => Role::Equal,
        };
        let mut how = details(answer);
        how.extend(answer.first().map(|run| format!("({})", run.run)));
        let how = Cell::from(how.join("\n"));
        table.row([said(answer).into(), role.of(outcome_text(&answer.outcome)).into(), how]);
    }
    table
}

fn said(answer: &Answer) -> Text {
    let claim = &answer.claim;
    let saw = if claim.saw.is_empty() { String::new() } else { format!(" It saw: {}.", claim.saw) };
    Text::from(format!("{}{saw} (", claim.says)).and(Role::Code.of(&claim.id)).and(")")
}

/// An outcome with what belongs to it: what could have been seen, what is missing.
fn outcome_text(outcome: &Outcome) -> String {
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

/// What stands under an answer: each pair, what was missing, other runs that say another thing.
fn details(answer: &Answer) -> Vec<String> {
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

/// `1 claim`, `7 claims`.
fn claims_text(count: usize) -> String {
    if count == 1 { "1 claim".into() } else { format!("{count} claims") }
}
