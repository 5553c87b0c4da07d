//! One tree for every form: a finding becomes nodes once, and three writers print nodes and know no finding.
//!
//! ```text
//! finding -> [Node] -> terminal | markdown | html
//! ```
//!
//! Text may come from an enemy: the page escapes in [`html`], Markdown in [`markdown`], and [`terminal`] takes out
//! what would steer a terminal. Whoever makes nodes writes plain words.

pub mod html;
pub mod markdown;
pub mod terminal;

use crate::chart::{Scene, Slot};

#[derive(Debug, Clone, Default)]
pub struct Document {
    pub title: String,
    pub nodes: Vec<Node>,
}

#[derive(Debug, Clone)]
pub enum Node {
    Heading(u8, Text),
    /// What links reach by a name, with its title.
    Section(&'static str, String, Vec<Node>),
    Paragraph(Text),
    /// How something ended: the word with its role, and a sentence.
    End(Role, String, String),
    List(Vec<Text>),
    /// Names with values; an empty name goes on with the one before.
    Facts(Vec<(String, Text)>),
    Table(Table),
    /// A picture, with its name where links lead to it; only pages show it.
    Chart(String, Box<Scene>),
    /// Words beside the matter.
    Note(Text),
    Code(String),
    /// Details: a page opens them, and a terminal prints only those that are open.
    Fold(Fold),
    /// Nodes that stand together, and how a page lays them out; elsewhere nodes like others.
    Box(&'static str, Vec<Node>),
    /// A link to a place of the same page, with its words; nothing elsewhere.
    Jump(String, String),
}

#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// A name that links reach, or nothing.
    pub id: String,
    pub title: String,
    pub is_open: bool,
    /// Part of a section, and no box of its own.
    pub is_panel: bool,
    pub nodes: Vec<Node>,
}

/// What a span is, for its colour or weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    #[default]
    Plain,
    Strong,
    /// As one types it.
    Code,
    /// What may be left out in reading.
    Muted,
    /// The best, or what bears a claim out.
    Winner,
    /// As good as another.
    Equal,
    /// What cannot be told, or needs a look.
    NoAnswer,
    /// Against what was expected.
    Opposite,
    /// A name, with the colour of its series.
    Candidate(Slot),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    pub role: Role,
    pub text: String,
}

/// Words, each part with its role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Text(pub Vec<Span>);

impl<T: Into<String>> From<T> for Text {
    fn from(words: T) -> Text {
        Text(vec![Span { role: Role::Plain, text: words.into() }])
    }
}

impl Role {
    pub fn of(self, words: impl Into<String>) -> Text {
        Text(vec![Span { role: self, text: words.into() }])
    }

    /// Plain words, with a role for the name before them.
    pub fn leads(self, words: impl Into<String>) -> Text {
        self.of("").and(Text::from(words))
    }
}

impl Text {
    pub fn and(mut self, more: impl Into<Text>) -> Text {
        self.0.extend(more.into().0);
        self
    }

    /// The role that the whole has: that of its first span.
    pub fn role(&self) -> Role {
        self.0.first().map_or(Role::Plain, |span| span.role)
    }

