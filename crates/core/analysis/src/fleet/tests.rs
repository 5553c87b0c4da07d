//! Fleets with a planted truth: rates of wrong claims, then what is said of runs.

use super::*;
use crate::{compare::compare, decide::of_pairs, findings};
use pickfs_record::BackingKind;
use pickfs_testkit::{Dice, FakeCandidate, FakeRun, fake_run};

/// Fleets of each simulated row.
const FLEETS: usize = 300;
/// Five per cent, and three standard deviations of a share of so many fleets.
const WRONG_MAX: f64 = 0.05 + 3.0 * 0.0126;
/// Standard deviation of a block's logarithm.
const NOISE: f64 = 0.1;

#[derive(Clone, Copy)]
struct Truth {
    hosts: usize,
    blocks: u32,
    /// Logarithm of the typical host's ratio, and its standard deviation between hosts.
    effect: f64,
    tau: f64,
    /// A host of the opposite effect.
    opposite: Option<usize>,
}

const NONE: Truth = Truth { hosts: 6, blocks: 7, effect: 0.0, tau: 0.0, opposite: None };

fn hosts(truth: Truth, dice: &mut Dice) -> Vec<Pairs> {
    let host = |at: usize| {
        let effect = if truth.opposite == Some(at) { -truth.effect } else { truth.effect };
        let own = effect + truth.tau * dice.normal();
        both((1..=truth.blocks).map(|b| (b, own + NOISE * dice.normal())).collect())
    };
    (0..truth.hosts).map(host).collect()
}

fn both(series: Series) -> Pairs {
    let turned = series.iter().map(|(block, ratio)| (*block, -ratio)).collect();
    vec![vec![Vec::new(), series], vec![turned, Vec::new()]]
}

fn is_apart(decision: &Decision) -> bool {
    matches!(decision.claim(0, 1), Claim::Faster | Claim::Slower)
}

/// Share of the fleets of which something holds.
fn share(truth: Truth, holds: impl Fn(&[Pairs], &Verdict) -> bool) -> f64 {
    let mut dice = Dice::new(truth.hosts as u64 + u64::from(truth.blocks));
    let held = (0..FLEETS).filter(|_| {
        let fleet = hosts(truth, &mut dice);
        let rules = Rules { alpha: ALPHA, margin: 0.05, planned: truth.blocks };
        holds(&fleet, &judge(fleet.clone(), rules))
    });
    held.count() as f64 / FLEETS as f64
}

/// All blocks of all hosts as those of one: what a fleet must not be.
fn pooled(hosts: &[Pairs]) -> Decision {
    let all = hosts.iter().flat_map(|pairs| &pairs[0][1]).map(|(_, ratio)| *ratio);
    let all: Series = (1..).zip(all).collect();
    let rules = Rules { alpha: ALPHA, margin: 0.05, planned: all.len() as u32 };
    of_pairs(both(all), rules, Vec::new())
}

#[test]
fn hosts_as_units_err_in_one_fleet_of_twenty_and_pooled_blocks_far_more_often() {
    for (hosts, tau) in [(6, 0.0), (6, 0.05), (6, 0.1), (10, 0.1), (20, 0.1)] {
        let truth = Truth { hosts, tau, ..NONE };
        let wrong = share(truth, |_, verdict| is_apart(&verdict.fleet));
        assert!(wrong <= WRONG_MAX, "{hosts} hosts, tau {tau}: {wrong}");
        let wrong = share(truth, |hosts, _| is_apart(&pooled(hosts)));
        assert!(wrong > 0.12 || tau < 0.1, "{hosts} hosts pooled, tau {tau}: {wrong}");
    }
    for (hosts, blocks) in [(6, 7), (8, 15), (20, 15)] {
        let truth = Truth { hosts, blocks, ..NONE };
        let wrong = share(truth, |_, verdict| verdict.hosts.iter().any(is_apart));
        assert!(wrong <= WRONG_MAX, "any of {hosts} equal hosts: {wrong}");
    }
}

#[test]
fn an_effect_that_varies_is_found_and_a_host_of_the_opposite_one_is_named_and_no_other() {
    let truth = Truth { hosts: 8, blocks: 15, effect: 1.3f64.ln(), tau: 0.1, ..NONE };
    let found = share(truth, |_, verdict| verdict.fleet.claim(0, 1) == Claim::Faster);
    assert!(found > 0.85, "{found}");
    let truth = Truth { tau: 0.0, opposite: Some(3), ..truth };
    let named = share(truth, |_, verdict| {
        let right = |at| if at == 3 { Claim::Slower } else { Claim::Faster };
        let mut said = verdict.hosts.iter().map(|host| host.claim(0, 1)).enumerate();
        said.all(|(at, claim)| claim == right(at)) && !is_apart(&verdict.fleet)
    });
    assert!(named > 0.9, "{named}");
}

