//! Prints how often the statistics of this crate are wrong, as Markdown.
//!
//! `cargo run --release -p pickfs-analysis --example calibration [EXPERIMENTS] > docs/method/calibration.md`

use pickfs_testkit::Shape;

mod bootstrap;
mod races;
mod simulated;

use bootstrap::{Intervals, beside};
use races::{Raced, found_by_plan, raced};
use simulated::{Fixed, fixed, sequence_misses};

/// Blocks after which a short and a long race have spent their budget.
const SHORT: usize = 60;
const LONG: usize = 400;

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000);
    println!("# How often the statistics are wrong\n");
    println!(
        "Every number is a share of {count} simulated experiments (95 % of such shares lie within \
         {:.1} points of 5 %). A trial scatters by about ten per cent. Shapes: normal; skewed \
         (exponential); bimodal (three trials in ten stand four standard deviations higher); \
         drifting (half a standard deviation per block); autocorrelated (AR(1), 0.8 from trial \
         to trial). Candidates run in random order within a block. Rows share their experiments: a \
         long run is a short one continued.\n",
        196.0 * (0.05 * 0.95 / count as f64).sqrt()
    );
    fixed_tables(count);
    resampled(count);
    races(count);
    sequences(count);
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// `normal`, `skewed`, ...
fn word(shape: Shape) -> String {
    format!("{shape:?}").to_lowercase()
}

fn fixed_tables(count: u64) {
    let found: Vec<Vec<Fixed>> = Shape::ALL
        .iter()
        .map(|shape| (3..=20).map(|blocks| fixed(*shape, blocks, count)).collect())
        .collect();
    println!("## Planned blocks: exact sign-flip test\n");
    let table = |title: &str, cell: fn(&Fixed) -> String| {
        println!("{title}\n");
        println!("| blocks | normal | skewed | bimodal | drifting | autocorrelated |");
        println!("| --- | --- | --- | --- | --- | --- |");
        for (row, blocks) in (3..=20).enumerate() {
            let cells: Vec<String> = found.iter().map(|column| cell(&column[row])).collect();
            println!("| {blocks} | {} |", cells.join(" | "));
        }
        println!();
    };
    table("False alarms in per cent, one comparison (at most 5; refused under six blocks):", |f| {
        percent(f.false_alarms)
    });
    table(
        "False alarms in per cent, any of three comparisons after Holm (at most 5; refused under \
         seven blocks):",
        |f| percent(f.family_alarms),
    );
    table("Coverage of the interval in per cent (at least 95; 93.75 with five blocks):", |f| {
        f.arm.map_or("none".into(), |_| percent(f.coverage))
    });
    table("Longer arm of the interval, median (what a tie calls visible):", |f| {
        f.arm.map_or("none".into(), |arm| format!("{arm:.2}x"))
    });
    table("True difference of 1.25x claimed, in per cent:", |f| percent(f.power));
}

fn resampled(count: u64) {
    println!("## Blocks resampled with replacement, beside the sign-flip interval\n");
    println!(
        "Coverage of a nominal 95 % in per cent (93.75 for sign-flip with five blocks), and median \
         width as a ratio. 999 resamples; p: percentile interval, t: studentised interval.\n"
    );
    println!("| blocks | shape | sign-flip | p | t | width | width p | width t |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for blocks in [5, 6, 8, 10, 12, 16, 20] {
        for shape in Shape::ALL {
            let found = beside(shape, blocks, count);
            let coverage = found.each_ref().map(|kind: &Intervals| percent(kind.coverage));
            let width = found.each_ref().map(|kind| format!("{:.2}x", kind.width));
            println!(
                "| {blocks} | {} | {} | {} |",
                word(shape),
                coverage.join(" | "),
                width.join(" | ")
            );
        }
    }
    println!();
}

/// Largest share that is asked of planned blocks.
const TELLABLE: f64 = 0.997;

const TRUTHS: [(&str, &[f64]); 5] = [
    ("1, 1.1", &[1.0, 1.1]),
    ("1, 1.1, 1.25, 1.6", &[1.0, 1.1, 1.25, 1.6]),
    ("1, 1.1, 1.2, 1.35, 1.6, 2.2", &[1.0, 1.1, 1.2, 1.35, 1.6, 2.2]),
    ("1, 1.05, 1.05, 1.05", &[1.0, 1.05, 1.05, 1.05]),
    ("all four equal", &[1.0; 4]),
];

fn races(count: u64) {
    println!("## Races\n");
    println!(
        "Ties within 5 %; those behind come back in every fifth block. \"Wrong\": the true best was \
         lost (at most 5 %). \"Right\": the true best is left alone. \"Planned\": trials of the \
         smallest design of planned blocks that is right as often (at most 99.7 in 100 are asked of \
         it: a thousand races tell no more), by sign-flip tests of every other candidate against the true best, with Holm's \
         correction. It may know which is the best; a real plan does not.\n"
    );
    for (blocks_max, of) in [(LONG, &TRUTHS[..]), (SHORT, &TRUTHS[1..])] {
        println!("Budget of {blocks_max} blocks:\n");
        println!("| truth | shape | wrong | right | settled | blocks | trials | planned | share |");
        println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
        for (truth, medians) in of {
            for shape in Shape::ALL {
                race_row(truth, medians, shape, blocks_max, count);
            }
        }
        println!();
    }
}

fn race_row(truth: &str, medians: &[f64], shape: Shape, blocks_max: usize, count: u64) {
    let Raced { wrong, alone, decided, blocks, trials } = raced(medians, shape, blocks_max, count);
    let has_a_best = medians[1] > medians[0];
    let planned = if has_a_best && alone > 0.5 {
        let planned = medians.len() * planned_blocks(medians, shape, alone.min(TELLABLE), count);
        format!("{planned} | {:.2}", trials / planned as f64)
    } else {
        "- | -".into()
    };
    println!(
        "| {truth} | {} | {} | {} | {} | {blocks:.1} | {trials:.1} | {planned} |",
        word(shape),
        percent(wrong),
        percent(alone),
        percent(decided)
    );
}

/// Fewest planned blocks that find the true best alone as often as `wanted`, at most 800.
pub fn planned_blocks(medians: &[f64], shape: Shape, wanted: f64, count: u64) -> usize {
    let (mut low, mut high) = (5, 800);
    while high - low > 1 {
        let middle = (low + high) / 2;
        match found_by_plan(medians, shape, middle, count) >= wanted {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

fn sequences(count: u64) {
    println!("## Confidence sequences\n");
    println!("Share in per cent that lost the truth at any of {SHORT} looks (at most 5):\n");
    println!("| shape | lost |\n| --- | --- |");
    for shape in Shape::ALL {
        println!("| {} | {} |", word(shape), percent(sequence_misses(shape, SHORT, count)));
    }
}
