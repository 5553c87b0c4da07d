use pickfs_record::phase::{Heat, WorkUnit};

use super::settings::{Settings, Small};
use crate::phase::PhaseSpec;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    CharWrite,
    BlockWrite,
    Rewrite,
    CharRead,
    BlockRead,
    Seeks,
    SeqCreate,
    SeqStat,
    SeqDelete,
    RanCreate,
    RanStat,
    RanDelete,
    MakeDirectories,
    ReadDirectory,
    Rename,
    Link,
    SyncDirectory,
    SafeSave,
}

use Phase::*;

/// Phase, name, suite, unit, whether it reads and may be made cold, whether its impact is high.
type Row = (Phase, &'static str, &'static str, WorkUnit, bool, bool);

/// In the order in which they run.
const ROWS: [Row; 18] = [
    (CharWrite, "char write", ONE_FILE, WorkUnit::Bytes, false, false),
    (BlockWrite, "block write", ONE_FILE, WorkUnit::Bytes, false, true),
    (Rewrite, "rewrite", ONE_FILE, WorkUnit::Bytes, true, false),
    (CharRead, "char read", ONE_FILE, WorkUnit::Bytes, true, false),
    (BlockRead, "block read", ONE_FILE, WorkUnit::Bytes, true, true),
    (Seeks, "seeks", ONE_FILE, WorkUnit::Seeks, true, true),
    (SeqCreate, "seq create", "sequential files", WorkUnit::Files, false, true),
    (SeqStat, "seq stat", "sequential files", WorkUnit::Files, true, false),
    (SeqDelete, "seq delete", "sequential files", WorkUnit::Files, false, true),
    (RanCreate, "ran create", "random files", WorkUnit::Files, false, false),
    (RanStat, "ran stat", "random files", WorkUnit::Files, true, true),
    (RanDelete, "ran delete", "random files", WorkUnit::Files, false, false),
    (MakeDirectories, "mkdir", NAMES, WorkUnit::Calls, false, false),
    (ReadDirectory, "readdir", NAMES, WorkUnit::Files, true, false),
    (Rename, "rename", NAMES, WorkUnit::Calls, false, false),
    (Link, "link", NAMES, WorkUnit::Calls, false, false),
    (SyncDirectory, "fsync directory", DURABLE_NAMES, WorkUnit::Calls, false, false),
    (SafeSave, "safe save", DURABLE_NAMES, WorkUnit::Files, false, true),
];

const ONE_FILE: &str = "one file";
const NAMES: &str = "names";
const DURABLE_NAMES: &str = "durable names";

impl Phase {
    pub(super) fn asked(settings: &Settings) -> Vec<Phase> {
        ROWS.iter().map(|row| row.0).filter(|phase| phase.is_asked(settings)).collect()
    }

    fn is_asked(self, settings: &Settings) -> bool {
        let (has_file, has_files) = (settings.size_bytes > 0, settings.spread.files > 0);
        match (self, self.row().2) {
            (CharWrite | CharRead, _) => has_file && settings.char_bytes > 0,
            (Seeks, _) => has_file && settings.seeks > 0,
            (_, ONE_FILE) => has_file,
            (_, NAMES) => settings.has_further && has_files,
            (_, DURABLE_NAMES) => settings.has_further && settings.saves > 0,
            _ => has_files,
        }
    }