#[test]
fn what_differs_between_hosts_is_told_from_what_blocks_explain() {
    let spread = |tau: f64| {
        let truth = Truth { hosts: 20, blocks: 15, tau, ..NONE };
        let mut dice = Dice::new(5);
        let each = (0..50).map(|_| {
            let fleet = hosts(truth, &mut dice);
            let series: Vec<&[(u32, f64)]> = fleet.iter().map(|host| &host[0][1][..]).collect();
            spread_between(&series).expect("twenty hosts")
        });
        let (sds, shares): (Vec<f64>, Vec<f64>) = each.unzip();
        [sds, shares].map(|all| all.iter().sum::<f64>() / all.len() as f64)
    };
    let ([none, none_share], [planted, planted_share]) = (spread(0.0), spread(0.1));
    assert!(none < 0.02 && none_share < 0.2, "{none} {none_share}");
    assert!((0.085..0.115).contains(&planted) && planted_share > 0.85, "{planted} {planted_share}");
    let few = [(1, 0.1), (2, 0.2), (3, 0.1)];
    assert_eq!(spread_between(&[&few, &few]), None, "three blocks tell no variance");
}

/// Runs on so many hosts, on each of which xfs is so many times as fast as ext4.
fn runs(hosts: usize, ratio: impl Fn(usize) -> f64) -> Vec<RunRecord> {
    let run = |number: usize| {
        let of = |(name, ns)| FakeCandidate::new(name, 500.0, ns);
        let mut run = fake_run(&FakeRun {
            name: format!("h{number}"),
            seed: number as u64,
            blocks: 15,
            candidates: [("ext4", 200e3), ("xfs", 200e3 / ratio(number))].map(of).into(),
            reference: "ext4".into(),
            syncs: vec!["fdatasync".into()],
            ..FakeRun::default()
        });
        // Their order is not that of the names.
        run.environment.put(MACHINE_KEY, 100 - number);
        run
    };
    (1..=hosts).map(run).collect()
}

fn fleet_of(runs: &[RunRecord]) -> Option<Fleet> {
    let all: Vec<_> = runs.iter().map(|run| (run, findings(run))).collect();
    let named = all.iter().map(|(run, findings)| Named { name: &run.name, run, findings });
    compare(&named.collect::<Vec<_>>()).fleet
}

fn only_answer(runs: &[RunRecord]) -> FleetAnswer {
    let mut fleet = fleet_of(runs).expect("a fleet");
    assert_eq!(fleet.answers.len(), 1, "{fleet:?}");
    fleet.answers.remove(0)
}

#[test]
fn a_choice_that_holds_on_each_of_eight_hosts_holds_on_the_typical_one_in_whatever_order() {
    let mut runs = runs(8, |n| 1.5 + 0.05 * n as f64);
    let answer = only_answer(&runs);
    assert_eq!((answer.end, &answer.left[..]), (AnswerEnd::Winner, &["xfs".to_string()][..]));
    assert!(answer.sentence.starts_with("xfs: 1.7"), "{}", answer.sentence);
    let own = "By their own blocks xfs is ahead of ext4 on 8 of 8 hosts, behind on none.";
    assert!(answer.sentence.ends_with(own), "{}", answer.sentence);
    let (low, high) = answer.pairs[0].range.expect("eight ratios");
    assert!(1.4 < low && low < 1.7 && high > 1.8, "{answer:?}");
    runs.reverse();
    assert_eq!(fleet_of(&runs).expect("a fleet").hosts[0].name, "h8");
    assert_eq!(only_answer(&runs).sentence, answer.sentence);
}

#[test]
fn few_hosts_say_how_many_more_it_takes_and_a_host_twice_is_one() {
    let mut runs = runs(3, |_| 1.6);
    let answer = only_answer(&runs);
    assert_eq!((answer.end, answer.more_hosts), (AnswerEnd::NoAnswer, Some(3)));
    assert!(
        answer.sentence.starts_with("too few hosts to speak of others like them (3 hosts) by ")
    );
    assert!(answer.sentence.contains(": it takes 3 more at least. By their own blocks xfs is"));
    runs.push(RunRecord { name: "again".into(), ..runs[0].clone() });
    let found = fleet_of(&runs).expect("a fleet");
    assert_eq!((found.hosts.len(), found.hosts[0].runs, found.hosts[0].blocks), (3, 2, 30));
    assert!(found.hosts[0].facts.is_empty(), "all are alike: {found:?}");
    let answer = &found.answers[0];
    assert_eq!((answer.more_hosts, answer.pairs[0].hosts[0].blocks), (Some(3), 30));
    assert_eq!(fleet_of(&[runs[0].clone(), runs[3].clone()]), None, "one host is no fleet");
}

