use super::{content::Data, sizes::Sizes, spread::Spread};
use crate::param::Resolved;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SyncEach {
    pub(super) file: bool,
    pub(super) directory: bool,
}

impl SyncEach {
    fn of(word: &str) -> SyncEach {
        SyncEach {
            file: matches!(word, "file" | "both"),
            directory: matches!(word, "directory" | "both"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SyncAfter {
    None,
    /// syncfs(2) of the file system under test.
    FileSystem,
    /// sync(2): all file systems of the machine.
    Machine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Small {
    Bytes(Sizes),
    HardLinks,
    SymbolicLinks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direct {
    Off,
    Write,
    All,
}

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) is_bonnie: bool,
    pub(super) size_bytes: u64,
    pub(super) chunk_bytes: usize,
    pub(super) char_bytes: u64,
    pub(super) seeks: u32,
    pub(super) seekers: u32,
    pub(super) settle_ns: u64,
    pub(super) small: Small,
    pub(super) spread: Spread,
    pub(super) file_chunk_bytes: usize,
    pub(super) fsync_each_block: bool,
    pub(super) fsync_updates: bool,
    pub(super) fsync_creates: SyncEach,
    pub(super) fsync_deletes: SyncEach,
    pub(super) sync_after: SyncAfter,
    pub(super) direct: Direct,
    pub(super) is_cold: bool,
    pub(super) data: Data,
    pub(super) has_further: bool,
    pub(super) saves: u32,
    pub(super) save_bytes: usize,
    pub(super) save_syncs_directory: bool,
    pub(super) seed: u32,
}

impl Settings {
    pub(super) fn new(params: &Resolved, trial_seed: u64, lane: u32) -> Settings {
        let (number, is) = (|name| params.integer(name), |name, word| params.text(name) == word);
        let count = |name| number(name).min(u64::from(u32::MAX)) as u32;
        // The block stands in the upper half: every block has names and offsets of its own.
        let of_trial = trial_seed ^ (trial_seed >> 32);
        let seed = params.value("seed").as_u64().unwrap_or(of_trial) as u32;
        Settings {
            is_bonnie: is("profile", "bonnie"),
            size_bytes: number("size"),
            chunk_bytes: number("chunk") as usize,
            char_bytes: number("char_size"),
            seeks: count("seeks"),
            seekers: count("seekers"),
            settle_ns: number("settle"),
            small: small(params),
            spread: Spread::new(count("files"), count("directories")),
            file_chunk_bytes: number("file_chunk") as usize,
            fsync_each_block: is("fsync_blocks", "each"),
            fsync_updates: is("fsync_updates", "on"),
            fsync_creates: SyncEach::of(params.text("fsync_creates")),
            fsync_deletes: SyncEach::of(params.text("fsync_deletes")),
            sync_after: sync_after(params.text("sync_after")),
            direct: direct(params.text("direct")),
            is_cold: is("cache", "cold"),
            data: if is("data", "bonnie") { Data::Bonnie } else { Data::Random },
            has_further: is("further", "on"),
            saves: count("saves"),
            save_bytes: number("save_size") as usize,
            save_syncs_directory: is("save_fsync", "both"),
            seed: seed.wrapping_add(lane),
        }
    }

    pub(super) fn chunks(&self) -> u64 {
        self.size_bytes / self.chunk_bytes as u64
    }
}

fn small(params: &Resolved) -> Small {
    let bytes = |name| params.integer(name).min(u64::from(u32::MAX)) as u32;
    match params.text("content") {
        "hard-links" => Small::HardLinks,
        "symbolic-links" => Small::SymbolicLinks,
        _ => Small::Bytes(Sizes::new(bytes("file_min"), bytes("file_max"))),
    }
}

fn sync_after(word: &str) -> SyncAfter {
    match word {
        "syncfs" => SyncAfter::FileSystem,
        "sync" => SyncAfter::Machine,
        _ => SyncAfter::None,
    }
}

fn direct(word: &str) -> Direct {
    match word {
        "write" => Direct::Write,
        "all" => Direct::All,
        _ => Direct::Off,
    }
}
