use std::collections::BTreeMap;

use pickfs_record::{
    PhaseRecord, TrialRecord, TrialSpec, WorkerMessage,
    record::{LoadRecord, OpRecord},
};
use pickfs_workload::phase::{GATE_BROKEN, merged_ops, merged_phases};

use crate::{
    final_sync,
    machine::{Job, SPIKES_MAX, TrialError},
};

pub fn into_record(
    lanes: Vec<Vec<WorkerMessage>>,
    job: &Job,
    spec: &TrialSpec,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    if let Some(error) = ended_early(&lanes) {
        return Err(error);
    }
    let count = lanes.len();
    let mut sums = Sums::default();
    for messages in lanes {
        sums.add(messages, record);
    }
    if sums.verified < count {
        return Err(TrialError::Failed("the worker verified nothing of what it wrote".into()));
    }
    record.ops = merged_ops(sums.ops, SPIKES_MAX as usize).map_err(TrialError::Failed)?;
    record.phases = merged_phases(&sums.phases);
    (job.workload.derive)(&job.params, &mut record.phases);
    record.load = merged_load(&sums.loads);
    keep_figures(sums.figures, count, record);
    final_sync::add_rows(&spec.final_sync, record);
    Ok(())
}

/// Each is the mean over the lanes that told it.
fn keep_figures(figures: BTreeMap<String, Vec<f64>>, count: usize, record: &mut TrialRecord) {
    if count > 1 && figures.values().any(|values| values.len() == count) {
        record.notes.push(format!("figures are means over {count} lanes"));
    }
    let some = figures.iter().filter(|(_, values)| values.len() != count);
    let some =
        some.map(|(name, told)| format!("{name} was told by {} of {count} lanes", told.len()));
    record.notes.extend(some);
    let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
    record.figures = figures.into_iter().map(|(name, values)| (name, mean(values))).collect();
}

#[derive(Default)]
struct Sums {
    ops: Vec<Vec<OpRecord>>,
    phases: Vec<Vec<PhaseRecord>>,
    loads: Vec<LoadRecord>,
    figures: BTreeMap<String, Vec<f64>>,
    verified: usize,
}

impl Sums {
    fn add(&mut self, messages: Vec<WorkerMessage>, record: &mut TrialRecord) {
        let (mut ops, mut phases) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                WorkerMessage::Ready { notes, warmup_ns } => {
                    let new = notes.into_iter().filter(|note| !record.notes.contains(note));
                    let new: Vec<String> = new.collect();
                    record.notes.extend(new);
                    record.warmup_s = record.warmup_s.max(warmup_ns as f64 / 1e9);
                }
                WorkerMessage::Note { text } if !record.notes.contains(&text) => {
                    record.notes.push(text);
                }
                WorkerMessage::Op(op) => ops.push(*op),
                WorkerMessage::Phase(phase) => phases.push(*phase),
                WorkerMessage::Load(load) => self.loads.push(load),
                WorkerMessage::Count { name, value } => {
                    *record.counts.entry(name).or_default() += value;
                }
                WorkerMessage::Figure { name, value } => {
                    self.figures.entry(name).or_default().push(value);
                }
                WorkerMessage::Stalls(stalls) => record.stalls = Some(*stalls),
                WorkerMessage::Verified { checked } => {
                    self.verified += 1;
                    *record.counts.entry("records_verified".into()).or_default() += checked as f64;
                }
                _ => {}
            }
        }
        self.ops.push(ops);
        self.phases.push(phases);
    }
}

/// The reason of the first lane that failed by itself; a lane that only found its gate broken has
/// nothing to say. A failure comes before a skip.
fn ended_early(lanes: &[Vec<WorkerMessage>]) -> Option<TrialError> {
    let all = || lanes.iter().flatten();
    let failed = |own: bool| {
        all().find_map(|message| match message {
            WorkerMessage::Failed { reason } if !own || !reason.contains(GATE_BROKEN) => {
                Some(TrialError::Failed(reason.clone()))
            }
            _ => None,
        })
    };
    let skipped = || {
        all().find_map(|message| match message {
            WorkerMessage::Skipped { reason } => Some(TrialError::Skipped(reason.clone())),
            _ => None,
        })
    };
    failed(true).or_else(skipped).or_else(|| failed(false))
}