    pub fn words(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Rows under columns. On a terminal that is too narrow a table of sentences is printed row by row.
#[derive(Debug, Clone, Default)]
pub struct Table {
    pub columns: Vec<Column>,
    pub rows: Vec<Row>,
    pub notes: Vec<Text>,
    /// What the first sign of it means, where short forms have that sign.
    pub brief: &'static str,
    /// A screen shows ranges too; where a page is narrow each row stands as a card.
    pub has_ranges: bool,
}

/// How a column stands, and who gives way where a screen is narrow.
#[derive(Debug, Clone, Default)]
pub struct Column {
    pub head: Text,
    pub under: String,
    pub kind: Kind,
    /// 0 stays; of the others the highest goes first.
    pub priority: u8,
    /// A table that is too wide is printed in parts: columns of a part stay together, those without one stand in all.
    pub part: Option<usize>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    #[default]
    Number,
    Mark,
    Word,
    Text,
    /// Functions of the kernel.
    Stack,
}

#[derive(Debug, Clone, Default)]
pub struct Row {
    pub kind: RowKind,
    /// One for each column, or fewer.
    pub cells: Vec<Cell>,
    /// What tells it from other rows.
    pub note: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowKind {
    #[default]
    Plain,
    /// The heading of those that follow.
    Group,
    /// A comparison that is no candidate.
    Floor,
    Best,
    /// A mean of those before it.
    Mean,
    /// All its cells say the same: a page can hide it.
    Same,
}

#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// What it says; a line feed begins another line.
    pub text: Text,
    pub under: String,
    /// Its range over trials; few screens have room for it.
    pub range: String,
    /// Both in short, where there is no room.
    pub brief: Option<String>,
    /// A place of the same page that it leads to.
    pub link: String,
    /// What a page says when one points at it.
    pub tip: String,
    /// A step of colour behind it on a page: below zero faster than the reference, above slower.
    pub heat: Option<i8>,
    /// A ratio with its interval on a line from 0 to 1 that only a page draws; in its middle they are equal.
    pub dot: Option<[f64; 3]>,
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

impl Cell {
    pub fn range(self, range: impl Into<String>) -> Cell {
        Cell { range: range.into(), ..self }
    }

    pub fn under(self, under: Option<String>) -> Cell {
        Cell { under: under.unwrap_or_default(), ..self }
    }
}

impl Column {
    pub fn new(head: impl Into<Text>, kind: Kind) -> Column {
        Column { head: head.into(), kind, ..Column::default() }
    }

    pub fn under(self, under: impl Into<String>) -> Column {
        Column { under: under.into(), ..self }
    }
}

impl Fold {
    pub fn closed(title: String, nodes: Vec<Node>) -> Fold {
        Fold { title, nodes, ..Fold::default() }
    }
}

impl Table {
    pub fn new<const N: usize>(heads: [(&str, Kind); N]) -> Table {
        let columns = heads.into_iter().map(|(head, kind)| Column::new(head, kind)).collect();
        Table { columns, ..Table::default() }
    }

    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(Row { cells, ..Row::default() });
    }

    pub fn row_of<T: Into<Cell>>(&mut self, kind: RowKind, cells: impl IntoIterator<Item = T>) {
        self.row(cells);
        self.rows.iter_mut().last().expect("just added").kind = kind;
    }
}

/// Columns of nodes, where there is room.
pub fn pair(columns: impl IntoIterator<Item = Vec<Node>>) -> Node {
    Node::Box("pair", columns.into_iter().map(|nodes| Node::Box("", nodes)).collect())
}

pub fn facts<N: Into<String>, T: Into<Text>>(rows: impl IntoIterator<Item = (N, T)>) -> Node {
    Node::Facts(rows.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

pub fn list<T: Into<Text>>(entries: impl IntoIterator<Item = T>) -> Node {
    Node::List(entries.into_iter().map(Into::into).collect())
}

pub fn under_one_name<'n>(
    name: &'n str,
    values: impl IntoIterator<Item = Text> + 'n,
) -> impl Iterator<Item = (String, Text)> + 'n {
    let values = values.into_iter().enumerate();
    values.map(move |(index, value)| (if index == 0 { name } else { "" }.to_string(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each finding reaches a reader through these three, so that none has to think of it.
    #[test]
    fn words_of_an_enemy_stay_words_in_every_node_and_form() {
        const HOSTILE: &str = "x\"'><script>alert(1)</script>|`\u{1b}[31m";
        let said = || HOSTILE.to_string();
        let roles =
            [Role::Plain, Role::Strong, Role::Code, Role::Winner, Role::Candidate(Slot::Floor(0))];
        let text = || roles.iter().fold(Text::default(), |text, role| text.and(role.of(HOSTILE)));
        let cell = Cell {
            under: said(),
            range: said(),
            brief: Some(said()),
            link: said(),
            tip: said(),
            ..Cell::from(text())
        };
        let column = Column { part: Some(1), ..Column::new(text(), Kind::Text).under(HOSTILE) };
        let row = Row { cells: vec![cell.clone(), cell], note: said(), ..Row::default() };
        let columns = vec![Column::new(text(), Kind::Word), column];
        let table = Table { columns, rows: vec![row], notes: vec![text()], ..Table::default() };
        let inside = vec![
            Node::Heading(3, text()),
            Node::Paragraph(text()),
            Node::End(Role::Winner, said(), said()),
            list([text()]),
            facts([(HOSTILE, text())]),
            Node::Table(table),
            Node::Note(text()),
            Node::Code(said()),
            Node::Jump(said(), said()),
        ];
        let fold = Fold { id: said(), is_open: true, ..Fold::closed(said(), inside) };
        let nodes = vec![Node::Section("a", said(), vec![pair([vec![Node::Fold(fold)]])])];
        let document = Document { title: said(), nodes };
        let page = html::html(&document);
        assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
        assert!(!page.contains("<script>") && !page.contains("x\"'>"), "{page}");
        // Markdown shows code as it is: in a span, and on lines of its own.
        let text = markdown::markdown(&document);
        let text = text.replace("``x\"'><script>", "").replace("\nx\"'><script>", "");
        assert!(!text.contains("<script>"), "{text}");
        let screen = terminal::terminal(&document, 100, true);
        assert!(screen.contains("alert(1)") && !screen.contains('\u{1b}'), "{screen}");
    }
}
