//! The best rows of a panel, from comparisons only.

use pickfs_model::{
    finding::{Claim, Comparison, Panel},
    plan::Metric,
};

/// The best rows of a panel by one metric that the plan fixed, among those that survive what the
/// reference survives; none where nothing is claimed.
pub fn best_by(panel: &Panel, metric: &Metric) -> Vec<String> {
    let of =
        |label: &str| panel.rows.iter().find(|row| row.label == label).map(|row| row.durability);
    let promised = of(&panel.reference);
    let peers = panel.comparisons.iter().filter(|comparison| {
        comparison.primary && comparison.metric == *metric && of(&comparison.other) == promised
    });
    best(&peers.collect::<Vec<_>>(), &panel.reference)
}

/// Labels that are not claimed slower than the fastest; none where nothing is claimed.
pub fn best(compared: &[&Comparison], reference: &str) -> Vec<String> {
    let judged: Vec<&Comparison> =
        compared.iter().copied().filter(|c| c.claim != Claim::NotClaimed).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let faster = judged.iter().filter(|comparison| comparison.claim == Claim::Faster);
    let fastest = faster.max_by(|a, b| a.speedup.total_cmp(&b.speedup));
    let mut best: Vec<String> = Vec::new();
    if fastest.is_none() {
        best.push(reference.to_string());
    }
    let stays = |comparison: &&&Comparison| match (comparison.claim, fastest) {
        (Claim::Slower | Claim::NotClaimed, _) => false,
        (_, None) => true,
        (_, Some(fastest)) => upper(comparison) >= fastest.interval.map_or(0.0, |(low, _)| low),
    };
    best.extend(judged.iter().filter(stays).map(|comparison| comparison.other.clone()));
    best
}

/// Highest speedup that a comparison leaves possible.
fn upper(comparison: &Comparison) -> f64 {
    match comparison.claim {
        Claim::Tie { visible_ratio } => comparison.speedup * visible_ratio,
        _ => comparison.interval.map_or(f64::INFINITY, |(_, high)| high),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_model::plan::{Metric, Statistic, View};

    fn compared(other: &str, claim: Claim, speedup: f64) -> Comparison {
        Comparison {
            metric: Metric {
                op: "append".into(),
                view: View::Service,
                statistic: Statistic::Mean,
                at: Default::default(),
            },
            reference: "a".into(),
            other: other.into(),
            primary: true,
            blocks: 8,
            speedup,
            interval: Some((speedup * 0.9, speedup * 1.1)),
            level: 0.95,
            p: Some(0.01),
            p_holm: Some(0.02),
            claim,
            claim_without_robbed: None,
        }
    }

    fn best_of(list: &[Comparison]) -> Vec<String> {
        best(&list.iter().collect::<Vec<_>>(), "a")
    }

    #[test]
    fn the_best_are_those_not_claimed_slower_than_the_fastest() {
        let tie = Claim::Tie { visible_ratio: 1.1 };
        let b = compared("b", Claim::Faster, 2.0);
        let c = compared("c", Claim::Faster, 1.9);
        let d = compared("d", Claim::Faster, 1.3);
        let e = compared("e", tie, 1.0);
        let f = compared("f", Claim::Slower, 0.5);
        assert_eq!(best_of(&[b.clone(), c, d, e.clone(), f.clone()]), ["b", "c"]);
        assert_eq!(best_of(&[e, f.clone()]), ["a", "e"]);
        assert_eq!(best_of(std::slice::from_ref(&f)), ["a"]);
        assert!(best_of(&[compared("g", Claim::NotClaimed, 3.0)]).is_empty());
        assert!(best_of(&[]).is_empty());
    }
}
