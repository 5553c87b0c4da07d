//! What the articles said and what this machine says: a document of its own, and a part of a run's page.
//!
//! ```text
//! pickfs compare RUN [RUN ...] --with claims [--article 002] [--markdown FILE] [--json]
//! ```

use std::{collections::BTreeMap, slice::from_ref};

use pickfs_analysis::{
    articles::{Answer, Article, Evidence, Measure, Outcome},
    wording::{blocks_text, list as list_text, percent_over_one, unique},
};
use pickfs_record::{RunRecord, quantity::counted};

use crate::document::{Cell, Column, Document, Fold, Kind, Node, Role, Table, Text, list};

/// What a reader must know before believing any line.
const CAVEAT: &str = "Each answer is of this machine. What was asked, with its bound and place, is ours. A claim over \
    several pairs of rows is seen only where each pair bears it out. Only runs of the plan made for a claim answer \
    it. All claims that a run answers share a part of the five per cent that it may err, so few blocks decide little.";

/// The words of an outcome with what they mean, in the order of their tables.
const WORDS: [(&str, &str); 10] = [
    (
        "seen here",
        "the interval of the ratio, or of the value, bears the claim out, or a count of what was seen",
    ),
    (
        "less than it says here",
        "the interval of one pair at least leaves no room for what the claim says; a claim of 'faster' says that it is visible: by more than the margin of its plan, mostly 5 %, within which two are called equal",
    ),
    ("opposite here", "the interval of one pair at least lies on the other side"),
    ("no difference here", "the two differ by less than the margin that is named"),
    (
        "shown, not decided",
        "a value that decides nothing: memory beside a disk, a count of seconds",
    ),
    ("borne out by a source", "nobody measured it; what is written, and where, stands beside it"),
    ("contradicted by a source", "the same, and it is written otherwise"),
    (
        "not decided",
        "rows are there: too few blocks or slow episodes, or a fact withholds the answer",
    ),
    (
        "not yet run",
        "a plan, or a table of features, can answer it; what that takes stands beside it",
    ),
    ("not testable here", "why: its run lacks a row, no plan measures it, or it is advice"),
];

/// The answers to the claims of these articles, and the runs that were asked.
pub fn claims_document(articles: &[&Article], answers: &[Answer], runs: &[&RunRecord]) -> Document {
    let title = "What the articles said, what this machine says";
    let mut nodes = vec![Node::Heading(1, title.into())];
    if articles.len() > 1 {
        nodes.push(Node::Paragraph(sum(&answers.iter().collect::<Vec<_>>()).into()));
        nodes.push(Node::Table(overview(articles, answers)));
    }
    nodes.push(Node::Note(CAVEAT.into()));
    let mut legend = Table::new([("answer", Kind::Word), ("meaning", Kind::Text)]);
    WORDS.into_iter().for_each(|(word, meaning)| legend.row([word, meaning]));
    nodes.push(closed("What the answers mean", vec![Node::Table(legend)]));
    let asked = list(runs.iter().map(|run| run_text(run)));
    nodes.push(match runs.is_empty() {
        true => Node::Paragraph("No run was asked yet.".into()),
        false => closed("Runs that were asked", vec![asked]),
    });
    articles.iter().for_each(|article| nodes.extend(section(article, &of(article, answers))));
    Document { title: title.into(), nodes }
}

/// `24 of 186 claims are decided: 12 by runs here, 8 by a table of features, 4 by sources. Of all: 9 seen here; ...`
pub fn sum(answers: &[&Answer]) -> String {
    let count = |is_so: &dyn Fn(&Answer) -> bool| answers.iter().filter(|own| is_so(own)).count();
    let is_of_table = |own: &Answer| matches!(own.claim.measure, Measure::Feature(_));
    let is_of_run = |own: &Answer| own.outcome.is_answer() && !is_of_table(own);
    let scaled = match count(&|own| is_of_run(own) && scale(own).is_some()) {
        0 => String::new(),
        scaled => format!(" ({scaled} of them {SCALED})"),
    };
    let of_table = count(&|own| own.outcome.is_answer() && is_of_table(own));
    let written = count(&|own| matches!(own.outcome, Outcome::Written { .. }));
    let others = [(of_table, "a table of features"), (written, "sources")];
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    let others: String = others.map(|(count, by)| format!(", {count} by {by}")).collect();
    let (of_run, claims) = (count(&is_of_run), counted(answers.len() as u64, "claim"));
    let decided = of_run + of_table + written;
    let by_word = by_word(answers);
    format!(
        "{decided} of {claims} are decided: {of_run} by runs here{scaled}{others}. Of all: {by_word}."
    )
}

