use pickfs_record::{BackingKind, Durability, finding::AnswerEnd, typed::program};

use super::{
    Objective,
    choice::{Contest, Decided, RuledOut},
    duel::Duel,
    field::Field,
};
use crate::{
    BLOCKS_MIN, absent, disturbed, gates,
    panels::Disturbed,
    wording::{blocks_text, interval_text, list, percent_over_one, times, unique},
};

pub(super) fn verdict(
    contest: &Contest<'_, '_>,
    decided: &Decided,
    objective: &Objective,
    is_partial: bool,
) -> Vec<String> {
    let mut sentences = vec![headline(contest, decided, objective, is_partial)];
    sentences.extend(behind(contest, decided));
    sentences.extend(told(&contest.ruled_out, "Ruled out"));
    sentences.extend(told(&contest.not_known, "Not known"));
    sentences.extend(told(&contest.remarks, "Met, with a remark"));
    if !contest.aside.is_empty() {
        let aside: Vec<String> =
            contest.aside.iter().map(|(label, why)| format!("{label} ({why})")).collect();
        sentences.push(format!("Takes no part: {}.", aside.join("; ")));
    }
    sentences.extend(left_out(contest));
    sentences
}

fn headline(
    contest: &Contest<'_, '_>,
    decided: &Decided,
    objective: &Objective,
    is_partial: bool,
) -> String {
    let place = match contest.place() {
        place if place.is_empty() => String::new(),
        place => format!(" ({place})"),
    };
    let ground = match contest.fields.first() {
        Some(field) => format!(" on this {}", field.backing()),
        None => String::new(),
    };
    let place = format!("For {}{place}{ground}", objective.name);
    let best = decided.best();
    let margin = percent_over_one(1.0 + contest.rules.margin);
    let gate = gated(contest, decided);
    let said = match (decided.end(), &best[..]) {
        (_, []) => {
            let why = gate.unwrap_or_else(|| why_open(contest, decided));
            format!(" nothing is chosen: {why}")
        }
        (_, [one]) if contest.fit.len() == 1 => {
            format!(": {one} is the only one left, compared with nothing")
        }
        (AnswerEnd::Equal, all) => format!(": {} are equal within {margin}", list(all)),
        (_, [one]) => format!(": {one}"),
        (_, many) => {
            let why = gate.unwrap_or_else(|| "they are not told apart".into());
            format!(": {}; {why}", list(many))
        }
    };
    match is_partial {
        true => format!("{place}, of which a part is missing, so far{said}."),
        false => format!("{place}{said}."),
    }
}

fn why_open(contest: &Contest<'_, '_>, decided: &Decided) -> String {
    if contest.fit.is_empty() {
        return match contest.ruled_out.is_empty() {
            true => "no candidate has a result that carries it".into(),
            false => "no candidate fulfils every condition".into(),
        };
    }
    let blocks = decided.standings().iter().map(|duel| duel.blocks).min().unwrap_or(0);
    match blocks < contest.needed {
        true => format!(
            "{}, and these candidates need {} at least",
            blocks_text(blocks),
            contest.needed
        ),
        false => format!("{} tell no two candidates apart", blocks_text(blocks)),
    }
}

/// The fact that withholds the choice between two that are left, as it does in the answer of a run.
fn gated(contest: &Contest<'_, '_>, decided: &Decided) -> Option<String> {
    let facts = &decided.ranked.as_ref()?.facts;
    let left = decided.decision.left();
    let (found, pair) = facts.heaviest(&left)?;
    let labels = pair.map(|index| decided.labels[index].as_str());
    let members = contest.fields.iter().flat_map(|field| field.members());
    let own = members.filter(|member| labels.contains(&member.label.as_str()));
    let trials: Vec<_> = own.flat_map(|member| member.trials.iter().copied()).collect();
    let text = gates::sentence(found, &labels, &trials).text;
    Some(format!("{text}; these are not ranked; {}", found.0.mend))
}

fn behind(contest: &Contest<'_, '_>, decided: &Decided) -> Option<String> {
    let leader = decided.leader()?;
    let margin = contest.rules.margin;
    let said: Vec<String> =
        decided.standings().iter().map(|duel| duel_text(duel, margin)).collect();
    let begin = match decided.best().is_empty() {
        true => "Estimates that carry no choice: ",
        false => "",
    };
    (!said.is_empty()).then(|| format!("{begin}{leader} beside the others: {}.", said.join("; ")))
}

