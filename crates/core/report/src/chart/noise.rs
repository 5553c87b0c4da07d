//! If this line moves, every candidate above it moved for a reason of its own.

use std::collections::BTreeMap;

use pickfs_record::{BackingKind, record::RawProbe};

use super::{Axis, Frame, Look, Rows, Scene, Slot, Unit, thin::thin};
use crate::Subject;

const POINTS_MAX: usize = 300;

pub fn draw(subject: &Subject, look: Look) -> Option<Scene> {
    let mut lines: BTreeMap<BackingKind, Vec<(f64, &RawProbe)>> = BTreeMap::new();
    for trial in subject.probed() {
        let probe = trial.raw.as_ref()?;
        lines.entry(trial.backing).or_default().push((trial.started_s / 60.0, probe));
    }
    let probes = || lines.values().flatten();
    if probes().count() < 2 {
        return None;
    }
    let values = || probes().flat_map(|(_, p)| [p.p50_ns as f64, p.p99_ns as f64]);
    let names: Vec<_> = lines
        .keys()
        .enumerate()
        .flat_map(|(i, backing)| {
            let p50 = (format!("{backing}, p50"), Slot::Floor(2 * i));
            [p50, (format!("{backing}, p99"), Slot::Floor(2 * i + 1))]
        })
        .collect();
    let frame = Frame {
        look,
        title: "The bare device between the trials".into(),
        hint: "4 KiB direct write and flush, before each trial. A flat line: differences between \
               candidates are theirs. A line that moves is the noise under every number here."
            .into(),
        x: Axis::span(Unit::Minutes, 0.0, probes().map(|p| p.0).fold(0.1, f64::max)),
        y: Axis::log(Unit::Nanoseconds, values()),
        x_title: "time since the run began (min)".into(),
        y_title: "write + flush".into(),
        legend: names.clone(),
        rows: Rows::Marks,
    };
    let mut canvas = frame.open();
    for (probes, names) in lines.values().zip(names.chunks(2)) {
        let of = |value: fn(&RawProbe) -> u64| -> Vec<(f64, f64)> {
            let points: Vec<_> = probes.iter().map(|(at, p)| (*at, value(p) as f64)).collect();
            thin(&points, POINTS_MAX)
        };
        for ((name, slot), points) in names.iter().zip([of(|p| p.p50_ns), of(|p| p.p99_ns)]) {
            canvas.line(name, *slot, slot.dash(), &points);
            for at in points.iter().filter(|_| points.len() <= 60) {
                let tip = format!("{name}: {}", pickfs_record::quantity::duration_text(at.1));
                canvas.marker(name, *slot, *at, false, tip);
            }
        }
    }
    Some(canvas.scene)
}
