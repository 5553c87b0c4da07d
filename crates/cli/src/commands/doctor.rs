//! `pickfs doctor`: what this machine can test.

use pickfs_lab::doctor::diagnose;
use pickfs_report::terminal::doctor_screen;

use crate::{args::DoctorArgs, exit::Exit, screen::columns};

/// Long enough to meet a timer tick of the host a few hundred times.
const WATCH_S: f64 = 2.0;

/// Prints the diagnosis.
pub fn doctor(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let diagnosis = diagnose(WATCH_S);
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&diagnosis)?),
        false => print!("{}", doctor_screen(&diagnosis, columns())),
    }
    Ok(Exit::Done)
}
