use pickfs_journal::{
    Error, Fallback, Framing, KeepFiles, Options, Preallocation, Roll, Sync, SyncEvery, WritePath,
};
use pickfs_record::{Durability, OpIndex};
use serde_json::Value;

use crate::{
    arrival,
    journal::{
        content::Kind,
        record_size::{self, RecordSize},
    },
    param::{Check, Param, ParamError, Resolved},
    placement,
    recording::Recording,
};

pub(super) const PARAMS: &[Param] = &[
    param! { "size" = Integer(256), Rule(record_size::ALLOWED, RecordSize::canonical);
    "payload bytes of a record" },
    arrival::ARRIVAL,
    arrival::RATE,
    arrival::BURST_FACTOR,
    arrival::BURST_PERIOD,
    arrival::BURST_LENGTH,
    arrival::RECORDING,
    arrival::SPEED,
    arrival::PAUSE,
    arrival::WAIT,
    placement::THREAD_POLICY,
    param! { "preallocation" = Text("fallocate"),
    Words(|| Preallocation::ALL.iter().map(|v| v.word()).collect());
    "how a file is made before its first record" },
    param! { "write_path" = Text("pwrite"),
    Words(|| WritePath::ALL.iter().map(|v| v.word()).collect());
    "how bytes reach the file" },
    param! { "sync" = Text("fdatasync"), Words(|| Sync::ALL.iter().map(|v| v.word()).collect());
    "how records are made durable" },
    param! { "sync_every" = Text("record"),
    Rule("record, group, or a number of records", sync_every_value);
    "how many records one sync covers: each its own, a number, or (group) all that came \
     during the sync before" },
    param! { "batch" = Integer(1), Integer(1, 1024);
    "most records that one write carries, of those that are due; a closed loop always fills \
     it" },
    param! { "roll" = Text("inline"), Words(|| Roll::ALL.iter().map(|v| v.word()).collect());
    "who prepares the next file: the appending thread, or one ahead of it" },
    param! { "file_size" = Text("16MiB"),
    Rule("a multiple of 4096 from 8KiB to 64GiB", file_size_value);
    "length of one journal file" },
    param! { "keep_files" = Integer(4), Integer(1, 1_000_000);
    "full files that stay; older ones are removed (or recycled) at a roll" },
    param! { "framing" = Text("record"), Words(|| Framing::ALL.iter().map(|v| v.word()).collect());
    "a header with length, sequence and checksum around each record, or the bare bytes" },
    param! { "content" = Text("random"), Words(|| vec!["random", "text"]);
    "bytes that do not compress, or text of messages that does" },
    param! { "state" = Text("fresh"), Words(|| vec!["fresh", "worn"]);
    "the file system as it was made, or worn in before the warm-up: small files come and go \
     until the device has taken worn_bytes" },
    param! { "worn_bytes" = Text("256MiB"), Bytes(1 << 20, 1 << 40);
    "state worn: bytes that the device must have taken; more than the file system's log" },
    param! { "readers" = Integer(0), Integer(0, 4);
    "threads that read the journal's files while it is written; each read is checked" },
    param! { "reader_files" = Text("same"), Words(|| vec!["same", "several"]);
    "the file that is being written, or any that is kept" },
    param! { "reader_by" = Text("read"), Words(|| vec!["read", "mmap"]);
    "read() at a random offset, or a copy out of a mapping" },
    param! { "reader_cache" = Text("cached"), Words(|| vec!["cached", "cold"]);
    "cold: the range is dropped from the page cache before each read, and looked for" },
    param! { "reader_rate" = Integer(500), Rate; "reads per second of each reader" },
    param! { "reader_size" = Text("64KiB"), Bytes(1, 16 << 20); "bytes of one read" },
    param! { "rewrite_every" = Integer(0), Integer(0, 1_000_000_000);
    "after so many records the first block of the file is written again, so that readers can \
     tell reads that mix old and new bytes; 0 for never" },
    param! { "neighbour_rate" = Integer(0), Number(0.0, 1e5);
    "small files per second that a neighbour creates, syncs and removes; 0 for none" },
    param! { "slowdown" = Number(1.0), Number(1.0, 10.0);
    "plants a known truth: every append and sync is made this many times as long" },
    param! { "fallback" = Text("skip"), Words(|| vec!["skip", "allow"]);
    "when the file system refuses a way: skip the cell, or take the next best and say so" },
];

