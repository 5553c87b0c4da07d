//! What a worker said, as part of the trial's record.

use pickfs_model::{TrialRecord, WorkerMessage};

use crate::machine::TrialError;

/// Puts the messages into the record; `Failed` and `Skipped` are the trial's outcome.
pub fn into_record(
    messages: Vec<WorkerMessage>,
    record: &mut TrialRecord,
) -> Result<(), TrialError> {
    let mut verified = false;
    for message in messages {
        match message {
            WorkerMessage::Hello { .. }
            | WorkerMessage::PhaseBegins { .. }
            | WorkerMessage::ColdAsked
            | WorkerMessage::Phase(_)
            | WorkerMessage::Finished => {}
            WorkerMessage::Ready { notes, warmup_ns } => {
                record.notes.extend(notes);
                record.warmup_s = warmup_ns as f64 / 1e9;
            }
            WorkerMessage::Op(op) => record.ops.push(*op),
            WorkerMessage::Load(load) => record.load = Some(load),
            WorkerMessage::Count { name, value } => {
                record.counts.insert(name, value);
            }
            WorkerMessage::Verified { checked } => {
                verified = true;
                record.counts.insert("records_verified".into(), checked as f64);
            }
            WorkerMessage::Failed { reason } => return Err(TrialError::Failed(reason)),
            WorkerMessage::Skipped { reason } => return Err(TrialError::Skipped(reason)),
        }
    }
    match verified {
        true => Ok(()),
        false => Err(TrialError::Failed("the worker verified nothing of what it wrote".into())),
    }
}
