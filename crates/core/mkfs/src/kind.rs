use std::fmt;
use std::fs::File;
use std::str::FromStr;

use crate::draft::{Draft, Summary};
use crate::error::MakeError;
use crate::options::Options;
use crate::place::Place;
use crate::{affs, hfsplus, hpfs, ufs};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The Amiga's fast file system.
    Affs,
    /// Case-insensitive.
    HfsPlus,
    /// Case-sensitive.
    Hfsx,
    Hpfs,
    /// Of 4.4BSD.
    Ufs,
    /// Of FreeBSD.
    Ufs2,
}

impl Kind {
    pub const ALL: [Kind; 6] =
        [Kind::Affs, Kind::HfsPlus, Kind::Hfsx, Kind::Hpfs, Kind::Ufs, Kind::Ufs2];

    /// In candidates and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Affs => "affs",
            Kind::HfsPlus => "hfsplus",
            Kind::Hfsx => "hfsx",
            Kind::Hpfs => "hpfs",
            Kind::Ufs => "ufs",
            Kind::Ufs2 => "ufs2",
        }
    }

    pub(crate) fn check_size(
        self,
        size_bytes: u64,
        sector_bytes: u64,
        minimum_bytes: u64,
        maximum_bytes: u64,
    ) -> Result<(), MakeError> {
        let kind = self;
        if size_bytes % sector_bytes != 0 {
            return Err(MakeError::NotWholeSectors { kind, size_bytes, sector_bytes });
        }
        if size_bytes < minimum_bytes {
            return Err(MakeError::TooSmall { kind, size_bytes, minimum_bytes });
        }
        if size_bytes > maximum_bytes {
            return Err(MakeError::TooLarge { kind, size_bytes, maximum_bytes });
        }
        Ok(())
    }

    /// Writes nothing; the same bytes for the same arguments.
    pub fn draft(self, size_bytes: u64, options: &Options) -> Result<Draft, MakeError> {
        match self {
            Kind::Affs => affs::draft(size_bytes, options),
            Kind::HfsPlus | Kind::Hfsx => hfsplus::draft(self, size_bytes, options),
            Kind::Hpfs => hpfs::draft(size_bytes, options),
            Kind::Ufs | Kind::Ufs2 => ufs::draft(self, size_bytes, options),
        }
    }

    /// In the first `size_bytes` of a file or block device, which must be open for reading and
    /// writing. A file that is shorter grows; what the draft does not name is left as it is, but
    /// for the head and the tail, where older signatures would stand.
    pub fn format(
        self,
        file: &File,
        size_bytes: u64,
        options: &Options,
    ) -> Result<Summary, MakeError> {
        let draft = self.draft(size_bytes, options)?;
        Place::new(file, size_bytes)?.take(&draft, options.contents)?;
        Ok(draft.summary())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownKind { name: name.into() })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no formatter for `{name}` here; there are {}", Kind::ALL.map(Kind::name).join(", "))]
pub struct UnknownKind {
    pub name: String,
}
