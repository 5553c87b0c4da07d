//! Parts of a page that a run says: `begin run quick: table append` in a page of docs/ asks for one by its words.

use pickfs_analysis::{
    articles::{Answer, of_run},
    ending::again,
    published::{self, UnknownTable, beside::beside},
};
use pickfs_record::{
    Metric,
    finding::{AnswerEnd, Ending},
};
use thiserror::Error;

use crate::{
    ChartKind, Look, Screen, Subject,
    articles::told,
    beside::beside_document,
    chart::Chart,
    choices,
    conditions::conditions,
    document::{Node, Role, Text, facts, list, markdown},
    factors,
    first::first_screen,
    markdown::{cell, text},
    notes, ranking, run, stalls, svg,
};

#[derive(Debug, Error)]
pub enum PartError {
    #[error(
        "no part `{0}`; there are line [WORDS], screen, answer, answers, table [WORDS], claims NUMBER, beside TABLE, how sure, \
         factors, why, picture CHART [WORDS]"
    )]
    Unknown(String),
    #[error("part `{0}`: the run holds nothing of it")]
    Nothing(String),
    #[error(transparent)]
    Table(#[from] UnknownTable),
}

/// Markdown, and the pictures that it shows, each with the stem of its file.
#[derive(Debug, Default)]
pub struct Part {
    pub text: String,
    pub pictures: Vec<(String, String)>,
}

/// `name` begins the files of pictures, which lie at `images` as seen from the page.
pub fn part(subject: &Subject, name: &str, words: &str, images: &str) -> Result<Part, PartError> {
    let (kind, rest) = words.split_once(' ').unwrap_or((words, ""));
    let nodes = match (kind, rest) {
        ("line", rest) => {
            let text = line(subject, rest).ok_or_else(|| PartError::Nothing(words.into()))?;
            return Ok(Part { text, ..Part::default() });
        }
        ("screen", "") => return Ok(Part { text: screen(subject), ..Part::default() }),
        ("picture", rest) => return pictures(subject, name, rest, images),
        ("answer", "") => answer(subject),
        ("answers", "") => {
            choices::table(subject, usize::MAX).map(Node::Table).into_iter().collect()
        }
        ("table", rest) => tables(subject, rest),
        ("claims", article) if !article.is_empty() => claims(subject, article),
        ("beside", table) => {
            // The page has a heading of its own.
            let nodes = beside_document(&beside(subject.run, published::find(table)?)).nodes;
            nodes.into_iter().skip(1).collect()
        }
        ("how", "sure") => how_sure(subject),
        ("factors", "") => factors::section(subject).into_iter().collect(),
        ("why", "") => stalls::words::in_full(subject).map(list).into_iter().collect(),
        _ => return Err(PartError::Unknown(words.into())),
    };
    let text = markdown::nodes(&nodes);
    match text.trim().is_empty() {
        true => Err(PartError::Nothing(words.into())),
        false => Ok(Part { text, ..Part::default() }),
    }
}

/// How many questions were answered, and the first winner of what survives most, for a cell of a table; else the first
/// answer, or why there is none. With words: the same of the questions that hold them all.
fn line(subject: &Subject, words: &str) -> Option<String> {
    let endings = &subject.findings.endings;
    // `... by block write rate, on this loop image`, without the names of who was compared.
    let asked = |ending: &Ending| {
        let (_, by) = ending.sentence.split_once(" by ").unwrap_or_default();
        by.split(", on this").next().unwrap_or_default().to_owned()
    };
    let held: Vec<&Ending> = endings.iter().filter(|own| holds(&asked(own), words)).collect();
    let most = held.iter().filter_map(|ending| ending.survives).max();
    let mut ranked = held.into_iter().filter(|e| e.survives.is_none() || e.survives == most);
    let is_decided = |ending: &&Ending| ending.end != AnswerEnd::NoAnswer;
    let winner = ranked.clone().find(|ending| ending.end == AnswerEnd::Winner);
    let first = winner.or(ranked.clone().find(is_decided)).or(ranked.next())?;
    let of_all = match (endings.iter().filter(is_decided).count(), endings.len()) {
        (_, 1) => String::new(),
        (0, all) => format!("none of {all} questions answered: "),
        (decided, all) => format!("{decided} of {all} questions answered: "),
    };
    Some(format!("{of_all}**{}** {}", text(&first.end.to_string()), cell(&first.sentence)))
}

