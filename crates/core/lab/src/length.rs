use std::{collections::BTreeMap, fmt};

use pickfs_analysis::{
    budget::{blocks_within, enough_blocks, race_s, rows_asked},
    ending::command as again,
};
use pickfs_record::{
    BackingSpec, Cell, Plan,
    plan::StopRule,
    quantity::{bytes_text, counted, span_text},
};
use pickfs_workload::Length;
use serde_json::Map;

use crate::{
    engines::engine_of,
    expand::expand,
    plans::PLANS,
    preflight::{ceiling, is_in_memory, needs_root, size_bytes},
};

pub fn expected_s(plan: &Plan, cells: &[Cell]) -> f64 {
    let timing = &plan.timing;
    let trial_s = |cell: &Cell| {
        let raw_s = if is_in_memory(&cell.candidate.fs) { 0.0 } else { timing.raw_probe_s };
        let boot_s = if engine_of(cell).is_some() { BOOT_S } else { 0.0 };
        raw_s + boot_s + measured_s(plan, cell) + OVERHEAD_S
    };
    let block_s: f64 = cells.iter().map(trial_s).sum();
    let blocks_s = f64::from(plan.design.blocks) * block_s;
    let before_s = match &plan.backing {
        BackingSpec::Directory { .. } => CARD_S,
        _ => CARD_S + size_bytes(&plan.backing).unwrap_or(0) as f64 * IMAGE_BYTE_S,
    };
    match plan.design.stop {
        StopRule::Blocks { .. } => before_s + blocks_s,
        StopRule::Decided { budget_s, .. } if takes_what_it_takes(plan) => before_s + budget_s,
        StopRule::Decided { budget_s, .. } => before_s + budget_s.min(blocks_s),
    }
}

/// What a run takes, in words.
#[derive(Debug, Clone)]
pub struct Cost {
    pub time: String,
    pub room: String,
    pub rights: &'static str,
}

impl Cost {
    pub fn of(plan: &Plan, cells: &[Cell]) -> Cost {
        let bytes = size_bytes(&plan.backing).map(bytes_text);
        let room = match (&plan.backing, bytes) {
            (BackingSpec::Loop { .. }, Some(bytes)) => format!("an image of {bytes}"),
            (BackingSpec::Ram { .. }, Some(bytes)) => format!("{bytes} of memory"),
            (BackingSpec::Device { .. }, _) => "all that is on the device".into(),
            _ => "directories as they are".into(),
        };
        let rights = if needs_root(plan, cells) { "root" } else { "no root" };
        let trials = plan.design.blocks.saturating_mul(cells.len() as u32);
        Cost { time: length_text(plan, expected_s(plan, cells), trials), room, rights }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}; {}", self.time, self.room, self.rights)
    }
}

pub fn length_text(plan: &Plan, expected_s: f64, trials: u32) -> String {
    let about = format!("about {}", span_text(expected_s));
    match plan.design.stop {
        StopRule::Decided { .. } => format!("at most {}", span_text(expected_s)),
        StopRule::Blocks { .. } if takes_what_it_takes(plan) => {
            format!("{trials} times the program's own time, and {about}")
        }
        StopRule::Blocks { .. } => {
            let twice = span_text(2.0 * expected_s);
            format!("{about}, up to {twice} if every trial is disturbed and repeated")
        }
    }
}

/// What each built-in plan takes, about or at most, whatever of it runs here; empty where that cannot be known.
pub fn times() -> BTreeMap<&'static str, String> {
    PLANS.iter().filter_map(|known| Some((known.name, time(&known.read().ok()?)?))).collect()
}

/// Nothing of a plan whose workload was left out of this program.
fn time(plan: &Plan) -> Option<String> {
    let cells = cells_asked(plan);
    let minutes = expected_s(plan, &cells) / 60.0;
    match minutes {
        _ if cells.is_empty() => None,
        _ if takes_what_it_takes(plan) && !plan.design.stop.is_race() => Some(String::new()),
        0.0..100.0 => Some(format!("{:.0} min", minutes.max(1.0))),
        _ => Some(format!("{:.0} h", minutes / 60.0)),
    }
}

/// Everything that a plan asks for, whatever of it runs here.
pub fn cells_asked(plan: &Plan) -> Vec<Cell> {
    let expanded = pickfs_workload::find(&plan.workload)
        .map_err(Into::into)
        .and_then(|workload| expand(plan, workload, |candidate| ceiling(candidate, &plan.backing)));
    // What is wrong with a plan is said where it is to run.
    expanded.map(|asked| asked.cells).unwrap_or_default()
}

/// Blocks in which all that a plan asks can be answered.
pub fn blocks_asked(plan: &Plan) -> u32 {
    match &cells_asked(plan)[..] {
        [] => plan.design.blocks,
        cells => enough_blocks(plan, cells)[1],
    }
}

