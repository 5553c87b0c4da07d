use base64::{Engine, engine::general_purpose::STANDARD};
use pickfs_record::record::{Distribution, IntervalRow, OpRecord, QUANTILES, QuantileRow, Spike};
use pickfs_record::{Lap, OpLaps, QuantileValue, SecondRow, Summary};

pub fn op_record(laps: OpLaps) -> OpRecord {
    OpRecord {
        op: laps.op,
        service: distribution(laps.service),
        response: laps.response.filter(|summary| summary.count > 0).map(distribution),
        raw_response: laps.raw.filter(|summary| summary.count > 0).map(distribution),
        intervals: laps.seconds.iter().map(interval_row).collect(),
        spikes: laps.spikes.iter().map(spike).collect(),
        interval_log: laps.interval_log,
    }
}

/// A few times as laps, kept exactly: those of a workload whose every lap is a whole program.
pub(crate) fn exact_op_record(op: &str, times_ns: &[u64]) -> OpRecord {
    let mut sorted = times_ns.to_vec();
    sorted.sort_unstable();
    let count = sorted.len();
    let mean_ns = sorted.iter().sum::<u64>() as f64 / count.max(1) as f64;
    let squares: f64 = sorted.iter().map(|time| (*time as f64 - mean_ns).powi(2)).sum();
    let row = |q: &f64| -> Option<QuantileRow> {
        let place = ((q * count as f64).ceil() as usize).clamp(1, count.max(1)) - 1;
        let value_ns = *sorted.get(place)?;
        let is_above = |at: usize| times_ns[at] > value_ns;
        let starts = (0..count).filter(|at| is_above(*at) && (*at == 0 || !is_above(at - 1)));
        Some(QuantileRow { q: *q, value_ns, episodes: starts.count() as u64 })
    };
    let service = Distribution {
        count: count as u64,
        mean_ns,
        sd_ns: (squares / (count.max(2) - 1) as f64).sqrt(),
        min_ns: sorted.first().copied().unwrap_or(0),
        max_ns: sorted.last().copied().unwrap_or(0),
        quantiles: QUANTILES.iter().filter_map(row).collect(),
        ..Distribution::default()
    };
    OpRecord {
        op: op.into(),
        service,
        response: None,
        raw_response: None,
        intervals: Vec::new(),
        spikes: Vec::new(),
        interval_log: String::new(),
    }
}

pub fn op_laps(record: OpRecord) -> Result<OpLaps, String> {
    Ok(OpLaps {
        service: summary(record.service)?,
        response: record.response.map(summary).transpose()?,
        raw: record.raw_response.map(summary).transpose()?,
        seconds: record.intervals.iter().map(second_row).collect(),
        spikes: record.spikes.iter().map(lap).collect(),
        op: record.op,
        interval_log: record.interval_log,
    })
}

fn summary(laps: Distribution) -> Result<Summary, String> {
    let value = |row: &QuantileRow| QuantileValue {
        q: row.q,
        value_ns: row.value_ns,
        episodes: row.episodes,
    };
    Ok(Summary {
        count: laps.count,
        mean_ns: laps.mean_ns,
        sd_ns: laps.sd_ns,
        min_ns: laps.min_ns,
        max_ns: laps.max_ns,
        quantiles: laps.quantiles.iter().map(value).collect(),
        overflow: laps.overflow,
        encoded: STANDARD.decode(&laps.histogram).map_err(|error| error.to_string())?,
    })
}

fn second_row(row: &IntervalRow) -> SecondRow {
    SecondRow {
        second: row.second,
        count: row.count,
        service_min_ns: row.service_min_ns,
        service_p50_ns: row.service_p50_ns,
        service_max_ns: row.service_max_ns,
        response_max_ns: row.response_max_ns,
    }
}

fn lap(spike: &Spike) -> Lap {
    Lap {
        due_ns: spike.due_ns,
        start_ns: spike.start_ns,
        end_ns: spike.end_ns,
        offset_bytes: spike.offset_bytes,
    }
}

fn distribution(summary: Summary) -> Distribution {
    Distribution {
        count: summary.count,
        mean_ns: summary.mean_ns,
        sd_ns: summary.sd_ns,
        min_ns: summary.min_ns,
        max_ns: summary.max_ns,
        quantiles: summary.quantiles.iter().map(quantile_row).collect(),
        overflow: summary.overflow,
        histogram: STANDARD.encode(summary.encoded),
    }
}

fn quantile_row(value: &QuantileValue) -> QuantileRow {
    QuantileRow { q: value.q, value_ns: value.value_ns, episodes: value.episodes }
}

fn interval_row(row: &SecondRow) -> IntervalRow {
    IntervalRow {
        second: row.second,
        count: row.count,
        service_min_ns: row.service_min_ns,
        service_p50_ns: row.service_p50_ns,
        service_max_ns: row.service_max_ns,
        response_max_ns: row.response_max_ns,
    }
}

fn spike(lap: &Lap) -> Spike {
    Spike {
        due_ns: lap.due_ns,
        start_ns: lap.start_ns,
        end_ns: lap.end_ns,
        offset_bytes: lap.offset_bytes,
    }
}

#[cfg(test)]
mod tests {
    use pickfs_record::record::QUANTILES;
    use pickfs_record::{Lap, OpIndex, RecorderOptions, recorder};

    use super::*;

    #[test]
    fn an_operation_without_due_times_has_no_response() {
        let ops = vec!["append".to_string()];
        let (mut laps, keeper) = recorder(&RecorderOptions {
            ops,
            responses: true,
            spikes_max: 1,
            quantiles: QUANTILES.to_vec(),
        });
        laps.begin(0);
        laps.lap(OpIndex(0), Lap { end_ns: 700, ..Lap::default() }, None);
        let record = op_record(keeper.finish(laps.finish()).remove(0));
        assert_eq!((record.service.count, record.service.max_ns), (1, 700));
        assert!(record.response.is_none());
        assert_eq!(record.service.quantiles.len(), QUANTILES.len());
        assert!(!record.service.histogram.is_empty());
        assert_eq!(record.spikes[0].end_ns, 700);
        assert_eq!(op_record(op_laps(record.clone()).unwrap()), record);
    }
}
