//! Capacity within one trial: rates are tried on the mounted candidate until the highest
//! one that is held lies between two neighbours. Which rates, `analysis` decides.

use std::path::Path;

use pickfs_analysis::{
    capacity::{Bound, Capacity, Range, is_held, search},
    summary::{AT_LIMIT_KEY, AT_LIMIT_WORDS},
};
use pickfs_record::{
    TrialRecord, TrialSpec,
    plan::{CapacitySearch, Metric, Statistic},
    quantity::significant,
};

use crate::{interrupt::Interrupt, machine::TrialError};

pub type Attempt<'a> = dyn FnMut(&TrialSpec, &mut TrialRecord) -> Result<(), TrialError> + 'a;

/// Searches; `record` keeps the operations of the highest rate that was held, and counts
/// `capacity_per_s` (0 where no rate was), `capacity_attempts`, and `capacity_at_limit` where it may be more. An
/// attempt that failed held nothing; without any other the search fails with its reason.
pub fn seek(
    ask: &CapacitySearch,
    spec: TrialSpec,
    record: &mut TrialRecord,
    interrupt: &Interrupt,
    run: &mut Attempt<'_>,
) -> Result<(), TrialError> {
    let range = Range {
        start_per_s: ask.start_per_s,
        limit_per_s: ask.limit_per_s,
        precision: ask.precision,
    };
    let number = u64::from(record.number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let range = range.shifted(fastrand::Rng::with_seed(spec.seed ^ number).f64());
    let blank = record.clone();
    let mut search_state =
        Search { ask, spec, interrupt, attempts: 0, failed: Vec::new(), held: Vec::new(), blank };
    let found = search(range, |rate| search_state.attempt(rate, run))?;
    let Search { attempts, failed, mut held, .. } = search_state;
    let (voted_per_s, text) = told(found);
    if let Some(at) = held.iter().position(|(rate, _)| *rate == voted_per_s) {
        *record = held.swap_remove(at).1;
    }
    record.counts.insert("capacity_per_s".into(), voted_per_s);
    record.counts.insert("capacity_attempts".into(), f64::from(attempts));
    if let Capacity::AtLeast { .. } = found {
        record.counts.insert(AT_LIMIT_KEY.into(), 1.0);
    }
    record.notes.push(format!("capacity: {text} ({attempts} attempts)"));
    record.notes.extend(failed.first().map(|first| {
        format!(
            "capacity: {} of {attempts} attempts failed and held nothing: {first}",
            failed.len()
        )
    }));
    match found {
        Capacity::Under { .. } => Err(TrialError::Failed(text)),
        _ => Ok(()),
    }
}

struct Search<'a> {
    ask: &'a CapacitySearch,
    spec: TrialSpec,
    interrupt: &'a Interrupt,
    attempts: u32,
    failed: Vec<String>,
    held: Vec<(f64, TrialRecord)>,
    blank: TrialRecord,
}

impl Search<'_> {
    /// One rate, in a folder of its own that goes when its figures are taken.
    fn attempt(&mut self, rate_per_s: f64, run: &mut Attempt<'_>) -> Result<bool, TrialError> {
        self.attempts += 1;
        let mut spec = self.spec.clone();
        spec.directory = self.spec.directory.join(format!("rate-{}", self.attempts));
        spec.workload.params.insert("rate".into(), rate_per_s.into());
        spec.seed = self.spec.seed.wrapping_add(u64::from(self.attempts));
        make_folder(&spec.directory)?;
        let mut record = self.blank.clone();
        let ran = run(&spec, &mut record);
        remove_folder(&spec.directory)?;
        match ran {
            Err(TrialError::Failed(why)) if !self.interrupt.is_raised() => {
                self.failed.push(format!("at {}/s {why}", significant(rate_per_s)));
                let is_none = self.attempts > 1 && self.failed.len() == self.attempts as usize;
                return if is_none { Err(TrialError::Failed(why)) } else { Ok(false) };
            }
            other => other?,
        }
        let held = is_held(&record, self.bound(&record).as_ref());
        if held {
            self.held.retain(|(rate, _)| *rate != rate_per_s);
            self.held.push((rate_per_s, record));
        }
        Ok(held)
    }

    /// The bound is on the response of what becomes durable, or else of the append.
    fn bound(&self, record: &TrialRecord) -> Option<Bound> {
        let bound = self.ask.bound?;
        let op = ["durable", "append"]
            .into_iter()
            .find(|name| record.ops.iter().any(|op| op.op == *name && op.response.is_some()))?;
        let statistic = Statistic::Quantile(bound.quantile);
        let metric = Metric::new(op, statistic);
        Some(Bound { metric, value_ns_max: bound.value_ns_max })
    }
}

