use ::csv::{Error, Writer};
use pickfs_record::{PhaseRecord, TrialRecord};

use crate::{Subject, wording::outcome_text};

const COLUMNS: [&str; 24] = [
    "phase",
    "label",
    "suite",
    "heat",
    "high_impact",
    "derived",
    "unit",
    "outcome",
    "work",
    "rate_per_s",
    "real_bytes",
    "elapsed_ns",
    "elapsed_mean_ns",
    "start_skew_ns",
    "start_skew_p50_ns",
    "lanes",
    "threads",
    "cpu_user_ns",
    "cpu_system_ns",
    "flags",
    "values",
    "reason",
    "trial_outcome",
    "backing",
];

pub fn phases_csv(subject: &Subject) -> Result<String, Error> {
    let axes: Vec<&str> = subject.run.plan.axes.iter().map(|axis| axis.name.as_str()).collect();
    let mut writer = Writer::from_writer(Vec::new());
    let head = ["run", "trial", "block", "attempt", "candidate"];
    writer.write_record(head.iter().chain(&axes).chain(&COLUMNS))?;
    for trial in &subject.run.trials {
        for phase in &trial.phases {
            let mut fields = trial_fields(subject, trial, &axes);
            fields.extend(phase_fields(trial, phase));
            writer.write_record(fields)?;
        }
    }
    let bytes = writer.into_inner().map_err(|error| Error::from(error.into_error()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn trial_fields(subject: &Subject, trial: &TrialRecord, axes: &[&str]) -> Vec<String> {
    let cell = subject.cell(&trial.cell);
    let mut fields = vec![
        subject.run.name.clone(),
        trial.number.to_string(),
        trial.block.to_string(),
        trial.attempt.to_string(),
        cell.map(|cell| cell.candidate.label.clone()).unwrap_or_default(),
    ];
    let level = |axis: &&str| cell.and_then(|cell| cell.level(axis)).unwrap_or("").to_string();
    fields.extend(axes.iter().map(level));
    fields
}

fn phase_fields(trial: &TrialRecord, phase: &PhaseRecord) -> Vec<String> {
    let heat = match phase.heat {
        Some(pickfs_record::Heat::Cold) => "cold",
        Some(pickfs_record::Heat::Hot) => "hot",
        None => "",
    };
    let flags: Vec<&str> = phase.flags.iter().map(|flag| flag.kind.as_str()).collect();
    let values = phase.values.iter().map(|(name, value)| format!("{name}={value}"));
    let outcome = outcome_text(&phase.outcome);
    let (word, reason) = outcome.split_once(": ").unwrap_or((&outcome, ""));
    vec![
        phase.phase.clone(),
        phase.label.clone(),
        phase.suite.clone(),
        heat.into(),
        phase.is_high_impact.to_string(),
        phase.is_derived.to_string(),
        phase.unit.word().into(),
        word.into(),
        phase.work.to_string(),
        phase.rate_per_s.to_string(),
        phase.real_bytes.to_string(),
        phase.elapsed_ns.to_string(),
        phase.elapsed_mean_ns.to_string(),
        phase.start_skew_ns.to_string(),
        phase.start_skew_p50_ns.to_string(),
        phase.lanes.to_string(),
        phase.threads.to_string(),
        phase.cpu_user_ns.to_string(),
        phase.cpu_system_ns.to_string(),
        flags.join(" "),
        values.collect::<Vec<_>>().join(" "),
        reason.into(),
        outcome_text(&trial.outcome),
        trial.backing.to_string(),
    ]
}
