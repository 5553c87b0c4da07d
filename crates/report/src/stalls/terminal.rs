use pickfs_analysis::stalls::{CauseLine, OpTable, StallTable, WorstLap};
use pickfs_model::{
    quantity::duration_text,
    stall::{LapPart, PartKind},
};

use super::words;
use crate::{
    terminal::{
        grid::{Align, Grid},
        paragraph::{hanging, wrap},
    },
    wording::percent,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StallScreen {
    pub columns: usize,
    pub laps: usize,
    pub stacks: bool,
}

/// Causes with less than this share of the slow time share one line.
const SHARE_MIN: f64 = 0.005;
const HOLDERS: usize = 3;
const NOTES: usize = 3;
const BAR: usize = 40;

pub fn stall_screen(tables: &[StallTable], screen: &StallScreen) -> String {
    let screen = StallScreen { columns: screen.columns.max(60), ..*screen };
    let mut out = String::new();
    for table in tables {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&table_text(table, &screen));
    }
    if out.is_empty() {
        out.push_str("nothing was explained: run the plan with --explain\n");
    }
    out
}

fn table_text(table: &StallTable, screen: &StallScreen) -> String {
    let mut out = String::new();
    if table.ops.is_empty() {
        let above = duration_text(table.above_ns as f64);
        out.push_str(&format!("{}: no lap above {above}\n", table.subject));
    }
    for op in &table.ops {
        out.push_str(&op_text(table, op, screen));
    }
    out.push_str(&lost_text(table, screen));
    out
}

fn op_text(table: &StallTable, op: &OpTable, screen: &StallScreen) -> String {
    let of_all = match op.laps_all {
        0 => String::new(),
        all => format!(" of {all}"),
    };
    let mut out = format!(
        "{}: {}, {}{of_all} laps above {}, {} in all\n",
        table.subject,
        op.op,
        op.sums.laps,
        duration_text(table.above_ns as f64),
        duration_text(op.sums.total_ns as f64),
    );
    let grid = Grid {
        columns: vec![Align::Right, Align::Right, Align::Right, Align::Right, Align::Left],
        rows: rows(op, screen),
    };
    for line in grid.lines().into_iter().flatten() {
        out.push_str(&format!("  {line}\n"));
    }
    if let Some(text) = words::samples(op) {
        out.push_str(&hanging("  samples", &text, 11, screen.columns));
    }
    if screen.laps > 0 {
        out.push_str(
            "  slowest laps: # blocked, ~ waiting for a processor, . on it, ? not known\n",
        );
    }
    for worst in op.worst.iter().take(screen.laps) {
        out.push_str(&lap_text(worst));
        for text in words::meanwhile(&worst.lap, NOTES) {
            out.push_str(&hanging("            meanwhile", &text, 22, screen.columns));
        }
    }
    for line in op.causes.iter().filter(|line| line.share >= 0.1) {
        let advice = format!("{}: {}", line.words.title, line.words.advice);
        out.push_str(&hanging("  advice", &advice, 10, screen.columns));
    }
    out
}

fn rows(op: &OpTable, screen: &StallScreen) -> Vec<Vec<String>> {
    let mut rows = vec![["share", "total", "times", "max", "cause"].map(String::from).to_vec()];
    let (shown, small): (Vec<_>, Vec<_>) =
        op.causes.iter().partition(|line| line.share >= SHARE_MIN);
    rows.extend(shown.into_iter().map(|line| row(line, screen)));
    if !small.is_empty() {
        let total_ns: u64 = small.iter().map(|line| line.sum.total_ns).sum();
        let times: u64 = small.iter().map(|line| line.sum.times).sum();
        let max_ns = small.iter().map(|line| line.sum.max_ns).max().unwrap_or(0);
        let share = small.iter().map(|line| line.share).sum();
        let text = format!("{} smaller causes", small.len());
        rows.push(figures(share, total_ns, times, max_ns, text));
    }
    rows
}

fn figures(share: f64, total_ns: u64, times: u64, max_ns: u64, text: String) -> Vec<String> {
    vec![
        format!("{} %", percent(share)),
        duration_text(total_ns as f64),
        times.to_string(),
        duration_text(max_ns as f64),
        text,
    ]
}

fn row(line: &CauseLine, screen: &StallScreen) -> Vec<String> {
    let limit = screen.columns.saturating_sub(44).max(30);
    let mut text = wrap(&line.words.title, limit);
    let named: Vec<_> = line.by.iter().filter(|row| !row.who.is_empty()).collect();
    for row in named.iter().take(HOLDERS) {
        let share = match named.len() {
            1 => String::new(),
            _ => format!(" ({} %)", percent(row.total_ns as f64 / line.sum.total_ns.max(1) as f64)),
        };
        text.extend(wrap(&format!("by {}{share}", row.who), limit));
    }
    if named.len() > HOLDERS {
        text.push(format!("and by {} others", named.len() - HOLDERS));
    }
    if screen.stacks {
        text.extend(stack_lines("asleep in", &line.stack, limit));
        text.extend(stack_lines("woken from", &line.waker_stack, limit));
    }
    let sum = &line.sum;
    figures(line.share, sum.total_ns, sum.times, sum.max_ns, text.join("\n"))
}

fn stack_lines(name: &str, stack: &[String], limit: usize) -> Vec<String> {
    match stack.is_empty() {
        true => Vec::new(),
        false => wrap(&format!("{name} {}", stack.join(" < ")), limit),
    }
}

fn lap_text(worst: &WorstLap) -> String {
    let lap = &worst.lap;
    let length_ns = lap.end_ns - lap.start_ns;
    let place = match worst.trial {
        0 => String::new(),
        trial => format!(" of trial {trial}"),
    };
    let (cause, who, part_ns) = lap.leading().unwrap_or(("", "", 0));
    let by = if who.is_empty() { String::new() } else { format!(" by {who}") };
    format!(
        "  {:>8} at {:.3} s{place}  |{}|\n{:12}{} % {cause}{by}\n",
        duration_text(length_ns as f64),
        worst.at_ns as f64 / 1e9,
        bar(&lap.parts),
        "",
        percent(part_ns as f64 / length_ns.max(1) as f64),
    )
}

fn bar(parts: &[LapPart]) -> String {
    let total_ns: u64 = parts.iter().map(|part| part.length_ns).sum();
    let mut out = String::new();
    let mut passed_ns = 0;
    for part in parts {
        passed_ns += part.length_ns;
        let upto = (passed_ns as f64 / total_ns.max(1) as f64 * BAR as f64).round() as usize;
        let mark = match part.kind {
            PartKind::OnCpu => '.',
            PartKind::Blocked => '#',
            PartKind::CpuWait => '~',
            PartKind::Unexplained => '?',
        };
        out.extend(std::iter::repeat_n(mark, upto.saturating_sub(out.len())));
    }
    out
}

fn lost_text(table: &StallTable, screen: &StallScreen) -> String {
    let mut out = hanging("  seen", &words::counted(table), 10, screen.columns);
    if let Some(tier) = words::tier(table) {
        out.push_str(&hanging("  read", &tier, 10, screen.columns));
    }
    for missing in &table.missing {
        out.push_str(&hanging("  not seen", missing, 12, screen.columns));
    }
    out
}
