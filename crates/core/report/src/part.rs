//! Parts of a page that a run says: `begin run quick: table append` in a page of docs/ asks for one by its words.

use pickfs_analysis::{
    articles::{Answer, of_run},
    ending::{again, asked, more, named},
    published::{self, UnknownTable, beside::beside},
    wording::{blocks_text, list as in_words, survival},
};
use pickfs_record::{
    Metric,
    finding::{self, AnswerEnd, Ending},
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
        "no part `{0}`; there are line [WORDS], screen, answer, answers, table [WORDS], of OPERATION, claims NUMBER, beside TABLE, how \
         sure, factors, why, picture CHART [WORDS]"
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

/// More of them stand under a line that counts them.
const QUESTIONS: usize = 3;

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
        ("of", op) if !op.is_empty() => {
            let panels = subject.findings.panels.iter();
            panels.flat_map(|panel| ranking::table::of_op(subject, panel, op)).collect()
        }
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
    let is_meant = |ending: &&Ending| match answer_of(subject, ending) {
        Some(answer) => holds(&asked(answer), words),
        None => holds(&ending.sentence, words),
    };
    let endings = &subject.findings.endings;
    let held: Vec<&Ending> = endings.iter().filter(is_meant).collect();
    let most = held.iter().filter_map(|ending| ending.survives).max();
    let mut ranked = held.into_iter().filter(|e| e.survives.is_none() || e.survives == most);
    let is_decided = |ending: &&Ending| ending.end != AnswerEnd::NoAnswer;
    let winner = ranked.clone().find(|ending| ending.end == AnswerEnd::Winner);
    let first = winner.or(ranked.clone().find(is_decided)).or(ranked.next())?;
    let of_all = match endings.len() {
        1 => String::new(),
        _ => format!("{}: ", answered(endings)),
    };
    Some(format!("{of_all}**{}** {}", text(&first.end.to_string()), cell(&first.sentence)))
}

fn answer_of<'s>(subject: &Subject<'s>, ending: &Ending) -> Option<&'s finding::Answer> {
    subject.findings.answers.get(ending.answer?)
}

fn answered(endings: &[Ending]) -> String {
    let decided = endings.iter().filter(|ending| ending.end != AnswerEnd::NoAnswer).count();
    let some = if decided == 0 { "none".into() } else { decided.to_string() };
    format!("{some} of {} questions answered", endings.len())
}

/// What was decided first; what is open between the same candidates together. Without the commands of who ran it: a page
/// has its own.
fn answer(subject: &Subject) -> Vec<Node> {
    let endings = &subject.findings.endings;
    let is_open = |ending: &&Ending| ending.end == AnswerEnd::NoAnswer;
    let (open, decided): (Vec<_>, Vec<_>) = endings.iter().partition(is_open);
    let mut groups: Vec<Vec<&Ending>> = decided.into_iter().map(|ending| vec![ending]).collect();
    for ending in open {
        match groups.iter_mut().find(|group| are_alike(subject, group[0], ending)) {
            Some(group) => group.push(ending),
            None => groups.push(vec![ending]),
        }
    }
    let told = groups.iter().flat_map(|group| match group[..] {
        [one] => {
            let turn = one.turn.as_ref();
            let turn = turn.map(|turn| Node::Paragraph(format!("But {turn}.").into()));
            [run::end(one)].into_iter().chain(turn)
        }
        _ => [together(subject, group)].into_iter().chain(None),
    });
    let count = (endings.len() > QUESTIONS).then(|| {
        let text = answered(endings).replacen("none", "None", 1);
        Node::Paragraph(Role::Strong.of(format!("{text}.")))
    });
    count.into_iter().chain(told).collect()
}

fn are_alike(subject: &Subject, one: &Ending, other: &Ending) -> bool {
    let of = |ending: &Ending| {
        let answer = answer_of(subject, ending)?;
        let out: Vec<_> = answer.out.iter().map(|out| &out.label).collect();
        let is_plain = ending.end == AnswerEnd::NoAnswer && ending.turn.is_none();
        let is_plain = is_plain && answer.gate.is_none() && !answer.raw && answer.blocks > 1;
        // That is of its own metric.
        let is_plain = is_plain && !ending.sentence.contains(" Not ranked: ");
        is_plain.then_some((&answer.left, out, answer.blocks, ending.survives))
    };
    of(one).is_some() && of(one) == of(other)
}

/// `17 blocks do not decide between ext4 and xfs in 2 questions; not the fastest: btrfs. By ...`.
fn together(subject: &Subject, group: &[&Ending]) -> Node {
    let answers: Vec<_> = group.iter().filter_map(|ending| answer_of(subject, ending)).collect();
    let by = answers.iter().map(|answer| match more(subject.run, answer) {
        Some(more) => format!("{} ({more})", asked(answer)),
        None => asked(answer),
    });
    let by = by.collect::<Vec<_>>().join("; ");
    let (first, count) = (answers[0], group.len());
    let out: Vec<_> = first.out.iter().map(|out| out.label.as_str()).collect();
    let rest = if out.is_empty() { "" } else { &format!("; not the fastest: {}", in_words(&out)) };
    let class = group[0].survives.map(|class| format!(", of what {}", survival(class)));
    let class = class.unwrap_or_default();
    let (blocks, left) = (blocks_text(first.blocks), named(subject.run, &first.left));
    let sentence = format!(
        "{blocks} do not decide between {left} in {count} questions{class}{rest}. By {by}."
    );
    Node::End(choices::role(group[0].end), group[0].end.to_string(), sentence)
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
