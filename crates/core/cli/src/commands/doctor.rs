use pickfs_candidate::packages::Family;
use pickfs_lab::doctor::diagnose;
use pickfs_report::doctor::doctor_document;

use crate::{args::DoctorArgs, commands::clean::clean, exit::Exit, extras, terminal};

/// Long enough to meet a timer tick of the host a few hundred times.
const WATCH_S: f64 = 2.0;

pub fn doctor(args: &DoctorArgs) -> anyhow::Result<Exit> {
    if let Some(folder) = &args.clean {
        return clean(folder);
    }
    if args.guests {
        return extras::guests(args);
    }
    if let Some(words) = &args.ranks {
        return extras::ranks(words, args);
    }
    let diagnosis = diagnose(WATCH_S, args.device.as_deref());
    match args.json {
        true => terminal::line(&serde_json::to_string_pretty(&diagnosis)?),
        false => terminal::show(&doctor_document(&diagnosis, Family::here().install())),
    }
    Ok(Exit::Done)
}
