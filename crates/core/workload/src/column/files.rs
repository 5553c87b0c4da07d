//! Where each file of a lane stands, and what is in it.
//!
//! ```text
//! lane-1/  tinyAppend tinyAppendFH smallAppendFH          gone when their row is done
//!          seqreadTiny seqreadSmall seqreadMedium seqreadHuge
//!          kdbdb/sym  kdbdb/tbl/.d  kdbdb/tbl/sym  kdbdb/tbl/floatcol
//!          randomread0 .. randomread3
//!          readbinary fhcount mmap openclose locktest
//!          packedLarge  kdbdb/day/time  kdbdb/day/price  (suites packed and mix)
//! ```

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use super::{
    layout::Layout,
    list::{List, ListKind, Windows},
    mix::DAY,
    packed::PACKED,
    set::beside,
    sizes::{RANDOM_FILES, Sizes},
    symbols::{Domain, Draw},
};
use crate::journal::scrambled;

/// What the original's data follows from: the same in every lane and run.
const NANO_SEED: u64 = 0x6b78;

const OTHER_NAMES: [&str; 11] = [
    "tinyAppend",
    "tinyAppendFH",
    "smallAppendFH",
    "kdbdb/sym",
    "kdbdb/tbl/.d",
    "readbinary",
    "fhcount",
    "mmap",
    "openclose",
    "locktest",
    PACKED,
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

    pub(super) fn random(&self) -> Vec<PathBuf> {
        (0..RANDOM_FILES).map(|number| self.at(&format!("randomread{number}"))).collect()
    }

    /// Removes what a lane made, and `decision` beside its folder. What somebody else put there stays, and is told
    /// (validity rule 18).
    pub(super) fn remove(&self, decision: Option<&PathBuf>) -> Vec<String> {
        let names = COLUMNS.iter().map(|column| column.file).chain(OTHER_NAMES).chain(DAY);
        let own: Vec<PathBuf> = names.map(|name| self.at(name)).chain(self.random()).collect();
        let drafts: Vec<PathBuf> = own.iter().map(|path| beside(path)).collect();
        let files = own.iter().chain(&drafts).chain(decision);
        let mut stays: Vec<String> =
            files.filter_map(|path| told(path, fs::remove_file(path))).collect();
        for folder in
            [self.table_folder(), self.at("kdbdb/day"), self.at("kdbdb"), self.folder.clone()]
        {
            stays.extend(told(&folder, fs::remove_dir(&folder)));
        }
        stays
    }
}

fn told(path: &Path, removed: io::Result<()>) -> Option<String> {
    let error = removed.err().filter(|error| error.kind() != io::ErrorKind::NotFound)?;
    let why = match error.kind() {
        io::ErrorKind::DirectoryNotEmpty => others_in(path),
        _ => error.to_string(),
    };
    Some(format!("{} stays: {why}", path.display()))
}

/// `it holds x and 2 more that this trial did not make`
fn others_in(folder: &Path) -> String {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    match names.as_slice() {
        [] => "it was not empty".into(),
        [one] => format!("it holds {one}, which this trial did not make"),
        [first, more @ ..] => {
            format!("it holds {first} and {} more that this trial did not make", more.len())
        }
    }
}

/// A column that is written whole, and what is replaced in it.
pub(super) struct Column {
    pub(super) of: Of,
    pub(super) what: &'static str,
    pub(super) file: &'static str,
    pub(super) replaces: &'static [Replace],
}

/// A row, the row of its sync, and the element that is stored.
pub(super) struct Replace {
    pub(super) phase: &'static str,
    pub(super) sync: &'static str,
    pub(super) value: u64,
}

macro_rules! column {
    ($of:ident, $what:literal, $file:literal $(, $phase:literal $after:literal $value:expr)*) => {
        Column {
            of: Of::$of,
            what: $what,
            file: $file,
            replaces: &[$(Replace {
                phase: concat!("open replace ", $phase, $what),
                sync: concat!("sync ", $what, " after ", $after, "replace"),
                value: $value,
            }),*],
        }
    };
}

#[allow(clippy::approx_constant, reason = "the original's value, not a circle's")]
const REPLACED_FLOAT: f64 = 3.14;

/// In the order in which they are written.
pub(super) static COLUMNS: [Column; 6] = [
    column!(Tiny, "int tiny", "seqreadTiny", "" "" 42),
    column!(Small, "int small", "seqreadSmall", "random " "" 42),
    column!(Medium, "int medium", "seqreadMedium", "random " "" 42),
    column!(Symbols, "sym large", "kdbdb/tbl/sym"),
    column!(Large, "float large", "kdbdb/tbl/floatcol", "random " "" REPLACED_FLOAT.to_bits()),
    column!(Huge, "int huge", "seqreadHuge", "random " "" 42, "sorted " "sorted " 1089),
];

/// Those that are read whole, in the same order.
pub(super) fn lists() -> impl Iterator<Item = &'static Column> {
    COLUMNS.iter().filter(|column| column.of != Of::Symbols)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    Queries,
}

pub(super) struct Data {
    is_nano: bool,
    seed: u64,
    pub(super) domain: Domain,
    /// Of the column of symbols.
    pub(super) symbols: Layout,
    sizes: Sizes,
}

impl Data {
    pub(super) fn new(
        is_nano: bool,
        symbols: Layout,
        sizes: Sizes,
        trial_seed: u64,
        lane: u32,
    ) -> Data {
        let own = scrambled(trial_seed, u64::from(lane) + 1);
        let seed = if is_nano { NANO_SEED } else { own };
        let domain = Domain::new(scrambled(seed, Of::Domain as u64));
        Data { is_nano, seed, domain, symbols, sizes }
    }

    fn seed(&self, of: Of) -> u64 {
        scrambled(self.seed, of as u64)
    }

    /// Another seed for each number: each replace, each random pass.
    pub(super) fn seed_of(&self, of: Of, number: u64) -> u64 {
        scrambled(self.seed(of), number)
    }

    pub(super) fn layout(&self, of: Of) -> Layout {
        match of {
            Of::Symbols => self.symbols,
            Of::Large => Layout::Floats,
            _ => Layout::Longs,
        }
    }

    /// What stands in a column when it was written.
    pub(super) fn column(&self, of: Of) -> Vec<u8> {
        if of != Of::Symbols {
            return self.list(of).whole();
        }
        let draw = self.draw();
        self.domain.column(self.symbols, (0..draw.count).map(|index| draw.number(index)))
    }

    pub(super) fn list(&self, of: Of) -> List {
        let (kind, count) = match of {
            Of::Tiny => (ListKind::Long, self.sizes.tiny),
            Of::Small => (ListKind::Long, self.sizes.small),
            Of::Medium => (ListKind::Long, self.sizes.medium),
            Of::Huge => (ListKind::Counting, self.sizes.huge),
            _ => (ListKind::Float, self.sizes.large),
        };
        List::new(kind, self.is_nano, count, self.seed(of))
    }

    pub(super) fn windows(&self, of: Of) -> Windows {
        let length = if of == Of::TinyAppends { self.sizes.tiny } else { self.sizes.small };
        Windows::new(self.is_nano, length, self.seed(of))
    }

    pub(super) fn draw(&self) -> Draw {
        Draw { count: self.sizes.large, seed: self.seed(Of::Symbols) }
    }
}
