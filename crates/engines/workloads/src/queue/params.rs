use std::{path::PathBuf, time::Duration};

use pickfs_queue::{
    Advice, Allocation, Options, Prepare, ReadBy, Retention, Sync, SyncEvery, Touch, layout,
};
use pickfs_record::Durability;
use serde_json::Value;

use crate::queue::payload;
use pickfs_workload::{
    arrival,
    param::{Check, Literal, Param, ParamError, Resolved},
    placement,
    workload::Session,
};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "size",
        doc: "payload bytes of a message",
        default: Literal::Integer(256),
        check: Check::Bytes(payload::BYTES_MIN as u64, 1 << 20),
    },
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
    Param {
        name: "medium",
        doc: "the queue in files, or the same two sides over plain memory: the noise floor",
        default: Literal::Text("queue"),
        check: Check::Words(|| vec!["queue", "memory"]),
    },
    Param {
        name: "tailer",
        doc: "how messages are read: copies out of a mapping, pread, or not at all",
        default: Literal::Text("mmap"),
        check: Check::Words(|| vec!["mmap", "read", "none"]),
    },
    Param {
        name: "reader",
        doc: "where the tailer runs: in a process of its own, or on a thread beside the appender",
        default: Literal::Text("process"),
        check: Check::Words(|| vec!["process", "thread"]),
    },
    Param {
        name: "segment_size",
        doc: "length of one file",
        default: Literal::Text("64MiB"),
        check: Check::Rule("a multiple of 4096 from 64KiB to 32GiB", pages_value),
    },
    Param {
        name: "chunk",
        doc: "bytes by which a file grows",
        default: Literal::Text("64MiB"),
        check: Check::Rule("a multiple of 4096 from 64KiB to 32GiB", pages_value),
    },
    Param {
        name: "roll_every",
        doc: "a new file with each period of this length; 0 rolls by size alone",
        default: Literal::Text("0s"),
        check: Check::Duration(86_400_000_000_000),
    },
    Param {
        name: "allocation",
        doc: "how a file gets its space: page by page, by fallocate, by writing zeros, or by either of the last two, as the file system can",
        default: Literal::Text("either"),
        check: Check::Words(|| vec!["sparse", "fallocate", "zero-fill", "either"]),
    },
    Param {
        name: "touch",
        doc: "who makes pages present: the store itself, the appender between two messages, a thread \
              ahead of it, or the appender many at once",
        default: Literal::Text("next-page"),
        check: Check::Words(|| vec!["none", "next-page", "ahead", "populate"]),
    },
    Param {
        name: "touch_pages",
        doc: "touch ahead and populate: how many pages",
        default: Literal::Integer(64),
        check: Check::Integer(1, 65_536),
    },
    Param {
        name: "madvise",
        doc: "what the kernel is told: a fault reads ahead, or brings one page",
        default: Literal::Text("random"),
        check: Check::Words(|| vec!["normal", "random"]),
    },
    Param {
        name: "prepare",
        doc: "who makes the next file: the appender that comes to it, or a thread ahead of it",
        default: Literal::Text("ahead"),
        check: Check::Words(|| vec!["inline", "ahead"]),
    },
    Param {
        name: "sync",
        doc: "how messages are made durable, within the append",
        default: Literal::Text("none"),
        check: Check::Words(|| vec!["none", "msync-async", "msync", "fdatasync"]),
    },
    Param {
        name: "sync_every",
        doc: "messages that one sync covers",
        default: Literal::Integer(1),
        check: Check::Integer(1, 1_000_000_000),
    },
    Param {
        name: "sync_period",
        doc: "a sync when this much time has passed since the last one, instead of by messages; 0 for by messages",
        default: Literal::Text("0s"),
        check: Check::Duration(3_600_000_000_000),
    },
    Param {
        name: "keep",
        doc: "bytes in full files that stay; older ones are removed beside the measurement",
        default: Literal::Text("512MiB"),
        check: Check::Bytes(0, 1 << 50),
    },
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

pub(super) fn ops(params: &Resolved) -> Vec<&'static str> {
    let tailer = read_by(params).map(|_| WRITE_TO_READ);
    std::iter::once(APPEND).chain(tailer).collect()
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
