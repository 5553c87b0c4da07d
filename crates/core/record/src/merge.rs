//! Never over trials (validity rule 16).
//! Histograms, seconds, counts and extremes merge exactly. Episodes cannot: no part keeps when each
//! of its operations was, and one stall that holds up 64 lanes is one episode, not 64. What is kept is a
//! lower bound, the episodes of the one part that saw most of them beyond the merged quantile.

use std::{collections::BTreeMap, time::Duration};

use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};

use crate::{
    interval_log::intervals,
    record::{OpRecord, Operation, Second, Times},
    times::histogram,
};

impl OpRecord {
    pub fn merged(mut parts: Vec<OpRecord>, spikes_max: usize) -> Result<OpRecord, String> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        if parts.iter().all(OpRecord::is_exact) {
            return Ok(exactly_merged(&parts, spikes_max));
        }
        let times = |of: fn(&OpRecord) -> Option<&Times>| {
            let all: Vec<&Times> = parts.iter().filter_map(of).collect();
            (!all.is_empty()).then(|| Times::merged(&all)).transpose()
        };
        let service = times(|part| Some(&part.service))?.unwrap_or_default();
        let response = times(|part| part.response.as_ref())?;
        let raw_response = times(|part| part.raw_response.as_ref())?;
        let (intervals, interval_log) = merged_seconds(&parts)?;
        let spikes = longest(&parts, spikes_max);
        let op = parts.into_iter().next().map(|part| part.op).unwrap_or_default();
        Ok(OpRecord { op, service, response, raw_response, intervals, spikes, interval_log })
    }
}

/// Where each part has all of its times, so has the whole.
fn exactly_merged(parts: &[OpRecord], spikes_max: usize) -> OpRecord {
    let operations = parts.iter().flat_map(|part| &part.spikes);
    let times_ns: Vec<u64> = operations.map(length_ns).collect();
    let op = parts.first().map_or("", |part| &part.op);
    OpRecord { spikes: longest(parts, spikes_max), ..OpRecord::exact(op, &times_ns) }
}

fn longest(parts: &[OpRecord], most: usize) -> Vec<Operation> {
    let mut spikes: Vec<Operation> = parts.iter().flat_map(|part| part.spikes.clone()).collect();
    spikes.sort_by_key(|operation| std::cmp::Reverse(length_ns(operation)));
    spikes.truncate(most);
    spikes
}

/// What a lane on another host says may end before it began.
fn length_ns(operation: &Operation) -> u64 {
    operation.end_ns.saturating_sub(operation.start_ns)
}

struct Merged {
    row: Second,
    service: Histogram<u64>,
    response: Histogram<u64>,
}

fn merged_seconds(parts: &[OpRecord]) -> Result<(Vec<Second>, String), String> {
    let mut seconds: BTreeMap<u32, Merged> = BTreeMap::new();
    for row in parts.iter().flat_map(|part| &part.intervals) {
        let merged = seconds.entry(row.second).or_insert_with(|| Merged {
            row: Second { count: 0, service_min_ns: u64::MAX, ..*row },
            service: histogram(),
            response: histogram(),
        });
        merged.row.count += row.count;
        merged.row.service_min_ns = merged.row.service_min_ns.min(row.service_min_ns);
        merged.row.service_max_ns = merged.row.service_max_ns.max(row.service_max_ns);
        merged.row.response_max_ns = merged.row.response_max_ns.max(row.response_max_ns);
    }
    for part in parts {
        add_log(&part.interval_log, &mut seconds)?;
    }
    let (mut rows, mut log) = (Vec::new(), IntervalLog::default());
    for merged in seconds.values_mut() {
        if !merged.service.is_empty() {
            merged.row.service_p50_ns = merged.service.value_at_quantile(0.5);
        }
        rows.push(merged.row);
        log.add(merged.row.second, &merged.service, Some(&merged.response));
    }
    Ok((rows, log.text))
}

