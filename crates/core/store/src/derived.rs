use pickfs_record::{Environment, Outcome, RunRecord, TrialRecord};
use rusqlite::{Connection, Result, params, params_from_iter, types::Value};

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
    for Environment(facts) in [&run.environment, &run.card] {
        for (key, value) in facts {
            connection.execute("INSERT INTO fact VALUES (0, ?1, ?2)", params![key, value])?;
        }
    }
    Ok(())
}

/// What the statements below read: the JSON of a trial is `?1`.
const TRIAL: &str = "WITH t(n) AS (SELECT ?1 ->> 'number'),
  o(n, op, j) AS (SELECT n, value ->> 'op', value FROM t, json_each(?1, '$.ops')),
  views(view) AS (VALUES ('service'), ('response')),
  p(n, at, phase, j) AS (SELECT n, key, value ->> 'phase', value FROM t, json_each(?1, '$.phases')),
  s(n, op, j) AS (SELECT n, value ->> 'op', value FROM t, json_each(?1, '$.stalls.ops'))
";

/// Rows of the derived tables. `{x: a b}` are the fields a and b of the JSON x, under these names; stacks are one
/// text, innermost frame first.
const ROWS: &[&str] = &[
    "op SELECT n, op, view, {j -> view: count mean_ns sd_ns min_ns max_ns} FROM o, views
     WHERE j -> view ->> 'count' IS NOT NULL",
    "quantile SELECT n, op, view, {value: q value_ns episodes}
     FROM o, views, json_each(j, '$.' || view || '.quantiles')",
    "second SELECT n, op, {value: second count service_min_ns service_p50_ns service_max_ns
     response_max_ns} FROM o, json_each(j, '$.intervals')",
    "spike SELECT n, op, {value: due_ns start_ns end_ns offset_bytes} FROM o, json_each(j, '$.spikes')",
    "fact SELECT n, key, value FROM t, json_each(?1, '$.environment')",
    "flag SELECT n, {value: kind text} FROM t, json_each(?1, '$.flags')",
    "counted SELECT n, key, value FROM t, json_each(?1, '$.counts')",
    "phase SELECT n, at, phase, {j: label suite heat}, j ->> '$.outcome.is', {j: is_derived unit work
     real_bytes rate_per_s elapsed_ns start_skew_ns lanes threads cpu_user_ns cpu_system_ns},
     (SELECT coalesce(group_concat(value ->> 'kind', ' '), '') FROM json_each(j, '$.flags')) FROM p",
    "phase_value SELECT n, phase, key, value FROM p, json_each(j, '$.values')",
    "stall SELECT n, op, ?1 ->> '$.stalls.above_ns', {j: operations total_ns on_cpu_ns blocked_ns cpu_wait_ns
     unexplained_ns} FROM s",
    "stall_cause SELECT n, op, c.value ->> 'cause',
     coalesce((SELECT value ->> 'title' FROM json_each(?1, '$.stalls.causes')
               WHERE value ->> 'cause' = c.value ->> 'cause'), c.value ->> 'cause'),
     {c.value: who operations times total_ns max_ns},
     (SELECT coalesce(group_concat(value, ' < '), '')
      FROM json_each(?1, '$.stalls.stacks[' || (c.value ->> 'stack') || ']')),
     (SELECT coalesce(group_concat(value, ' < '), '')
      FROM json_each(?1, '$.stalls.stacks[' || (c.value ->> 'waker_stack') || ']'))
     FROM s, json_each(j, '$.causes') c",
    "slow_operation SELECT n, op, {operation: start_ns end_ns offset_bytes thread}, cause, who, max(ns)
     FROM (SELECT n, op, l.key AS place, l.value AS operation, coalesce(q.value ->> 'cause', '') AS cause,
           coalesce(q.value ->> 'who', '') AS who, coalesce(sum(q.value ->> 'length_ns'), 0) AS ns
           FROM s, json_each(j, '$.worst') l LEFT JOIN json_each(l.value, '$.parts') q
           GROUP BY op, l.key, cause, who) GROUP BY op, place",
];

/// `record` is the trial's JSON.
pub fn put_trial(connection: &Connection, trial: &TrialRecord, record: &str) -> Result<()> {
    for row in ROWS {
        connection.execute(&format!("{TRIAL}INSERT INTO {}", with_fields(row)), [record])?;
    }
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

/// `levels`: a cell, and a column for each axis of the plan.
pub fn put_levels(connection: &Connection, run: &RunRecord) -> Result<()> {
    let axes = || run.plan.axes.iter().map(|axis| axis.name.as_str());
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let columns: Vec<String> = std::iter::once("cell").chain(axes()).map(quoted).collect();
    connection.execute(&format!("CREATE TABLE levels ({})", columns.join(", ")), [])?;
    let row = format!("INSERT INTO levels VALUES ({})", vec!["?"; columns.len()].join(", "));
    for cell in &run.cells {
        let levels = axes().map(|axis| cell.level(axis).unwrap_or_default());
        let values = std::iter::once(cell.id.0.as_str()).chain(levels);
        connection.execute(&row, params_from_iter(values))?;
    }
    Ok(())
}

/// The names of the columns, then the rows; nothing is an empty text.
pub fn rows(connection: &Connection, sql: &str) -> Result<Vec<Vec<String>>> {
    let mut statement = connection.prepare(&with_fields(sql))?;
    let names: Vec<String> = statement.column_names().into_iter().map(String::from).collect();
    let width = names.len();
    let mut found = vec![names];
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let field = |place: usize| -> Result<String> {
            Ok(match row.get::<_, Value>(place)? {
                Value::Integer(number) => number.to_string(),
                Value::Real(number) => number.to_string(),
                Value::Text(text) => text,
                Value::Null | Value::Blob(_) => String::new(),
            })
        };
        found.push((0..width).map(field).collect::<Result<_>>()?);
    }
    Ok(found)
}

fn with_fields(row: &str) -> String {
    let Some((before, rest)) = row.split_once('{') else { return row.into() };
    let Some((fields, after)) = rest.split_once('}') else { return row.into() };
    let (json, names) = fields.split_once(": ").unwrap_or((fields, ""));
    let each: Vec<_> =
        names.split_whitespace().map(|name| format!("{json} ->> '{name}' AS {name}")).collect();
    format!("{before}{}{}", each.join(", "), with_fields(after))
}