/// What to say of a plan that is over before any answer can come, with the words that cure it.
pub fn too_short(plan: &Plan, cells: &[Cell]) -> Option<String> {
    if rows_asked(plan, cells).is_empty() {
        return None;
    }
    let [first, all] = enough_blocks(plan, cells);
    let (held, words, cure) = match plan.design.stop {
        StopRule::Blocks { .. } => {
            (plan.design.blocks, "it has".to_owned(), ("--blocks", all.to_string()))
        }
        // Of work that takes what it takes nobody knows how many blocks a time holds.
        StopRule::Decided { .. } if cells.iter().any(|cell| length_of(cell).is_work()) => {
            return None;
        }
        StopRule::Decided { budget_s, .. } => {
            let (opening_s, block_s) = race_s(plan);
            let budget_m = (1.2 * (opening_s + f64::from(all) * block_s) / 60.0).ceil();
            let words = format!("{} hold", span_text(budget_s));
            (blocks_within(plan, budget_s), words, ("--budget", format!("{budget_m}m")))
        }
    };
    (held < first).then(|| {
        let command = again(plan, &[(cure.0, Some(&cure.1))]);
        let blocks = counted(held.into(), "block");
        format!("{words} {blocks}, and no answer can come before block {first}; instead: {command}")
    })
}

pub fn takes_what_it_takes(plan: &Plan) -> bool {
    let Ok(workload) = pickfs_workload::find(&plan.workload) else { return false };
    let params = workload.validate(&plan.params).or_else(|_| workload.validate(&Map::new()));
    params.is_ok_and(|params| (workload.length)(&params) == Length::Work(None))
}

fn measured_s(plan: &Plan, cell: &Cell) -> f64 {
    match length_of(cell) {
        Length::Work(seconds) => {
            let times = if is_emulated(cell) { EMULATED_TIMES } else { 1.0 };
            times * seconds.unwrap_or(0.0)
        }
        Length::Clock => {
            let timing = &plan.timing;
            (timing.warmup_s + timing.measure_s) * attempts(plan) + timing.sustain_s
        }
    }
}

/// Until an engine was chosen a guest is taken for an emulated one.
fn is_emulated(cell: &Cell) -> bool {
    engine_of(cell).is_some_and(|engine| engine != "qemu-kvm")
}

pub(crate) fn length_of(cell: &Cell) -> Length {
    let length = || {
        let workload = pickfs_workload::find(&cell.workload.name).ok()?;
        Some((workload.length)(&workload.validate(&cell.workload.params).ok()?))
    };
    length().unwrap_or(Length::Clock)
}

/// Rates that a search tries, about: two answers to each, doubling to the middle of the
/// range and halving the gap to its precision.
fn attempts(plan: &Plan) -> f64 {
    plan.capacity.map_or(1.0, |search| {
        let doublings = (search.limit_per_s / search.start_per_s).log2().max(1.0) / 2.0;
        let halvings = (2f64.ln() / search.precision.ln()).log2().max(0.0).ceil();
        2.0 * (doublings + halvings + 1.0)
    })
}

