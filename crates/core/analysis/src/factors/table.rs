use std::collections::BTreeMap;

use pickfs_record::{
    BackingKind, Cell, Durability, RunRecord,
    finding::{FactorDesign, OpSummary},
    plan::Metric,
};

use crate::{
    answers::{Place, Ranked, misses_its_rate, values_by_block},
    decide::Rules,
    gates,
    panels::{BY_CANDIDATE, Disturbed, Group, Member, applies},
    phases::scale::blocks_apart,
    summary::is_carried,
    wording::unique,
};

pub(super) struct Axis {
    pub(super) name: String,
    pub(super) levels: Vec<String>,
}

pub(super) struct Point {
    /// Its place in the table.
    pub(super) index: usize,
    /// Index of its level, per factor.
    pub(super) at: Vec<usize>,
    /// Logarithm of its speed by block: higher is better, for times and for rates; of a trial that failed it is negative
    /// infinity.
    pub(super) ln_speeds: BTreeMap<u32, f64>,
    durability: Durability,
    misses_its_rate: bool,
}

pub(super) struct Table<'a> {
    pub(super) factors: Vec<Axis>,
    pub(super) points: Vec<Point>,
    ranked: Ranked,
    members: Vec<&'a Member<'a>>,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        run: &RunRecord,
        groups: &'a [Group<'a>],
        ops: &[Vec<Vec<OpSummary>>],
        metric: &Metric,
    ) -> Option<Self> {
        let places = members(groups, ops, metric);
        let members: Vec<_> = places.iter().map(|(group, index)| &group.members[*index]).collect();
        let names = std::iter::once(BY_CANDIDATE.to_string())
            .chain(run.plan.axes.iter().map(|axis| axis.name.clone()));
        let factors: Vec<Axis> = names
            .map(|name| axis(run, name, &members))
            .filter(|axis| axis.levels.len() > 1)
            .collect();
        if factors.len() < 2 {
            return None;
        }
        let base = base(&members, &factors);
        let margin = Rules::of(&run.plan).margin;
        let ranked = Ranked::as_measured(&places, metric, Disturbed::Kept, margin);
        let of = |(index, member)| point(index, member, &ranked, &factors, base);
        let points: Vec<Point> = members.iter().copied().enumerate().map(of).collect();
        Some(Table { points, factors, ranked, members })
    }

    /// In the view that ranks.
    pub(super) fn metric(&self) -> &Metric {
        &self.ranked.metric
    }

    /// Why two cells are not told apart: a gate, or one held its rate and the other did not.
    pub(super) fn gate(&self, one: &Point, other: &Point) -> Option<String> {
        let labels = [one, other].map(|point| {
            let cell = self.members[point.index].cell;
            [cell.candidate.label.as_str(), &cell.levels_text()].join(" ").trim_end().to_owned()
        });
        if one.misses_its_rate != other.misses_its_rate {
            let (missing, held) = if one.misses_its_rate { (0, 1) } else { (1, 0) };
            return Some(format!(
                "{} missed its rate and {} held it",
                labels[missing], labels[held]
            ));
        }
        let found = self.ranked.facts.gate(one.index, other.index)?;
        let members = [one, other].map(|point| self.members[point.index]);
        let trials: Vec<_> = members.iter().flat_map(|m| m.trials.iter().copied()).collect();
        Some(gates::sentence(found, &labels.each_ref().map(String::as_str), &trials).text)
    }

    pub(super) fn design(&self) -> FactorDesign {
        let all: usize = self.factors.iter().map(|factor| factor.levels.len()).product();
        let away = |point: &Point| point.at.iter().filter(|level| **level != 0).count();
        if self.points.len() == all {
            FactorDesign::FullFactorial
        } else if self.points.iter().all(|point| away(point) <= 1) {
            FactorDesign::OneAtATime
        } else {
            FactorDesign::Partial
        }
    }

    pub(super) fn blocks(&self) -> u32 {
        let blocks = self.points.iter().flat_map(|point| point.ln_speeds.keys());
        blocks.collect::<std::collections::BTreeSet<_>>().len() as u32
    }

    /// Cells that differ in a factor alone and do not survive the same.
    pub(super) fn is_mixed(&self, factor: usize) -> bool {
        let others = |point: &Point| {
            let mut at = point.at.clone();
            at[factor] = 0;
            at
        };
        let mut seen: BTreeMap<Vec<usize>, Durability> = BTreeMap::new();
        self.points
            .iter()
            .any(|point| *seen.entry(others(point)).or_insert(point.durability) != point.durability)
    }
}

/// Memory is a floor, unless there is nothing else.
fn members<'a>(
    groups: &'a [Group<'a>],
    ops: &[Vec<Vec<OpSummary>>],
    metric: &Metric,
) -> Vec<Place<'a>> {
    let member = |(group, index): &Place<'a>| &group.members[*index];
    let rows = groups.iter().zip(ops).flat_map(|(group, ops)| {
        ops.iter().enumerate().map(move |(index, ops)| ((group, index), ops))
    });
    let mut places: Vec<Place<'a>> = rows
        .filter(|(place, ops)| applies(metric, member(place).cell) && is_carried(ops, metric))
        .map(|(place, _)| place)
        .filter(|place| !values_by_block(member(place), metric, Disturbed::Kept).is_empty())
        .collect();
    let mut backings: BTreeMap<(bool, usize), BackingKind> = BTreeMap::new();
    for backing in places.iter().map(|place| member(place).backing) {
        let count = places.iter().filter(|other| member(other).backing == backing).count();
        backings.insert((backing != BackingKind::Memory, count), backing);
    }
    let most = backings.last_key_value().map(|(_, backing)| *backing);
    places.retain(|place| Some(member(place).backing) == most);
    places
}

fn axis(run: &RunRecord, name: String, members: &[&Member<'_>]) -> Axis {
    let mut levels = unique(members.iter().map(|member| level(member.cell, &name).to_string()));
    let design = &run.plan.design;
    if name == design.compare {
        if let Some(base) = levels.iter().position(|level| *level == design.reference) {
            levels[..=base].rotate_right(1);
        }
    }
    Axis { name, levels }
}

fn level<'c>(cell: &'c Cell, name: &str) -> &'c str {
    match name {
        BY_CANDIDATE => &cell.candidate.label,
        axis => cell.level(axis).unwrap_or("-"),
    }
}

/// The cell at the base of all factors, or else the first.
fn base<'a>(members: &[&'a Member<'a>], factors: &[Axis]) -> Option<&'a Member<'a>> {
    let is_base = |member: &&&Member<'_>| {
        factors.iter().all(|factor| {
            factor.levels.first().is_some_and(|base| level(member.cell, &factor.name) == base)
        })
    };
    members.iter().find(is_base).or(members.first()).copied()
}

fn point(
    index: usize,
    member: &Member<'_>,
    ranked: &Ranked,
    factors: &[Axis],
    base: Option<&Member<'_>>,
) -> Point {
    let apart: Vec<u32> = base.map(|base| blocks_apart(base, member).collect()).unwrap_or_default();
    let values = ranked.columns[index].iter();
    let values = values.filter(|(block, value)| !apart.contains(block) && **value > 0.0);
    let at = |factor: &Axis| {
        let own = level(member.cell, &factor.name);
        factor.levels.iter().position(|level| level == own).unwrap_or(0)
    };
    Point {
        index,
        at: factors.iter().map(at).collect(),
        ln_speeds: values.map(|(block, value)| (*block, -value.ln())).collect(),
        durability: member.cell.durability,
        misses_its_rate: misses_its_rate(member),
    }
}
