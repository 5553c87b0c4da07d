//! Sums over the trials of a cell; `share` is of the time of the operation's slow operations. The stacks
//! are those of the longest wait for the cause, innermost frame first. By trial they are in the
//! run file's table `stall_cause`.

use csv::Writer;

use crate::Subject;

const HEADER: [&str; 16] = [
    "run",
    "cell",
    "candidate",
    "levels",
    "trials",
    "op",
    "above_ns",
    "cause",
    "title",
    "who",
    "operations",
    "times",
    "total_ns",
    "share",
    "max_ns",
    "stack",
];

pub fn stalls_csv(subject: &Subject) -> Result<String, csv::Error> {
    let mut writer = Writer::from_writer(Vec::new());
    writer.write_record(HEADER.iter().copied().chain(["waker_stack"]))?;
    for table in &subject.stalls {
        let cell = table.cell.as_ref().and_then(|id| subject.cell(id));
        let label = cell.map(|cell| cell.candidate.label.clone()).unwrap_or_default();
        let levels = cell.map(|cell| cell.levels_text()).unwrap_or_default();
        let id = table.cell.as_ref().map(|id| id.0.clone()).unwrap_or_default();
        for op in &table.ops {
            let slow_ns = op.sums.total_ns.max(1) as f64;
            for line in &op.causes {
                for row in &line.by {
                    writer.write_record([
                        subject.run.name.clone(),
                        id.clone(),
                        label.clone(),
                        levels.clone(),
                        table.trials.to_string(),
                        op.op.clone(),
                        table.above_ns.to_string(),
                        line.words.cause.clone(),
                        line.words.title.clone(),
                        row.who.clone(),
                        row.operations.to_string(),
                        row.times.to_string(),
                        row.total_ns.to_string(),
                        format!("{:.6}", row.total_ns as f64 / slow_ns),
                        row.max_ns.to_string(),
                        line.stack.join(" < "),
                        line.waker_stack.join(" < "),
                    ])?;
                }
            }
        }
    }
    crate::csv::text(writer)
}
