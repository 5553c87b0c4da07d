use std::process::ExitCode;

use pickfs_candidate::TargetError;
use pickfs_lab::{launch::LaunchError, preflight::PreflightError, rivals::NoAnswer};
use pickfs_record::{
    Outcome, RunRecord, TrialRecord,
    finding::{AnswerEnd, Ending},
};

use crate::{screen, terminal};

/// Usage errors end with 2 (clap's own).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Done,
    Failed,
    TrialsFailed,
    /// There is no answer: nothing was measured, as there is nothing to compare, or what was measured does not decide.
    NoAnswer,
    Equal,
    Interrupted,
    /// As a command of the user's ended: its code, or 128 and the signal.
    Command(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::TrialsFailed => 3,
            Exit::NoAnswer => 4,
            Exit::Equal => 5,
            Exit::Interrupted => 130,
            Exit::Command(code) => code,
        })
    }
}

impl Exit {
    /// What was decided stands, whichever trial failed on the way.
    pub fn of_run(run: &RunRecord, endings: &[Ending]) -> Exit {
        let failed = |trial: &TrialRecord| matches!(trial.outcome, Outcome::Failed { .. });
        let failed = run.trials.iter().any(|trial| failed(trial) && !trial.is_interrupted());
        match (
            run.ended.as_ref().map_or("", |end| &end.how),
            endings.first().map(|first| first.end),
        ) {
            ("interrupted", _) => Exit::Interrupted,
            ("failed", _) => Exit::TrialsFailed,
            (_, None) if failed => Exit::TrialsFailed,
            (_, None | Some(AnswerEnd::Winner)) => Exit::Done,
            (_, Some(AnswerEnd::Equal)) => Exit::Equal,
            (_, Some(AnswerEnd::NoAnswer)) => Exit::NoAnswer,
        }
    }

    /// How the program ends with an error: one that somebody asked for is an interruption.
    pub fn of_error(error: &anyhow::Error) -> Exit {
        if no_answer(error).is_some() {
            return Exit::NoAnswer;
        }
        match error.downcast_ref::<LaunchError>() {
            Some(LaunchError::Target(TargetError::Interrupted { .. })) => Exit::Interrupted,
            _ => Exit::Failed,
        }
    }
}

pub fn no_answer(error: &anyhow::Error) -> Option<&NoAnswer> {
    let of_launch = match error.downcast_ref::<LaunchError>() {
        Some(LaunchError::Preflight(error)) => Some(error),
        _ => None,
    };
    match error.downcast_ref::<PreflightError>().or(of_launch) {
        Some(PreflightError::NoAnswer(why)) => Some(why),
        _ => None,
    }
}

pub fn told(result: anyhow::Result<Exit>, speaks_json: bool) -> Exit {
    let exit = result.unwrap_or_else(|error| {
        match no_answer(&error) {
            Some(why) if !speaks_json => terminal::put(&screen::no_answer_text(why)),
            Some(why) => terminal::tell(screen::no_answer_text(why).trim_end()),
            None => terminal::tell(&format!("pickfs: {}", in_words(&error))),
        }
        Exit::of_error(&error)
    });
    let Some(why) = terminal::lost() else { return exit };
    terminal::tell(&format!("pickfs: standard output cannot be written, and is lost: {why}"));
    if exit == Exit::Done { Exit::Failed } else { exit }
}

/// The error with its causes, each said once: most of ours name theirs already.
fn in_words(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |said, cause| {
        match said.contains(&cause) {
            true => said,
            false if said.is_empty() => cause,
            false => format!("{said}: {cause}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_analysis::findings;
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, fake_run};

    #[test]
    fn each_end_has_its_code() {
        let code = |blocks: u32, durable_ns: [f64; 2], noise: f64| {
            let candidates = ["ext4", "xfs"]
                .into_iter()
                .zip(durable_ns)
                .map(|(name, ns)| FakeCandidate { noise, ..FakeCandidate::new(name, 500.0, ns) });
            let mishaps = vec![Mishap::failed("ext4", "fdatasync", 2, "no space")];
            let candidates = candidates.collect();
            let mut ask = FakeRun { blocks, candidates, mishaps, ..FakeRun::default() };
            ask.primary.retain(|metric| metric.op == "durable");
            let failed = fake_run(&ask);
            let whole = fake_run(&FakeRun { mishaps: Vec::new(), ..ask });
            let [failed, whole] =
                [failed, whole].map(|run| Exit::of_run(&run, &findings(&run).endings));
            assert_eq!(failed, whole, "one failed trial is a note");
            whole
        };
        let mut alone = fake_run(&FakeRun::default());
        assert_eq!(Exit::of_run(&alone, &[]), Exit::Done);
        alone.trials[0].outcome = Outcome::Failed { reason: "no space".into() };
        assert_eq!(Exit::of_run(&alone, &[]), Exit::TrialsFailed);
        assert_eq!(code(15, [200e3, 100e3], 0.02), Exit::Done);
        assert_eq!(code(60, [100e3, 100e3], 0.01), Exit::Equal);
        assert_eq!(code(4, [200e3, 100e3], 0.02), Exit::NoAnswer);
        let codes = [Exit::Done, Exit::NoAnswer, Exit::Equal, Exit::TrialsFailed];
        let codes = codes.map(|exit| format!("{:?}", ExitCode::from(exit)));
        let told = [0, 4, 5, 3].map(|code| format!("{:?}", ExitCode::from(code)));
        assert_eq!(codes, told, "as the manual says");
    }

    #[test]
    fn a_cause_is_said_once() {
        let cause = || std::io::Error::from_raw_os_error(98);
        let twice = anyhow::Error::from(cause())
            .context(format!("cannot listen: {}; try another", cause()));
        assert_eq!(in_words(&twice).matches("Address already in use").count(), 1);
        let once = anyhow::Error::from(cause()).context("cannot listen");
        assert_eq!(in_words(&once), format!("cannot listen: {}", cause()));
    }
}
