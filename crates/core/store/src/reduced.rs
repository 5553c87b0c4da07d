//! A run for others to read: what findings, claims and charts are made of, in a tenth of its bytes and without what
//! names the machine. Its records are deflated; all else is as in any run file.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use pickfs_record::{RunRecord, StallRecord, TrialRecord, environment::REDUCED_KEY};

use crate::nameless::nameless;

/// Of all records of a file together, inflated: a long run of many phases has some twenty MiB.
pub(crate) const INFLATED_BYTES_MAX: u64 = 64 << 20;

const LACKS: &str = "logs by the second, histograms, single operations, outputs of programs, tables for SQL, names and \
    paths of the machine and of its programs, values of environment variables";
/// The same findings are made of it.
///
/// # Errors
/// As of [`nameless`].
pub fn reduced(run: &RunRecord) -> serde_json::Result<RunRecord> {
    let mut run = run.clone();
    run.environment.put(REDUCED_KEY, LACKS);
    run.trials.iter_mut().for_each(reduce);
    nameless(run)
}

pub(crate) fn reduce(trial: &mut TrialRecord) {
    trial.steps.iter_mut().for_each(|taken| taken.output.clear());
    let is_disturbed = trial.flags.iter().any(|flag| flag.kind == "disturbed");
    if let Some(others) = &mut trial.disturbance {
        others.seconds.clear();
        // Who it was is told of disturbed trials alone.
        if !is_disturbed {
            others.takers.clear();
            others.disk_takers.clear();
        }
    }
    for op in &mut trial.ops {
        op.spikes.clear();
        op.interval_log.clear();
        let views = [Some(&mut op.service), op.response.as_mut(), op.raw_response.as_mut()];
        views.into_iter().flatten().for_each(|times| times.histogram.clear());
    }
    trial.stalls.iter_mut().for_each(reduce_stalls);
}

/// The ledger stays, with the stacks that it refers to.
fn reduce_stalls(stalls: &mut StallRecord) {
    stalls.ops.iter_mut().for_each(|op| op.worst.clear());
    let causes = stalls.ops.iter().flat_map(|op| &op.causes);
    let causes = causes.flat_map(|row| [row.stack, row.waker_stack]);
    let samples = stalls.ops.iter().flat_map(|op| &op.samples).map(|row| row.stack);
    let kept: BTreeSet<_> = causes.chain(samples).flatten().map(|place| place as usize).collect();
    let stacks = stalls.stacks.iter_mut().enumerate();
    stacks.filter(|(place, _)| !kept.contains(place)).for_each(|(_, stack)| stack.clear());
}

pub(crate) fn deflated(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

/// `room_bytes` is what it may become, and is less afterwards.
pub(crate) fn inflated(bytes: &[u8], room_bytes: &mut u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(bytes).take(*room_bytes + 1).read_to_end(&mut text)? as u64;
    let left = room_bytes.checked_sub(read);
    *room_bytes = left.ok_or_else(|| {
        let mib = INFLATED_BYTES_MAX >> 20;
        io::Error::other(format!("the records of the file inflate to more than {mib} MiB"))
    })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_inflates_without_end_is_refused_and_all_records_share_the_room() {
        let bomb = deflated(&" ".repeat(100_000));
        assert!(bomb.len() < 1_000);
        let mut room = 150_000;
        assert_eq!(inflated(&bomb, &mut room).map(|text| text.len()).ok(), Some(100_000));
        let refused = inflated(&bomb, &mut room).expect_err("no room").to_string();
        assert!(refused.contains("inflate to more than 64 MiB"), "{refused}");
    }
}
