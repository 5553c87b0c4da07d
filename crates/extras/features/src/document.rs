//! The table of what file systems can do: classes, the matrix of answers, what was seen behind each of them, and
//! where each file system comes from. A terminal may ask for the differences alone: what the candidates share is then
//! said in one line.

use crate::answers::{Answer, FeatureRow, FeatureTable, Group, Presence, Verdict};
use pickfs_record::origin::Class;

use crate::view::{EXPLAINED, Line, View, dissent};
use pickfs_report::document::{
    Cell, Column, Document, Fold, Kind, Node, Role, Row, RowKind, Table, Text, facts,
    under_one_name,
};

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Where candidates differ; what they share in a line; what is missing by its reason.
    Differences,
    /// Every capability and every candidate.
    All,
}

const ALL: [Verdict; 6] = [
    Verdict::Yes,
    Verdict::Partly,
    Verdict::No,
    Verdict::Measured,
    Verdict::Failed,
    Verdict::NotAsked,
];

/// The table of features.
pub fn features_document(table: &FeatureTable, detail: Detail) -> Document {
    let view = View::new(table);
    let is_all = detail == Detail::All || view.asked.len() < 2;
    let mut nodes = vec![
        Node::Heading(1, format!("What {} file systems do", view.asked.len()).into()),
        facts(opening(&view)),
        Node::Table(matrix(&view, is_all)),
    ];
    let mut told = shared(&view, is_all);
    let remarks = view.remarks(&EXPLAINED);
    let notes = remarks.iter().map(|remark| {
        let rest = format!(", {}: {}", remark.who.join(", "), remark.words);
        Role::NoAnswer.of(remark.label).and(rest)
    });
    told.extend(under_one_name("notes", notes));
    let absent = match is_all {
        true => view.absent().iter().map(|(row, why)| format!("{}: {why}", row.label)).collect(),
        false => view.absent_in_short(),
    };
    told.extend(under_one_name("not here", absent.into_iter().map(Text::from)));
    nodes.push(Node::Facts(told));
    nodes.push(Node::Section("seen", "What was asked, and what was seen".into(), seen(&view)));
    let note =
        "Facts from manuals, papers and kernel documentation, not measured; each with its source.";
    let origins = table.rows.iter().filter_map(origin);
    let origins = [Node::Note(note.into())].into_iter().chain(origins).collect();
    nodes.push(Node::Section("origins", "Where they come from".into(), origins));
    nodes.push(Node::Note(format!("Made by {} at {}.", table.build, table.started).into()));
    Document { title: "What file systems do".into(), nodes }
}

/// Who was asked what and where, and the classes.
fn opening(view: &View) -> Vec<(String, Text)> {
    let table = view.table;
    let asked = format!(
        "every cell is the answer of the mounted file system itself; {} asked, {} not here",
        view.asked.len(),
        view.absent().len()
    );
    let day = table.started.split('T').next().unwrap_or_default();
    let kernel = table.machine.get("kernel.release").unwrap_or("not told");
    let mut rows: Vec<(String, Text)> = vec![
        ("features".into(), asked.into()),
        ("on".into(), format!("{}; kernel {kernel}; {day}", table.ground).into()),
    ];
    for (guest, labels) in view.guests() {
        let text = format!("{guest}: {}", labels.join(", "));
        rows.push(("".into(), text.into()));
    }
    let classes = view.classes().into_iter().map(|(class, rows)| {
        let names: Vec<_> = rows.iter().map(|row| row.label.as_str()).collect();
        let text = format!(" ({}): {}", meaning(class), names.join(", "));
        Text::default().and("").and(Role::Strong.of(class.name())).and(text)
    });
    rows.extend(under_one_name("classes", classes));
    for row in &view.asked {
        let Some(dissent) = dissent(row) else { continue };
        rows.push(("".into(), Role::Muted.of(format!("{}: {dissent}", row.label))));
    }
    rows
}

fn meaning(class: Class) -> &'static str {
    match class {
        Class::Native => "designed for Linux",
        Class::ForeignSupported => "designed elsewhere; does all that Unix programs need",
        Class::ForeignUnsupported => "designed elsewhere; lacks something that Unix programs need",
    }
}

