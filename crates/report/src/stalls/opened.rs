use pickfs_analysis::stalls::{OpTable, WorstLap};
use pickfs_model::{
    quantity::duration_text,
    stall::{LapPart, PartKind, StallRecord},
};

use super::{bars, causes::Causes, words};
use crate::{
    Subject,
    chart::Look,
    html::markup::Page,
    svg::{Setting, svg},
    wording::percent,
};

const BARS: usize = 8;
const OPENED: usize = 5;
const NOTES: usize = 8;
const PARTS: usize = 12;

pub fn write(page: &mut Page, subject: &Subject, op: &OpTable) {
    let causes = Causes::of(&subject.stalls);
    let Some(scene) = bars::draw(op, &causes, BARS, Look::PAGE) else { return };
    page.raw("<figure>");
    page.raw(&svg(&scene, Setting::Page));
    page.raw("</figure>\n");
    for worst in op.worst.iter().take(OPENED) {
        let trial = subject.run.trials.iter().find(|trial| trial.number == worst.trial);
        if let Some(record) = trial.and_then(|trial| trial.stalls.as_ref()) {
            lap(page, worst, record, &causes);
        }
    }
}

fn lap(page: &mut Page, worst: &WorstLap, record: &StallRecord, causes: &Causes) {
    page.raw("<details class=\"lap\">");
    page.element("summary", &title(worst, causes));
    page.open_table(&["after", "lasted", "what", "cause", "by", "asleep in", "woken from"]);
    let parts = &worst.lap.parts;
    let shortest_ns = shortest_shown(parts);
    let (mut after_ns, mut left) = (0, (0u64, 0u64));
    for part in parts {
        if part.length_ns >= shortest_ns {
            row(page, part, after_ns, record, causes);
        } else {
            left = (left.0 + 1, left.1 + part.length_ns);
        }
        after_ns += part.length_ns;
    }
    page.close_table();
    if left.0 > 0 {
        let length = duration_text(left.1 as f64);
        page.element("p class=\"muted\"", &format!("And {} shorter parts, {length}.", left.0));
    }
    let meanwhile = words::meanwhile(&worst.lap, NOTES);
    if !meanwhile.is_empty() {
        page.element("p", "Meanwhile, on the whole machine:");
        page.raw("<ul>");
        meanwhile.iter().for_each(|text| page.element("li", text));
        page.raw("</ul>\n");
    }
    page.raw("</details>\n");
}

fn title(worst: &WorstLap, causes: &Causes) -> String {
    let lap = &worst.lap;
    let length_ns = lap.end_ns.saturating_sub(lap.start_ns);
    let (cause, who, part_ns) = lap.leading().unwrap_or(("", "", 0));
    let by = if who.is_empty() { String::new() } else { format!(", by {who}") };
    format!(
        "{} at {:.3} s of trial {}: {} % {}{by}",
        duration_text(length_ns as f64),
        worst.at_ns as f64 / 1e9,
        worst.trial,
        percent(part_ns as f64 / length_ns.max(1) as f64),
        causes.title(cause)
    )
}

fn shortest_shown(parts: &[LapPart]) -> u64 {
    let mut lengths_ns: Vec<u64> = parts.iter().map(|part| part.length_ns).collect();
    lengths_ns.sort_unstable_by_key(|length_ns| std::cmp::Reverse(*length_ns));
    lengths_ns.get(PARTS - 1).copied().unwrap_or(0)
}

fn row(page: &mut Page, part: &LapPart, after_ns: u64, record: &StallRecord, causes: &Causes) {
    page.raw("<tr>");
    page.element("td", &duration_text(after_ns as f64));
    page.element("td", &duration_text(part.length_ns as f64));
    page.element("td class=\"word\"", kind_text(part.kind));
    page.element("td class=\"word\"", causes.title(&part.cause));
    page.element("td class=\"word\"", &part.who);
    for stack in [record.stack(part.stack), record.stack(part.waker_stack)] {
        page.element("td class=\"text stack\"", &stack.join(" < "));
    }
    page.raw("</tr>\n");
}

fn kind_text(kind: PartKind) -> &'static str {
    match kind {
        PartKind::OnCpu => "on a processor",
        PartKind::Blocked => "blocked",
        PartKind::CpuWait => "waiting for a processor",
        PartKind::Unexplained => "not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_twelve_longest_parts_have_rows() {
        let part = |length_ns| LapPart { length_ns, ..LapPart::default() };
        let many: Vec<LapPart> = (1..=20).map(part).collect();
        assert_eq!(shortest_shown(&many), 9);
        assert_eq!(shortest_shown(&many[..3]), 0);
    }
}