/// Bare figures of the backing, once.
pub(crate) const CARD_S: f64 = 3.0;
/// Writing the image, on a disk of half a gigabyte a second.
const IMAGE_BYTE_S: f64 = 2e-9;
/// Making, mounting, verifying, unmounting and settling, as measured on a virtual disk.
const OVERHEAD_S: f64 = 1.3;
/// Boot, calibration and power-off of a guest, as measured in an emulated machine.
const BOOT_S: f64 = 6.0;
/// How many times as long work takes on an emulated processor: between small files (3) and columns (5).
const EMULATED_TIMES: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_analysis::decide::Rules;
    use pickfs_record::{
        Durability, Metric,
        plan::{Axis, Statistic},
    };

    use crate::{plans::planned, preflight::preflight};

    #[test]
    fn the_time_of_a_program_is_not_made_up() {
        let mut plan = planned("postgresql");
        plan.design.stop = StopRule::Blocks { tie_margin: 0.05 };
        let cells = preflight(&plan).expect("runs").cells;
        let text = Cost::of(&plan, &cells).time;
        let trials = plan.design.blocks as usize * cells.len();
        let own = format!("{trials} times the program's own time, and about ");
        assert!(text.starts_with(&own), "{text}");
    }

    #[test]
    fn what_a_plan_asks_for_is_known_where_nothing_of_it_runs() {
        let plan = planned("article-002-guests");
        let cells = cells_asked(&plan);
        assert!(cells.len() >= plan.candidates.len() && expected_s(&plan, &cells) > 60.0);
    }

    #[test]
    fn an_emulated_guest_takes_longer_than_one_on_a_processor() {
        let plan = planned("article-004-guests");
        let mut cells = cells_asked(&plan);
        let mut of = |engine: &str| {
            let knobs = cells.iter_mut().map(|cell| &mut cell.knobs);
            knobs.for_each(|knobs| drop(knobs.insert("guest.engine".into(), engine.into())));
            expected_s(&plan, &cells)
        };
        assert!(of("qemu-tcg") > of("qemu-kvm") && of("qemu") > of("qemu-kvm"));
    }

    #[test]
    fn repeats_are_foreseen() {
        let plan = planned("column-tiny");
        let text = length_text(&plan, 60.0, 3);
        assert_eq!(text, "about 1 min, up to 2 min if every trial is disturbed and repeated");
    }

    #[test]
    fn a_plan_of_phases_says_how_long_it_takes() {
        let plan = planned("files");
        let expansion = preflight(&plan).expect("runs");
        let each_s = expected_s(&plan, &expansion.cells) / (8 * expansion.cells.len()) as f64;
        assert!(each_s > plan.timing.raw_probe_s + OVERHEAD_S + 1.0, "{each_s}");
    }

    #[test]
    fn five_minutes_hold_fifteen_blocks_of_a_plan_of_medians_at_least() {
        pickfs_engine_workloads::add();
        for name in ["quick", "queue", "fix", "pair"] {
            let plan = planned(name);
            let expansion = preflight(&plan).expect("runs");
            let text = Cost::of(&plan, &expansion.cells).time;
            assert!(text.starts_with("at most 5 min "), "card and image too: {text}");
            assert_eq!(too_short(&plan, &expansion.cells), None);
            let planned = Rules::of(&plan).planned;
            assert!((15..=30).contains(&planned), "{name}: {planned}");
        }
        let trust = planned("trust");
        let trust_s = expected_s(&trust, &preflight(&trust).expect("runs").cells);
        assert!(trust.design.blocks == 60 && trust_s < 540.0, "{trust_s}");
    }

    #[test]
    fn a_race_without_time_for_its_blocks_says_so_and_the_time_that_it_proposes_is_enough() {
        let mut plan = planned("quick");
        plan.timing.measure_s = 10.0;
        plan.typed = ["./run", "quick", "--measure", "10s"].map(String::from).into();
        let cells = preflight(&plan).expect("runs").cells;
        let said = too_short(&plan, &cells).expect("too short");
        assert!(said.starts_with("5 min hold 2 blocks, and no answer can come before "), "{said}");
        let minutes = said.split_once("; instead: ./run quick --measure 10s --budget ");
        let minutes: f64 =
            minutes.expect("a cure").1.trim_end_matches('m').parse().expect("minutes");
        plan.design.stop = StopRule::Decided { budget_s: 60.0 * minutes, tie_margin: 0.05 };
        assert_eq!(too_short(&plan, &cells), None);
    }

    #[test]
    fn plans_with_a_question_have_the_blocks_of_an_answer() {
        pickfs_engine_workloads::add();
        for known in crate::plans::PLANS {
            let plan = planned(known.name);
            let Ok(expansion) = preflight(&plan) else { continue };
            assert_eq!(too_short(&plan, &expansion.cells), None, "{}", plan.name);
        }
        let mut etcd = planned("etcd");
        etcd.design.blocks = 7;
        etcd.typed = ["./run", "etcd", "--blocks", "7"].map(String::from).into();
        let said = too_short(&etcd, &preflight(&etcd).expect("runs").cells);
        let cure = "it has 7 blocks, and no answer can come before block 8; instead: ./run etcd --blocks 8";
        assert_eq!(said.as_deref(), Some(cure));
    }

    #[test]
    fn the_blocks_that_are_chosen_for_an_axis_are_those_before_which_no_answer_comes() {
        let mut plan = planned("etcd");
        plan.workload = "command".into();
        plan.params = Map::from_iter([("command".to_owned(), "true".into())]);
        plan.design.primary = vec![Metric::new("wall", Statistic::Mean)];
        let one = blocks_asked(&plan);
        let levels = [1, 2, 3, 4].map(serde_json::Value::from).into();
        plan.axes.push(Axis { name: "repeat".into(), levels });
        let workload = pickfs_workload::find(&plan.workload).expect("known");
        let cells = expand(&plan, workload, |_| Durability::PowerLoss).expect("expands").cells;
        assert_eq!(cells.len(), 12);
        let chosen = blocks_asked(&plan);
        assert!(chosen > one, "{chosen} of four panels, {one} of one");
        let mut said = |blocks| {
            plan.design.blocks = blocks;
            too_short(&plan, &cells)
        };
        assert_eq!(said(chosen), None);
        let text = said(chosen - 1).expect("too short");
        assert!(text.contains(&format!("before block {chosen}; ")), "{text}");
        assert!(text.ends_with(&format!("--blocks {chosen}")), "{text}");
    }

    #[test]
    fn plans_that_rank_tails_measure_for_two_periods() {
        pickfs_engine_workloads::add();
        for known in crate::plans::PLANS {
            let plan = planned(known.name);
            let Ok(expansion) = preflight(&plan) else { continue };
            if plan.design.primary.iter().any(pickfs_analysis::gates::is_tail) {
                // A program is told its time by its own words: the gate of tails looks at what it measured.
                let has_time = |cell: &Cell| {
                    length_of(cell) == Length::Clock || cell.workload.name == "command"
                };
                assert!(expansion.cells.iter().all(has_time), "{} takes what it takes", plan.name);
                assert!(plan.timing.measure_s >= 60.0, "{}", plan.name);
            }
        }
    }
}
