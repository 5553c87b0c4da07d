//! How often the one decision is right, with known truths: 2,000 experiments each, in the blocks that five minutes hold.
//!
//! `PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-lab --test decisions` writes the table of docs/method/calibration.md anew.

use std::collections::BTreeMap;

use pickfs_analysis::{
    articles::{Answer, Article, Known, Outcome, Relation, Source, answers, find},
    budget,
    decide::{Decision, End, Rules, Standing, decide},
    findings,
};
use pickfs_lab::{order::block_order, plans::built_in};
use pickfs_record::finding::Claim;
use pickfs_testkit::{Dice, FakePhasedRun, docs, fake_phased_run};

const EXPERIMENTS: u64 = 2_000;

/// Blocks of two, three and four candidates in five minutes with trials of two seconds in all.
const BLOCKS: [usize; 6] = [0, 0, 28, 20, 15, 12];

const HEAD: &str = "# How often the one decision is right

Every line is a share of 2,000 simulated experiments with a known truth (two standard errors at 5 % are one point). A
trial scatters by 10 % and its block by another 10 %. Trials run in the order that the lab draws. Where a line says looks,
the decision was asked after each block, and one wrong statement at any of them counts. Written by
`PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-lab --test decisions`, which also fails when a bound is not kept.

Five minutes are taken to hold 28 blocks of two candidates, 20 of three, 15 of four: trials of two seconds in all. The
error is what the answers of `quick` have of the five per cent that all of a run may err.

The bound of a fair coin is exact and tested path by path. Lines over 5.0 are within the error of 2,000 experiments; a line
fails over 6.5. Claims of articles have a twentieth of the five per cent: their line needs no such allowance.

";

/// How a candidate or the machine behaves beside its own noise of ten per cent and the block's of ten.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Even,
    /// One trial in ten of every candidate takes 1.5 to 4 times as long.
    Outliers,
    /// The second candidate takes 2 to 4 times as long in one trial of four, with the same median ratio.
    Moody,
    /// Whoever runs after the second candidate takes 1.2 times as long.
    CarryOver,
    /// The machine slows by four standard deviations of a trial a block.
    Drifting,
    /// The machine's own state, three times a trial's noise, remembers 0.8 from trial to trial.
    Autocorrelated,
    /// A trial fails where it would have taken over 1.25.
    FailsWhenSlow,
}

fn drawn(cells: usize, blocks: usize, seed: u64) -> Vec<Vec<usize>> {
    (0..blocks as u32).map(|block| block_order(seed, cells, block)).collect()
}

/// Four cells, three after five blocks, two after ten, and all of them in each fifth block: each number in a balanced
/// order of its own, as the lab counts the blocks of a race.
fn narrowed(blocks: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut so_far = [0; 5];
    let each = (0..blocks).map(|block| {
        let left = match block {
            0..5 => 4,
            _ if (block + 1) % 5 == 0 => 4,
            5..10 => 3,
            _ => 2,
        };
        so_far[left] += 1;
        block_order(seed, left, so_far[left] - 1)
    });
    each.collect()
}

fn played(truth: &[f64], mood: Mood, orders: Vec<Vec<usize>>, seed: u64) -> Vec<Vec<Option<f64>>> {
    let mut dice = Dice::new(seed ^ 0xdec1_de00);
    let mut before = None;
    let mut state = dice.normal();
    (0u32..)
        .zip(orders)
        .map(|(block, order)| {
            let machine = 0.1 * dice.normal();
            let mut values = vec![None; truth.len()];
            for (place, cell) in order.into_iter().enumerate() {
                state = 0.8 * state + 0.6 * dice.normal();
                let mut ln = truth[cell].ln() + machine + 0.1 * dice.normal();
                let times = |dice: &mut Dice, low: f64| (low + (4.0 - low) * dice.uniform()).ln();
                match mood {
                    Mood::Outliers if dice.chance(0.1) => ln += times(&mut dice, 1.5),
                    Mood::Moody if cell == 1 => {
                        // The median of 3/4 N(0, 0.02) + 1/4 (that + 0.69 to 1.39) is 0.061.
                        ln -= 0.061;
                        if dice.chance(0.25) {
                            ln += times(&mut dice, 2.0);
                        }
                    }
                    Mood::Drifting => {
                        ln += 0.4 * (f64::from(block) + place as f64 / truth.len() as f64);
                    }
                    Mood::Autocorrelated => ln += 0.3 * state,
                    Mood::CarryOver if before == Some(1) => ln += 1.2f64.ln(),
                    _ => {}
                }
                before = Some(cell);
                let fails = mood == Mood::FailsWhenSlow && ln.exp() > 1.25;
                values[cell] = Some(if fails { f64::INFINITY } else { ln.exp() });
            }
            values
        })
        .collect()
}