fn by_word(answers: &[&Answer]) -> String {
    let some = WORDS.iter().zip(counts(answers)).filter(|(_, count)| *count > 0);
    some.map(|((word, _), count)| format!("{count} {word}")).collect::<Vec<_>>().join("; ")
}

fn run_text(run: &RunRecord) -> String {
    let fact = |key: &str| run.environment.get(key).unwrap_or("not known").to_owned();
    let backing = run.trials.first().map_or_else(String::new, |trial| trial.backing.to_string());
    let known = [
        run.name.clone(),
        format!("plan {}", run.plan.name),
        format!("begun {}", run.started),
        blocks_text(run.blocks()),
        backing,
        format!("Linux {}", fact("kernel.release")),
        fact("cpu.model"),
    ];
    known.join(", ")
}

/// The part of a run's page: the claims that it has rows for; nothing without any.
pub(crate) fn of_run(answers: &[Answer]) -> Option<Node> {
    let all: Vec<&Answer> = answers.iter().collect();
    let nodes = [vec![Node::Note(CAVEAT.into())], told(&all, "this run says")].concat();
    let fold = Fold { is_panel: true, ..Fold::closed(counted(all.len() as u64, "claim"), nodes) };
    let title = "What articles said of this".into();
    (!all.is_empty()).then_some(Node::Section("articles", title, vec![Node::Fold(fold)]))
}

fn closed(title: &str, nodes: Vec<Node>) -> Node {
    Node::Fold(Fold::closed(title.into(), nodes))
}

fn of<'a>(article: &Article, answers: &'a [Answer]) -> Vec<&'a Answer> {
    answers.iter().filter(|answer| answer.article == article.id).collect()
}

/// How many answers have each word, in the order of [`WORDS`].
fn counts(answers: &[&Answer]) -> [usize; WORDS.len()] {
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
    let (mut seen, rest): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| !answer.runs.is_empty());
    // What was found stands before what is open.
    seen.sort_by_key(|answer| (answer.outcome.is_open(), !answer.outcome.is_answer()));
    let how = Node::Note(format!("{}. {}.", article.by, article.setting).into());
    let mut nodes = vec![
        Node::Heading(2, format!("{}  {}", article.id, article.title).into()),
        Node::Paragraph(sum(answers).into()),
        closed("By whom, and how", vec![how]),
    ];
    nodes.extend(main_claims(article, answers));
    nodes.extend(told(&seen, "here"));
    if !rest.is_empty() {
        nodes.push(list(by_reason(&rest)));
    }
    nodes
}

/// The answer before the claim, and what makes that answer; the rest of it stands in the tables.
fn main_claims(article: &Article, answers: &[&Answer]) -> Vec<Node> {
    let line = |own: &&Answer| {
        let scaled = scale(own).map_or(String::new(), |scale| format!(", {scale}"));
        let mut conditions = own.first().into_iter().flat_map(|run| &run.conditions);
        let is_doubted = conditions.any(|text| text.starts_with("doubt:"));
        let doubt = if is_doubted { ", in doubt" } else { "" };
        let word = Role::Strong.of(format!("{}{scaled}{doubt}:", own.outcome.words()));
        word.and(format!(" {} Here: {}.", own.claim.says, ground(own)))
    };
    let by_id = |id: &String| answers.iter().find(|own| own.claim.id == *id);
    let lines: Vec<Text> = article.main.iter().filter_map(by_id).map(line).collect();
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![Node::Paragraph("Its main claims:".into()), list(lines)],
    }
}

/// One pair that has the answer, with the number of the others; where none has it, why.
fn ground(answer: &Answer) -> String {
    let pairs = answer.first().map_or(&[][..], |run| run.evidence.as_slice());
    let own = pairs.iter().find(|pair| pair.outcome == answer.outcome);
    let more = pairs.len().saturating_sub(1) as u64;
    let more =
        if more > 0 { format!("; and {}", counted(more, "more pair")) } else { String::new() };
    match (&answer.outcome, own.or(pairs.first())) {
        (Outcome::NotTestable { reason: why }, _) => why.clone(),
        (Outcome::NotYetRun, _) => format!("it would take {}", answer.takes),
        (Outcome::NotDecided { why, .. }, _) if own.is_none() => why.clone(),
        (_, pair) => format!("{}{more}", pair.map_or("-", |pair| pair.text.as_str())),
    }
}