fn sync_every_value(value: &Value) -> Option<Value> {
    let text = value.as_str().unwrap_or_default();
    let count = value.as_u64().or_else(|| text.trim_end_matches("-records").parse().ok());
    match (text, count) {
        ("group" | "group-commit", _) => Some("group".into()),
        ("record", _) | (_, Some(1)) => Some("record".into()),
        (_, Some(count @ 2..=1_000_000)) => Some(count.into()),
        _ => None,
    }
}

fn file_size_value(value: &Value) -> Option<Value> {
    let bytes = Check::Bytes(8192, 64 << 30).accept(value)?;
    (bytes.as_u64()? % 4096 == 0).then_some(bytes)
}

pub(super) fn check(params: &Resolved) -> Result<(), ParamError> {
    arrival::check(params)?;
    let size = size(params);
    let options = options(params, &size);
    let needed = options.record_bytes(size.largest_bytes() as usize) as u64;
    let room = options.file_bytes - options.header_bytes();
    if needed > room {
        let reason = format!("a record of {needed} bytes with its header does not fit in a file");
        return Err(params.together("file_size", reason));
    }
    Ok(())
}

pub(super) fn size(params: &Resolved) -> RecordSize {
    RecordSize::parse(params.value("size")).unwrap_or(RecordSize::Fixed(256))
}

pub(super) fn size_of(params: &Resolved, recording: Option<&Recording>) -> RecordSize {
    let legal = |bytes: &u32| (*bytes).clamp(1, record_size::SIZE_BYTES_MAX as u32);
    match (size(params), recording) {
        (RecordSize::Recorded(_), Some(recording)) => {
            RecordSize::Recorded(recording.sizes_bytes.iter().map(legal).collect())
        }
        (size, _) => size,
    }
}

pub(super) fn content_kind(params: &Resolved) -> Kind {
    if params.text("content") == "text" { Kind::Text } else { Kind::Random }
}

/// Most records that wait for one sync, so that overload cannot make a group endless.
pub(super) const GROUP_RECORDS_MAX: usize = 4096;

pub(super) fn batch(params: &Resolved) -> usize {
    params.integer("batch").max(1) as usize
}

pub(super) fn options(params: &Resolved, size: &RecordSize) -> Options {
    let mut options = Options {
        preallocation: word(params, "preallocation", Preallocation::Fallocate),
        write_path: word(params, "write_path", WritePath::Pwrite),
        sync: word(params, "sync", Sync::Fdatasync),
        sync_every: sync_every(params),
        roll: word(params, "roll", Roll::Inline),
        framing: word(params, "framing", Framing::Record),
        file_bytes: params.integer("file_size").max(8192),
        keep_files: KeepFiles::Last(params.integer("keep_files") as u32),
        fallback: if params.text("fallback") == "allow" {
            Fallback::Allow
        } else {
            Fallback::Refuse
        },
        ..Options::default()
    };
    let record_bytes = options.record_bytes(size.largest_bytes() as usize);
    let batch_bytes = record_bytes * batch(params).min(1 << 20) + 8192;
    options.buffer_bytes = batch_bytes.next_multiple_of(4096).clamp(64 << 10, 1 << 30);
    options
}

fn word<T: std::str::FromStr>(params: &Resolved, name: &str, otherwise: T) -> T {
    params.text(name).parse().unwrap_or(otherwise)
}

fn sync_every(params: &Resolved) -> SyncEvery {
    if params.text("sync_every") == "group" {
        return SyncEvery::GroupCommit;
    }
    let count =
        u32::try_from(params.integer("sync_every")).ok().and_then(std::num::NonZeroU32::new);
    count.map_or(SyncEvery::Record, SyncEvery::Records)
}

/// Where each operation of the measuring thread stands in the list; 0 for one that is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OpPlaces {
    pub(super) append: OpIndex,
    pub(super) roll: OpIndex,
    pub(super) durable: OpIndex,
    pub(super) sync: OpIndex,
    pub(super) rewrite: OpIndex,
}

impl OpPlaces {
    pub(super) fn of(params: &Resolved) -> OpPlaces {
        let ops = writer_ops(params);
        let place = |name: &str| OpIndex(ops.iter().position(|op| *op == name).unwrap_or(0));
        OpPlaces {
            append: place("append"),
            roll: place("roll"),
            durable: place("durable"),
            sync: place("sync"),
            rewrite: place("rewrite"),
        }
    }
}

/// Operations of the measuring thread: durable wherever something is synced, sync where that is a
/// call of its own.
pub(super) fn writer_ops(params: &Resolved) -> Vec<&'static str> {
    let sync = word(params, "sync", Sync::Fdatasync);
    let mut ops = vec!["append", "roll"];
    if sync != Sync::None {
        ops.push("durable");
    }
    if sync != Sync::None && !sync.is_write_through() {
        ops.push("sync");
    }
    if params.integer("rewrite_every") > 0 {
        ops.push("rewrite");
    }
    ops
}