#[test]
fn what_did_something_else_is_refused_with_the_reason() {
    let mut runs = runs(8, |_| 1.6);
    runs[2].environment.0.remove(MACHINE_KEY);
    runs[3].build = "0.0.9+other".into();
    runs[4].plan.timing.measure_s = 99.0;
    runs[5].cells[0].workload.version = 77;
    runs[6].trials.iter_mut().for_each(|trial| trial.backing = BackingKind::RamImage);
    // What may be another on each host.
    (runs[7].plan.design.seed, runs[7].plan.design.blocks) = (99, 3);
    let found = fleet_of(&runs).expect("a fleet");
    assert_eq!(found.hosts.len(), 3);
    let parts =
        ["does not say which host", "build 0.0.9+other", "another plan", "version", "backing"];
    for ((name, why), (number, part)) in found.refused.iter().zip((3..).zip(parts)) {
        assert!(*name == format!("h{number}") && why.contains(part), "{:?}", found.refused);
    }
    assert_eq!(found.refused.len(), 5);
}

#[test]
fn facts_that_part_the_signs_are_named_unless_each_host_has_its_own_and_a_silent_host_is_told() {
    let mut runs = runs(8, |n| if n == 2 { 1.0 / 1.6 } else { 1.6 });
    runs[1].environment.put("kernel.release", "5.10");
    let xfs = runs[7].cells[1].id.clone();
    runs[7].trials.retain(|trial| trial.cell != xfs);
    let answer = only_answer(&runs);
    assert_eq!(answer.end, AnswerEnd::NoAnswer, "six of seven");
    let own = "on 6 of 8 hosts, nothing to be said on 1 (h8), behind on 1 (h2).";
    assert!(answer.sentence.ends_with(own), "{}", answer.sentence);
    assert_eq!(answer.pairs[0].goes_with, ["kernel.release: 6.18.0 against 5.10"]);
    for (number, run) in runs.iter_mut().enumerate() {
        run.environment.put("kernel.release", number);
    }
    assert_eq!(only_answer(&runs).pairs[0].goes_with, [""; 0]);
    runs.iter_mut().for_each(|run| run.trials.clear());
    let found = fleet_of(&runs).expect("a fleet");
    assert_eq!(found.answers, []);
    let why = found.unanswered.expect("each host has an ending");
    assert!(why.ends_with("On h1: no trial was finished."), "{why}");
}

#[test]
fn a_candidate_that_is_mounted_otherwise_on_a_host_is_told_by_the_options_that_are_not_shared() {
    let mut runs = runs(8, |n| if n == 2 { 1.0 / 1.6 } else { 1.6 });
    for (number, run) in (1..).zip(&mut runs) {
        let xfs = run.cells[1].id.clone();
        let more = if number == 2 { "rw,noatime" } else { "rw,relatime" };
        for trial in run.trials.iter_mut().filter(|trial| trial.cell == xfs) {
            let own = format!("clientaddr=10.0.0.{number},addr=10.0.1.{number}");
            trial.environment.put("mount.options", format!("{more},inode64,{own}"));
        }
    }
    let key = "mount.options of xfs";
    let only = |options: &str| Facts::from([(key.into(), options.into())]);
    let facts =
        |runs: &[RunRecord], at: usize| fleet_of(runs).expect("a fleet").hosts[at].facts.clone();
    assert_eq!(facts(&runs, 0), only("relatime"));
    assert_eq!(facts(&runs, 1), only("noatime"));
    let answer = only_answer(&runs);
    assert_eq!(answer.pairs[0].goes_with, [format!("{key}: relatime against noatime")]);
    // Who lacks a candidate mounts it no other way, and more options on one host are fewer on all others.
    let xfs = runs[1].cells[1].id.clone();
    runs[1].trials.retain(|trial| trial.cell != xfs);
    assert_eq!(facts(&runs, 0), Facts::new());
    let trial = runs[2].trials.iter_mut().find(|trial| trial.cell == xfs).expect("one of xfs");
    trial.environment.put("mount.options", "rw,relatime,inode64,discard");
    assert_eq!(facts(&runs, 0), only("-"));
    assert_eq!(facts(&runs, 2), only("discard"));
}
