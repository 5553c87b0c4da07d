//! Never over trials (validity rule 16).
//! Histograms, seconds, counts and extremes merge exactly. Episodes cannot: no part keeps when each
//! of its laps was, and one stall that holds up 64 lanes is one episode, not 64. What is kept is a
//! lower bound, the episodes of the one part that saw most of them beyond the merged quantile.

use std::{collections::BTreeMap, io::Cursor, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use hdrhistogram::{
    Histogram,
    serialization::{
        Deserializer, V2DeflateSerializer,
        interval_log::{IntervalLogIterator, IntervalLogWriterBuilder, LogEntry, Tag},
    },
};

use crate::{
    keeper::{OpLaps, SecondRow},
    recorder::Lap,
    summary::{QuantileValue, Summary, encode, histogram},
};

impl OpLaps {
    pub fn merged(parts: Vec<OpLaps>, spikes_max: usize) -> Result<OpLaps, String> {
        let Some(op) = parts.first().map(|part| part.op.clone()) else {
            return Ok(OpLaps::default());
        };
        if parts.len() == 1 {
            return Ok(parts.into_iter().next().unwrap_or_default());
        }
        let services: Vec<&Summary> = parts.iter().map(|part| &part.service).collect();
        let service = merged_summary(&services)?;
        let of = |part: fn(&OpLaps) -> &Option<Summary>| -> Result<Option<Summary>, String> {
            let all: Vec<&Summary> = parts.iter().flat_map(part).collect();
            if all.is_empty() { Ok(None) } else { merged_summary(&all).map(Some) }
        };
        let (response, raw) = (of(|part| &part.response)?, of(|part| &part.raw)?);
        let (seconds, interval_log) = merged_seconds(&parts)?;
        let mut spikes: Vec<Lap> = parts.iter().flat_map(|part| part.spikes.clone()).collect();
        spikes.sort_by_key(|lap| std::cmp::Reverse(lap.end_ns - lap.start_ns));
        spikes.truncate(spikes_max);
        Ok(OpLaps { op, service, response, raw, seconds, spikes, interval_log })
    }
}

fn merged_summary(parts: &[&Summary]) -> Result<Summary, String> {
    let mut laps = histogram();
    for part in parts.iter().filter(|part| part.count > 0) {
        laps.add(decoded(&part.encoded)?).map_err(|error| error.to_string())?;
    }
    let parts: Vec<&&Summary> = parts.iter().filter(|part| part.count > 0).collect();
    let count = laps.len();
    let Some(first) = parts.first().filter(|_| count > 0) else { return Ok(Summary::default()) };
    let min_ns = parts.iter().map(|part| part.min_ns).min().unwrap_or(0);
    let max_ns = parts.iter().map(|part| part.max_ns).max().unwrap_or(0);
    let quantile = |(index, row): (usize, &QuantileValue)| {
        let value_ns = laps.value_at_quantile(row.q).clamp(min_ns, max_ns);
        let rows = parts.iter().filter_map(|part| part.quantiles.get(index));
        QuantileValue { q: row.q, value_ns, episodes: episodes_at_least(rows, value_ns) }
    };
    let sum_ns: f64 = parts.iter().map(|part| part.mean_ns * part.count as f64).sum();
    Ok(Summary {
        count,
        mean_ns: sum_ns / count as f64,
        sd_ns: laps.stdev() * (count as f64 / (count - 1).max(1) as f64).sqrt(),
        min_ns,
        max_ns,
        quantiles: first.quantiles.iter().enumerate().map(quantile).collect(),
        overflow: parts.iter().map(|part| part.overflow).sum(),
        encoded: encode(&laps),
    })
}

/// Episodes beyond a merged quantile, at least: those of the one part that had most. A part whose own
/// quantile is lower counted shorter laps, too, and says nothing; some part's is never lower, but for
/// the rounding of the histogram.
fn episodes_at_least<'a>(rows: impl Iterator<Item = &'a QuantileValue>, value_ns: u64) -> u64 {
    let floor_ns = value_ns - value_ns / 500;
    rows.filter(|row| row.value_ns >= floor_ns).map(|row| row.episodes).max().unwrap_or(0)
}

fn decoded(bytes: &[u8]) -> Result<Histogram<u64>, String> {
    Deserializer::new()
        .deserialize(&mut Cursor::new(bytes))
        .map_err(|error| format!("a histogram cannot be read back: {error}"))
}

struct Second {
    row: SecondRow,
    service: Histogram<u64>,
    response: Histogram<u64>,
}

fn merged_seconds(parts: &[OpLaps]) -> Result<(Vec<SecondRow>, String), String> {
    let mut seconds: BTreeMap<u32, Second> = BTreeMap::new();
    for row in parts.iter().flat_map(|part| &part.seconds) {
        let second = seconds.entry(row.second).or_insert_with(|| Second {
            row: SecondRow { count: 0, service_min_ns: u64::MAX, ..*row },
            service: histogram(),
            response: histogram(),
        });
        second.row.count += row.count;
        second.row.service_min_ns = second.row.service_min_ns.min(row.service_min_ns);
        second.row.service_max_ns = second.row.service_max_ns.max(row.service_max_ns);
        second.row.response_max_ns = second.row.response_max_ns.max(row.response_max_ns);
    }
    for part in parts {
        add_log(part.interval_log.as_bytes(), &mut seconds)?;
    }
    for second in seconds.values_mut().filter(|second| !second.service.is_empty()) {
        second.row.service_p50_ns = second.service.value_at_quantile(0.5);
    }
    let log = log_of(&seconds);
    Ok((seconds.into_values().map(|second| second.row).collect(), log))
}

