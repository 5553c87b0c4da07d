//! What the lab tells the first program of a guest, and what that answers. JSON in frames of
//! [`crate::frame::Stream::Agent`]; the lanes' own words travel beside it and are nobody's business here.

use pickfs_record::{Action, Environment};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub enum ToGuest {
    /// What calls, clock and memory cost.
    Calibrate,
    /// Nothing is mounted yet, or no more.
    Mount(Box<Order>),
    StartLanes {
        count: u16,
    },
    /// Nothing of the mount is open.
    Cool,
    /// Write, unmount, mount again, compare: see [`FromGuest::Checked`].
    Check {
        /// Whether a second mount shows what the first one wrote: not in memory.
        anew: bool,
    },
    Unmount,
    End,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// In the order of loading.
    pub modules: Vec<String>,
    /// `None` for what lives in memory.
    pub disk: Option<String>,
    /// Where only the guest can do so; it is not mounted then.
    #[serde(default)]
    pub make: Vec<Action>,
    pub mount: Vec<Action>,
    pub unmount: Vec<Action>,
    pub at: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum FromGuest {
    Booted {
        build: String,
        kernel: String,
    },
    ModulesLoaded,
    /// `guest.*`
    Calibrated {
        facts: Environment,
    },
    Mounted {
        /// `mount.*`, as the guest's kernel says.
        facts: Environment,
    },
    LaneEnded {
        lane: u16,
        /// `exit code 0`, `signal 9`.
        how: String,
    },
    Cooled,
    /// It came back from a second mount.
    Checked {
        /// Made, listed, looked at, compared and removed.
        files: u64,
        bytes: u64,
    },
    Unmounted,
    Ended,
    /// Nothing follows.
    Failed {
        reason: String,
    },
}