/// Arrivals, rates and CPU add up; the measured time is the longest.
fn merged_load(loads: &[LoadRecord]) -> Option<LoadRecord> {
    let first = loads.first()?;
    let sum = |of: fn(&LoadRecord) -> u64| loads.iter().map(of).sum::<u64>();
    Some(LoadRecord {
        achieved_per_s: loads.iter().map(|load| load.achieved_per_s).sum(),
        arrivals: sum(|load| load.arrivals),
        drained: sum(|load| load.drained),
        missed: sum(|load| load.missed),
        late_driver: sum(|load| load.late_driver),
        late_queue: sum(|load| load.late_queue),
        measured_ns: loads.iter().map(|load| load.measured_ns).max().unwrap_or(0),
        began_ns: loads.iter().map(|load| load.began_ns).min().unwrap_or(0),
        cpu_user_ns: sum(|load| load.cpu_user_ns),
        cpu_system_ns: sum(|load| load.cpu_system_ns),
        preemptions: sum(|load| load.preemptions),
        ..first.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(reason: &str) -> Vec<WorkerMessage> {
        vec![WorkerMessage::Failed { reason: reason.into() }]
    }

    #[test]
    fn the_lane_that_failed_by_itself_gives_the_reason() {
        let lanes = [failed(GATE_BROKEN), failed("write lane-2/x: no space"), failed(GATE_BROKEN)];
        let Some(TrialError::Failed(reason)) = ended_early(&lanes) else { panic!("failed") };
        assert_eq!(reason, "write lane-2/x: no space");
        let skipped = vec![WorkerMessage::Skipped { reason: "no room".into() }];
        let lanes = [failed(GATE_BROKEN), skipped];
        let Some(TrialError::Skipped(reason)) = ended_early(&lanes) else { panic!("skipped") };
        assert_eq!(reason, "no room");
        assert!(ended_early(&[vec![WorkerMessage::Finished]]).is_none());
    }

    #[test]
    fn a_figure_is_the_mean_over_the_lanes_and_says_so() {
        let figure = |value| WorkerMessage::Figure { name: "a read IOPS".into(), value };
        let silent = vec![WorkerMessage::Verified { checked: 1 }];
        let lane = |value| [&[figure(value)][..], &silent].concat();
        let spec = pickfs_testkit::fake_spec("null", "/tmp".as_ref(), serde_json::Map::new());
        let workload = pickfs_workload::find("null").expect("known");
        let params = workload.validate(&spec.workload.params).expect("its own");
        let job = Job { workload, params, lanes: 2, length: pickfs_workload::Length::Clock };
        let told = |lanes: Vec<Vec<WorkerMessage>>| {
            let mut record = TrialRecord::default();
            into_record(lanes, &job, &spec, &mut record).map_err(|_| "failed").expect("a record");
            (record.figures["a read IOPS"], record.notes)
        };
        assert_eq!(told(vec![lane(7.0)]), (7.0, vec![]));
        assert_eq!(
            told(vec![lane(7.0), lane(9.0)]),
            (8.0, vec!["figures are means over 2 lanes".into()])
        );
        assert_eq!(
            told(vec![lane(7.0), silent.clone()]),
            (7.0, vec!["a read IOPS was told by 1 of 2 lanes".into()])
        );
    }

    #[test]
    fn loads_of_lanes_add_up() {
        let load =
            LoadRecord { arrivals: 5, achieved_per_s: 10.0, measured_ns: 7, ..Default::default() };
        let other = LoadRecord { measured_ns: 9, ..load.clone() };
        let sum = merged_load(&[load, other]).expect("two");
        assert_eq!((sum.arrivals, sum.measured_ns), (10, 9));
        assert!((sum.achieved_per_s - 20.0).abs() < 1e-9);
    }
}
