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
    /// From one line of a task to the next.
    Task,
    Unmount,
    /// From the last word to nothing left.
    PowerOff,
}

impl GuestPhase {
    pub fn limit(self, stretched_by: f64) -> Duration {
        Duration::from_secs_f64(self.row().1 * stretched_by)
    }

    /// Its name, and seconds that it may take. Generous: an emulated machine boots in three where little else runs.
    fn row(self) -> (&'static str, f64) {
        match self {
            GuestPhase::Boot => ("boot", 90.0),
            GuestPhase::Modules => ("modules", 60.0),
            GuestPhase::Calibrate => ("calibration", 60.0),
            GuestPhase::Mount => ("mount", 60.0),
            GuestPhase::Cool => ("cold caches", 180.0),
            GuestPhase::Task => ("task", 60.0),
            GuestPhase::Unmount => ("unmount", 180.0),
            GuestPhase::PowerOff => ("power-off", 30.0),
        }
    }
}

impl fmt::Display for GuestPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row().0)
    }
}