fn share(truth: &[f64], mood: Mood, blocks: usize, holds: impl Fn(&Decision) -> bool) -> f64 {
    share_of(truth, |seed| played(truth, mood, drawn(truth.len(), blocks, seed), seed), holds)
}

fn share_of(
    truth: &[f64],
    experiment: impl Fn(u64) -> Vec<Vec<Option<f64>>>,
    holds: impl Fn(&Decision) -> bool,
) -> f64 {
    let quick = built_in("quick").expect("a plan");
    let alpha = budget::of_plan(&quick.read().expect("a good plan"));
    let rules = Rules { alpha, margin: 0.05, planned: BLOCKS[truth.len()] as u32 };
    let found = (0..EXPERIMENTS).filter(|seed| holds(&decide(&experiment(*seed), rules)));
    found.count() as f64 / EXPERIMENTS as f64
}

/// A candidate that ties with the best is called out, or unequal ones are called equal.
fn is_wrong(truth: &[f64], decision: &Decision) -> bool {
    let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
    let standings = decision.standings().iter().zip(truth);
    let lost = standings.clone().any(|(s, value)| *value <= best && *s != Standing::Left);
    let unequal =
        matches!(decision.end(), End::Equal(of) if of.iter().any(|i| truth[*i] > 1.05 * best));
    lost || unequal
}

fn named(truth: &[f64], decision: &Decision) -> bool {
    let best = truth.iter().copied().fold(f64::INFINITY, f64::min);
    matches!(decision.end(), End::Winner(index) if truth[index] <= best)
}

/// A name beside an interval that holds 1, or beside the word equal.
fn contradicts_itself(decision: &Decision) -> bool {
    let End::Winner(first) = decision.end() else { return false };
    let holds_one = |other: usize| {
        let (low, high) = decision.duel(other, first).interval;
        let is_equal = matches!(decision.claim(other, first), Claim::Equal { .. } | Claim::Open);
        is_equal || low <= 1.0 && 1.0 <= high
    };
    decision.ranking().get(1).is_some_and(|second| holds_one(*second))
}

/// How often twelve phases without a difference bear out any of the claims that an article may make of several rows.
fn seen_in_nothing() -> f64 {
    let relations = ["mixed", "dominates", "dominates but 1", "dominates but 3"];
    let claims: Vec<_> = relations.map(|relation| ("phases :".to_owned(), relation)).into();
    share_of_wrong(&claimed(&claims), &twelve_phases(), 1.0, EXPERIMENTS)
}

/// How often one of twelve phases that are six per cent faster is called less than visibly faster.
fn less_in_a_visible_difference() -> f64 {
    let ask = twelve_phases();
    let rates = ask.phases.iter().map(|phase| (format!("{}.rate", phase.phase), "faster"));
    let claims: Vec<_> = rates.collect();
    share_of_wrong(&claimed(&claims), &ask, 1.06, EXPERIMENTS)
}

fn twelve_phases() -> FakePhasedRun {
    let mut ask = FakePhasedRun { blocks: 20, ..of_nothing() };
    ask.phases.truncate(12);
    assert_eq!(ask.phases.len(), 12);
    ask
}

