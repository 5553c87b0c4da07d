use pickfs_model::quantity::{duration_text, grouped};

use super::{html::holders, words};
use crate::{
    Subject,
    markdown::{line, text},
    wording::percent,
};

/// Causes with a smaller share of the slow time are left out; the CSV has them.
const SHARE_MIN: f64 = 0.01;

pub fn write(subject: &Subject) -> String {
    if subject.stalls.is_empty() {
        return String::new();
    }
    let mut out = String::from("\n### Why laps were slow\n");
    for (title, advice) in words::advice(&subject.stalls) {
        out.push_str(&format!("\n- {}: {}", text(&title), text(&advice)));
    }
    out.push('\n');
    for table in &subject.stalls {
        for op in &table.ops {
            out.push_str(&format!(
                "\n{}, {}.\n\n",
                text(&table.subject),
                text(&words::about(table, op))
            ));
            out.push_str(&line(&["share", "total", "times", "longest", "cause", "by"]));
            out.push_str("| --: | --: | --: | --: | :-- | :-- |\n");
            for cause in op.causes.iter().filter(|cause| cause.share >= SHARE_MIN) {
                out.push_str(&line(&[
                    format!("{} %", percent(cause.share)),
                    duration_text(cause.sum.total_ns as f64),
                    grouped(cause.sum.times as i64),
                    duration_text(cause.sum.max_ns as f64),
                    cause.words.title.clone(),
                    holders(cause),
                ]));
            }
        }
        for samples in table.ops.iter().filter_map(words::samples) {
            out.push_str(&format!("\n{}: {}\n", text(&table.subject), text(&samples)));
        }
        for seen in words::seen(table) {
            out.push_str(&format!("\n{}: {}\n", text(&table.subject), text(&seen)));
        }
    }
    out
}
