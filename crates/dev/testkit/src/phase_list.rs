use pickfs_record::{
    Heat::{self, Cold, Hot},
    WorkUnit,
};

use crate::FakePhase;

/// Phases that the tier advice reads.
pub const TIERS: [&str; 4] = ["hot tier", "mid tier", "cold tier", "ingest, durable"];

/// Label, MB/s, median of one operation in microseconds (0: nothing repeats).
type Line = (&'static str, f64, f64);

const HIGH_IMPACT: &[Line] = &[
    ("add attribute", 259.0, 0.0),
    ("disk sort", 105.0, 0.0),
    ("open append mid float, sync once", 1038.0, 150_000.0),
    ("open append mid sym, sync once", 932.0, 160_000.0),
    ("write float large", 2170.0, 0.0),
    ("write int huge", 3338.0, 0.0),
    ("write int medium", 3070.0, 0.0),
    ("write int small", 910.0, 0.0),
    ("write int tiny", 100.0, 0.0),
    ("write sym large", 1480.0, 0.0),
];

const LESS_CRITICAL: &[Line] = &[
    ("append small, sync once", 753.0, 600.0),
    ("append tiny, sync once", 549.0, 20.0),
    ("open append small, sync once", 937.0, 550.0),
    ("open append tiny, sync once", 200.0, 55.0),
    ("open replace int tiny", 261.0, 12.5),
    ("open replace random float large", 16.0, 0.0),
    ("open replace random int huge", 5.0, 0.0),
    ("open replace random int medium", 561.0, 1480.0),
    ("open replace random int small", 784.0, 132.0),
    ("open replace sorted int huge", 5.0, 0.0),
    ("sync column after parted attribute", 1300.0, 0.0),
    ("sync float large", 1400.0, 0.0),
    ("sync float large after replace", 900.0, 0.0),
    ("sync int huge", 1500.0, 0.0),
    ("sync int huge after replace", 700.0, 0.0),
    ("sync int huge after sorted replace", 710.0, 0.0),
    ("sync int medium", 660.0, 0.0),
    ("sync int small", 100.0, 0.0),
    ("sync int tiny", 3.5, 0.0),
    ("sync sym large", 1380.0, 0.0),
    ("sync table after sort", 90_000.0, 0.0),
];

const READS: &[(&str, &str, f64, f64, f64)] = &[
    ("random read", "mmap, random read 1M", 597.0, 2468.0, 400.0),
    ("random read", "mmap, random read 4k", 20.0, 261.0, 15.0),
    ("random read", "mmap, random read 64k", 200.0, 1743.0, 37.0),
    ("random read", "random read 1M", 616.0, 3040.0, 330.0),
    ("random read", "random read 4k", 21.0, 1272.0, 3.1),
    ("random read", "random read 64k", 207.0, 3001.0, 21.0),
    ("sequential read", "sequential read binary", 689.0, 2527.0, 0.0),
    ("sequential read", "sequential read float large", 1991.0, 15041.0, 0.0),
    ("sequential read", "sequential read int huge", 2039.0, 33832.0, 0.0),
    ("sequential read", "sequential read int medium", 624.0, 8185.0, 0.0),
    ("sequential read", "sequential read int small", 318.0, 2143.0, 0.0),
];

pub fn column() -> Vec<FakePhase> {
    let high = HIGH_IMPACT.iter().map(|line| FakePhase { is_high_impact: true, ..write(line) });
    let rest = LESS_CRITICAL.iter().map(write);
    let cold = READS.iter().map(|(suite, label, mb, _, us)| read(suite, label, Cold, *mb, *us));
    let hot = READS.iter().map(|(suite, label, _, mb, us)| {
        let label = match *suite {
            "sequential read" if !label.ends_with("binary") => {
                label.replace("sequential read", "sequential reread")
            }
            _ => label.to_string(),
        };
        read(suite, &label, Hot, *mb, *us)
    });
    let tiers = TIERS.map(|tier| FakePhase {
        is_derived: true,
        ..phase(tier, tier, "tiers", None, (400e6, 0.0))
    });
    high.chain(rest).chain(cold).chain(hot).chain(tiers).collect()
}

fn write((label, mb_per_s, us): &Line) -> FakePhase {
    phase(label, label, "write", None, (mb_per_s * 1e6, *us))
}

fn read(suite: &str, label: &str, heat: Heat, mb_per_s: f64, us: f64) -> FakePhase {
    let word = if heat == Cold { "cold" } else { "hot" };
    phase(&format!("{label} {word}"), label, suite, Some(heat), (mb_per_s * 1e6, us))
}

fn phase(
    name: &str,
    label: &str,
    suite: &str,
    heat: Option<Heat>,
    (rate_per_s, us): (f64, f64),
) -> FakePhase {
    FakePhase {
        phase: name.into(),
        label: label.into(),
        suite: suite.into(),
        heat,
        is_high_impact: false,
        is_derived: false,
        unit: WorkUnit::Bytes,
        rate_per_s,
        op_ns: (us > 0.0).then_some(us * 1000.0),
    }
}

/// bonnie++'s phases without the per-character ones.
pub fn files() -> Vec<FakePhase> {
    let one = |name, rate, us| phase(name, name, "one file", None, (rate, us));
    let many = |name: &str, suite, rate, us| FakePhase {
        unit: WorkUnit::Files,
        ..phase(name, name, suite, None, (rate, us))
    };
    vec![
        FakePhase { is_high_impact: true, ..one("block write", 430e6, 12.0) },
        one("rewrite", 390e6, 21.0),
        FakePhase { is_high_impact: true, ..one("block read", 1900e6, 4.0) },
        FakePhase { unit: WorkUnit::Seeks, ..one("seeks", 160_000.0, 30.0) },
        FakePhase { is_high_impact: true, ..many("seq create", "sequential files", 29e3, 34.0) },
        many("seq stat", "sequential files", 410e3, 2.4),
        many("seq delete", "sequential files", 45e3, 22.0),
        many("ran create", "random files", 43e3, 23.0),
        many("ran stat", "random files", 380e3, 2.6),
        many("ran delete", "random files", 43e3, 23.0),
    ]
}
