//! Where each file of a lane stands, and what is in it.
//!
//! ```text
//! lane-1/  tinyAppend tinyAppendFH smallAppendFH          gone when their row is done
//!          seqreadTiny seqreadSmall seqreadMedium seqreadHuge
//!          kdbdb/sym  kdbdb/tbl/.d  kdbdb/tbl/sym  kdbdb/tbl/floatcol
//!          randomread0 .. randomread3
//!          readbinary fhcount mmap openclose locktest
//! ```

use std::path::{Path, PathBuf};

use super::{
    layout::{ElementType, Layout},
    list::{List, ListKind, Profile, Windows},
    params::Settings,
    sizes::{RANDOM_FILES, Sizes},
    symbols::Draw,
    table::Table,
};
use crate::journal::scrambled;

pub(super) const LONGS: Layout = Layout::Elements(ElementType::Long);
/// What the original's data follows from: the same in every lane and run.
const NANO_SEED: u64 = 0x6b78;

const OWN_NAMES: [&str; 16] = [
    "tinyAppend",
    "tinyAppendFH",
    "smallAppendFH",
    "seqreadTiny",
    "seqreadSmall",
    "seqreadMedium",
    "seqreadHuge",
    "kdbdb/sym",
    "kdbdb/tbl/.d",
    "kdbdb/tbl/sym",
    "kdbdb/tbl/floatcol",
    "readbinary",
    "fhcount",
    "mmap",
    "openclose",
    "locktest",
];

#[derive(Debug, Clone)]
pub(super) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(super) fn new(folder: &Path) -> Files {
        Files { folder: folder.to_owned() }
    }

    pub(super) fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn table_folder(&self) -> PathBuf {
        self.at("kdbdb/tbl")
    }

    pub(super) fn table(&self, settings: &Settings) -> Table {
        Table {
            symbols: self.table_folder().join("sym"),
            floats: self.table_folder().join("floatcol"),
            domain: self.at("kdbdb/sym"),
            layout: settings.symbols,
            threads: settings.threads as usize,
            set: settings.set,
        }
    }

    pub(super) fn all(&self) -> Vec<PathBuf> {
        let own = OWN_NAMES.iter().map(|name| self.at(name));
        own.chain(self.random()).collect()
    }

    pub(super) fn random(&self) -> Vec<PathBuf> {
        (0..RANDOM_FILES).map(|number| self.at(&format!("randomread{number}"))).collect()
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Data {
    profile: Profile,
    seed: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Of {
    Tiny = 1,
    Small,
    Medium,
    Large,
    Huge,
    Domain,
    Symbols,
    TinyAppends,
    SmallAppends,
    RandomFiles,
    Replaced,
    Places,
}

impl Data {
    pub(super) fn new(profile: Profile, seed: u64, lane: u32) -> Data {
        let seed = match profile {
            Profile::Nano => NANO_SEED,
            Profile::Random => scrambled(seed, u64::from(lane) + 1),
        };
        Data { profile, seed }
    }

    pub(super) fn seed(&self, of: Of) -> u64 {
        scrambled(self.seed, of as u64)
    }

    /// Another seed for each number: each replace, each random pass.
    pub(super) fn seed_of(&self, of: Of, number: u64) -> u64 {
        scrambled(self.seed(of), number)
    }

    pub(super) fn list(&self, of: Of, sizes: &Sizes) -> List {
        let (kind, count) = match of {
            Of::Tiny => (ListKind::Long, sizes.tiny),
            Of::Small => (ListKind::Long, sizes.small),
            Of::Medium => (ListKind::Long, sizes.medium),
            Of::Huge => (ListKind::Counting, sizes.huge),
            _ => (ListKind::Float, sizes.large),
        };
        List::new(kind, self.profile, count, self.seed(of))
    }

    pub(super) fn windows(&self, of: Of, length: u64) -> Windows {
        Windows::new(self.profile, length, self.seed(of))
    }

    pub(super) fn draw(&self, sizes: &Sizes) -> Draw {
        Draw { count: sizes.large, seed: self.seed(Of::Symbols) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_differ_unless_the_data_is_the_originals() {
        let sizes = Sizes::new(0.05, 2, 1 << 40);
        let list = |profile, lane| Data::new(profile, 7, lane).list(Of::Tiny, &sizes).whole();
        assert_ne!(list(Profile::Random, 0), list(Profile::Random, 1));
        assert_eq!(list(Profile::Nano, 0), list(Profile::Nano, 1));
    }

    #[test]
    fn floats_are_the_large_list_and_the_huge_one_counts() {
        let sizes = Sizes::new(0.05, 1, 1 << 40);
        let data = Data::new(Profile::Nano, 7, 0);
        assert_eq!(data.list(Of::Huge, &sizes).element(77), 77);
        assert_eq!(f64::from_bits(data.list(Of::Large, &sizes).element(77)), 77.1);
    }
}
