use std::fmt;
use std::fs::File;

use crate::draft::{Draft, Summary};
use crate::error::MakeError;
use crate::place::Place;
use crate::{affs, hfsplus, hpfs, ufs};

/// What a volume says of itself: always the same, so that a size always gives the same bytes.
pub(crate) const LABEL: &str = "pickfs";
/// 2026-01-01 00:00 UTC, in seconds after 1970.
pub(crate) const MADE_S: u64 = 1_767_225_600;
pub(crate) const ID: u64 = 0x7069_636b_6673_0001;

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

    pub fn named(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
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
    pub fn draft(self, size_bytes: u64) -> Result<Draft, MakeError> {
        match self {
            Kind::Affs => affs::draft(size_bytes),
            Kind::HfsPlus | Kind::Hfsx => hfsplus::draft(self, size_bytes),
            Kind::Hpfs => hpfs::draft(size_bytes),
            Kind::Ufs | Kind::Ufs2 => ufs::draft(self, size_bytes),
        }
    }

    /// In the first `size_bytes` of a file or block device, which must be open for reading and
    /// writing. A file that is shorter grows; what the draft does not name is left as it is, but
    /// for the head and the tail, where older signatures would stand.
    pub fn format(self, file: &File, size_bytes: u64) -> Result<Summary, MakeError> {
        let draft = self.draft(size_bytes)?;
        Place::new(file, size_bytes)?.take(&draft)?;
        Ok(draft.summary())
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
