use pickfs_record::finding::{Panel, PhaseRow, Row};

use super::{
    footnotes::lost_word,
    words::{rate_text, unit_name},
};
use crate::{
    Subject,
    chart::{
        Look, Scene, Unit,
        strip::{Line, Strip, dots},
    },
};

/// Phases of which a panel may have so many before pictures are kept to the ones that matter most.
const PHASES_MAX: usize = 32;

pub fn charted(panel: &Panel) -> Vec<&PhaseRow> {
    let few = panel.phases.len() <= PHASES_MAX;
    panel.phases.iter().filter(|phase| few || phase.is_high_impact || phase.is_derived).collect()
}

/// The rate of each trial in one phase; derived phases have no trials of their own, but a range.
pub fn draw(
    subject: &Subject,
    panel: &Panel,
    phase: &PhaseRow,
    (look, most): (Look, usize),
) -> Option<Scene> {
    phase.cells.iter().find_map(|cell| cell.rate)?;
    let at = match panel.title.as_str() {
        title if look.alone && !title.is_empty() => format!(" · {title}"),
        _ => String::new(),
    };
    let rows = panel.rows.iter().enumerate();
    let lines = rows.map(|(index, row)| line(subject, panel, phase, (index, row)));
    let mut lines: Vec<Line> = lines.collect();
    let middle = |line: &Line| line.value.map_or(0.0, |value| value.median);
    lines.sort_by(|a, b| middle(b).total_cmp(&middle(a)));
    lines.truncate(most);
    let strip = Strip {
        title: format!("{}, {}{at}", phase.phase, unit_name(phase.unit)),
        unit: Unit::Count,
        is_longer_better: true,
        lines,
    };
    strip.draw(look)
}

fn line(subject: &Subject, panel: &Panel, phase: &PhaseRow, (index, row): (usize, &Row)) -> Line {
    let cell = &phase.cells[index];
    let scale = if unit_name(phase.unit) == "MB/s" { 1e-6 } else { 1.0 };
    let of = |trial: &pickfs_record::TrialRecord| {
        let found = trial.phase(&phase.phase)?;
        let text = || format!("{}: {}", row.label, rate_text(phase.unit, found.rate_per_s));
        found.is_finished().then(|| (found.rate_per_s * scale, text()))
    };
    let value = cell.rate.map(|rate| pickfs_record::finding::Spread {
        median: rate.median * scale,
        low: rate.low * scale,
        high: rate.high * scale,
    });
    let said = match (cell.rate, &cell.failure) {
        (Some(rate), _) => rate_text(phase.unit, rate.median),
        (None, why) => {
            let word = lost_word(subject, panel, phase, index);
            why.as_ref().map_or_else(|| word.into(), |why| format!("{word}: {why}"))
        }
    };
    Line {
        label: row.label.clone(),
        name: row.label.clone(),
        slot: Some(subject.slot(&row.label)),
        dots: dots(subject.finished(&row.cell), of),
        value,
        said: [said, String::new()],
    }
}