fn matrix(view: &View, is_all: bool) -> Table {
    let mut table = Table::new([("", Kind::Word)]);
    let column = |(part, row): (usize, &&FeatureRow)| Column {
        part: Some(part),
        ..Column::new(&row.label, Kind::Mark)
    };
    table.columns.extend(view.asked.iter().enumerate().map(column));
    for (group, lines) in view.groups() {
        let shown: Vec<_> =
            lines.iter().filter(|line| is_all || line.shared().is_none()).map(matrix_row).collect();
        if !shown.is_empty() {
            table.row_of(RowKind::Group, [group.title()]);
            table.rows.extend(shown);
        }
    }
    table
}

fn matrix_row(line: &Line) -> Row {
    let is_same = line.answers.len() > 1 && line.shared().is_some();
    let name = Cell { tip: line.capability.how.into(), ..Cell::from(line.capability.label) };
    let answer = |answer: &&Answer| Cell {
        tip: answer.words.clone(),
        ..Cell::from(role_of(answer.verdict).of(answer.cell()))
    };
    Row {
        kind: if is_same { RowKind::Same } else { RowKind::Plain },
        cells: [name].into_iter().chain(line.answers.iter().map(answer)).collect(),
        note: String::new(),
    }
}

fn role_of(verdict: Verdict) -> Role {
    match verdict {
        Verdict::Yes => Role::Winner,
        Verdict::Partly => Role::NoAnswer,
        Verdict::Failed => Role::Opposite,
        Verdict::No | Verdict::NotAsked => Role::Muted,
        Verdict::Measured => Role::Plain,
    }
}

/// What all candidates answer alike, where the matrix leaves it out.
fn shared(view: &View, is_all: bool) -> Vec<(String, Text)> {
    let named = |labels: Vec<&str>| labels.into_iter().map(String::from).collect::<Vec<_>>();
    let lines = [
        ("alike", view.shared_measures()),
        ("all do", named(view.shared_by_all("yes"))),
        ("none does", named(view.shared_by_all("no"))),
    ];
    let lines = lines.into_iter().filter(|(_, labels)| !is_all && !labels.is_empty());
    lines.map(|(name, labels)| (name.into(), labels.join(", ").into())).collect()
}

/// How each capability is asked, and what was seen of each candidate, the same words once.
fn seen(view: &View) -> Vec<Node> {
    let remarks = view.remarks(&ALL);
    let group = |(group, lines): (Group, Vec<Line>)| {
        let rows = lines.iter().flat_map(|line| {
            let label = line.capability.label;
            let own = remarks.iter().filter(move |remark| remark.label == label);
            let own = own.map(|remark| format!("{}: {}", remark.who.join(", "), remark.words));
            let texts = [line.capability.how.to_owned()].into_iter().chain(own);
            under_one_name(label, texts.map(Text::from))
        });
        Node::Fold(Fold::closed(group.title().into(), vec![Node::Facts(rows.collect())]))
    };
    view.groups().into_iter().map(group).collect()
}

fn origin(row: &FeatureRow) -> Option<Node> {
    let origin = row.origin?;
    let told = origin.facts().into_iter().map(|(name, fact)| {
        let source = Role::Muted.of(format!(" ({})", fact.source));
        (name.to_string(), Text::from(fact.text).and(source))
    });
    let mut rows: Vec<(String, Text)> = told.collect();
    let mut title = row.label.clone();
    if let Some(found) = &row.classification {
        title = format!("{title}, {}", found.class.name());
        let text = format!("{}: {}", found.class.name(), found.because);
        rows.push(("class".into(), text.into()));
        if let Some(article) = found.article {
            let why = match found.differs_because.as_str() {
                "" => String::new(),
                why => format!(": {why}"),
            };
            let text = format!("{}{why}", article.name());
            rows.push(("class in the article of 2011".into(), text.into()));
        }
    }
    if let Presence::Asked { driver, options, engine, kernel } = &row.presence {
        let by = format!("{driver} of kernel {kernel} ({engine}), with {options}");
        rows.push(("mounted here by".into(), by.into()));
    }
    rows.push(("looked up".into(), origin.looked_up.into()));
    Some(Node::Fold(Fold::closed(title, vec![Node::Facts(rows)])))
}
