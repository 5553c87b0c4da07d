//! What the lab tells the first program of a guest, and what that answers. JSON in frames of
//! [`crate::frame::Stream::Agent`]; the lanes' own words travel beside it and are nobody's business here.

use pickfs_model::{Action, Environment};
use serde::{Deserialize, Serialize};

/// To the guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum ToGuest {
    /// Find out what calls, clock and memory cost.
    Calibrate,
    /// Load, make and mount; nothing is mounted yet, or no more.
    Mount(Box<Order>),
    /// Start this many worker processes; their words follow in frames of their own.
    StartLanes {
        /// How many.
        count: u16,
    },
    /// Empty the caches; nothing of the mount is open.
    Cool,
    /// Write, unmount, mount again, compare: see [`FromGuest::Checked`].
    Check {
        /// Whether a second mount shows what the first one wrote: not in memory.
        anew: bool,
    },
    /// Unmount; something else may be mounted then.
    Unmount,
    /// Power off.
    End,
}

/// A candidate, and what makes it one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// Modules in the first file system, in the order of loading.
    pub modules: Vec<String>,
    /// The scratch disk that must be there; none for what lives in memory.
    pub disk: Option<String>,
    /// What makes the candidate, where only the guest can do so; it is not mounted then.
    #[serde(default)]
    pub make: Vec<Action>,
    /// What mounts the candidate.
    pub mount: Vec<Action>,
    /// What unmounts it.
    pub unmount: Vec<Action>,
    /// Where it is mounted.
    pub at: String,
}

/// From the guest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum FromGuest {
    /// The first program runs.
    Booted {
        /// Build of the worker inside.
        build: String,
        /// The kernel's release.
        kernel: String,
    },
    /// All modules are in.
    ModulesLoaded,
    /// What calls, clock and memory cost here: `guest.*`.
    Calibrated {
        /// The figures.
        facts: Environment,
    },
    /// The candidate is mounted.
    Mounted {
        /// `mount.*`, as the guest's kernel says.
        facts: Environment,
    },
    /// A worker process is over.
    LaneEnded {
        /// Which.
        lane: u16,
        /// `exit code 0`, `signal 9`.
        how: String,
    },
    /// The caches are empty.
    Cooled,
    /// What was written came back from a second mount.
    Checked {
        /// Files that were made, listed, looked at, compared and removed.
        files: u64,
        /// Bytes that were compared.
        bytes: u64,
    },
    /// Nothing is mounted.
    Unmounted,
    /// Power goes off.
    Ended,
    /// Something went wrong; nothing follows.
    Failed {
        /// In words.
        reason: String,
    },
}