/// Claims of xfs beside ext4, each a measure and a relation.
fn claimed(claims: &[(String, &str)]) -> Article {
    let claim = |(index, (measure, relation)): (usize, &(String, &str))| {
        format!(
            "[[claim]]\nid = \"999-{index}\"\nsays = \"x.\"\nworkload = \"column\"\nplan = \"article-002-rhel9\"\nmeasure = \"{measure}\"\n\
             subject = {{ fs = \"xfs\" }}\nobject = {{ fs = \"ext4\" }}\nrelation = \"{relation}\"\n"
        )
    };
    let claims: String = claims.iter().enumerate().map(claim).collect();
    let head = "id = \"999\"\ntitle = \"t\"\nby = \"b\"\nsetting = \"s\"\n";
    toml::from_str(&format!("{head}{claims}")).expect("legal claims")
}

/// The same of what an article says of a difference, put to a run of the plan that was made for it.
fn seen_in_nothing_of_its_own_plan() -> f64 {
    use Relation::{AtLeast, Dominates, Faster, Mixed};
    let mut article = find("002").expect("built in").clone();
    article.claims.retain(|claim| {
        claim.plan == "article-002-rhel9"
            && matches!(claim.relation, Faster | AtLeast(_) | Dominates(_) | Mixed)
    });
    assert!(article.claims.len() > 20);
    let ask = FakePhasedRun { blocks: 16, lanes: vec![1, 64], ..of_nothing() };
    share_of_wrong(&article, &ask, 1.0, EXPERIMENTS / 20)
}

/// Measured phases of two candidates without a difference.
fn of_nothing() -> FakePhasedRun {
    let mut ask = FakePhasedRun { speeds: Vec::new(), ..FakePhasedRun::column() };
    ask.candidates.truncate(2);
    ask.phases.retain(|phase| !phase.is_derived && phase.heat.is_none());
    ask.primary.clear();
    ask
}

/// Of runs in which xfs is so many times as fast as ext4.
fn share_of_wrong(article: &Article, ask: &FakePhasedRun, truth: f64, experiments: u64) -> f64 {
    let mut run = fake_phased_run(ask);
    run.plan.name = "article-002-rhel9".into();
    let found = findings(&run);
    let known = Known { plans: &BTreeMap::new(), features: None, origins: &BTreeMap::new() };
    let xfs = run.cells.iter().find(|cell| cell.candidate.fs == "xfs").expect("xfs").id.clone();
    let mut is_seen = |seed: &u64| {
        let mut dice = Dice::new(seed ^ 0x9a5e);
        for trial in &mut run.trials {
            let own = if trial.cell == xfs { truth } else { 1.0 };
            for phase in &mut trial.phases {
                phase.rate_per_s = 1e3 * own * (0.1 * dice.normal()).exp();
            }
        }
        let all = answers([article], &[Source { run: &run, findings: &found }], &known);
        // Without a difference "less than it says" is right, but for its direction.
        let has_direction = |answer: &Answer| {
            let mut pairs = answer.runs.iter().flat_map(|run| &run.evidence);
            pairs.any(|pair| pair.interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0))
        };
        all.iter().any(|answer| match answer.outcome {
            Outcome::Seen => truth == 1.0,
            Outcome::Opposite => true,
            Outcome::Weaker => truth > 1.0 || has_direction(answer),
            _ => false,
        })
    };
    (0..experiments).filter(|seed| is_seen(seed)).count() as f64 / experiments as f64
}

