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

/// What a page of its own is made of.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// The title of its page.
    pub title: String,
    /// In reading order.
    pub nodes: Vec<Node>,
}

/// A piece of a document.
#[derive(Debug, Clone)]
pub enum Node {
    /// With its level from 1.
    Heading(u8, Text),
    /// What links reach by a name, with its title.
    Section(&'static str, String, Vec<Node>),
    /// Sentences.
    Paragraph(Text),
    /// Entries of equal weight.
    List(Vec<Text>),
    /// Names with values; an empty name goes on with the one before.
    Facts(Vec<(String, Text)>),
    /// Rows under columns.
    Table(Table),
    /// A picture, with its name where links lead to it; only pages show it.
    Chart(String, Box<Scene>),
    /// Words beside the matter.
    Note(Text),
    /// Commands.
    Code(String),
    /// Details: a page opens them, and a terminal prints only those that are open.
    Fold(Fold),
    /// Columns of nodes, where there is room.
    Pair(Vec<Vec<Node>>),
    /// A link to a place of the same page, with its words; nothing elsewhere.
    Jump(String, String),
}

/// Details under a title.
#[derive(Debug, Clone, Default)]
pub struct Fold {
    /// What stands when it is closed.
    pub title: String,
    /// Open from the beginning.
    pub is_open: bool,
    /// Part of a section, and no box of its own.
    pub is_panel: bool,
    /// The details.
    pub nodes: Vec<Node>,
}

/// What a span is, for its colour or weight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// Words.
    #[default]
    Plain,
    /// What to read first.
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

/// Words with a role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Span {
    /// What they are.
    pub role: Role,
    /// The words.
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
    /// Words in this role.
    pub fn of(self, words: impl Into<String>) -> Text {
        Text(vec![Span { role: self, text: words.into() }])
    }
}

impl Text {
    /// The same with more behind it.
    pub fn and(mut self, more: impl Into<Text>) -> Text {
        self.0.extend(more.into().0);
        self
    }

    /// The role that the whole has: that of its first span.
    pub fn role(&self) -> Role {
        self.0.first().map_or(Role::Plain, |span| span.role)
    }

    /// The words alone.
    pub fn words(&self) -> String {
        self.0.iter().map(|span| span.text.as_str()).collect()
    }
}

/// Rows under columns. On a terminal that is too narrow a table of sentences is printed row by row.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// What stands in a column.
    pub columns: Vec<Column>,
    /// Rows of as many cells.
    pub rows: Vec<Row>,
    /// What stands under it.
    pub notes: Vec<Text>,
    /// What the first sign of it means, where short forms have that sign.
    pub brief: &'static str,
    /// A screen shows ranges too.
    pub has_ranges: bool,
}

/// How a column stands, and who gives way where a screen is narrow.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Its name.
    pub head: Text,
    /// A second line of the name.
    pub under: String,
    /// What it holds.
    pub kind: Kind,
    /// 0 stays; of the others the highest goes first.
    pub priority: u8,
    /// A table that is too wide is printed in parts: columns of a part stay together, those without one stand in all.
    pub part: Option<usize>,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Kind {
    /// Figures, to the right.
    #[default]
    Number,
    /// One word of a few.
    Mark,
    /// A few words.
    Word,
    /// Sentences.
    Text,
    /// Functions of the kernel.
    Stack,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub struct Row {
    /// What it is.
    pub kind: RowKind,
    /// One for each column, or fewer.
    pub cells: Vec<Cell>,
    /// What tells it from other rows.
    pub note: String,
}

/// What a row is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowKind {
    /// One of many.
    #[default]
    Plain,
    /// The heading of those that follow.
    Group,
    /// A comparison that is no candidate.
    Floor,
    /// The choice.
    Best,
    /// A mean of those before it.
    Mean,
    /// All its cells say the same: a page can hide it.
    Same,
}

/// A cell.
#[derive(Debug, Clone, Default)]
pub struct Cell {
    /// What it says; a line feed begins another line.
    pub text: Text,
    /// Its interval.
    pub under: String,
    /// Its range over trials; few screens have room for it.
    pub range: String,
    /// Both in short, where there is no room.
    pub brief: Option<String>,
    /// A place of the same page that it leads to.
    pub link: String,
    /// What a page says when one points at it.
    pub tip: String,
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }
}

impl Cell {
    /// The same with a range over trials.
    pub fn range(self, range: impl Into<String>) -> Cell {
        Cell { range: range.into(), ..self }
    }

    /// The same with an interval.
    pub fn under(self, under: Option<String>) -> Cell {
        Cell { under: under.unwrap_or_default(), ..self }
    }
}

impl Column {
    /// A column of a kind.
    pub fn new(head: impl Into<Text>, kind: Kind) -> Column {
        Column { head: head.into(), kind, ..Column::default() }
    }

    /// The same with a second line in its head.
    pub fn under(self, under: impl Into<String>) -> Column {
        Column { under: under.into(), ..self }
    }
}

impl Fold {
    /// Details that are closed at first.
    pub fn closed(title: String, nodes: Vec<Node>) -> Fold {
        Fold { title, nodes, ..Fold::default() }
    }
}

impl Table {
    /// A table with columns of these kinds.
    pub fn new<const N: usize>(heads: [(&str, Kind); N]) -> Table {
        let columns = heads.into_iter().map(|(head, kind)| Column::new(head, kind)).collect();
        Table { columns, ..Table::default() }
    }

    /// One more row.
    pub fn row<T: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(Row { cells, ..Row::default() });
    }

    /// The same with a row of another kind.
    pub fn row_of<T: Into<Cell>>(&mut self, kind: RowKind, cells: impl IntoIterator<Item = T>) {
        self.row(cells);
        self.rows.iter_mut().last().expect("just added").kind = kind;
    }
}

/// A list of facts.
pub fn facts<N: Into<String>, T: Into<Text>>(rows: impl IntoIterator<Item = (N, T)>) -> Node {
    Node::Facts(rows.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
}

/// A list of entries.
pub fn list<T: Into<Text>>(entries: impl IntoIterator<Item = T>) -> Node {
    Node::List(entries.into_iter().map(Into::into).collect())
}

/// One name for many values.
pub fn under_one_name<'n>(
    name: &'n str,
    values: impl IntoIterator<Item = Text> + 'n,
) -> impl Iterator<Item = (String, Text)> + 'n {
    let values = values.into_iter().enumerate();
    values.map(move |(index, value)| (if index == 0 { name } else { "" }.to_string(), value))
}
