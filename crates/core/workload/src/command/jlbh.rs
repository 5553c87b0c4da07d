//! The table that JLBH prints behind each of its runs:
//!
//! ```text
//! -------- BENCHMARK RESULTS (RUN 1) --------
//! Correcting for co-ordinated:true
//! End to End: (100,000)         50/90 99/99.9 99.99 - worst was 0.46 / 0.85  1.4 / 12  30 - 84
//! ```
//!
//! Times are microseconds. It tells quantiles alone, so those of several runs are not merged: the median is taken.

use pickfs_record::record::{OpRecord, QUANTILES, QuantileRow, Times};

/// One run of one probe.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Run {
    count: u64,
    /// From when it was to begin; else from its beginning.
    is_from_due: bool,
    /// Share of the operations, and nanoseconds.
    quantiles: Vec<(f64, u64)>,
    worst_ns: u64,
}

pub(super) const END_TO_END: &str = "End to End";
/// More than anybody prints.
const RUNS_MAX: usize = 10_000;

pub(super) fn runs(output: &str, probe: &str) -> Result<Vec<Run>, String> {
    let (mut runs, mut probes, mut is_from_due) = (Vec::new(), Vec::new(), false);
    for line in output.lines().map(str::trim) {
        if line.contains("BENCHMARK RESULTS (RUN ") {
            is_from_due = false;
        } else if let Some(told) = line.strip_prefix("Correcting for co-ordinated:") {
            is_from_due = told.trim() == "true";
        }
        let Some((name, count, numbers)) = row(line) else { continue };
        if name != probe {
            probes.push(name);
            continue;
        }
        let (quantiles, worst_ns) =
            times(numbers).map_err(|why| format!("the row of `{probe}`: {why}"))?;
        runs.push(Run { count, is_from_due, quantiles, worst_ns });
        if runs.len() > RUNS_MAX {
            return Err(format!("more than {RUNS_MAX} runs of `{probe}`"));
        }
    }
    probes.sort_unstable();
    probes.dedup();
    probes.truncate(8);
    match (runs.is_empty(), probes.is_empty()) {
        (false, _) => Ok(runs),
        (true, true) => Err("no table of JLBH on standard output".into()),
        (true, false) => {
            Err(format!("no probe `{probe}` in the table of JLBH; it has {}", probes.join(", ")))
        }
    }
}

/// Name, count and the rest of `End to End: (100,000)   50/90 ... was ...`.
fn row(line: &str) -> Option<(&str, u64, &str)> {
    let (head, _) = line.split_once(" 50/90 ")?;
    let (name, count) = head.trim_end().strip_suffix(')')?.rsplit_once('(')?;
    let digits: String = count.chars().filter(char::is_ascii_digit).collect();
    Some((name.trim_end().trim_end_matches(':'), digits.parse().ok()?, &line[head.len()..]))
}

fn times(row: &str) -> Result<(Vec<(f64, u64)>, u64), String> {
    let (names, numbers) = row.split_once(" was ").ok_or("no numbers behind `was`")?;
    let words = |of: &str| -> Vec<String> {
        of.split([' ', '/', '-']).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    };
    let (names, numbers) = (words(names), words(numbers));
    if names.len() != numbers.len() || names.last().is_none_or(|name| name != "worst") {
        return Err(format!("{} names and {} numbers", names.len(), numbers.len()));
    }
    let mut quantiles = Vec::new();
    let mut worst_ns = 0;
    for (name, number) in names.iter().zip(&numbers) {
        let Some(value_ns) = nanoseconds(number)? else { continue };
        match name.parse::<f64>() {
            Ok(percent) => quantiles.push((percent / 100.0, value_ns)),
            Err(_) => worst_ns = value_ns,
        }
    }
    Ok((quantiles, worst_ns))
}

/// Thousands have commas, from 2,560 us on; none where the histogram did not reach so far.
fn nanoseconds(text: &str) -> Result<Option<u64>, String> {
    if matches!(text, "∞" | "Infinity") {
        return Ok(None);
    }
    let plain: String = text.chars().filter(|sign| *sign != ',').collect();
    let micros = plain.parse::<f64>().ok().filter(|micros| (0.0..1e12).contains(micros));
    let micros = micros.ok_or_else(|| format!("`{text}` is no time in microseconds"))?;
    if plain.len() < text.len() && micros < 2_560.0 {
        return Err(format!("`{text}` has a decimal comma; run java with -Duser.language=en"));
    }
    Ok(Some((micros * 1_000.0).round() as u64))
}