/// Without the commands of who ran it: a page has its own.
fn answer(subject: &Subject) -> Vec<Node> {
    let endings = subject.findings.endings.iter();
    let told = endings.flat_map(|ending| {
        let turn = ending.turn.as_ref().map(|turn| Node::Paragraph(format!("But {turn}.").into()));
        [run::end(ending)].into_iter().chain(turn)
    });
    told.collect()
}

/// What a terminal shows when the run ends.
fn screen(subject: &Subject) -> String {
    let screen = Screen { columns: 80, run: Some("RUN"), ..Screen::default() };
    format!("```text\n{}\n```\n", first_screen(subject, &screen).trim_end())
}

fn holds(title: &str, words: &str) -> bool {
    let title = title.to_lowercase();
    words.split_whitespace().all(|word| title.contains(&word.to_lowercase()))
}

/// Panels whose heading holds all words, and of others those of their tables whose title does, too.
fn tables(subject: &Subject, words: &str) -> Vec<Node> {
    let of_panel = |panel| {
        let mut nodes = ranking::table::of_panel(subject, panel);
        let title = match nodes.first() {
            Some(Node::Heading(_, title)) => title.words(),
            _ => String::new(),
        };
        if !holds(&title, words) {
            nodes.retain(|node| match node {
                Node::Fold(fold) => holds(&format!("{title} {}", fold.title), words),
                _ => false,
            });
        }
        nodes
    };
    subject.findings.panels.iter().flat_map(of_panel).collect()
}

fn claims(subject: &Subject, article: &str) -> Vec<Node> {
    let answers = of_run(subject.run, subject.findings);
    let own: Vec<&Answer> = answers.iter().filter(|answer| answer.article == article).collect();
    told(&own, "this run says")
}

/// When, on what and how it was measured, what its blocks say, what it leaves open, and what is in doubt.
fn how_sure(subject: &Subject) -> Vec<Node> {
    let run = subject.run;
    let date = run.started.get(..10).unwrap_or(&run.started);
    let end = run.ended.as_ref().map_or("not ended", |end| end.how.as_str());
    let made = format!("{date}, pickfs {}, {end}", run.build.trim_start_matches("pickfs "));
    // With the plan of today; a reduced run lacks the words that name something of its machine.
    let again = Some(("again", again(&run.plan.typed, &[]))).filter(|_| !run.plan.typed.is_empty());
    let expects = run.plan.expects.clone().map(|text| ("its author expected", text));
    let own = [Some(("made", made)), again, expects].into_iter().flatten();
    let rows = own.chain(conditions(subject));
    let rows = rows.map(|(name, value)| (name.to_owned(), Text::from(value)));
    let of = |name: &'static str| move |text: Text| (name.to_owned(), text);
    let told = subject.findings.endings.iter().flat_map(|ending| &ending.details);
    let open = subject.findings.not_yet.iter();
    let open = open.map(|open| Text::from(format!("{}: {}.", open.what, open.why)));
    let rows = rows.chain(told.map(Text::from).map(of("blocks"))).chain(open.map(of("not yet")));
    let doubts = notes::in_words(subject).into_iter().map(|(what, cure)| {
        let colon = if cure.is_empty() { "" } else { ": " };
        Role::Plain.leads(format!("{what}{colon}{cure}"))
    });
    vec![facts(rows.chain(doubts.map(of("doubt"))))]
}

fn pictures(subject: &Subject, name: &str, words: &str, images: &str) -> Result<Part, PartError> {
    let (kind, rest) = words.split_once(' ').unwrap_or((words, ""));
    // `picture axis append.max` is of another metric than the plan's first.
    let metric = rest.parse::<Metric>().ok().filter(|_| kind == "axis");
    let (rest, end) = match &metric {
        Some(metric) => ("", format!("-{}", stem(&metric.to_string()))),
        None => (rest, String::new()),
    };
    let kind: ChartKind =
        kind.parse().map_err(|_| PartError::Unknown(format!("picture {words}")))?;
    let drawn = kind.draw_by(subject, Look::SHEET, metric.as_ref());
    let mut part = Part::default();
    for chart in drawn.iter().filter(|chart| holds(&title(chart), rest)) {
        let stem = format!("{name}-{}{end}", chart.name);
        part.text.push_str(&format!("\n![{}]({images}/{stem}.svg)\n", cell(&title(chart))));
        part.pictures.push((stem, svg::svg(&chart.scene, svg::Setting::Alone)));
    }
    match part.pictures.is_empty() {
        true => Err(PartError::Nothing(format!("picture {words}"))),
        false => Ok(part),
    }
}

fn title(chart: &Chart) -> String {
    let description = &chart.scene.description;
    description.split_once(". ").map_or(description.as_str(), |(title, _)| title).into()
}

fn stem(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}
