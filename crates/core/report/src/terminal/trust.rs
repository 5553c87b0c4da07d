use pickfs_analysis::trust::{Check, Trust};
use pickfs_record::quantity::significant;

use super::{paragraph::hanging, plain};

const MARGIN: usize = 11;

pub fn trust_screen(trust: &Trust, columns: usize) -> String {
    let columns = columns.max(60);
    let mut out = String::new();
    let checks = [("same", &trust.same), ("slowed", &trust.slowed)];
    for (name, check) in checks {
        let text = check.as_ref().map_or_else(|| "could not be compared".into(), check_text);
        out.push_str(&hanging(name, &plain(&text), MARGIN, columns));
    }
    for noise in &trust.noise {
        let text = format!(
            "raw {} +-{} % over {} probes",
            noise.backing,
            significant(noise.half_width * 100.0),
            noise.probes
        );
        out.push_str(&hanging("noise", &text, MARGIN, columns));
    }
    for (index, sentence) in trust.sentences.iter().enumerate() {
        let name = if index == 0 { "TRUST" } else { "" };
        out.push_str(&hanging(name, &plain(sentence), MARGIN, columns));
    }
    out
}

fn check_text(check: &Check) -> String {
    let comparison = &check.comparison;
    let interval = match comparison.interval {
        Some((low, high)) => format!(" [{}, {}]", significant(low), significant(high)),
        None => " without an interval (too few blocks)".into(),
    };
    let verdict = match check.covers {
        Some(true) => "the interval holds the truth",
        Some(false) => "THE INTERVAL MISSES THE TRUTH",
        None => "nothing can be said",
    };
    format!(
        "{} against {}: speedup {}{interval}, truth {}: {verdict}; a difference was {}",
        comparison.other,
        comparison.reference,
        significant(comparison.speedup),
        significant(check.truth),
        if check.claimed { "claimed" } else { "not claimed" }
    )
}
