use pickfs_record::{BackingKind, Durability, typed::program};

use super::{
    Objective,
    choice::{Contest, RuledOut},
    duel::{Duel, Duels},
    field::Field,
};
use crate::{
    BLOCKS_MIN, absent, disturbed,
    panels::Disturbed,
    wording::{blocks_text, interval_text, list, percent_over_one, times},
};

pub(super) fn verdict(
    contest: &Contest<'_, '_>,
    objective: &Objective,
    best: &[String],
    is_partial: bool,
) -> Vec<String> {
    let mut sentences = vec![headline(contest, objective, best)];
    sentences.extend(behind(contest, best));
    sentences.extend(estimates(contest, best));
    sentences.extend(told(&contest.ruled_out, "Ruled out"));
    sentences.extend(told(&contest.not_known, "Not known"));
    sentences.extend(told(&contest.remarks, "Met, with a remark"));
    if !contest.aside.is_empty() {
        let aside: Vec<String> =
            contest.aside.iter().map(|(label, why)| format!("{label} ({why})")).collect();
        sentences.push(format!("Takes no part: {}.", aside.join("; ")));
    }
    sentences.extend(left_out(contest));
    if is_partial {
        sentences.push("A part of the objective is missing, so this is not yet its answer.".into());
    }
    sentences
}

fn headline(contest: &Contest<'_, '_>, objective: &Objective, best: &[String]) -> String {
    let place = match contest.place() {
        place if place.is_empty() => String::new(),
        place => format!(" ({place})"),
    };
    let ground = match contest.fields.first() {
        Some(field) => format!(" on this {}", field.backing()),
        None => String::new(),
    };
    match best {
        [] => format!(
            "For {}{place}{ground} nothing is chosen: {}.",
            objective.name,
            why_open(contest)
        ),
        [one] if contest.fit.len() == 1 => {
            format!("For {}{place}{ground}: {one}, the only one left.", objective.name)
        }
        [one] => format!("For {}{place}{ground}: {one}.", objective.name),
        many => format!(
            "For {}{place}{ground}: {}; they are not told apart.",
            objective.name,
            list(many)
        ),
    }
}

fn why_open(contest: &Contest<'_, '_>) -> String {
    let fit = contest.fit_labels();
    if fit.is_empty() {
        return match contest.ruled_out.is_empty() {
            true => "no candidate has a result that carries it".into(),
            false => "no candidate fulfils every condition".into(),
        };
    }
    let blocks =
        fit.iter().flat_map(|one| fit.iter().filter_map(|other| contest.duels.between(one, other)));
    let blocks = blocks.map(|duel| duel.blocks).min().unwrap_or(0);
    format!(
        "{}, and the pairs of these candidates need {} to be told from chance",
        blocks_text(blocks),
        contest.duels.needed
    )
}

fn behind(contest: &Contest<'_, '_>, best: &[String]) -> Option<String> {
    let leader = contest.leader(best)?;
    let said: Vec<String> = contest.standings(best).iter().map(duel_text).collect();
    (!said.is_empty()).then(|| format!("{leader} beside the others: {}.", said.join("; ")))
}

fn estimates(contest: &Contest<'_, '_>, best: &[String]) -> Option<String> {
    let fit = contest.fit_labels();
    let leader = contest.duels.leader(&fit).filter(|_| best.is_empty())?;
    let others = fit.iter().filter(|label| **label != leader);
    let mut duels: Vec<Duel> =
        others.filter_map(|other| contest.duels.between(leader, other)).collect();
    duels.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
    let text = |duel: &Duel| {
        let blocks = blocks_text(duel.blocks);
        format!("{} ahead of {} ({blocks})", times(duel.ratio), duel.other)
    };
    let said: Vec<String> = duels.iter().map(text).collect();
    (!said.is_empty())
        .then(|| format!("Estimates that carry no choice: {leader} {}.", said.join("; ")))
}

fn duel_text(duel: &Duel) -> String {
    let other = &duel.other;
    match (duel.interval, duel.visible_ratio()) {
        (Some((low, high)), _) if duel.is_ahead() => {
            format!("{} ahead of {other} {}", times(duel.ratio), interval_text(low, high))
        }
        (Some(_), Some(visible)) => {
            format!(
                "not told from {other} (a difference over {} would have been seen)",
                percent_over_one(visible)
            )
        }
        _ => format!("not decided against {other} ({})", blocks_text(duel.blocks)),
    }
}

