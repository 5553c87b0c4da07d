//! Counts and times are those of the kernel's trace points at the border of each call. Of several
//! runs in a trial the calls are added up; why slow ones were slow is kept of the last run.

use pickfs_record::{CallsRecord, record::OpRecord};

use super::run::Ran;
use crate::{fault::Fault, measurement::Measured, phase::merged_ops};

pub(super) fn add(runs: &mut [Ran], measured: &mut Measured) -> Result<(), Fault> {
    let mut rows: Vec<Vec<OpRecord>> = Vec::new();
    let (mut calls, mut cost_ns, mut wall_ns, mut cut) = (0, 0.0, 0, 0);
    for ran in runs {
        match ran.calls.take() {
            None => return Ok(()),
            Some(Err(refused)) => {
                measured.notes.push(refused);
                return Ok(());
            }
            Some(Ok(seen)) => {
                calls += seen.calls.counts.calls;
                cut += seen.calls.counts.cut + seen.calls.counts.events_lost;
                cost_ns += seen.calls.cost_ns * seen.calls.counts.calls as f64;
                wall_ns += ran.wall_ns;
                rows.push(records(seen.calls));
                measured.stalls = seen.stalls.or(measured.stalls.take());
            }
        }
    }
    let runs = rows.len().max(1) as f64;
    let rows = merged_ops(rows, 0).map_err(|reason| Fault::Failed { reason })?;
    measured.ops.extend(rows);
    let percent = 100.0 * cost_ns / wall_ns.max(1) as f64;
    measured.figures.insert("file calls".into(), calls as f64 / runs);
    measured.figures.insert("tracing percent of wall".into(), percent);
    measured.figures.insert("tracing us a call".into(), cost_ns / calls.max(1) as f64 / 1e3);
    if percent >= COST_TOLD_PERCENT {
        measured.notes.push(format!(
            "tracing the calls took {COST_TOLD_PERCENT} % of the wall time or more, see the figures: \
             leave --calls out for times"
        ));
    }
    if cut > 0 {
        measured.counts.insert("call_events_lost".into(), cut as f64);
        measured.notes.push("some calls were not seen whole: counts of calls are too low".into());
    }
    Ok(())
}

const COST_TOLD_PERCENT: f64 = 2.0;

fn records(seen: CallsRecord) -> Vec<OpRecord> {
    let record = |row: pickfs_record::calls::CallRow| OpRecord {
        op: row.call,
        service: row.service,
        ..OpRecord::default()
    };
    seen.calls.into_iter().filter(|row| row.service.count > 0).map(record).collect()
}
