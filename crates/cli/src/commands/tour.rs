use crate::{
    args::{RunArgs, TourArgs},
    commands::run,
    exit::{Exit, no_answer},
    screen, terminal,
};

const STOPS: &[&str] =
    &["quick", "column-tiny", "files-tiny", "queue", "fix", "article-001-readers", "roll"];

/// A tour asks nothing: how its stops are answered does not show in the exit code.
pub fn tour(args: &TourArgs) -> anyhow::Result<Exit> {
    let mut worst = Exit::Done;
    for stop in STOPS {
        terminal::tell(&format!("\n=== {stop} ==="));
        let mut words: RunArgs = args.run.clone();
        words.choice.plan = (*stop).into();
        let ended = match run::run(&words) {
            Err(error) => match no_answer(&error) {
                Some(why) => {
                    terminal::tell(screen::no_answer_text(why).trim_end());
                    Exit::NoAnswer
                }
                None => return Err(error),
            },
            Ok(exit) => exit,
        };
        match ended {
            Exit::Interrupted => return Ok(Exit::Interrupted),
            failed @ (Exit::Failed | Exit::TrialsFailed) => worst = failed,
            _ => {}
        }
    }
    Ok(worst)
}
