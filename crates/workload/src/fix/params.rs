//! The parameters of the fix workload, and what follows from them alone.

use pickfs_fix::store::Profile;
use pickfs_measure::Arrival;
use pickfs_model::Durability;

use crate::{
    param::{Check, Literal, Param, Resolved},
    placement,
};

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "clients",
        doc: "FIX sessions, each on a connection of its own",
        default: Literal::Integer(1),
        check: Check::Integer(1, 64),
    },
    Param {
        name: "rate",
        doc: "orders a second of each client; not used by closed",
        default: Literal::Integer(1000),
        check: Check::Rate,
    },
    Param {
        name: "arrival",
        doc: "when orders are sent: evenly, at random with the same mean, or each when the one before was answered",
        default: Literal::Text("fixed"),
        check: Check::Words(|| vec!["fixed", "poisson", "closed"]),
    },
    Param {
        name: "store",
        doc: "where messages are kept before they are acted on: nowhere, in a mapped queue, in a journal without or \
              with an fdatasync before the report leaves, or by the small writes of QuickFIX's file store",
        default: Literal::Text("queue"),
        check: Check::Words(|| Profile::ALL.into_iter().map(Profile::word).collect()),
    },
    Param {
        name: "flow",
        doc: "what becomes of orders: they rest in the book (one report each), or every second one trades with the one \
              before (one report, then three)",
        default: Literal::Text("rest"),
        check: Check::Words(|| vec!["rest", "cross"]),
    },
    Param {
        name: "version",
        doc: "what the sessions speak",
        default: Literal::Text("FIX.4.4"),
        check: Check::Words(|| vec!["FIX.4.2", "FIX.4.4", "FIXT.1.1"]),
    },
    Param {
        name: "engine_cores",
        doc: "CPUs set aside for the engine: its thread has one alone, what works beside it for its store the others",
        default: Literal::Integer(1),
        check: Check::Integer(1, 64),
    },
    Param {
        name: "engine_wait",
        doc: "what the engine does while nothing comes: it looks again at once, or sleeps",
        default: Literal::Text("spin"),
        check: Check::Words(|| vec!["spin", "sleep"]),
    },
    Param {
        name: "file_size",
        doc: "queue and journal: length of one file",
        default: Literal::Text("64MiB"),
        check: Check::Bytes(256 << 10, 4 << 30),
    },
    placement::THREAD_POLICY,
];

pub(super) const ROUND_TRIP: &str = "round-trip";
pub(super) const ORDER: &str = "order";
pub(super) const PERSIST_IN: &str = "persist-in";
pub(super) const PERSIST_OUT: &str = "persist-out";
pub(super) const SYNC: &str = "sync";
pub(super) const SEND: &str = "send";

/// Operations that the engine's thread measures, in the order of their index.
pub(super) const OF_ENGINE: [&str; 5] = [ORDER, PERSIST_IN, PERSIST_OUT, SEND, SYNC];

/// How many of them there are: a store without a sync has none to measure.
pub(super) fn of_engine(params: &Resolved) -> &'static [&'static str] {
    match profile(params) {
        Profile::JournalFdatasync => &OF_ENGINE,
        _ => &OF_ENGINE[..4],
    }
}

/// The clients' operation, then the engine's.
pub(super) fn ops(params: &Resolved) -> Vec<&'static str> {
    std::iter::once(ROUND_TRIP).chain(of_engine(params).iter().copied()).collect()
}

/// The store.
pub(super) fn profile(params: &Resolved) -> Profile {
    Profile::of(params.text("store")).unwrap_or(Profile::Queue)
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

/// The class of an order whose report has left.
pub(super) fn durability(params: &Resolved) -> Durability {
    match profile(params) {
        Profile::Memory => Durability::Nothing,
        Profile::JournalFdatasync => Durability::PowerLoss,
        _ => Durability::ProcessCrash,
    }
}

/// Orders in a closed loop that there is room for, for each second.
const CLOSED_PER_S: f64 = 100_000.0;
/// Most orders that there is room for.
const ORDERS_MAX: f64 = 4_000_000.0;

/// Orders that may rest at the same time, when the trial takes so long.
pub(super) fn orders_max(params: &Resolved, length_ns: u64) -> usize {
    if params.text("flow") == "cross" {
        return 1024;
    }
    let per_s = arrival(params).rate_per_s().unwrap_or(CLOSED_PER_S);
    let orders = per_s * (length_ns as f64 / 1e9) * 1.1 + 10_000.0;
    orders.min(ORDERS_MAX) as usize
}
