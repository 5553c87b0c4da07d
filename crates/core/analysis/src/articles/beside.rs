use std::collections::BTreeMap;

use pickfs_record::origin::Origin;

use super::{Claim, Evidence, Outcome, Relation, RunAnswer};
use crate::{objective::FeatureAnswers, wording::list};

/// The name under which a table of features answers.
pub const FEATURES: &str = "table of features";

fn subjects(claim: &Claim) -> &[String] {
    claim.subject.get("fs").map_or(&[], |condition| condition.words())
}

/// What a table of features says: each file system of the claim that was asked must bear it out.
pub(super) fn feature(claim: &Claim, key: &str, features: &FeatureAnswers) -> RunAnswer {
    let evidence: Vec<Evidence> =
        subjects(claim).iter().filter_map(|fs| of_file_system(claim, key, fs, features)).collect();
    let asked: Vec<&String> = evidence.iter().map(|evidence| &evidence.subject).collect();
    let without: Vec<String> =
        subjects(claim).iter().filter(|fs| !asked.contains(fs)).cloned().collect();
    let worst = evidence.iter().map(|own| &own.outcome).max_by_key(|outcome| outcome.weight());
    let none = || format!("the table of features has no answer of {}", list(subjects(claim)));
    let outcome = worst.cloned().unwrap_or_else(|| Outcome::not_testable(none()));
    let outcome = outcome.without(&without, &Outcome::Opposite, "this table");
    let (run, scale) = (FEATURES.into(), Vec::new());
    RunAnswer { run, outcome, evidence, without, scale, conditions: Vec::new() }
}

fn of_file_system(
    claim: &Claim,
    key: &str,
    fs: &str,
    features: &FeatureAnswers,
) -> Option<Evidence> {
    let given = features.of(fs, fs, key)?;
    let has = match given.verdict.as_str() {
        "yes" => Some(true),
        "no" => Some(false),
        "partly" => None,
        _ => return None,
    };
    let wanted = claim.relation == Relation::Yes;
    let outcome = match has {
        Some(has) if has == wanted => Outcome::Seen,
        Some(_) => Outcome::Opposite,
        None => Outcome::NotDecided { blocks: 0, why: format!("{fs} has it in part") },
    };
    let words = if given.words.is_empty() { String::new() } else { format!(" ({})", given.words) };
    let text = format!("{fs}: {key} {}{words}", given.verdict);
    Some(Evidence { subject: fs.into(), outcome, text, ..Evidence::default() })
}

pub(super) fn fact(claim: &Claim, name: &str, origins: &BTreeMap<String, Origin>) -> Outcome {
    let said: Vec<String> = subjects(claim)
        .iter()
        .filter_map(|fs| {
            let (_, fact) =
                origins.get(fs)?.facts().into_iter().find(|(known, _)| *known == name)?;
            Some(format!("{fs}: {} ({})", fact.text, fact.source))
        })
        .collect();
    let sources = match said.is_empty() {
        true => "nothing is written down here".into(),
        false => said.join("; "),
    };
    Outcome::not_testable(format!("a fact of the file system and not a measurement; {sources}"))
}