fn told(entries: &[RuledOut], word: &str) -> Vec<String> {
    let mut needs: Vec<String> = entries.iter().map(|entry| entry.need.to_string()).collect();
    needs.dedup();
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
    let mut said: Vec<String> = Vec::new();
    for absent in contest.fields.iter().flat_map(|field| absent::cells(field.run)) {
        let text = format!("{} ({}: {})", absent.label, absent.how, absent.reason);
        let is_aside = contest.aside.iter().any(|(label, _)| *label == absent.label);
        if !is_aside && !contest.fit.contains(&absent.label) && !said.contains(&text) {
            said.push(text);
        }
    }
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

pub(super) fn would_change(contest: &Contest<'_, '_>, best: &[String]) -> Vec<String> {
    let mut changes: Vec<String> = contest.ruled_out_winners(best);
    changes.extend(contest.by_one_number(best));
    changes.extend(contest.without_disturbed(best));
    if contest.aside.iter().any(|(_, why)| why.contains("too short")) {
        changes.push(format!("longer trials: {} run PLAN --measure 61s", program()));
    }
    if best.len() != 1 && contest.fit.len() > 1 {
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
        let needed = self.duels.needed.max(BLOCKS_MIN);
        let (mut said, program): (Vec<String>, _) = (Vec::new(), program());
        for run in self.fields.iter().map(|field| field.run) {
            let blocks = run.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
            let text = match best.is_empty() && blocks < needed {
                true => format!("more blocks: {program} run {} --blocks {needed}", run.plan.name),
                false => format!("more blocks: {program} run PLAN --until-decided"),
            };
            if !said.contains(&text) {
                said.push(text);
            }
        }
        said
    }

    /// Those that a condition ruled out and that would be ahead of, or level with, the best.
    fn ruled_out_winners(&self, best: &[String]) -> Vec<String> {
        let mut said = Vec::new();
        let mut labels: Vec<&str> =
            self.ruled_out.iter().map(|entry| entry.label.as_str()).collect();
        labels.dedup();
        for label in labels {
            let duels: Vec<Duel> =
                best.iter().filter_map(|best| self.duels.between(label, best)).collect();
            let needs: Vec<String> = self
                .ruled_out
                .iter()
                .filter(|entry| entry.label == label)
                .map(|entry| entry.need.to_string())
                .collect();
            if duels.is_empty()
                || duels.iter().any(Duel::is_behind)
                || duels.iter().all(|duel| duel.interval.is_none())
            {
                continue;
            }
            let how = match duels.iter().all(Duel::is_ahead) {
                true => format!("{label} would be ahead ({})", duel_text(&duels[0])),
                false => format!("{label} would not be told from the best"),
            };
            said.push(format!("without the condition {}: {how}", list(&needs)));
        }
        said
    }

    fn by_one_number(&self, best: &[String]) -> Vec<String> {
        let [field] = self.fields else { return Vec::new() };
        if field.formula.terms.len() < 2 {
            return Vec::new();
        }
        let fit = self.fit_labels();
        let mut said = Vec::new();
        for (index, term) in field.formula.terms.iter().enumerate() {
            let alone = Duels::new(self.fields, &fit, Disturbed::Kept, Some(index)).best(&fit);
            if !alone.is_empty() && alone != best {
                said.push(format!("other weights: by {} alone {}", term.number, list(&alone)));
            }
        }
        said
    }

    /// The best without disturbed trials, where that is another set.
    fn without_disturbed(&self, best: &[String]) -> Option<String> {
        let is_disturbed =
            self.fields.iter().any(|field| field.run.trials.iter().any(disturbed::is_disturbed));
        if !is_disturbed {
            return None;
        }
        let fit = self.fit_labels();
        let clean = Duels::new(self.fields, &fit, Disturbed::Without("disturbed"), None).best(&fit);
        let said = if clean.is_empty() { "nothing could be chosen".into() } else { list(&clean) };
        (clean != best).then(|| format!("disturbed trials: without them {said}"))
    }
}