    fn row(self) -> &'static Row {
        &ROWS[self as usize]
    }

    pub(super) fn is_on_one_file(self) -> bool {
        self.row().2 == ONE_FILE
    }

    pub(super) fn word(self) -> &'static str {
        self.row().1
    }

    pub(super) fn is_cold(self, settings: &Settings) -> bool {
        settings.is_cold && self.row().4
    }

    pub(super) fn kinds(self, settings: &Settings) -> Vec<Kind> {
        let bytes = match settings.small {
            Small::Bytes(sizes) => Some(!sizes.are_zero()),
            _ => None,
        };
        let (creates, deletes) = (settings.fsync_creates, settings.fsync_deletes);
        let kinds = match self {
            BlockWrite => vec![(Kind::Write, true), (Kind::Fsync, settings.fsync_each_block)],
            Rewrite => vec![
                (Kind::Read, true),
                (Kind::Write, true),
                (Kind::Fsync, settings.fsync_each_block),
            ],
            Seeks => vec![
                (Kind::Read, true),
                (Kind::Update, true),
                (Kind::Fsync, settings.fsync_updates),
            ],
            SeqCreate | RanCreate => vec![
                (Kind::Create, bytes.is_some()),
                (Kind::Link, settings.small == Small::HardLinks),
                (Kind::SymbolicLink, settings.small == Small::SymbolicLinks),
                (Kind::Write, bytes == Some(true)),
                (Kind::Fsync, bytes.is_some() && creates.file),
                (Kind::FsyncDirectory, creates.directory),
                (Kind::Close, bytes.is_some()),
            ],
            SeqStat | RanStat => vec![
                (Kind::Readdir, self == SeqStat),
                (Kind::Stat, true),
                (Kind::Read, bytes == Some(true)),
            ],
            SeqDelete | RanDelete => vec![
                (Kind::Readdir, self == SeqDelete),
                (Kind::Unlink, true),
                (Kind::FsyncDirectory, deletes.directory),
            ],
            SyncDirectory => vec![(Kind::Create, true), (Kind::FsyncDirectory, true)],
            SafeSave => vec![
                (Kind::Whole, true),
                (Kind::Write, true),
                (Kind::Fsync, true),
                (Kind::Close, true),
                (Kind::Rename, true),
                (Kind::FsyncDirectory, settings.save_syncs_directory),
            ],
            CharWrite | CharRead | BlockRead | MakeDirectories | ReadDirectory | Rename | Link => {
                vec![(Kind::Whole, true)]
            }
        };
        kinds.into_iter().filter(|(_, is_there)| *is_there).map(|(kind, _)| kind).collect()
    }

    pub(super) fn spec(self, settings: &Settings) -> PhaseSpec {
        let (_, word, suite, unit, _, is_high_impact) = *self.row();
        let mut spec = PhaseSpec::new(word, suite, unit);
        spec.record.heat = self.is_cold(settings).then_some(Heat::Cold);
        spec.record.is_high_impact = is_high_impact;
        spec.record.threads = if self == Seeks { settings.seekers } else { 1 };
        let kinds = self.kinds(settings);
        if kinds.len() > 1 {
            spec.kinds = kinds.into_iter().map(|kind| KINDS[kind as usize].to_owned()).collect();
        }
        spec
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The whole of it, where it is not divided or as a kind of its own.
    Whole,
    Create,
    Link,
    SymbolicLink,
    Write,
    Read,
    Update,
    Fsync,
    FsyncDirectory,
    Close,
    Readdir,
    Stat,
    Unlink,
    Rename,
}

const KINDS: [&str; Kind::COUNT] = [
    "save",
    "create",
    "link",
    "symlink",
    "write",
    "read",
    "update",
    "fsync",
    "fsync directory",
    "close",
    "readdir",
    "stat",
    "unlink",
    "rename",
];

impl Kind {
    pub(super) const COUNT: usize = Kind::Rename as usize + 1;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(asked: serde_json::Value) -> Settings {
        Settings::new(&super::super::WORKLOAD.validate(asked.as_object().unwrap()).unwrap(), 1, 0)
    }

    fn ops(phase: Phase, asked: serde_json::Value) -> Vec<String> {
        phase.spec(&settings(asked)).ops()
    }

    #[test]
    fn bonnie_runs_its_twelve_in_its_order() {
        let asked = Phase::asked(&settings(json!({ "profile": "bonnie" })));
        let words: Vec<&str> = asked.into_iter().map(Phase::word).collect();
        assert_eq!(
            words.join(", "),
            "char write, block write, rewrite, char read, block read, seeks, seq create, seq stat, \
             seq delete, ran create, ran stat, ran delete"
        );
        assert_eq!(Phase::asked(&settings(json!({}))).len(), 18);
    }

    #[test]
    fn each_phase_has_its_row() {
        assert!(ROWS.iter().enumerate().all(|(at, row)| row.0 as usize == at));
    }

    #[test]
    fn what_is_set_to_nothing_does_not_run() {
        let none = json!({ "size": 0, "files": 0 });
        assert_eq!(Phase::asked(&settings(none)), [SyncDirectory, SafeSave]);
        let fast = settings(json!({ "char_size": 0, "files": 0, "further": "off" }));
        assert_eq!(Phase::asked(&fast), [BlockWrite, Rewrite, BlockRead, Seeks]);
    }

    #[test]
    fn kinds_follow_from_what_is_synced_and_written() {
        assert_eq!(ops(BlockWrite, json!({})), ["block write"]);
        let each = json!({ "fsync": "each", "file_max": 100 });
        assert_eq!(
            ops(SeqCreate, each.clone()).join(", "),
            "seq create: create, seq create: write, seq create: fsync, seq create: fsync directory, \
             seq create: close"
        );
        assert_eq!(ops(Seeks, each.clone())[2], "seeks: fsync");
        assert_eq!(ops(RanStat, each), ["ran stat: stat", "ran stat: read"]);
        assert_eq!(ops(RanStat, json!({})), ["ran stat"]);
        assert_eq!(ops(SeqCreate, json!({ "content": "hard-links" })), ["seq create"]);
    }

    #[test]
    fn only_reads_are_cold_and_only_where_they_are_made_so() {
        let heat =
            |phase: Phase, cache| phase.spec(&settings(json!({ "cache": cache }))).record.heat;
        assert_eq!(heat(BlockRead, "cold"), Some(Heat::Cold));
        assert_eq!((heat(BlockWrite, "cold"), heat(BlockRead, "left")), (None, None));
    }
}
