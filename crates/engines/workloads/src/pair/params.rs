use pickfs_pair::{Degree, StoreOptions, Waiting};
use pickfs_queue as queue;
use pickfs_record::Durability;
use pickfs_workload::param::{Literal, Param, ParamError, Resolved};
use pickfs_workload::workload::Session;
use pickfs_workload::{arrival, placement};

use crate::followers::{self, SECONDARY, TRANSPORT, Terms};
use crate::hosts::{self, HOSTS};
use crate::pair::pinging::Socket;
use crate::pattern::Pattern;

/// The number of a message.
pub(super) const HEAD_BYTES: usize = 8;

pub(super) const PARAMS: &[Param] = &[
    param! { "size" = Integer(256), Bytes(HEAD_BYTES as u64, 64 << 10);
    "payload bytes of a message" },
    arrival::ARRIVAL,
    Param { default: Literal::Integer(2_000), ..arrival::RATE },
    arrival::BURST_FACTOR,
    arrival::BURST_PERIOD,
    arrival::BURST_LENGTH,
    arrival::RECORDING,
    arrival::SPEED,
    Param { default: Literal::Integer(0), ..arrival::PAUSE },
    Param { default: Literal::Text("spin"), ..arrival::WAIT },
    placement::THREAD_POLICY,
    param! { "medium" = Text("pair"), Words(|| vec!["pair", "tcp", "udp"]);
    "the pair, or a bare ping-pong of the same bytes over the same kind of sockets" },
    param! { "degree" = Text("received"),
    Words(|| Degree::ALL.iter().map(|degree| degree.name()).collect());
    "what a message waits for: nothing, the local store, a secondary that has received it, \
     or one that has it in its store and has synced" },
    param! { "secondaries" = Integer(1), Integer(1, 4);
    "how many secondaries follow, for a degree that needs them" },
    SECONDARY,
    HOSTS,
    TRANSPORT,
    param! { "copies" = Integer(1), Integer(1, 4); "how many of them must have a message" },
    param! { "store" = Text("journal"), Words(|| vec!["journal", "queue"]);
    "where each node keeps messages: an append journal, or a memory-mapped queue" },
    param! { "sync" = Text("none"), Words(|| vec!["none", "fdatasync"]);
    "how the primary's store makes a batch durable; a secondary of degree durable always \
     uses fdatasync" },
    param! { "file_size" = Text("64MiB"), Bytes(1 << 20, 1 << 32);
    "length of one file of a store" },
    param! { "waiting" = Text("spin"), Words(|| vec!["spin", "block"]);
    "how both sides wait for the other: spinning on a processor each, or asleep in poll" },
    param! { "client" = Text("socket"), Words(|| vec!["socket", "none"]);
    "where messages come from: a connection of their own on loopback, or the primary's \
     memory" },
];

pub(super) fn check(params: &Resolved) -> Result<(), ParamError> {
    arrival::check(params)?;
    followers::check(params)?;
    if params.integer("copies") > params.integer("secondaries") {
        return Err(params.together("copies", "there are not as many secondaries"));
    }
    if params.integer("file_size") % 4096 != 0 {
        return Err(params.together("file_size", "must be a multiple of 4096"));
    }
    Ok(())
}

pub(super) fn degree(params: &Resolved) -> Degree {
    let name = params.text("degree");
    Degree::ALL.into_iter().find(|degree| degree.name() == name).unwrap_or(Degree::Received)
}

pub(super) fn socket(params: &Resolved) -> Option<Socket> {
    match params.text("medium") {
        "tcp" => Some(Socket::Tcp),
        "udp" => Some(Socket::Udp),
        _ => None,
    }
}

pub(super) fn secondaries(params: &Resolved) -> usize {
    match degree(params).needs_secondaries() {
        true => params.integer("secondaries") as usize,
        false => 0,
    }
}

pub(super) fn waiting(params: &Resolved) -> Waiting {
    match params.text("waiting") {
        "block" => Waiting::Block,
        _ => Waiting::Spin,
    }
}

pub(super) fn terms(session: &Session) -> Terms {
    let (params, spec) = (&session.params, &session.spec);
    Terms {
        dir: spec.directory.join(format!("pair-{}", spec.lane)),
        store: store(params, false),
        transport: followers::transport(params),
        waiting: waiting(params),
        home: None,
        cpu: spec.helper_cpu,
    }
}

pub(super) fn pattern(session: &Session) -> Pattern {
    let payload_bytes = session.params.integer("size") as usize;
    Pattern::new(payload_bytes, HEAD_BYTES, session.spec.seed)
}

pub(super) fn store(params: &Resolved, is_primary: bool) -> StoreOptions {
    let syncs = match is_primary {
        true => params.text("sync") == "fdatasync",
        false => degree(params) == Degree::Durable,
    };
    let file_bytes = params.integer("file_size");
    if params.text("store") == "queue" {
        let sync = if syncs { queue::Sync::Fdatasync } else { queue::Sync::None };
        let segment_bytes = file_bytes;
        return StoreOptions::Queue(queue::Options { segment_bytes, sync, ..Default::default() });
    }
    use pickfs_journal::{Options, Sync};
    let sync = if syncs { Sync::Fdatasync } else { Sync::None };
    StoreOptions::Journal(Options { file_bytes, sync, ..Default::default() })
}

pub(super) const JOURNAL: &str = "journal";
pub(super) const WIRE: &str = "wire";
pub(super) const GATE: &str = "gate";
pub(super) const PROCESSED: &str = "processed";
pub(super) const REPLIED: &str = "replied";

pub(super) fn ops(params: &Resolved) -> Vec<String> {
    if socket(params).is_some() {
        return vec![WIRE.into()];
    }
    let mut ops = vec![JOURNAL, GATE, PROCESSED];
    if degree(params).needs_secondaries() {
        ops.push(WIRE);
    }
    if params.text("client") == "socket" {
        ops.push(REPLIED);
    }
    ops.into_iter().map(String::from).collect()
}

pub(super) fn durability(params: &Resolved) -> Durability {
    match degree(params) {
        _ if socket(params).is_some() => Durability::Nothing,
        Degree::None => Durability::Nothing,
        Degree::Local if params.text("sync") == "fdatasync" => Durability::PowerLoss,
        Degree::Local => Durability::ProcessCrash,
        Degree::Received | Degree::Durable => Durability::HostLoss,
    }
}

pub(super) fn incompatible(params: &Resolved) -> Option<String> {
    let is_bare = socket(params).is_some();
    if is_bare && (params.text("degree") != "received" || params.text("sync") != "none") {
        return Some(
            "a bare ping-pong has no store and no degree: take degree received, sync none".into(),
        );
    }
    if hosts::is_second(params) && params.text(SECONDARY.name) == "thread" {
        return Some("no thread of the worker is on a second host: take secondary process".into());
    }
    if is_bare && params.integer("size") > 32 << 10 && params.text("medium") == "udp" {
        return Some("one datagram holds at most 32 KiB here: take a smaller size".into());
    }
    None
}
