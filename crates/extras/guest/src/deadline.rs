//! How long each phase of a guest may take. The measured part has its own limits: those of the
//! lab for every worker.

use std::{fmt, time::Duration};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestPhase {
    /// From the start to the first program.
    Boot,
    Modules,
    Calibrate,
    Mount,
    Cool,
    Check,
    Unmount,
    /// From the last word to nothing left.
    PowerOff,
}

impl fmt::Display for GuestPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GuestPhase::Boot => "boot",
            GuestPhase::Modules => "modules",
            GuestPhase::Calibrate => "calibration",
            GuestPhase::Mount => "mount",
            GuestPhase::Cool => "cold caches",
            GuestPhase::Check => "check",
            GuestPhase::Unmount => "unmount",
            GuestPhase::PowerOff => "power-off",
        })
    }
}

/// The limits. Generous: an emulated machine boots in three seconds where little else runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deadlines {
    pub factor: f64,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { factor: 1.0 }
    }
}

impl Deadlines {
    pub fn limit(&self, phase: GuestPhase) -> Duration {
        let seconds = match phase {
            GuestPhase::Boot => 90.0,
            GuestPhase::Modules | GuestPhase::Calibrate | GuestPhase::Mount => 60.0,
            GuestPhase::Cool | GuestPhase::Unmount => 180.0,
            GuestPhase::Check => 300.0,
            GuestPhase::PowerOff => 30.0,
        };
        Duration::from_secs_f64(seconds * self.factor)
    }
}
