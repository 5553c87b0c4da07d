use pickfs_record::{
    Environment,
    origin::{Class, Origin},
};
use serde::{Deserialize, Serialize};

/// All that was asked of all candidates.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FeatureTable {
    pub format: u32,
    /// When the asking began, RFC 3339 in UTC.
    pub started: String,
    /// What built the table: `pickfs 0.1.0 (...)`.
    pub build: String,
    pub machine: Environment,
    pub ground: String,
    /// What was asked, in order of the table; answers of a row are parallel to it.
    pub capabilities: Vec<Capability>,
    /// One row a candidate, in the order asked for.
    pub rows: Vec<FeatureRow>,
}

/// One thing that is asked of a mounted file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Capability {
    /// Its short name, unique: `reflink`.
    pub key: &'static str,
    /// What stands beside its cells: `copies that share blocks`.
    pub label: &'static str,
    pub group: Group,
    pub how: &'static str,
}

/// Headings of the table, in its order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Group {
    /// Who may do what, and links.
    Unix,
    /// How files may be called.
    Names,
    /// Names that change while files are in use.
    Renames,
    /// Space that is reserved, given back or shared.
    Space,
    /// How bytes get in and out, and whether they stay.
    Data,
    /// Time stamps.
    Time,
    /// Locks, handles, quotas.
    Service,
}

impl Group {
    pub fn title(self) -> &'static str {
        match self {
            Group::Unix => "Owners, permissions, links",
            Group::Names => "Names",
            Group::Renames => "Renames and files in use",
            Group::Space => "Space",
            Group::Data => "Reading, writing, keeping",
            Group::Time => "Time stamps",
            Group::Service => "Locks, handles, quotas",
        }
    }
}

/// One candidate with all its answers.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FeatureRow {
    pub label: String,
    /// The file system's name in the table of file systems; `dir` for a directory as it is.
    pub fs: String,
    pub presence: Presence,
    /// Parallel to [`FeatureTable::capabilities`]; empty when it could not be asked.
    pub answers: Vec<Answer>,
    /// Where it comes from, where that is known.
    pub origin: Option<Origin>,
    /// Native or foreign, where the origin is known.
    pub classification: Option<Classification>,
}

/// Whether a candidate could be asked.
#[derive(Debug, Clone, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Presence {
    /// It was mounted and asked.
    Asked {
        driver: String,
        options: String,
        /// `native`, or the engine of the guest: `qemu-tcg`.
        engine: String,
        /// The release of the kernel that mounted it.
        kernel: String,
    },
    /// This machine lacks something.
    Missing { reason: String, remedy: String },
    /// It could not be made, mounted or unmounted.
    Failed { reason: String },
}

/// One answer of one candidate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "FeatureAnswer")]
pub struct Answer {
    pub verdict: Verdict,
    /// What stands in the cell instead of the verdict's word, where there is a measure: `255 B`.
    pub value: Option<String>,
    /// What was seen, or which call was refused and how; empty where the verdict says it all.
    pub words: String,
}

impl Answer {
    pub fn new(verdict: Verdict, words: impl Into<String>) -> Self {
        Self { verdict, value: None, words: words.into() }
    }

    pub fn measured(value: impl Into<String>, words: impl Into<String>) -> Self {
        Self { verdict: Verdict::Measured, value: Some(value.into()), words: words.into() }
    }

    pub fn cell(&self) -> &str {
        self.value.as_deref().unwrap_or(self.verdict.word())
    }
}

/// An answer in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "FeatureVerdict")]
pub enum Verdict {
    /// It does it.
    Yes,
    /// It does a part of it.
    Partly,
    /// It does not do it.
    No,
    /// A size, a share or a name; neither good nor bad by itself.
    Measured,
    /// A call failed that should not: an error of the driver or of the device.
    Failed,
    /// It was not asked; the words say why.
    NotAsked,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Yes => "yes",
            Verdict::Partly => "partly",
            Verdict::No => "no",
            Verdict::Measured => "?",
            Verdict::Failed => "FAILED",
            Verdict::NotAsked => "-",
        }
    }
}

/// The class by our rule, and the article's where it gave one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Classification {
    pub class: Class,
    pub because: String,
    /// It follows from what was measured, not from the design alone.
    pub is_measured: bool,
    pub article: Option<Class>,
    /// Why the two differ; empty where they agree or the article is silent.
    pub differs_because: String,
}
