use std::path::PathBuf;
use std::time::Duration;

use pickfs_queue::{
    Advice, Allocation, Options, Prepare, ReadBy, Retention, Sync, SyncEvery, Touch, layout,
};
use pickfs_record::Durability;
use pickfs_workload::param::{Check, Literal, Param, ParamError, Resolved};
use pickfs_workload::workload::Session;
use pickfs_workload::{arrival, placement};
use serde_json::Value;

use crate::queue::appending::BYTES_MIN;

pub(super) const PARAMS: &[Param] = &[
    param! { "size" = Integer(256), Bytes(BYTES_MIN as u64, 1 << 20);
    "payload bytes of a message" },
    arrival::ARRIVAL,
    Param { default: Literal::Integer(10_000), ..arrival::RATE },
    arrival::BURST_FACTOR,
    arrival::BURST_PERIOD,
    arrival::BURST_LENGTH,
    arrival::RECORDING,
    arrival::SPEED,
    Param { default: Literal::Integer(0), ..arrival::PAUSE },
    Param { default: Literal::Text("spin"), ..arrival::WAIT },
    placement::THREAD_POLICY,
    param! { "medium" = Text("queue"), Words(|| vec!["queue", "memory"]);
    "the queue in files, or the same two sides over plain memory: the noise floor" },
    param! { "tailer" = Text("mmap"), Words(|| vec!["mmap", "read", "none"]);
    "how messages are read: copies out of a mapping, pread, or not at all" },
    param! { "reader" = Text("process"), Words(|| vec!["process", "thread"]);
    "where the tailer runs: in a process of its own, or on a thread beside the appender" },
    param! { "segment_size" = Text("64MiB"),
    Rule("a multiple of 4096 from 64KiB to 32GiB", pages_value);
    "length of one file" },
    param! { "chunk" = Text("64MiB"), Rule("a multiple of 4096 from 64KiB to 32GiB", pages_value);
    "bytes by which a file grows" },
    param! { "roll_every" = Text("0s"), Duration(86_400_000_000_000);
    "a new file with each period of this length; 0 rolls by size alone" },
    param! { "allocation" = Text("either"),
    Words(|| vec!["sparse", "fallocate", "zero-fill", "either"]);
    "how a file gets its space: page by page, by fallocate, by writing zeros, or by either \
     of the last two, as the file system can" },
    param! { "touch" = Text("next-page"), Words(|| vec!["none", "next-page", "ahead", "populate"]);
    "who makes pages present: the store itself, the appender between two messages, a thread \
     ahead of it, or the appender many at once" },
    param! { "touch_pages" = Integer(64), Integer(1, 65_536);
    "touch ahead and populate: how many pages" },
    param! { "madvise" = Text("random"), Words(|| vec!["normal", "random"]);
    "what the kernel is told: a fault reads ahead, or brings one page" },
    param! { "prepare" = Text("ahead"), Words(|| vec!["inline", "ahead"]);
    "who makes the next file: the appender that comes to it, or a thread ahead of it" },
    param! { "sync" = Text("none"), Words(|| vec!["none", "msync-async", "msync", "fdatasync"]);
    "how messages are made durable, within the append" },
    param! { "sync_every" = Integer(1), Integer(1, 1_000_000_000);
    "messages that one sync covers" },
    param! { "sync_period" = Text("0s"), Duration(3_600_000_000_000);
    "a sync when this much time has passed since the last one, instead of by messages; 0 for \
     by messages" },
    param! { "keep" = Text("512MiB"), Bytes(0, 1 << 50);
    "bytes in full files that stay; older ones are removed beside the measurement" },
];

fn pages_value(value: &Value) -> Option<Value> {
    let sizes = Check::Bytes(layout::SEGMENT_BYTES_MIN, layout::SEGMENT_BYTES_MAX);
    let bytes = sizes.accept(value)?;
    (bytes.as_u64()? % layout::PAGE_BYTES == 0).then_some(bytes)
}

pub(super) fn check(params: &Resolved) -> Result<(), ParamError> {
    arrival::check(params)?;
    let room = layout::payload_bytes_max(params.integer("segment_size"));
    if params.integer("size") as usize > room {
        let reason = format!("a message may have {room} bytes in a file of this length");
        return Err(params.together("segment_size", reason));
    }
    Ok(())
}

pub(super) fn options(params: &Resolved) -> Options {
    let pages = params.integer("touch_pages") as u32;
    let period = Duration::from_nanos(params.integer("sync_period"));
    Options {
        segment_bytes: params.integer("segment_size"),
        chunk_bytes: params.integer("chunk"),
        roll_every: Duration::from_nanos(params.integer("roll_every")),
        allocation: match params.text("allocation") {
            "sparse" => Allocation::Sparse,
            "zero-fill" => Allocation::ZeroFill,
            "fallocate" => Allocation::Fallocate,
            _ => Allocation::Either,
        },
        touch: match params.text("touch") {
            "none" => Touch::None,
            "ahead" => Touch::Ahead(pages),
            "populate" => Touch::Populate(pages),
            _ => Touch::NextPage,
        },
        advice: match params.text("madvise") {
            "normal" => Advice::Normal,
            _ => Advice::Random,
        },
        prepare: match params.text("prepare") {
            "inline" => Prepare::Inline,
            _ => Prepare::Ahead,
        },
        sync: match params.text("sync") {
            "msync-async" => Sync::MsyncAsync,
            "msync" => Sync::Msync,
            "fdatasync" => Sync::Fdatasync,
            _ => Sync::None,
        },
        sync_every: match period.is_zero() {
            true => SyncEvery::Messages(params.integer("sync_every") as u32),
            false => SyncEvery::Time(period),
        },
        retention: Retention { bytes: Some(params.integer("keep")), ..Retention::default() },
    }
}

pub(super) fn read_by(params: &Resolved) -> Option<ReadBy> {
    match params.text("tailer") {
        "none" => None,
        "read" => Some(ReadBy::Calls),
        _ => Some(ReadBy::Mapping),
    }
}

pub(super) fn reads_in_process(params: &Resolved) -> bool {
    params.text("reader") == "process"
}

pub(super) fn directory(session: &Session) -> PathBuf {
    session.spec.directory.join(format!("queue-{}", session.spec.lane))
}

pub(super) fn is_memory(params: &Resolved) -> bool {
    params.text("medium") == "memory"
}

pub(super) const APPEND: &str = "append";
pub(super) const WRITE_TO_READ: &str = "write-to-read";

pub(super) fn ops(params: &Resolved) -> Vec<String> {
    let tailer = read_by(params).map(|_| WRITE_TO_READ);
    std::iter::once(APPEND).chain(tailer).map(String::from).collect()
}

pub(super) fn durability(params: &Resolved) -> Durability {
    let options = options(params);
    let is_each = options.sync_every == SyncEvery::Messages(1);
    match options.sync {
        _ if is_memory(params) => Durability::Nothing,
        Sync::Msync | Sync::Fdatasync if is_each => Durability::PowerLoss,
        _ => Durability::ProcessCrash,
    }
}

pub(super) fn incompatible(params: &Resolved) -> Option<String> {
    let is_memory = is_memory(params);
    if is_memory && params.text("tailer") == "read" {
        return Some("memory has no file to read: take tailer mmap".into());
    }
    if is_memory && params.text("sync") != "none" {
        return Some("memory has nothing to sync: take sync none".into());
    }
    None
}
