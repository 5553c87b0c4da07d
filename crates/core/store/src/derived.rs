use pickfs_record::{
    Environment, Heat, Outcome, PhaseRecord, RunRecord, StallRecord, TrialRecord,
    record::{OpRecord, Times},
};
use rusqlite::{Connection, Result, params};

pub fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "finished",
        Outcome::Failed { .. } => "failed",
        Outcome::Skipped { .. } => "skipped",
    }
}

pub fn put_run(connection: &Connection, run: &RunRecord) -> Result<()> {
    for cell in &run.cells {
        connection.execute(
            "INSERT INTO cell VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                cell.id.0,
                cell.candidate.label,
                cell.candidate.fs,
                cell.candidate.to_string(),
                cell.workload.name,
                cell.workload.version,
                cell.levels_text(),
                cell.durability.to_string(),
            ],
        )?;
    }
    put_facts(connection, 0, &run.environment)?;
    put_facts(connection, 0, &run.card)
}

pub fn put_trial(connection: &Connection, trial: &TrialRecord) -> Result<()> {
    for op in &trial.ops {
        put_op(connection, trial.number, op)?;
    }
    put_facts(connection, trial.number, &trial.environment)?;
    put_steps(connection, trial)?;
    for (position, phase) in trial.phases.iter().enumerate() {
        put_phase(connection, trial.number, position, phase)?;
    }
    for flag in &trial.flags {
        connection.execute(
            "INSERT INTO flag VALUES (?1, ?2, ?3)",
            params![trial.number, flag.kind, flag.text],
        )?;
    }
    if let Some(stalls) = &trial.stalls {
        put_stalls(connection, trial.number, stalls)?;
    }
    for (name, value) in &trial.counts {
        connection.execute(
            "INSERT INTO counted VALUES (?1, ?2, ?3)",
            params![trial.number, name, value],
        )?;
    }
    Ok(())
}

fn put_phase(
    connection: &Connection,
    trial: u32,
    position: usize,
    phase: &PhaseRecord,
) -> Result<()> {
    let heat = phase.heat.map(|heat| match heat {
        Heat::Cold => "cold",
        Heat::Hot => "hot",
    });
    let flags: Vec<&str> = phase.flags.iter().map(|flag| flag.kind.as_str()).collect();
    connection.execute(
        "INSERT INTO phase VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18, ?19)",
        params![
            trial,
            position as i64,
            phase.phase,
            phase.label,
            phase.suite,
            heat,
            outcome_name(&phase.outcome),
            phase.is_derived,
            phase.unit.word(),
            phase.work,
            phase.real_bytes as i64,
            phase.rate_per_s,
            phase.elapsed_ns as i64,
            phase.start_skew_ns as i64,
            phase.lanes,
            phase.threads,
            phase.cpu_user_ns as i64,
            phase.cpu_system_ns as i64,
            flags.join(" "),
        ],
    )?;
    for (name, value) in &phase.values {
        connection.execute(
            "INSERT INTO phase_value VALUES (?1, ?2, ?3, ?4)",
            params![trial, phase.phase, name, value],
        )?;
    }
    Ok(())
}

fn put_op(connection: &Connection, trial: u32, op: &OpRecord) -> Result<()> {
    put_view(connection, trial, &op.op, "service", &op.service)?;
    if let Some(response) = &op.response {
        put_view(connection, trial, &op.op, "response", response)?;
    }
    for row in &op.intervals {
        connection.execute(
            "INSERT INTO second VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                trial,
                op.op,
                row.second,
                row.count as i64,
                row.service_min_ns as i64,
                row.service_p50_ns as i64,
                row.service_max_ns as i64,
                row.response_max_ns as i64
            ],
        )?;
    }
    for spike in &op.spikes {
        connection.execute(
            "INSERT INTO spike VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                trial,
                op.op,
                spike.due_ns as i64,
                spike.start_ns as i64,
                spike.end_ns as i64,
                spike.offset_bytes as i64
            ],
        )?;
    }
    Ok(())
}

fn put_view(connection: &Connection, trial: u32, op: &str, view: &str, laps: &Times) -> Result<()> {
    connection.execute(
        "INSERT INTO op VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            trial,
            op,
            view,
            laps.count as i64,
            laps.mean_ns,
            laps.sd_ns,
            laps.min_ns as i64,
            laps.max_ns as i64
        ],
    )?;
    for row in &laps.quantiles {
        connection.execute(
            "INSERT INTO quantile VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![trial, op, view, row.q, row.value_ns as i64, row.episodes as i64],
        )?;
    }
    Ok(())
}

/// Stacks are one text, innermost frame first.
fn put_stalls(connection: &Connection, trial: u32, stalls: &StallRecord) -> Result<()> {
    for op in &stalls.ops {
        connection.execute(
            "INSERT INTO stall VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                trial,
                op.op,
                stalls.above_ns as i64,
                op.laps as i64,
                op.total_ns as i64,
                op.on_cpu_ns as i64,
                op.blocked_ns as i64,
                op.cpu_wait_ns as i64,
                op.unexplained_ns as i64,
            ],
        )?;
        for row in &op.causes {
            let title = stalls.words(&row.cause).map_or(row.cause.as_str(), |words| &words.title);
            connection.execute(
                "INSERT INTO stall_cause VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
                params![
                    trial,
                    op.op,
                    row.cause,
                    title,
                    row.who,
                    row.laps as i64,
                    row.times as i64,
                    row.total_ns as i64,
                    row.max_ns as i64,
                    stalls.stack(row.stack).join(" < "),
                    stalls.stack(row.waker_stack).join(" < "),
                ],
            )?;
        }
        for lap in &op.worst {
            let (cause, who, cause_ns) = lap.leading().unwrap_or(("", "", 0));
            connection.execute(
                "INSERT INTO slow_lap VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                params![
                    trial,
                    op.op,
                    lap.start_ns as i64,
                    lap.end_ns as i64,
                    lap.offset_bytes as i64,
                    lap.thread,
                    cause,
                    who,
                    cause_ns as i64,
                ],
            )?;
        }
    }
    Ok(())
}

fn put_facts(connection: &Connection, trial: u32, facts: &Environment) -> Result<()> {
    for (key, value) in &facts.0 {
        connection.execute("INSERT INTO fact VALUES (?1, ?2, ?3)", params![trial, key, value])?;
    }
    Ok(())
}

fn put_steps(connection: &Connection, trial: &TrialRecord) -> Result<()> {
    for (position, taken) in trial.steps.iter().enumerate() {
        connection.execute(
            "INSERT INTO step VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![
                trial.number,
                position as i64,
                taken.step.purpose,
                taken.step.action.to_string(),
                taken.elapsed_ms,
                taken.succeeded,
                taken.output
            ],
        )?;
    }
    Ok(())
}
