use pickfs_pair::{Degree, StoreOptions, Waiting};
use pickfs_queue as queue;
use pickfs_record::Durability;
use pickfs_workload::{
    arrival,
    param::{Check, Literal, Param, ParamError, Resolved},
    placement,
    workload::Session,
};

use crate::{
    followers::{self, SECONDARY, TRANSPORT, Terms},
    hosts::HOSTS,
    pair::{echo::Socket, payload},
};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "size",
        doc: "payload bytes of a message",
        default: Literal::Integer(256),
        check: Check::Bytes(payload::BYTES_MIN as u64, 64 << 10),
    },
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
    Param {
        name: "medium",
        doc: "the pair, or a bare ping-pong of the same bytes over the same kind of sockets",
        default: Literal::Text("pair"),
        check: Check::Words(|| vec!["pair", "tcp", "udp"]),
    },
    Param {
        name: "degree",
        doc: "what a message waits for: nothing, the local store, a secondary that has received it, or one that has \
              it in its store and has synced",
        default: Literal::Text("received"),
        check: Check::Words(|| Degree::ALL.iter().map(|degree| degree.name()).collect()),
    },
    Param {
        name: "secondaries",
        doc: "how many secondaries follow, for a degree that needs them",
        default: Literal::Integer(1),
        check: Check::Integer(1, 4),
    },
    SECONDARY,
    HOSTS,
    TRANSPORT,
    Param {
        name: "copies",
        doc: "how many of them must have a message",
        default: Literal::Integer(1),
        check: Check::Integer(1, 4),
    },
    Param {
        name: "store",
        doc: "where each node keeps messages: an append journal, or a memory-mapped queue",
        default: Literal::Text("journal"),
        check: Check::Words(|| vec!["journal", "queue"]),
    },
    Param {
        name: "sync",
        doc: "how the primary's store makes a batch durable; a secondary of degree durable always uses fdatasync",
        default: Literal::Text("none"),
        check: Check::Words(|| vec!["none", "fdatasync"]),
    },
    Param {
        name: "file_size",
        doc: "length of one file of a store",
        default: Literal::Text("64MiB"),
        check: Check::Bytes(1 << 20, 1 << 32),
    },
    Param {
        name: "waiting",
        doc: "how both sides wait for the other: spinning on a processor each, or asleep in poll",
        default: Literal::Text("spin"),
        check: Check::Words(|| vec!["spin", "block"]),
    },
    Param {
        name: "client",
        doc: "where messages come from: a connection of their own on loopback, or the primary's memory",
        default: Literal::Text("socket"),
        check: Check::Words(|| vec!["socket", "none"]),
    },
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

pub(super) fn ops(params: &Resolved) -> Vec<&'static str> {
    if socket(params).is_some() {
        return vec![WIRE];
    }
    let mut ops = vec![JOURNAL, GATE, PROCESSED];
    if degree(params).needs_secondaries() {
        ops.push(WIRE);
    }
    if params.text("client") == "socket" {
        ops.push(REPLIED);
    }
    ops
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
    if is_bare && params.integer("size") > 32 << 10 && params.text("medium") == "udp" {
        return Some("one datagram holds at most 32 KiB here: take a smaller size".into());
    }
    None
}
