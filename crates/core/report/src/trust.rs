//! A run with a known answer: whether its intervals held it.

use pickfs_analysis::trust::{Check, Trust, trust};
use pickfs_record::quantity::significant;

use crate::{
    Subject,
    document::{Node, Role, Text, facts, under_one_name},
};

/// Facts of a trust run; nothing of any other.
pub(crate) fn nodes(subject: &Subject) -> Option<Node> {
    let Trust { same, slowed, noise, sentences, .. } = trust(subject.run, subject.findings)?;
    let checks = [("same", same), ("slowed", slowed)].map(|(name, check)| {
        let text = check.as_ref().map_or_else(|| "could not be compared".into(), check_text);
        (name.to_string(), Text::from(text))
    });
    let noise = noise.iter().map(|noise| {
        let half = significant(noise.half_width * 100.0);
        format!("raw {} +-{half} % over {} probes", noise.backing, noise.probes).into()
    });
    let sentences = sentences.into_iter().map(|text| Role::Strong.of(text));
    let rows = checks.into_iter().chain(under_one_name("noise", noise));
    Some(facts(rows.chain(under_one_name("TRUST", sentences))))
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