/// The rate that was held, 0 where none was, and what to say of it.
fn told(found: Capacity) -> (f64, String) {
    let held = |rate_per_s| format!("{} operations a second were held", significant(rate_per_s));
    match found {
        Capacity::Between { held_per_s, missed_per_s } => {
            let missed = significant(missed_per_s);
            (held_per_s, format!("{}, {missed} were not", held(held_per_s)))
        }
        Capacity::AtLeast { held_per_s } => {
            (held_per_s, format!("{}, {AT_LIMIT_WORDS}", held(held_per_s)))
        }
        Capacity::Under { missed_per_s } => (0.0, format!("not even {}", held(missed_per_s))),
    }
}

fn make_folder(path: &Path) -> Result<(), TrialError> {
    std::fs::create_dir(path)
        .map_err(|error| TrialError::Failed(format!("cannot make {}: {error}", path.display())))
}

/// The folder was made by us a moment ago, on a file system or in a folder of our own. What
/// it left to be written is written before the next rate is tried (validity rule 12).
fn remove_folder(path: &Path) -> Result<(), TrialError> {
    let failed = |error: std::io::Error| {
        TrialError::Failed(format!("cannot remove {}: {error}", path.display()))
    };
    std::fs::remove_dir_all(path).map_err(failed)?;
    let parent = std::fs::File::open(path.parent().unwrap_or(path)).map_err(failed)?;
    rustix::fs::syncfs(&parent).map_err(|error| failed(error.into()))
}

#[cfg(test)]
mod tests {
    use pickfs_record::{
        Arrival, Clock, OpIndex, RecorderOptions, SimClock, plan::ResponseBound, recorder,
    };
    use pickfs_testkit::{FakeRun, fake_run, fake_spec};
    use pickfs_workload::{Bench, Due, Fault, Pace, Span, Work, drive};

    use super::*;

    fn seek_on(capacity_per_s: f64, limit_per_s: f64) -> (Result<(), TrialError>, TrialRecord) {
        seek_with(None, limit_per_s, &mut |rate, attempt| {
            let load = attempt.load.as_mut().expect("a load");
            load.asked_per_s = Some(rate);
            load.achieved_per_s = rate.min(capacity_per_s);
            Ok(())
        })
    }

    fn seek_with(
        bound: Option<ResponseBound>,
        limit_per_s: f64,
        at: &mut dyn FnMut(f64, &mut TrialRecord) -> Result<(), TrialError>,
    ) -> (Result<(), TrialError>, TrialRecord) {
        let run = fake_run(&FakeRun { blocks: 1, ..FakeRun::default() });
        let mut record = run.trials[0].clone();
        let folder = tempfile::tempdir().expect("a folder");
        let params = run.cells[0].workload.params.clone();
        let spec = fake_spec("journal", folder.path(), params);
        let ask = CapacitySearch { start_per_s: 1_000.0, limit_per_s, precision: 1.1, bound };
        let result = seek(&ask, spec, &mut record, &Interrupt::default(), &mut |spec, attempt| {
            assert!(spec.directory.is_dir());
            at(spec.workload.params["rate"].as_f64().expect("a rate"), attempt)
        });
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
        (result, record)
    }

    #[test]
    fn the_record_keeps_the_highest_rate_that_was_held() {
        let (result, record) = seek_on(9_000.0, 1e6);
        assert!(result.is_ok());
        let held = record.counts["capacity_per_s"];
        assert!((8_100.0..=9_000.0).contains(&held), "{held}");
        assert_eq!(record.load.expect("a load").asked_per_s, Some(held));
        assert!(record.notes.last().expect("a note").starts_with("capacity: "));
        assert!(!record.counts.contains_key(AT_LIMIT_KEY));
        let mut at_limit = seek_on(9_000.0, 8_000.0).1;
        assert_eq!(at_limit.counts.remove(AT_LIMIT_KEY), Some(1.0));
        assert!(pickfs_analysis::summary::is_at_limit(&at_limit), "by the words of its note");
    }

