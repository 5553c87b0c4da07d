//! `pickfs compare`: two runs, the differences of their machines first.

use pickfs_report::terminal::comparison_screen;

use crate::{args::CompareArgs, commands::read_run, exit::Exit, screen::columns};

/// Prints the comparison.
pub fn compare(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (_, first) = read_run(&args.run_a)?;
    let (_, second) = read_run(&args.run_b)?;
    let comparison = pickfs_analysis::compare::compare(&first, &second);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&comparison)?),
        false => print!("{}", comparison_screen(&comparison, columns())),
    }
    Ok(Exit::Done)
}
