#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// FIX 4.2: an ExecutionReport has an ExecTransType, and fills are told by their status.
    Fix42,
    Fix44,
    /// FIXT 1.1 with FIX 5.0 SP2 as its application version.
    Fixt11,
}

pub(crate) const FIX50_SP2: &[u8] = b"9";

impl Version {
    pub const ALL: [Version; 3] = [Version::Fix42, Version::Fix44, Version::Fixt11];

    pub const fn text(self) -> &'static str {
        match self {
            Version::Fix42 => "FIX.4.2",
            Version::Fix44 => "FIX.4.4",
            Version::Fixt11 => "FIXT.1.1",
        }
    }

    /// `None` for one that is not spoken here.
    pub fn of(begin_string: &[u8]) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.text().as_bytes() == begin_string)
    }
}