    #[test]
    fn an_attempt_that_failed_held_nothing_and_ends_the_search_only_where_all_do() {
        let full = || Err(TrialError::Failed("no space".into()));
        let (result, record) = seek_with(None, 1e6, &mut |rate, attempt| {
            let load = attempt.load.as_mut().expect("a load");
            (load.asked_per_s, load.achieved_per_s) = (Some(rate), rate);
            if rate > 5_000.0 { full() } else { Ok(()) }
        });
        let held = record.counts["capacity_per_s"];
        assert!(result.is_ok() && (4_500.0..=5_000.0).contains(&held), "{held}");
        let told = record.notes.last().expect("a note");
        assert!(
            told.contains(" attempts failed and held nothing: at ") && told.ends_with("no space"),
            "{told}"
        );
        let mut asked = 0;
        let (result, _) = seek_with(None, 1e6, &mut |_, _| {
            asked += 1;
            full()
        });
        assert!(matches!(result, Err(TrialError::Failed(why)) if why == "no space"));
        assert_eq!(asked, 2);
    }

    /// An append takes 50 us. Over 4,000/s the disk stalls for 1.4 s when all but 0.5 % of a second is over.
    struct Stalling {
        clock: SimClock,
        stalls_at_ns: Option<u64>,
    }

    impl Work for Stalling {
        fn run<C: Clock>(
            &mut self,
            clock: &C,
            arrival: &Due,
            bench: &mut Bench,
        ) -> Result<u64, Fault> {
            let stall = self.stalls_at_ns.take_if(|at_ns| arrival.start_ns > *at_ns);
            self.clock.advance(50_000 + stall.map_or(0, |_| 1_400_000_000));
            let end_ns = clock.now_ns();
            bench.record(OpIndex(0), arrival.start_ns, end_ns, 0);
            Ok(end_ns)
        }
    }

    fn stalled(rate_per_s: f64, attempt: &mut TrialRecord) -> Result<(), TrialError> {
        let clock = SimClock::default();
        let stalls_at_ns = (rate_per_s > 4_000.0).then_some(995_000_000);
        let mut work = Stalling { clock: clock.clone(), stalls_at_ns };
        let mut pace = Pace::new(Arrival::Fixed { rate_per_s }, 1, 0);
        let ops = vec!["durable".into()];
        let (operations, keeper) =
            recorder(&RecorderOptions { ops, responses: true, spikes_max: 0 });
        let mut bench = Bench::new(operations, true, None);
        let span = Span::time(1_000_000_000);
        let driven = drive(&clock, &mut work, &mut pace, &mut bench, span).expect("no fault");
        attempt.ops = keeper.finish(bench.into_recorder().finish());
        let load = attempt.load.as_mut().expect("a load");
        load.asked_per_s = Some(rate_per_s);
        load.achieved_per_s = driven.in_time as f64 * 1e9 / driven.span_ns as f64;
        Ok(())
    }

    /// What was due in the stall, and ended after the trial, is one response in two hundred.
    #[test]
    fn a_bound_sees_the_operations_that_were_due_in_a_stall_across_the_end() {
        let held = |quantile: f64| {
            let bound = ResponseBound { quantile, value_ns_max: 5e6 };
            seek_with(Some(bound), 1e6, &mut stalled).1.counts["capacity_per_s"]
        };
        let (of_p99, of_p999) = (held(0.99), held(0.999));
        assert!(
            (18_000.0..20_200.0).contains(&of_p99),
            "the rate is held, and so is p99: {of_p99}"
        );
        assert!((3_600.0..=4_000.0).contains(&of_p999), "{of_p999}");
    }

    #[test]
    fn a_candidate_that_holds_nothing_fails_with_the_rate() {
        let (result, record) = seek_on(0.1, 1e6);
        assert!(matches!(result, Err(TrialError::Failed(text)) if text.contains("not even")));
        assert_eq!(record.counts["capacity_per_s"], 0.0);
    }
}
