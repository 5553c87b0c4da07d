//! A run for others to read: what findings, claims and charts are made of, in a twentieth of its bytes and without what
//! names the machine. Its trials repeat one another, so all is one document, packed as a whole by bzip2, which needs
//! the same few MiB whatever a file from elsewhere says.

use std::{
    collections::BTreeSet,
    io::{self, Read, Write},
};

use bzip2::{Compression, read::BzDecoder, write::BzEncoder};
use pickfs_record::{RunRecord, StallRecord, TrialRecord, environment::REDUCED_KEY};

use crate::nameless::nameless;

/// Of a run, unpacked: a long one of many phases has some twenty MiB.
const UNPACKED_BYTES_MAX: u64 = 64 << 20;

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

pub(crate) fn packed(text: &str) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

pub(crate) fn unpacked(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let room = UNPACKED_BYTES_MAX + 1;
    match BzDecoder::new(bytes).take(room).read_to_end(&mut text)? as u64 {
        read if read < room => Ok(text),
        _ => {
            let mib = UNPACKED_BYTES_MAX >> 20;
            Err(io::Error::other(format!("it unpacks to more than {mib} MiB")))
        }
    }
}