struct Row(&'static str, f64, Bound);

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

fn rows() -> Vec<Row> {
    use Bound::{AtLeast, AtMost};
    use Mood::{Even, Outliers};
    let two = [1.0, 1.1];
    let spread = [1.3, 2.0, 1.0, 1.5];
    let right = |truth: &[f64], mood| {
        share(truth, mood, BLOCKS[truth.len()], |decision| named(truth, decision))
    };
    let mut rows = vec![
        Row("two candidates, truth 1.10, named in 28 blocks", right(&two, Even), AtLeast(0.65)),
        Row("the same with outliers", right(&two, Outliers), AtLeast(0.40)),
        Row(
            "four candidates 1, 1.3, 1.5, 2, the best named in 15 blocks",
            right(&spread, Even),
            AtLeast(0.95),
        ),
    ];
    rows.extend(wrong_statements());
    rows.push(Row(
        "a race of two that names one beside equal or an interval that holds 1",
        share(&two, Even, 60, contradicts_itself),
        AtMost(0.0),
    ));
    rows.push(Row(
        "twelve empty phases put to claims of articles, any seen or opposite",
        seen_in_nothing(),
        AtMost(0.05),
    ));
    rows.push(Row(
        "twelve phases that are 1.06 times as fast, any called less than visibly faster",
        less_in_a_visible_difference(),
        AtMost(0.05),
    ));
    rows.push(Row(
        "the claims of an article, put to an empty run of their own plan, any wrong (of 100)",
        seen_in_nothing_of_its_own_plan(),
        AtMost(0.05),
    ));
    rows
}

fn wrong_statements() -> Vec<Row> {
    use Mood::{Autocorrelated, CarryOver, Drifting, Even, FailsWhenSlow, Moody, Outliers};
    let narrowing = [1.0, 1.0, 1.5, 2.0];
    let rows: [(_, &[f64], _, _); 15] = [
        ("two equal, any wrong statement, 60 looks", &[1.0; 2], Even, 60),
        ("three equal, 60 looks", &[1.0; 3], Even, 60),
        ("four equal, 60 looks", &[1.0; 4], Even, 60),
        ("four equal, outliers, 60 looks", &[1.0; 4], Outliers, 60),
        ("two equal ones and two slower, 60 looks", &[1.0, 1.0, 1.2, 1.5], Even, 60),
        ("truth 1.06 called equal, 60 looks", &[1.0, 1.06], Even, 60),
        ("one of two moody, median ratio 1, 60 looks", &[1.0; 2], Moody, 60),
        ("one of four moody, median ratio 1, 60 looks", &[1.0; 4], Moody, 60),
        ("who follows the second is 20 % slower, three equal", &[1.0; 3], CarryOver, 20),
        (
            "the same, two equal ones and two slower, narrowed to three and to two, 60 looks",
            &narrowing,
            CarryOver,
            60,
        ),
        ("the same, five equal, 60 looks", &[1.0; 5], CarryOver, 60),
        ("three equal on a drifting machine, 60 looks", &[1.0; 3], Drifting, 60),
        ("two equal on a machine with a memory, 60 looks", &[1.0; 2], Autocorrelated, 60),
        ("three equal on a machine with a memory, 60 looks", &[1.0; 3], Autocorrelated, 60),
        ("two equal that fail when slow, 60 looks", &[1.0; 2], FailsWhenSlow, 60),
    ];
    let share = |truth: &[f64], mood, blocks| {
        let orders = |seed| match truth == narrowing {
            true => narrowed(blocks as u32, seed),
            false => drawn(truth.len(), blocks, seed),
        };
        share_of(truth, |seed| played(truth, mood, orders(seed), seed), |d| is_wrong(truth, d))
    };
    let row =
        |(words, truth, mood, blocks)| Row(words, share(truth, mood, blocks), Bound::AtMost(0.065));
    rows.into_iter().map(row).collect()
}

#[test]
fn decisions_are_right_as_often_as_they_promise() {
    let mut table = String::from("| truth | per cent | bound |\n| --- | --: | --- |\n");
    let mut broken = Vec::new();
    for Row(words, found, bound) in rows() {
        let (text, holds) = match bound {
            Bound::AtLeast(least) => (format!("at least {}", 100.0 * least), found >= least),
            Bound::AtMost(most) => (format!("at most {}", 100.0 * most), found <= most),
        };
        table += &format!("| {words} | {:.1} | {text} |\n", 100.0 * found);
        if !holds {
            broken.push(words);
        }
    }
    println!("{table}");
    docs::update("docs/method/calibration.md", &format!("{HEAD}{table}"));
    assert!(broken.is_empty(), "{broken:?}");
}
