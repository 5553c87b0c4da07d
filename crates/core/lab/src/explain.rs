use std::sync::{Arc, OnceLock};

use pickfs_record::{ExplainAlso, Plan, StallRecord, TrialRecord};
use pickfs_sys::slow_operations::SlowOperations;
use serde::Deserialize;

use crate::crew::Moment;

/// Operations above this are slow where a plan names no other time: 100 microseconds.
pub const SLOW_ABOVE_NS: u64 = 100_000;

/// What a plan says of it: `explain = true`, or the time above which operations are slow and what is read
/// beside: `explain = "50us,samples=997,context"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum ExplainEntry {
    Switch(bool),
    Above(String),
}

impl Default for ExplainEntry {
    fn default() -> ExplainEntry {
        ExplainEntry::Switch(false)
    }
}

impl ExplainEntry {
    /// The threshold in nanoseconds, `None` where nothing is to be explained, and what is read
    /// beside.
    pub fn asked(&self) -> Result<(Option<u64>, ExplainAlso), (String, String)> {
        match self {
            ExplainEntry::Switch(is_on) => {
                Ok((is_on.then_some(SLOW_ABOVE_NS), ExplainAlso::default()))
            }
            ExplainEntry::Above(text) => explain_words(text).map_err(|why| (text.clone(), why)),
        }
    }
}

pub fn explain_words(text: &str) -> Result<(Option<u64>, ExplainAlso), String> {
    let (above_ns, also) = ExplainAlso::parse(text)?;
    Ok((Some(above_ns.unwrap_or(SLOW_ABOVE_NS)), also))
}

/// Begins to watch processes, and gives what ends it: an extra.
pub type Explain = fn(Arc<SlowOperations>, &[u32], &ExplainAlso) -> Ending;
pub type Ending = Box<dyn FnOnce() -> StallRecord>;

static EXPLAIN: OnceLock<Explain> = OnceLock::new();

/// From now on slow operations are explained by this.
pub fn add(explain: Explain) {
    let _ = EXPLAIN.set(explain);
}

#[derive(Default)]
pub struct Explanation {
    operations: Option<Arc<SlowOperations>>,
    also: ExplainAlso,
    ending: Option<Ending>,
}

impl Explanation {
    /// A note tells why it cannot be done.
    pub fn of(plan: &Plan, record: &mut TrialRecord) -> Explanation {
        let also = plan.explain_also;
        let Some(above_ns) = plan.explain_above_ns else { return Explanation::default() };
        let operations = match EXPLAIN.get() {
            None => Err("build pickfs with its feature explain".to_owned()),
            Some(_) => SlowOperations::create(above_ns).map_err(|error| error.to_string()),
        };
        let operations = operations
            .map_err(|why| record.notes.push(format!("slow operations not explained: {why}")));
        Explanation { operations: operations.ok().map(Arc::new), also, ending: None }
    }

    pub fn slow_operations(&self) -> Option<Arc<SlowOperations>> {
        self.operations.clone()
    }

    pub fn at(&mut self, moment: &Moment) {
        if let (Moment::Going { processes }, Some(operations), Some(explain)) =
            (moment, &self.operations, EXPLAIN.get())
        {
            self.ending = Some(explain(Arc::clone(operations), processes, &self.also));
        }
    }

    pub fn finish(self) -> Option<StallRecord> {
        self.ending.map(|end| end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_says_whether_and_above_what() {
        let asked = |text: &str| {
            let table: toml::Table = text.parse().expect("TOML");
            table["explain"].clone().try_into::<ExplainEntry>().expect("an entry").asked()
        };
        let nothing = ExplainAlso::default();
        assert_eq!(asked("explain = true"), Ok((Some(SLOW_ABOVE_NS), nothing)));
        assert_eq!(asked("explain = false"), Ok((None, nothing)));
        assert_eq!(asked("explain = \"2ms\""), Ok((Some(2_000_000), nothing)));
        let also = ExplainAlso { samples_hz: Some(997), context: true };
        let words = "explain = \"samples=997,context\"";
        assert_eq!(asked(words), Ok((Some(SLOW_ABOVE_NS), also)));
        assert_eq!(asked("explain = \"soon\"").expect_err("no time").0, "soon");
        assert_eq!(ExplainEntry::default().asked(), Ok((None, nothing)));
    }
}