/// An episode a run, at least, where something lies beyond: it keeps no order.
pub(super) fn record(op: &str, runs: &[Run]) -> OpRecord {
    let quantile = |&q: &f64| {
        let is_q = |row: &&(f64, u64)| (row.0 - q).abs() < 1e-9;
        let values: Vec<u64> = runs
            .iter()
            .filter_map(|run| run.quantiles.iter().find(is_q))
            .map(|row| row.1)
            .collect();
        let beyond = runs.iter().filter(|run| run.count as f64 * (1.0 - q) >= 1.0);
        // Not of a part of the runs: they would not be the same ones on each candidate.
        let is_whole = !values.is_empty() && values.len() == runs.len();
        is_whole.then(|| QuantileRow {
            q,
            value_ns: median(values),
            episodes: beyond.count() as u64,
        })
    };
    let times = Times {
        count: runs.iter().map(|run| run.count).fold(0, u64::saturating_add),
        max_ns: runs.iter().map(|run| run.worst_ns).max().unwrap_or(0),
        quantiles: QUANTILES.iter().filter_map(quantile).collect(),
        ..Times::default()
    };
    let op = OpRecord { op: op.into(), ..OpRecord::default() };
    match runs.iter().all(|run| run.is_from_due) {
        true => OpRecord { response: Some(times.clone()), raw_response: Some(times), ..op },
        false => OpRecord { service: times, ..op },
    }
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    low + (high - low) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn table(run: u32, numbers: &str) -> String {
        format!(
            "Warm up complete (50000 iterations took 0.4s)\n\
             ------- BENCHMARK RESULTS (RUN {run}) -------\n\
             Run time: 10.0s, distribution: NORMAL\n\
             Correcting for co-ordinated:true\n\
             Target throughput:10000/s = 1 message every 100us\n\
             End to End: (100,000)                           50/90 99/99.9 99.99 - worst was {numbers}\n\
             append (100,000)                                50/90 99/99.9 99.99 - worst was 0.125 / 0.2  1 / 2  3 - 4\n\
             OS Jitter (2,222)                               50/90 99/99.9 99.99 - worst was 6.2 / 9.1  19.4 / 90  3,120 - 3,120\n"
        )
    }

    fn both() -> String {
        table(1, "0.460 / 0.85  1.4 / 12.2  30 - 3,000")
            + &table(2, "0.480 / 0.95  1.4 / 14.2  ∞ - 84")
    }

    #[test]
    fn runs_are_one_operation_and_what_was_corrected_is_a_response_time() {
        let op = record("order", &runs(&both(), END_TO_END).unwrap());
        let times = op.response.as_ref().unwrap();
        assert_eq!((op.service.count, times.count, times.max_ns), (0, 200_000, 3_000_000));
        let rows: Vec<_> =
            times.quantiles.iter().map(|row| (row.q, row.value_ns, row.episodes)).collect();
        let wanted = [(0.5, 470, 2), (0.9, 900, 2), (0.99, 1_400, 2), (0.999, 13_200, 2)];
        assert_eq!(rows, wanted, "one run has no p99.99");
        assert_eq!(op.raw_response, op.response);
        let plain = both().replace("co-ordinated:true", "co-ordinated:false");
        let op = record("order", &runs(&plain, "append").unwrap());
        assert_eq!((op.service.count, op.response), (200_000, None));
        assert_eq!(op.service.quantile(0.5).unwrap().value_ns, 125);
    }

    #[test]
    fn what_is_no_table_is_told() {
        assert_eq!(runs("hello", END_TO_END), Err("no table of JLBH on standard output".into()));
        let error = runs(&both(), "reply").unwrap_err();
        assert!(error.ends_with("it has End to End, OS Jitter, append"), "{error}");
        let comma = runs(&both().replace("0.460", "0,460"), END_TO_END).unwrap_err();
        assert!(comma.contains("decimal comma; run java with"), "{comma}");
        let short = runs(&both().replace("99.99 - ", ""), END_TO_END).unwrap_err();
        assert!(short.contains("5 names and 6 numbers"), "{short}");
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(
            name in "(End to End: )?\\PC{0,6}", numbers in "( was )?([0-9,.∞ /-]{0,8}[/-]){0,7}",
        ) {
            let text = format!("{name}(1,0) 50/90 99/99.9 99.99 - worst{numbers}");
            if let Ok(runs) = runs(&text, END_TO_END) {
                let _ = record("a", &runs);
            }
        }
    }
}