/// Claims that no run has rows for, gathered by the reason and what would mend it.
fn by_reason(answers: &[&Answer]) -> Vec<Text> {
    let mut by_reason: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for answer in answers {
        let words = answer.outcome.words();
        let line = match &answer.outcome {
            Outcome::NotTestable { reason } => {
                format!("{words}: {reason}. It would take {}", answer.takes)
            }
            _ => format!("{words}: it would take {}", answer.takes),
        };
        by_reason.entry(line).or_default().push(&answer.claim.id);
    }
    let text = |(reason, ids): (String, Vec<&str>)| {
        let ids = ids.into_iter().enumerate().map(|(index, id)| {
            Text::from(if index == 0 { ": " } else { ", " }).and(Role::Code.of(id))
        });
        ids.fold(Text::from(reason), Text::and)
    };
    by_reason.into_iter().map(text).collect()
}

/// Claims that a run has rows for, below what they were asked of.
pub(crate) fn told(answers: &[&Answer], says: &str) -> Vec<Node> {
    let kind = Kind::Text;
    let heads = [("the article said", kind), (says, Kind::Word), ("how it was seen", kind)];
    let below = |asked: String| {
        let mut table = Table::new(heads);
        for answer in answers.iter().filter(|answer| asked_of(answer) == asked) {
            let role = match answer.outcome {
                Outcome::Seen => Role::Winner,
                Outcome::Opposite => Role::Opposite,
                _ => Role::Equal,
            };
            let scaled = scale(answer).map_or(String::new(), |_| format!(", {SCALED}"));
            let word = role.of(format!("{}{scaled}", answer.outcome.words()));
            table.row([Cell::from(said(answer)), word.into(), details(answer).join("\n").into()]);
        }
        [Node::Note(asked.into()), Node::Table(table)]
    };
    unique(answers.iter().map(|answer| asked_of(answer))).into_iter().flat_map(below).collect()
}

/// `Asked of: 2026-11-23-files, loop image, scale=tiny; not the article's scale: scale tiny.`
fn asked_of(answer: &Answer) -> String {
    let stood = answer.first().map(|run| [from_ref(&run.run), &run.conditions[..]].concat());
    let scale = scale(answer).map(|scale| format!("; not the article's scale: {scale}"));
    format!("Asked of: {}{}.", stood.unwrap_or_default().join(", "), scale.unwrap_or_default())
}

fn said(answer: &Answer) -> Text {
    let claim = &answer.claim;
    let part = |begin: &str, text: &str| match text {
        "" => String::new(),
        text => format!(" {begin}: {text}."),
    };
    let parts = [part("It saw", &claim.saw), part("Asked", &claim.asked())].concat();
    Text::from(format!("{}{parts} (", claim.says)).and(Role::Code.of(&claim.id)).and(")")
}

const SCALED: &str = "at another scale than the article's";

/// No answer of a smaller run may be read as one of the article's own size.
fn scale(answer: &Answer) -> Option<String> {
    answer.first().map(|run| list_text(&run.scale)).filter(|scale| !scale.is_empty())
}

/// Pairs that a cell holds; the rest are counted.
const PAIRS_SHOWN: usize = 3;

/// What stands behind an answer, that which makes it first: pairs, why it is open, what was missing, other runs that
/// say another thing.
fn details(answer: &Answer) -> Vec<String> {
    let Some(run) = answer.first() else { return Vec::new() };
    let mut pairs: Vec<&Evidence> = run.evidence.iter().collect();
    pairs.sort_by_key(|pair| pair.outcome != answer.outcome);
    let mut lines: Vec<_> = pairs.iter().take(PAIRS_SHOWN).map(|own| own.text.clone()).collect();
    if pairs.len() > PAIRS_SHOWN {
        lines.push(format!("and {} more pairs", pairs.len() - PAIRS_SHOWN));
    }
    match &answer.outcome {
        Outcome::NotDecided { why, .. } | Outcome::Shown { why } => lines.push(why.clone()),
        Outcome::Opposite if run.evidence.len() > 1 => {
            let count = run.evidence.iter().filter(|pair| pair.outcome == answer.outcome).count();
            lines.push(format!("not so of {count} of {} pairs", run.evidence.len()));
        }
        Outcome::NoDifference { visible_ratio } => {
            lines.push(format!("they differ by {} at most", percent_over_one(*visible_ratio)));
        }
        _ => {}
    }
    if !answer.takes.is_empty() {
        lines.push(format!("it would take {}", answer.takes));
    }
    if !run.without.is_empty() {
        lines.push(format!("not in this run: {}", run.without.join(", ")));
    }
    lines.extend(answer.dissent().map(|own| format!("{} says: {}", own.run, own.outcome.words())));
    lines
}
