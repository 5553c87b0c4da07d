use std::collections::BTreeMap;

use pickfs_record::origin::Origin;

use super::{Claim, Evidence, Outcome, Relation, RunAnswer};
use crate::{objective::FeatureAnswers, wording::list};

/// The name under which a table of features answers.
const FEATURES: &str = "table of features";
/// The name under which facts answer that were looked up.
const SOURCES: &str = "facts with their sources";

fn subjects(claim: &Claim) -> &[String] {
    claim.subject.get("fs").map_or(&[], |condition| condition.words())
}

/// What a table of features says.
pub(super) fn feature(claim: &Claim, key: &str, features: &FeatureAnswers) -> RunAnswer {
    let of = |fs: &String| of_file_system(claim, key, fs, features);
    each(claim, FEATURES, Outcome::Opposite, of)
}

/// What sources say.
pub(super) fn fact(
    claim: &Claim,
    name: &str,
    words: &[String],
    origins: &BTreeMap<String, Origin>,
) -> RunAnswer {
    let of = |fs: &String| {
        let facts = origins.get(fs)?.facts();
        let (_, fact) = facts.into_iter().find(|(known, _)| *known == name)?;
        let mut parts = fact.text.split("; ");
        let says = parts.any(|part| words.iter().any(|word| part.starts_with(word.as_str())));
        let outcome = Outcome::Written { holds: says == (claim.relation == Relation::Yes) };
        let text = format!("{fs}: {} ({})", fact.text, fact.source);
        Some(Evidence { subject: fs.clone(), outcome, text, ..Evidence::default() })
    };
    each(claim, SOURCES, Outcome::Written { holds: false }, of)
}

/// Each file system of the claim that is known must bear it out; one that does not is enough against it.
fn each(
    claim: &Claim,
    table: &str,
    against: Outcome,
    of: impl Fn(&String) -> Option<Evidence>,
) -> RunAnswer {
    let evidence: Vec<Evidence> = subjects(claim).iter().filter_map(of).collect();
    let asked: Vec<&String> = evidence.iter().map(|evidence| &evidence.subject).collect();
    let without: Vec<String> =
        subjects(claim).iter().filter(|fs| !asked.contains(fs)).cloned().collect();
    let worst = evidence.iter().map(|own| &own.outcome).max_by_key(|outcome| outcome.weight());
    let none = || format!("no answer of {} is in the {table}", list(subjects(claim)));
    let outcome = worst.cloned().unwrap_or_else(|| Outcome::not_testable(none()));
    let outcome = outcome.without(&without, &against, "this table");
    let (run, scale) = (table.into(), Vec::new());
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
