//! Why laps of a trial were slow: a probe beside its workers, from the word to begin to their end.
//! What is joined and how causes are named is told in crate `probe`.

use std::sync::Arc;

use pickfs_model::{StallRecord, TrialRecord, quantity::parse_duration_ns};
use pickfs_probe::Observer;
use pickfs_sys::slow_laps::SlowLaps;
use serde::Deserialize;

use crate::crew::Moment;

/// Laps above this are slow where a plan names no other time: 100 microseconds.
pub const SLOW_ABOVE_NS: u64 = 100_000;

/// What a plan says of it: `explain = true`, or the time above which laps are slow:
/// `explain = "50us"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum ExplainEntry {
    /// With the usual threshold, or not at all.
    Switch(bool),
    /// Above this time.
    Above(String),
}

impl Default for ExplainEntry {
    fn default() -> ExplainEntry {
        ExplainEntry::Switch(false)
    }
}

impl ExplainEntry {
    /// The threshold in nanoseconds; `None` where nothing is to be explained.
    ///
    /// # Errors
    /// The text that is no time, and why.
    pub fn above_ns(&self) -> Result<Option<u64>, (String, String)> {
        match self {
            ExplainEntry::Switch(is_on) => Ok(is_on.then_some(SLOW_ABOVE_NS)),
            ExplainEntry::Above(text) => match parse_duration_ns(text) {
                Ok(above_ns) => Ok(Some(above_ns)),
                Err(error) => Err((text.clone(), error.to_string())),
            },
        }
    }
}

/// The probe of one trial; nothing where nobody asked.
#[derive(Default)]
pub struct Explanation {
    laps: Option<Arc<SlowLaps>>,
    observer: Option<Observer>,
}

impl Explanation {
    /// For laps above this; without a time nothing is explained. A note tells why it cannot be done.
    pub fn new(above_ns: Option<u64>, record: &mut TrialRecord) -> Explanation {
        let Some(above_ns) = above_ns else { return Explanation::default() };
        let laps = SlowLaps::create(above_ns).map(Arc::new);
        let laps =
            laps.map_err(|error| record.notes.push(format!("slow laps not explained: {error}")));
        Explanation { laps: laps.ok(), observer: None }
    }

    /// What the workers inherit.
    pub fn slow_laps(&self) -> Option<Arc<SlowLaps>> {
        self.laps.clone()
    }

    /// Begins to watch when the workers are about to be told to go.
    pub fn at(&mut self, moment: &Moment) {
        if let (Moment::Going { processes }, Some(laps)) = (moment, &self.laps) {
            self.observer = Some(Observer::start(Arc::clone(laps), processes));
        }
    }

    /// What was seen.
    pub fn finish(self) -> Option<StallRecord> {
        self.observer.map(Observer::finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_whether_and_above_what() {
        let above = |text: &str| {
            let table: toml::Table = text.parse().expect("TOML");
            table["explain"].clone().try_into::<ExplainEntry>().expect("an entry").above_ns()
        };
        assert_eq!(above("explain = true"), Ok(Some(SLOW_ABOVE_NS)));
        assert_eq!(above("explain = false"), Ok(None));
        assert_eq!(above("explain = \"2ms\""), Ok(Some(2_000_000)));
        assert_eq!(above("explain = \"soon\"").expect_err("no time").0, "soon");
        assert_eq!(ExplainEntry::default().above_ns(), Ok(None));
    }
}