fn duel_text(duel: &Duel, margin: f64) -> String {
    let other = &duel.other;
    let blocks = blocks_text(duel.blocks);
    match (duel.ratio, duel.interval) {
        (Some(ratio), Some((low, high))) if duel.is_ahead() => {
            format!("{} ahead of {other} {}", times(ratio), interval_text(low, high))
        }
        _ if duel.is_equal => {
            format!("equal to {other} within {}", percent_over_one(1.0 + margin))
        }
        (Some(ratio), Some((low, high))) => {
            let interval = interval_text(low, high);
            format!("not told from {other} ({} {interval}, {blocks})", times(ratio))
        }
        (Some(ratio), None) => {
            format!("not decided against {other} ({}, {blocks})", times(ratio))
        }
        (None, _) => format!("{other} failed or missed its rate ({blocks})"),
    }
}

fn told(entries: &[RuledOut], word: &str) -> Vec<String> {
    let mut needs: Vec<String> = entries.iter().map(|entry| entry.need.to_string()).collect();
    needs.sort();
    needs.dedup();
    let line = |need: String| {
        let of = entries.iter().filter(|entry| entry.need.to_string() == need);
        let said: Vec<String> =
            of.map(|entry| format!("{} ({})", entry.label, entry.why)).collect();
        format!("{word}, {need}: {}.", said.join("; "))
    };
    needs.into_iter().map(line).collect()
}

fn left_out(contest: &Contest<'_, '_>) -> Option<String> {
    let is_aside = |label: &str| contest.aside.iter().any(|(aside, _)| aside == label);
    let absent = contest.fields.iter().flat_map(|field| absent::cells(field.run));
    let absent = absent.filter(|one| !is_aside(&one.label) && !contest.fit.contains(&one.label));
    let said = unique(absent.map(|one| format!("{} ({}: {})", one.label, one.how, one.reason)));
    (!said.is_empty()).then(|| format!("Skipped or failed: {}.", said.join("; ")))
}

pub(super) fn conditions(contest: &Contest<'_, '_>) -> Vec<String> {
    let mut conditions: Vec<String> = Vec::new();
    for field in contest.fields {
        let noise = field.findings.noise.iter().find(|row| row.backing == field.backing());
        let noise = noise.map_or("noise not known".into(), |row| {
            format!("noise +-{:.0} %", 100.0 * row.half_width)
        });
        let planned = match field.is_planned() {
            true => "its plan fixed these numbers",
            false => "its plan did not fix these numbers: exploratory",
        };
        let kernel = field.run.environment.get("kernel.release").unwrap_or("not known");
        conditions.push(format!(
            "{}: {}, {}, {noise}, Linux {kernel}, {planned}",
            field.run.name,
            field.formula,
            ground(field.backing())
        ));
    }
    let known = contest.durability.filter(|durability| *durability != Durability::Unknown);
    conditions.extend(known.map(|durability| format!("a completed operation {durability}")));
    conditions.push(
        "ratios are weighted geometric means; intervals of all pairs hold together at 95 %".into(),
    );
    conditions
}

fn ground(backing: BackingKind) -> &'static str {
    match backing {
        BackingKind::Disk => "block device",
        BackingKind::LoopImage => "loop image (relative, not absolute)",
        BackingKind::RamImage => "loop image in RAM (relative, not absolute; no flush, no device)",
        BackingKind::GuestImage => "image of a guest kernel (compares within its engine only)",
        BackingKind::Memory => "memory (nothing survives)",
        BackingKind::Directory => "existing directory (never ranked against fresh file systems)",
    }
}