fn add_log(log: &[u8], seconds: &mut BTreeMap<u32, Second>) -> Result<(), String> {
    for entry in IntervalLogIterator::new(log) {
        let entry = entry.map_err(|error| format!("an interval log cannot be read: {error:?}"))?;
        let LogEntry::Interval(interval) = entry else { continue };
        let at = interval.start_timestamp().as_secs() as u32;
        let Some(second) = seconds.get_mut(&at) else { continue };
        let bytes = STANDARD
            .decode(interval.encoded_histogram())
            .map_err(|error| format!("an interval log cannot be read: {error}"))?;
        let laps = decoded(&bytes)?;
        let into = match interval.tag().as_deref() {
            Some("response") => &mut second.response,
            _ => &mut second.service,
        };
        into.add(laps).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn log_of(seconds: &BTreeMap<u32, Second>) -> String {
    let (mut log, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(1e6)
        .begin_log_with(&mut log, &mut serializer)
        .expect("writing to memory does not fail");
    for (at, second) in seconds {
        let start = Duration::from_secs(u64::from(*at));
        for (tag, laps) in [("service", &second.service), ("response", &second.response)] {
            if !laps.is_empty() {
                let _ = writer.write_histogram(laps, start, Duration::from_secs(1), Tag::new(tag));
            }
        }
    }
    String::from_utf8_lossy(&log).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpIndex, RecorderOptions, recorder};

    fn laps(lengths_ns: &[(u64, u64)]) -> OpLaps {
        let (mut laps, keeper) = recorder(&RecorderOptions {
            ops: vec!["read".into()],
            responses: false,
            spikes_max: 2,
            quantiles: vec![0.5, 0.99],
        });
        laps.begin(0);
        for (start_ns, length_ns) in lengths_ns {
            let end_ns = start_ns + length_ns;
            laps.lap(
                OpIndex(0),
                Lap { due_ns: *start_ns, start_ns: *start_ns, end_ns, offset_bytes: 0 },
                None,
            );
        }
        keeper.finish(laps.finish()).remove(0)
    }

    #[test]
    fn two_halves_are_the_whole() {
        let turns: Vec<(u64, u64)> = (0..3000)
            .map(|i| (i * 1_000_000, if i % 100 == 7 { 90_000 } else { 1_000 + i }))
            .collect();
        let whole = laps(&turns);
        let even: Vec<_> = turns.iter().step_by(2).copied().collect();
        let odd: Vec<_> = turns.iter().skip(1).step_by(2).copied().collect();
        let merged = OpLaps::merged(vec![laps(&even), laps(&odd)], 2).expect("merges");
        assert_eq!(merged.service.count, whole.service.count);
        assert_eq!(merged.service.max_ns, whole.service.max_ns);
        assert_eq!(merged.service.min_ns, whole.service.min_ns);
        assert!((merged.service.mean_ns - whole.service.mean_ns).abs() < 1e-6);
        assert!((merged.service.sd_ns / whole.service.sd_ns - 1.0).abs() < 1e-9);
        for (ours, theirs) in merged.service.quantiles.iter().zip(&whole.service.quantiles) {
            assert_eq!((ours.q, ours.value_ns), (theirs.q, theirs.value_ns));
        }
        assert_eq!(merged.seconds, whole.seconds);
        assert_eq!(merged.spikes.len(), 2);
        assert_eq!(merged.service.encoded, whole.service.encoded);
    }

    #[test]
    fn one_stall_over_many_lanes_is_one_episode() {
        let lane = |lane: u64| {
            let mut turns: Vec<(u64, u64)> =
                (0..200).map(|i| (i * 1_000_000 + lane, 1_000)).collect();
            turns[70].1 = 500_000;
            laps(&turns)
        };
        let merged = OpLaps::merged((0..64).map(lane).collect(), 4).expect("merges");
        assert_eq!(merged.service.count, 64 * 200);
        assert_eq!(merged.service.quantiles[1].episodes, 1, "{:?}", merged.service.quantiles);
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
        assert_eq!(laps(&quick).service.quantiles[1].episodes, 7);
        let merged = OpLaps::merged(vec![laps(&quick), laps(&slow)], 4).expect("merges");
        let tail = merged.service.quantiles[1];
        assert!((499_000..=501_000).contains(&tail.value_ns), "{tail:?}");
        assert_eq!(tail.episodes, 3);
    }

    #[test]
    fn a_part_without_laps_adds_nothing() {
        let merged = OpLaps::merged(vec![laps(&[]), laps(&[(0, 5)]), laps(&[])], 4);
        let merged = merged.expect("merges");
        assert_eq!((merged.service.count, merged.service.max_ns), (1, 5));
        let none = OpLaps::merged(vec![laps(&[]), laps(&[])], 4).expect("merges");
        assert_eq!(none.service.count, 0);
    }

    #[test]
    fn a_torn_histogram_is_told() {
        let mut torn = laps(&[(0, 5)]);
        torn.service.encoded.truncate(9);
        assert!(OpLaps::merged(vec![laps(&[(0, 5)]), torn], 4).is_err());
    }
}
