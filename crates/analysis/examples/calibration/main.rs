//! Prints how often the statistics of this crate are wrong, as Markdown.
//!
//! `cargo run --release -p pickfs-analysis --example calibration [EXPERIMENTS] > docs/method/calibration.md`

use pickfs_testkit::Shape;

mod simulated;

use simulated::{Fixed, RACE_BLOCKS_MAX, fixed, raced, sequence_misses};

const BLOCKS: [usize; 9] = [5, 6, 7, 8, 9, 10, 12, 15, 20];

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
    races(count);
    sequences(count);
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

fn fixed_tables(count: u64) {
    let found: Vec<Vec<Fixed>> = Shape::ALL
        .iter()
        .map(|shape| BLOCKS.iter().map(|blocks| fixed(*shape, *blocks, count)).collect())
        .collect();
    println!("## Planned blocks: exact sign-flip test\n");
    let table = |title: &str, cell: fn(&Fixed) -> String| {
        println!("{title}\n");
        println!("| blocks | normal | skewed | bimodal | drifting | autocorrelated |");
        println!("| --- | --- | --- | --- | --- | --- |");
        for (row, blocks) in BLOCKS.iter().enumerate() {
            let cells: Vec<String> = found.iter().map(|column| cell(&column[row])).collect();
            println!("| {blocks} | {} |", cells.join(" | "));
        }
        println!();
    };
    table("False alarms in per cent, one comparison (at most 5):", |f| percent(f.false_alarms));
    table("False alarms in per cent, any of three comparisons after Holm (at most 5):", |f| {
        percent(f.family_alarms)
    });
    table("Coverage of the interval in per cent (at least 95; 93.75 with five blocks):", |f| {
        percent(f.coverage)
    });
    table("Longer arm of the interval, median (what a tie calls visible):", |f| {
        format!("{:.2}x", f.arm)
    });
    table("True difference of 1.25x claimed, in per cent:", |f| percent(f.power));
}

fn races(count: u64) {
    println!("## Races\n");
    println!(
        "Up to {RACE_BLOCKS_MAX} blocks, ties within 5 %. \"Wrong\": the true best was dropped (at \
         most 5 %).\n"
    );
    println!(
        "| truth | shape | wrong | best alone | decided | anybody dropped | blocks | trials |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let truths: [(&str, &[f64]); 3] = [
        ("1, 1.1, 1.25, 1.6", &[1.0, 1.1, 1.25, 1.6]),
        ("1, 1.05, 1.05, 1.05", &[1.0, 1.05, 1.05, 1.05]),
        ("all equal", &[1.0; 4]),
    ];
    for (truth, medians) in truths {
        for shape in Shape::ALL {
            let found = raced(medians, shape, count);
            println!(
                "| {truth} | {shape:?} | {} | {} | {} | {} | {:.1} | {:.1} |",
                percent(found.wrong),
                percent(found.alone),
                percent(found.decided),
                percent(found.dropped),
                found.blocks,
                found.trials
            );
        }
    }
    println!();
}

fn sequences(count: u64) {
    println!("## Confidence sequences\n");
    println!(
        "Share in per cent that lost the truth at any of {RACE_BLOCKS_MAX} looks (at most 5):\n"
    );
    println!("| shape | lost |\n| --- | --- |");
    for shape in Shape::ALL {
        println!("| {shape:?} | {} |", percent(sequence_misses(shape, RACE_BLOCKS_MAX, count)));
    }
}
