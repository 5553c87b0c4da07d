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

const ONE_FILE: &[Phase] = &[CharWrite, BlockWrite, Rewrite, CharRead, BlockRead, Seeks];
const MANY_FILES: &[Phase] = &[SeqCreate, SeqStat, SeqDelete, RanCreate, RanStat, RanDelete];
const FURTHER: &[Phase] = &[MakeDirectories, ReadDirectory, Rename, Link, SyncDirectory, SafeSave];

impl Phase {
    pub(super) fn asked(settings: &Settings) -> Vec<Phase> {
        let all = ONE_FILE.iter().chain(MANY_FILES).chain(FURTHER);
        all.copied().filter(|phase| phase.is_asked(settings)).collect()
    }

    fn is_asked(self, settings: &Settings) -> bool {
        let has_files = settings.spread.files > 0;
        match self {
            CharWrite | CharRead => settings.size_bytes > 0 && settings.char_bytes > 0,
            Seeks => settings.size_bytes > 0 && settings.seeks > 0,
            BlockWrite | Rewrite | BlockRead => settings.size_bytes > 0,
            SyncDirectory | SafeSave => settings.has_further && settings.saves > 0,
            phase if FURTHER.contains(&phase) => settings.has_further && has_files,
            _ => has_files,
        }
    }

    pub(super) fn is_on_one_file(self) -> bool {
        ONE_FILE.contains(&self)
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            CharWrite => "char write",
            BlockWrite => "block write",
            Rewrite => "rewrite",
            CharRead => "char read",
            BlockRead => "block read",
            Seeks => "seeks",
            SeqCreate => "seq create",
            SeqStat => "seq stat",
            SeqDelete => "seq delete",
            RanCreate => "ran create",
            RanStat => "ran stat",
            RanDelete => "ran delete",
            MakeDirectories => "mkdir",
            ReadDirectory => "readdir",
            Rename => "rename",
            Link => "link",
            SyncDirectory => "fsync directory",
            SafeSave => "safe save",
        }
    }

    fn suite(self) -> &'static str {
        match self {
            CharWrite | BlockWrite | Rewrite | CharRead | BlockRead | Seeks => "one file",
            SeqCreate | SeqStat | SeqDelete => "sequential files",
            RanCreate | RanStat | RanDelete => "random files",
            MakeDirectories | ReadDirectory | Rename | Link => "names",
            SyncDirectory | SafeSave => "durable names",
        }
    }

    pub(super) fn is_cold(self, settings: &Settings) -> bool {
        settings.is_cold && self.reads()
    }

    fn reads(self) -> bool {
        matches!(self, Rewrite | CharRead | BlockRead | Seeks | SeqStat | RanStat | ReadDirectory)
    }

    fn is_high_impact(self) -> bool {
        matches!(self, BlockWrite | BlockRead | Seeks | SeqCreate | RanStat | SeqDelete | SafeSave)
    }

    pub(super) fn kinds(self, settings: &Settings) -> Vec<Kind> {
        let sync_block = settings.fsync_each_block.then_some(Kind::Fsync);
        let update_sync = settings.fsync_updates.then_some(Kind::Fsync);
        match self {
            BlockWrite => [Kind::Write].into_iter().chain(sync_block).collect(),
            Rewrite => [Kind::Read, Kind::Write].into_iter().chain(sync_block).collect(),
            Seeks => [Kind::Read, Kind::Update].into_iter().chain(update_sync).collect(),
            SeqCreate | RanCreate => create_kinds(settings),
            SeqStat | RanStat => stat_kinds(self, settings),
            SeqDelete | RanDelete => delete_kinds(self, settings),
            SyncDirectory => vec![Kind::Create, Kind::FsyncDirectory],
            SafeSave => save_kinds(settings),
            CharWrite | CharRead | BlockRead | MakeDirectories | ReadDirectory | Rename | Link => {
                vec![Kind::Whole]
            }
        }
    }

    pub(super) fn spec(self, settings: &Settings) -> PhaseSpec {
        let kinds = self.kinds(settings);
        let words = |kinds: Vec<Kind>| kinds.into_iter().map(|kind| kind.word().to_owned());
        let unit = match self {
            CharWrite | BlockWrite | Rewrite | CharRead | BlockRead => WorkUnit::Bytes,
            Seeks => WorkUnit::Seeks,
            MakeDirectories | Rename | Link | SyncDirectory => WorkUnit::Calls,
            _ => WorkUnit::Files,
        };
        let mut spec = PhaseSpec::new(self.word(), self.suite(), unit);
        spec.record.heat = self.is_cold(settings).then_some(Heat::Cold);
        spec.record.is_high_impact = self.is_high_impact();
        spec.record.threads = if self == Seeks { settings.seekers } else { 1 };
        if kinds.len() > 1 {
            spec.kinds = words(kinds).collect();
        }
        spec
    }
}

fn create_kinds(settings: &Settings) -> Vec<Kind> {
    let (first, writes, closes) = match settings.small {
        Small::Bytes(sizes) => (Kind::Create, !sizes.are_zero(), true),
        Small::HardLinks => (Kind::Link, false, false),
        Small::SymbolicLinks => (Kind::SymbolicLink, false, false),
    };
    let kinds = [
        (first, true),
        (Kind::Write, writes),
        (Kind::Fsync, closes && settings.fsync_creates.file),
        (Kind::FsyncDirectory, settings.fsync_creates.directory),
        (Kind::Close, closes),
    ];
    kinds.into_iter().filter_map(|(kind, is_there)| is_there.then_some(kind)).collect()
}

fn stat_kinds(phase: Phase, settings: &Settings) -> Vec<Kind> {
    let reads = matches!(settings.small, Small::Bytes(sizes) if !sizes.are_zero());
    let kinds = [(Kind::Readdir, phase == SeqStat), (Kind::Stat, true), (Kind::Read, reads)];
    kinds.into_iter().filter_map(|(kind, is_there)| is_there.then_some(kind)).collect()
}

fn delete_kinds(phase: Phase, settings: &Settings) -> Vec<Kind> {
    let kinds = [
        (Kind::Readdir, phase == SeqDelete),
        (Kind::Unlink, true),
        (Kind::FsyncDirectory, settings.fsync_deletes.directory),
    ];
    kinds.into_iter().filter_map(|(kind, is_there)| is_there.then_some(kind)).collect()
}

fn save_kinds(settings: &Settings) -> Vec<Kind> {
    let directory = settings.save_syncs_directory.then_some(Kind::FsyncDirectory);
    let file = [Kind::Whole, Kind::Write, Kind::Fsync, Kind::Close, Kind::Rename];
    file.into_iter().chain(directory).collect()
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

impl Kind {
    pub(super) const COUNT: usize = Kind::Rename as usize + 1;

    fn word(self) -> &'static str {
        match self {
            Kind::Whole => "save",
            Kind::Create => "create",
            Kind::Link => "link",
            Kind::SymbolicLink => "symlink",
            Kind::Write => "write",
            Kind::Read => "read",
            Kind::Update => "update",
            Kind::Fsync => "fsync",
            Kind::FsyncDirectory => "fsync directory",
            Kind::Close => "close",
            Kind::Readdir => "readdir",
            Kind::Stat => "stat",
            Kind::Unlink => "unlink",
            Kind::Rename => "rename",
        }
    }
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