fn add_log(log: &str, seconds: &mut BTreeMap<u32, Merged>) -> Result<(), String> {
    let unread = |error| format!("an interval log cannot be read: {error}");
    for line in intervals(log) {
        let (_, interval) = line.map_err(unread)?;
        let Some(second) = seconds.get_mut(&(interval.start_s as u32)) else { continue };
        let into = match interval.tag {
            "response" => &mut second.response,
            _ => &mut second.service,
        };
        for one in interval.counted().map_err(unread)? {
            into.saturating_record_n(one.middle, one.times);
        }
    }
    Ok(())
}

/// Its times are seconds since the measurement began, its maximum column is milliseconds.
pub(crate) struct IntervalLog {
    pub(crate) text: String,
    serializer: V2DeflateSerializer,
}

impl Default for IntervalLog {
    fn default() -> IntervalLog {
        IntervalLog { text: String::new(), serializer: V2DeflateSerializer::new() }
    }
}

impl IntervalLog {
    pub(crate) fn add(
        &mut self,
        second: u32,
        service: &Histogram<u64>,
        response: Option<&Histogram<u64>>,
    ) {
        let mut lines = Vec::new();
        let mut writer = IntervalLogWriterBuilder::new()
            .with_max_value_divisor(1e6)
            .begin_log_with(&mut lines, &mut self.serializer)
            .expect("writing to memory does not fail");
        let start = Duration::from_secs(u64::from(second));
        for (tag, operations) in [("service", Some(service)), ("response", response)] {
            if let Some(operations) = operations.filter(|operations| !operations.is_empty()) {
                let _ = writer.write_histogram(
                    operations,
                    start,
                    Duration::from_secs(1),
                    Tag::new(tag),
                );
            }
        }
        let is_first = self.text.is_empty();
        let lines = String::from_utf8_lossy(&lines);
        let kept = lines.split_inclusive('\n').filter(|line| is_first || !line.starts_with('#'));
        self.text.extend(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpIndex, RecorderOptions, record::QuantileRow, recorder};

    fn operations(lengths_ns: &[(u64, u64)]) -> OpRecord {
        let (mut operations, keeper) = recorder(&RecorderOptions {
            ops: vec!["read".into()],
            responses: false,
            spikes_max: 2,
        });
        operations.begin(0);
        for (start_ns, length_ns) in lengths_ns {
            let end_ns = start_ns + length_ns;
            operations.record(
                OpIndex(0),
                Operation { due_ns: *start_ns, start_ns: *start_ns, end_ns, offset_bytes: 0 },
                None,
            );
        }
        keeper.finish(operations.finish()).remove(0)
    }

    fn tail(operations: &OpRecord) -> QuantileRow {
        *operations.service.quantile(0.99).expect("recorded")
    }

    #[test]
    fn times_that_are_kept_exactly_stay_so() {
        let minute_ns = 60_000_000_000;
        let lane = |times_ns: &[u64]| {
            let operation = |end_ns: &u64| Operation { end_ns: *end_ns, ..Operation::default() };
            let spikes = times_ns.iter().map(operation).collect();
            OpRecord { spikes, ..OpRecord::exact("wall", times_ns) }
        };
        let parts = vec![lane(&[7, 9]), lane(&[10 * minute_ns + 1])];
        let merged = OpRecord::merged(parts, 1).expect("they merge");
        let whole = OpRecord::exact("wall", &[7, 9, 10 * minute_ns + 1]);
        assert_eq!((merged.service, merged.spikes.len()), (whole.service, 1));
    }

    #[test]
    fn operations_that_end_before_they_began_took_no_time() {
        let wrong = Operation { start_ns: 9, end_ns: 7, ..Operation::default() };
        let exact = OpRecord { spikes: vec![wrong], ..OpRecord::exact("wall", &[5]) };
        let counted = OpRecord { spikes: vec![wrong], ..operations(&[(0, 5)]) };
        for lane in [exact, counted] {
            let merged = OpRecord::merged(vec![lane.clone(), lane], 4).expect("they merge");
            assert_eq!((merged.service.count, merged.spikes), (2, vec![wrong; 2]));
        }
    }

    #[test]
    fn two_halves_are_the_whole() {
        let arrivals: Vec<(u64, u64)> = (0..3000)
            .map(|i| (i * 1_000_000, if i % 100 == 7 { 90_000 } else { 1_000 + i }))
            .collect();
        let whole = operations(&arrivals);
        let even: Vec<_> = arrivals.iter().step_by(2).copied().collect();
        let odd: Vec<_> = arrivals.iter().skip(1).step_by(2).copied().collect();
        let merged =
            OpRecord::merged(vec![operations(&even), operations(&odd)], 2).expect("merges");
        assert_eq!(merged.service.count, whole.service.count);
        assert_eq!(merged.service.max_ns, whole.service.max_ns);
        assert_eq!(merged.service.min_ns, whole.service.min_ns);
        assert!((merged.service.mean_ns - whole.service.mean_ns).abs() < 1e-6);
        assert!((merged.service.sd_ns / whole.service.sd_ns - 1.0).abs() < 1e-9);
        for (ours, theirs) in merged.service.quantiles.iter().zip(&whole.service.quantiles) {
            assert_eq!((ours.q, ours.value_ns), (theirs.q, theirs.value_ns));
        }
        assert_eq!(merged.intervals, whole.intervals);
        assert_eq!(merged.spikes.len(), 2);
        assert_eq!(merged.service.histogram, whole.service.histogram);
    }

    #[test]
    fn one_stall_over_many_lanes_is_one_episode() {
        let lane = |lane: u64| {
            let mut arrivals: Vec<(u64, u64)> =
                (0..200).map(|i| (i * 1_000_000 + lane, 1_000)).collect();
            arrivals[70].1 = 500_000;
            operations(&arrivals)
        };
        let merged = OpRecord::merged((0..64).map(lane).collect(), 4).expect("merges");
        assert_eq!(merged.service.count, 64 * 200);
        assert_eq!(tail(&merged).episodes, 1);
    }

    #[test]
    fn a_quicker_part_says_nothing_of_the_tail_of_all() {
        // Seven episodes beyond its own p99 of 1 us, none beyond that of all.
        let quick: Vec<(u64, u64)> =
            (0..1_000).map(|i| (i * 1_000_000, if i % 150 == 7 { 5_000 } else { 1_000 })).collect();
        let slow: Vec<(u64, u64)> = (0..1_000)
            .map(|i| match (i % 20, i % 300) {
                (7, _) => (i * 1_000_000, 500_000),
                (_, 100) => (i * 1_000_000, 900_000),
                _ => (i * 1_000_000, 1_000),
            })
            .collect();
        assert_eq!(tail(&operations(&quick)).episodes, 7);
        let merged =
            OpRecord::merged(vec![operations(&quick), operations(&slow)], 4).expect("merges");
        let tail = tail(&merged);
        assert!((499_000..=501_000).contains(&tail.value_ns), "{tail:?}");
        assert_eq!(tail.episodes, 3);
    }

    #[test]
    fn a_part_without_operations_adds_nothing() {
        let merged =
            OpRecord::merged(vec![operations(&[]), operations(&[(0, 5)]), operations(&[])], 4);
        let merged = merged.expect("merges");
        assert_eq!((merged.service.count, merged.service.max_ns), (1, 5));
        let none = OpRecord::merged(vec![operations(&[]), operations(&[])], 4).expect("merges");
        assert_eq!(none.service.count, 0);
    }

    #[test]
    fn a_torn_histogram_is_told() {
        let mut torn = operations(&[(0, 5)]);
        torn.service.histogram.truncate(8);
        assert!(OpRecord::merged(vec![operations(&[(0, 5)]), torn], 4).is_err());
    }
}
