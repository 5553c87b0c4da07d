use serde::Serialize;

/// Where a file system comes from and what is known of it without asking. Every text has its
/// source; all were looked up in the same month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Origin {
    /// Designed within the Linux community and for Linux, or elsewhere.
    pub home: Home,
    /// Its design has what Unix programs need: owners, permissions, links.
    pub is_unix_by_design: bool,
    /// The class that the article of 2011 gave it; `None` where it is not in there.
    pub article_class: Option<Class>,
    pub designed: Fact,
    pub purpose: Fact,
    /// The first Linux in which this driver counts as stable (or the state it is in).
    pub stable_since: Fact,
    /// What serves it: the kernel, a program through FUSE, a module from outside the kernel.
    pub served_by: Fact,
    pub journal: Fact,
    /// Whether one file system may span several devices.
    pub devices: Fact,
    pub systems: Fact,
    /// Which of RHEL, SUSE, Debian and Ubuntu support it.
    pub distributions: Fact,
    pub checksums: Fact,
    pub compression: Fact,
    pub snapshots: Fact,
    pub encryption: Fact,
    /// Names without regard to case, by choice.
    pub casefold: Fact,
    /// The largest file, file system and directory by format.
    pub limits: Fact,
    /// Month in which the facts were looked up: `2026-11`.
    pub looked_up: &'static str,
}

impl Origin {
    /// All facts with their names, in the order in which they are shown.
    pub fn facts(&self) -> [(&'static str, Fact); 14] {
        [
            ("designed", self.designed),
            ("for", self.purpose),
            ("stable in Linux", self.stable_since),
            ("served by", self.served_by),
            ("journal", self.journal),
            ("several devices", self.devices),
            ("other systems", self.systems),
            ("distributions", self.distributions),
            ("checksums", self.checksums),
            ("compression", self.compression),
            ("snapshots", self.snapshots),
            ("encryption", self.encryption),
            ("case folding", self.casefold),
            ("limits of the format", self.limits),
        ]
    }
}

/// A statement and where it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Fact {
    pub text: &'static str,
    pub source: &'static str,
}

/// Where a design was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// Within the Linux community, for Linux.
    Linux,
    /// For another system.
    Elsewhere,
}

/// The article's three classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Designed for Linux.
    Native,
    /// Designed elsewhere; has what Unix programs need.
    ForeignSupported,
    /// Designed elsewhere; lacks something that Unix programs need.
    ForeignUnsupported,
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Native => "native",
            Class::ForeignSupported => "foreign supported",
            Class::ForeignUnsupported => "foreign unsupported",
        }
    }
}