pub(super) fn would_change(contest: &Contest<'_, '_>, decided: &Decided) -> Vec<String> {
    let best = &decided.best()[..];
    let mut changes: Vec<String> = contest.ruled_out_winners(best);
    changes.extend(contest.by_one_number(best));
    changes.extend(contest.without_disturbed(best));
    if decided.end() == AnswerEnd::NoAnswer && contest.fit.len() > 1 {
        changes.extend(contest.more_blocks(best));
    }
    let unknown = contest.not_known.iter().filter(|entry| best.contains(&entry.label));
    let mut needs: Vec<String> =
        unknown.map(|entry| format!("{} of {}", entry.need, entry.label)).collect();
    needs.dedup();
    if !needs.is_empty() {
        changes.push(format!("a condition that is not known: {}", list(&needs)));
    }
    let mut backings: Vec<BackingKind> = contest.fields.iter().map(Field::backing).collect();
    backings.dedup();
    changes.extend(backings.into_iter().filter_map(other_backing));
    changes
}

fn other_backing(backing: BackingKind) -> Option<String> {
    let on_device = |why: &str, of: &str| {
        Some(format!("another backing: {why}; {} run PLAN --device NODE tells of {of}", program()))
    };
    match backing {
        BackingKind::Disk => None,
        BackingKind::LoopImage => on_device("a loop image ranks the software path", "a disk"),
        BackingKind::GuestImage => Some(
            "another engine: in a guest kernel calls are slow; --engine native tells of this machine"
                .into(),
        ),
        BackingKind::RamImage => {
            on_device("an image in RAM has no device and no flush", "a disk")
        }
        BackingKind::Memory => on_device("in memory nothing survives", "a disk"),
        BackingKind::Directory => on_device(
            "an existing directory holds the history of its file system",
            "fresh ones",
        ),
    }
}

impl Contest<'_, '_> {
    /// The command that runs as many blocks as the pairs need; where they had them, a race.
    fn more_blocks(&self, best: &[String]) -> Vec<String> {
        let needed = self.needed.max(BLOCKS_MIN);
        let program = program();
        unique(self.fields.iter().map(|field| {
            let name = &field.run.plan.name;
            match best.is_empty() && field.run.blocks() < needed {
                true => format!("more blocks: {program} {name} --blocks {needed}"),
                false => format!("more blocks: {program} PLAN --until-decided"),
            }
        }))
    }

    /// Those that a condition ruled out and that would be ahead of, or level with, the best.
    fn ruled_out_winners(&self, best: &[String]) -> Vec<String> {
        let beside = |label: &String| {
            let labels: Vec<String> = self.fit.iter().chain([label]).cloned().collect();
            let decided = self.decided(&labels, Disturbed::Kept, None);
            let duels: Vec<Duel> =
                best.iter().filter_map(|best| decided.between(label, best)).collect();
            let is_open = duels.iter().all(|duel| duel.interval.is_none());
            if is_open || duels.iter().any(Duel::is_behind) {
                return None;
            }
            let own = self.ruled_out.iter().filter(|entry| entry.label == *label);
            let needs: Vec<String> = own.map(|entry| entry.need.to_string()).collect();
            let how = match duels.iter().all(Duel::is_ahead) {
                true => {
                    let text = duel_text(&duels[0], self.rules.margin);
                    format!("{label} would be ahead ({text})")
                }
                false => format!("{label} would not be told from the best"),
            };
            Some(format!("without the condition {}: {how}", list(&needs)))
        };
        self.ruled_out_ranked.iter().filter_map(beside).collect()
    }

    fn by_one_number(&self, best: &[String]) -> Vec<String> {
        let [field] = self.fields else { return Vec::new() };
        let terms = field.formula.terms.iter().enumerate();
        let alone = terms.filter_map(|(index, term)| {
            let alone = self.decided(&self.fit, Disturbed::Kept, Some(index)).best();
            let is_other = field.formula.terms.len() > 1 && !alone.is_empty() && alone != best;
            is_other.then(|| {
                format!("other weights (exploratory): by {} alone {}", term.metric, list(&alone))
            })
        });
        alone.collect()
    }

    /// The best without disturbed trials, where that is another set.
    fn without_disturbed(&self, best: &[String]) -> Option<String> {
        let is_disturbed =
            self.fields.iter().any(|field| field.run.trials.iter().any(disturbed::is_disturbed));
        if !is_disturbed {
            return None;
        }
        let clean = self.decided(&self.fit, Disturbed::Without("disturbed"), None).best();
        let said = if clean.is_empty() { "nothing could be chosen".into() } else { list(&clean) };
        (clean != best).then(|| format!("disturbed trials: without them {said} (exploratory)"))
    }
}
