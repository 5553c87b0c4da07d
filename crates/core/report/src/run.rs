//! A run in nodes: its answers, what was measured, the words, what is in doubt, then a section for each finding.

use pickfs_analysis::articles::of_run;
use pickfs_record::{finding::Ending, quantity::span_text};

use crate::{
    NextStep, Subject, articles, card, choices,
    conditions::{absent, conditions},
    document::{Node, Role, Text, facts, under_one_name},
    factors, io500, notes, ranking, stalls, trust,
};

/// The words of each end, the first with its cure, and how many more there are.
pub(crate) fn answers(subject: &Subject, most: usize) -> Vec<Node> {
    let endings = &subject.findings.endings;
    let (shown, rest) = endings.split_at(endings.len().min(most));
    let count = |end| rest.iter().filter(|ending| ending.end == end).count();
    let counts = choices::ENDS.map(|end| (end, count(end))).into_iter();
    let counts =
        counts.filter(|(_, count)| *count > 0).map(|(end, count)| format!("{count} {end}"));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let of = |(index, found): (usize, &Ending)| {
        let turn = found.turn.as_ref().map(|turn| Role::NoAnswer.leads(format!("{turn}.")));
        let cure = found.cure.as_ref().filter(|_| index == 0).map(|cure| {
            let about = cure.duration_s.map(|s| format!("   ({})", span_text(s)));
            Role::Code.of(&cure.command).and(about.unwrap_or_default())
        });
        let is_last = index + 1 == shown.len() && !rest.is_empty();
        let more = is_last.then(|| format!("{counts} by other metrics").into());
        let rows = [("BUT", turn), ("fix", cure), ("and", more)].into_iter();
        let rows: Vec<_> = rows.filter_map(|(name, text)| Some((name, text?))).collect();
        let facts = (!rows.is_empty()).then(|| facts(rows));
        [end(found)].into_iter().chain(facts)
    };
    let mut all = shown.iter().enumerate();
    let mut nodes: Vec<_> = all.next().into_iter().flat_map(of).collect();
    let more: Vec<_> = all.flat_map(of).collect();
    nodes.extend((!more.is_empty()).then_some(Node::Box("ends", more)));
    nodes
}

pub(crate) fn end(found: &Ending) -> Node {
    Node::End(choices::role(found.end), found.end.to_string(), found.sentence.clone())
}

/// All that stands before the pictures, and all that stands behind them.
pub(crate) fn sections(subject: &Subject, next: Option<&NextStep>) -> (Vec<Node>, Vec<Node>) {
    let section = |id, title: &str, nodes| Node::Section(id, title.into(), nodes);
    let in_words = |nodes| section("verdict", "In words", nodes);
    let choices = choices::table(subject, usize::MAX).map(|table| vec![Node::Table(table)]);
    let before = [
        choices.map(|nodes| section("answer", "Answers", nodes)),
        Some(section("measured", "What was measured", measured(subject))),
        Some(words(subject)).filter(|nodes| !nodes.is_empty()).map(in_words),
        doubts(subject, next).map(|doubts| section("doubts", "What is in doubt", vec![doubts])),
        Some(section("ranking", "Ranking", ranking::table::nodes(subject))),
        stalls::ledger::section(subject),
        factors::section(subject),
        io500::section(subject),
    ];
    let after = [
        (!subject.findings.absent.is_empty()).then(|| absent(subject)),
        Some(card::section(subject.run)),
        articles::of_run(&of_run(subject.run, subject.findings)),
    ];
    (before.into_iter().flatten().collect(), after.into_iter().flatten().collect())
}

/// What was measured, on what, and how.
fn measured(subject: &Subject) -> Vec<Node> {
    let note = subject.run.plan.article.iter().flat_map(|note| {
        let lines = [
            ("repeats", &note.source),
            ("it saw", &note.saw),
            ("look at", &note.look_at),
            ("cannot", &note.cannot_tell),
        ];
        lines.into_iter().filter(|(_, text)| !text.is_empty())
    });
    let note = note.map(|(name, text)| (name, text.clone()));
    let expects = subject.run.plan.expects.clone().map(|text| ("its author expected", text));
    let conditions = facts(expects.into_iter().chain(note).chain(conditions(subject)));
    [conditions].into_iter().chain(trust::nodes(subject)).collect()
}

/// Who is out by whom in each answer, with the commands that make its winner, and why operations were slow.
pub(crate) fn words(subject: &Subject) -> Vec<Node> {
    let mut nodes = Vec::new();
    let mut told: Vec<&Vec<String>> = Vec::new();
    for ending in &subject.findings.endings {
        let name = if ending.panel.is_empty() { "details" } else { &ending.panel };
        let rows: Vec<_> = under_one_name(name, ending.details.iter().map(Text::from)).collect();
        nodes.extend((!rows.is_empty()).then_some(Node::Facts(rows)));
        if !ending.commands.is_empty() && !told.contains(&&ending.commands) {
            nodes.push(Node::Code(ending.commands.join("\n")));
            told.push(&ending.commands);
        }
    }
    let slow = stalls::words::headlines(subject).into_iter().map(Text::from);
    let slow: Vec<_> = under_one_name("slow", slow).collect();
    nodes.extend((!slow.is_empty()).then_some(Node::Facts(slow)));
    nodes
}

/// What this run cannot tell, what is to be doubted, and what would tell more; nothing without any.
pub(crate) fn doubts(subject: &Subject, next: Option<&NextStep>) -> Option<Node> {
    let findings = subject.findings;
    let open = findings.not_yet.iter().map(|open| format!("{}: {}.", open.what, open.why));
    let notices = findings.notices.iter().map(|notice| notes::notice_text(subject, notice));
    let mut rows: Vec<_> =
        under_one_name("NOT YET", open.map(|text| Role::NoAnswer.leads(text))).collect();
    rows.extend(under_one_name("doubt", notices.map(|text| Role::NoAnswer.leads(text))));
    rows.extend(next.map(next_row));
    (!rows.is_empty()).then(|| Node::Box("doubt", vec![Node::Facts(rows)]))
}

pub(crate) fn next_row(next: &NextStep) -> (String, Text) {
    let about = format!("   (about {})", span_text(next.duration_s));
    ("next".into(), Role::Code.of(&next.command).and(about))
}
