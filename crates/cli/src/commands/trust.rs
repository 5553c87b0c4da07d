//! `pickfs trust`: a run whose truth is known.

use pickfs_analysis::trust::trust as judge;
use pickfs_report::terminal::trust_screen;

use crate::{
    args::TrustArgs,
    commands::run::{exit_of, perform},
    exit::Exit,
    screen::columns,
};

/// How much longer the plan makes every operation of the slowed copy.
const PLANTED_RATIO: f64 = 1.1;

/// Runs the trust plan and judges lab and machine by it.
pub fn trust(args: &TrustArgs) -> anyhow::Result<Exit> {
    let mut words = args.run.clone();
    if words.choice.plan == "quick" {
        words.choice.plan = "trust".into();
    }
    let launched = perform(&words)?;
    let trust = judge(&launched.record, PLANTED_RATIO);
    match args.run.json {
        true => println!("{}", serde_json::to_string(&trust)?),
        false => print!("{}", trust_screen(&trust, columns())),
    }
    Ok(exit_of(&launched.record))
}
