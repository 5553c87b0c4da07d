use anyhow::{Context, ensure};
use pickfs_lab::interrupt::Interrupt;
use pickfs_ranks::{doctor::look, launch_words};
use pickfs_record::{plan::RanksSpec, quantity::parse_duration_ns};

use crate::{args::DoctorArgs, exit::Exit, terminal};

const PATIENCE: &str = "2m";

pub fn spec(words: &str, patience: Option<&str>) -> anyhow::Result<RanksSpec> {
    let text = patience.unwrap_or(PATIENCE);
    let asked = parse_duration_ns(text).with_context(|| format!("--ranks-patience {text}"))?;
    let patience_s = asked as f64 / 1e9;
    ensure!(patience_s >= 1.0, "--ranks-patience {text} is under a second; give at least 1s");
    Ok(RanksSpec { launcher: launch_words(words)?, patience_s })
}

pub fn doctor(words: &str, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let asked = spec(words, args.ranks_patience.as_deref())?;
    let named = args.dir.as_deref().map(|dir| {
        dir.canonicalize()
            .with_context(|| format!("--dir {}: name a folder that exists", dir.display()))
    });
    let interrupt = Interrupt::on_signals()?;
    match look(&asked, named.transpose()?.as_deref(), &interrupt) {
        _ if interrupt.is_raised() => Ok(Exit::Interrupted),
        found => {
            terminal::put(&found?);
            Ok(Exit::Done)
        }
    }
}
