use anyhow::Context;
use pickfs_record::TrialRecord;

use crate::{
    args::ShowArgs,
    commands::{is_folder_of_runs, list::list, read_run},
    exit::Exit,
    screen, terminal,
};

pub fn show(args: &ShowArgs) -> anyhow::Result<Exit> {
    let is_one = args.trial.is_some() || args.phases || args.doubts;
    if args.json || !is_one && is_folder_of_runs(&args.run) {
        return list(&args.run, args.json);
    }
    let (_, run) = read_run(&args.run)?;
    if args.phases {
        return screen::print_phases(&run, &pickfs_analysis::findings(&run));
    }
    let Some(number) = args.trial else {
        let findings = pickfs_analysis::findings(&run);
        screen::print_run(&run, &findings, &args.run, None, args.doubts);
        return Ok(Exit::Done);
    };
    let trial = run.trials.iter().find(|trial| trial.number == number);
    let last = run.trials.last().map_or(0, |trial| trial.number);
    print_trial(trial.with_context(|| format!("no trial {number}; the run has 1 to {last}"))?)?;
    Ok(Exit::Done)
}

fn print_trial(trial: &TrialRecord) -> anyhow::Result<()> {
    let mut bare = trial.clone();
    for op in &mut bare.ops {
        op.service.histogram.clear();
        op.response.iter_mut().for_each(|response| response.histogram.clear());
    }
    terminal::line(&serde_json::to_string_pretty(&bare)?);
    Ok(())
}
