use std::path::PathBuf;

use pickfs_fix::store::{Gate, Profile};
use pickfs_journal::{Options, Sync};
use pickfs_pair::{StoreOptions, Waiting};
use pickfs_record::{Arrival, Durability};
use pickfs_workload::param::{Param, Resolved};
use pickfs_workload::placement;
use pickfs_workload::workload::Session;

use crate::followers::{self, SECONDARY, TRANSPORT, Terms};

pub(super) const PARAMS: &[Param] = &[
    param! { "clients" = Integer(1), Integer(1, 64);
    "FIX sessions, each on a connection of its own" },
    param! { "rate" = Integer(1000), Rate; "orders a second of each client; not used by closed" },
    param! { "arrival" = Text("fixed"), Words(|| vec!["fixed", "poisson", "closed"]);
    "when orders are sent: evenly, at random with the same mean, or each when the one before \
     was answered" },
    param! { "store" = Text("queue"),
    Words(|| Profile::ALL.into_iter().map(Profile::word).collect());
    "where messages are kept before they are acted on: nowhere, in a mapped queue, in a \
     journal without or with an fdatasync before the report leaves, by the small writes of \
     QuickFIX's file store, or in a journal here and one received by a secondary" },
    param! { "flow" = Text("rest"), Words(|| vec!["rest", "cross"]);
    "what becomes of orders: they rest in the book (one report each), or every second one \
     trades with the one before (one report, then three)" },
    param! { "version" = Text("FIX.4.4"), Words(|| vec!["FIX.4.2", "FIX.4.4", "FIXT.1.1"]);
    "what the sessions speak" },
    param! { "engine_cores" = Integer(1), Integer(1, 64);
    "CPUs set aside for the engine: its thread has one alone, what works beside it for its \
     store the others" },
    param! { "engine_wait" = Text("spin"), Words(|| vec!["spin", "sleep"]);
    "what the engine does while nothing comes: it looks again at once, or sleeps" },
    param! { "file_size" = Text("64MiB"), Bytes(256 << 10, 4 << 30);
    "queue and journal: length of one file" },
    SECONDARY,
    TRANSPORT,
    placement::THREAD_POLICY,
];

pub(super) const ROUND_TRIP: &str = "round-trip";
pub(super) const ORDER: &str = "order";
pub(super) const PERSIST_IN: &str = "persist-in";
pub(super) const PERSIST_OUT: &str = "persist-out";
pub(super) const SYNC: &str = "sync";
pub(super) const SEND: &str = "send";
/// An order less its `send`: what is the engine's, where that is the kernel's.
pub(super) const BEFORE_SEND: &str = "before-send";
pub(super) const BUSINESS_GATE: &str = "business-gate";
pub(super) const REPLY_GATE: &str = "reply-gate";

/// Operations that the engine's thread measures, in the order of their index: first those of every store.
pub(super) fn of_engine(params: &Resolved) -> &'static [&'static str] {
    match profile(params) {
        Profile::JournalFdatasync => &[ORDER, PERSIST_IN, PERSIST_OUT, SEND, BEFORE_SEND, SYNC],
        Profile::Pair => {
            &[ORDER, PERSIST_IN, PERSIST_OUT, SEND, BEFORE_SEND, BUSINESS_GATE, REPLY_GATE]
        }
        _ => &[ORDER, PERSIST_IN, PERSIST_OUT, SEND, BEFORE_SEND],
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Waits {
    pub(super) business: Option<usize>,
    pub(super) reply: Option<usize>,
}

impl Waits {
    pub(super) fn of(params: &Resolved) -> Waits {
        let place = |name: &str| of_engine(params).iter().position(|op| *op == name);
        Waits { business: place(BUSINESS_GATE), reply: place(SYNC).or(place(REPLY_GATE)) }
    }

    /// The operation that is the wait at a gate, where there is one.
    pub(super) fn at(self, gate: Gate) -> Option<usize> {
        if gate == Gate::Reply { self.reply } else { self.business }
    }
}

pub(super) fn ops(params: &Resolved) -> Vec<String> {
    std::iter::once(&ROUND_TRIP).chain(of_engine(params)).map(|op| op.to_string()).collect()
}

pub(super) fn profile(params: &Resolved) -> Profile {
    Profile::of(params.text("store")).unwrap_or(Profile::Queue)
}

pub(super) fn directory(session: &Session) -> PathBuf {
    let folder = session.spec.directory.join(format!("fix-{}", session.spec.lane));
    folder.join(profile(&session.params).word())
}

/// The folder of both nodes of a pair, and how the secondary is. It runs where there is room.
pub(super) fn terms(session: &Session) -> Terms {
    Terms {
        dir: directory(session),
        store: node_store(&session.params),
        transport: followers::transport(&session.params),
        waiting: Waiting::Block,
        home: None,
        cpu: session.spec.helper_cpu,
    }
}

pub(super) fn node_store(params: &Resolved) -> StoreOptions {
    let (sync, file_bytes) = (Sync::None, params.integer("file_size"));
    StoreOptions::Journal(Options { sync, file_bytes, ..Options::default() })
}

/// When orders are sent, over all clients.
pub(super) fn arrival(params: &Resolved) -> Arrival {
    let rate_per_s = params.number("rate") * params.integer("clients") as f64;
    match params.text("arrival") {
        "closed" => Arrival::Closed { pause_ns: 0 },
        "poisson" => Arrival::Poisson { rate_per_s },
        _ => Arrival::Fixed { rate_per_s },
    }
}

pub(super) fn durability(params: &Resolved) -> Durability {
    match profile(params) {
        Profile::Memory => Durability::Nothing,
        Profile::JournalFdatasync => Durability::PowerLoss,
        Profile::Pair => Durability::HostLoss,
        _ => Durability::ProcessCrash,
    }
}

/// Orders in a closed loop that there is room for, for each second.
const CLOSED_PER_S: f64 = 100_000.0;
const ORDERS_MAX: f64 = 4_000_000.0;

pub(super) fn orders_max(params: &Resolved, length_ns: u64) -> usize {
    if params.text("flow") == "cross" {
        return 1024;
    }
    let per_s = arrival(params).rate_per_s().unwrap_or(CLOSED_PER_S);
    let orders = per_s * (length_ns as f64 / 1e9) * 1.1 + 10_000.0;
    orders.min(ORDERS_MAX) as usize
}