pub(super) fn reader_op(reader: u64) -> String {
    if reader == 0 { "read".into() } else { format!("read-{}", reader + 1) }
}

pub(super) fn ops(params: &Resolved) -> Vec<String> {
    let writer = writer_ops(params).into_iter().map(String::from);
    writer.chain((0..params.integer("readers")).map(reader_op)).collect()
}

/// With a sync each N records an application acknowledges before the sync, so the class is
/// that of no sync; in a group it acknowledges after it.
pub(super) fn durability(params: &Resolved) -> Durability {
    let options = options(params, &size(params));
    let sync = match options.sync_every {
        SyncEvery::Records(_) => Sync::None,
        SyncEvery::Record | SyncEvery::GroupCommit => options.sync,
    };
    match pickfs_journal::durability(options.preallocation, options.write_path, sync) {
        pickfs_journal::Durability::ProcessCrash => Durability::ProcessCrash,
        pickfs_journal::Durability::KernelCrash => Durability::KernelCrash,
        pickfs_journal::Durability::PowerLoss => Durability::PowerLoss,
    }
}

pub(super) fn incompatible(params: &Resolved) -> Option<String> {
    let options = options(params, &size(params));
    if params.integer("rewrite_every") > 0 {
        if options.framing == Framing::Raw {
            return Some(
                "rewrite_every needs the header block that framing raw does not have".into(),
            );
        }
        if options.write_path == WritePath::Direct {
            return Some(
                "rewrite_every goes through the page cache, which direct passes by".into(),
            );
        }
    }
    match options.validate() {
        Err(error @ Error::Incompatible { .. }) => Some(error.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::journal::WORKLOAD;

    fn resolve(asked: Value) -> Resolved {
        WORKLOAD.validate(asked.as_object().unwrap()).unwrap()
    }

    #[test]
    fn defaults_are_legal_and_complete() {
        let defaults = WORKLOAD.defaults();
        assert_eq!(defaults.len(), PARAMS.len());
        assert_eq!(WORKLOAD.validate(&defaults).unwrap().params, defaults);
        assert_eq!(incompatible(&resolve(json!({}))), None);
    }

    #[test]
    fn operations_follow_from_the_sync() {
        let ops = |sync: &str| ops(&resolve(json!({ "sync": sync }))).join(" ");
        assert_eq!(ops("none"), "append roll");
        assert_eq!(ops("fdatasync"), "append roll durable sync");
        assert_eq!(ops("o-dsync"), "append roll durable");
        let busy = resolve(json!({ "sync": "none", "rewrite_every": 10, "readers": 2 }));
        assert_eq!(super::ops(&busy).join(" "), "append roll rewrite read read-2");
        assert_eq!(OpPlaces::of(&busy).rewrite, OpIndex(2));
    }

    #[test]
    fn durability_is_that_of_an_acknowledged_record() {
        let class = |asked| durability(&resolve(asked));
        assert_eq!(class(json!({ "sync": "none" })), Durability::ProcessCrash);
        assert_eq!(class(json!({ "sync": "fdatasync" })), Durability::PowerLoss);
        assert_eq!(class(json!({ "sync_every": "group" })), Durability::PowerLoss);
        assert_eq!(class(json!({ "sync_every": 16 })), Durability::ProcessCrash);
    }

    #[test]
    fn what_does_not_go_together_is_said_with_the_way_out() {
        let reason = incompatible(&resolve(json!({ "sync": "msync" }))).unwrap();
        assert!(reason.contains("pwrite") && reason.contains("use fdatasync"), "{reason}");
    }

    #[test]
    fn a_record_larger_than_a_file_is_refused() {
        let asked = json!({ "size": "64KiB", "file_size": "64KiB" });
        let error = WORKLOAD.validate(asked.as_object().unwrap()).unwrap_err();
        assert_eq!(error.param(), Some("file_size"));
        assert!(error.to_string().contains("does not fit"), "{error}");
    }

    #[test]
    fn one_spelling_of_sync_every_remains() {
        for (asked, kept) in [
            (json!(1), json!("record")),
            (json!("16-records"), json!(16)),
            (json!("group-commit"), json!("group")),
        ] {
            assert_eq!(resolve(json!({ "sync_every": asked })).value("sync_every"), &kept);
        }
    }
}
