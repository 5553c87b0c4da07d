//! A plan on many hosts: a line on the screen for each, then what the fleet says.

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal},
    path::Path,
};

use anyhow::{Context, bail};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use pickfs_fleet::{Ask, End, Heard, Limits, Way, gather, host::Voice};
use pickfs_lab::{interrupt::Interrupt, launch::new_folder, plans::TOUR};
use pickfs_record::{
    Event, Outcome,
    finding::AnswerEnd,
    quantity::{counted, span_text},
};
use serde_json::json;

use crate::{
    args::RunArgs,
    commands::{
        compare, read_run,
        run::{asked, give_to_caller, perform_heard},
    },
    exit::Exit,
    progress::headline_text,
    terminal,
};

pub fn as_host(args: &RunArgs) -> anyhow::Result<Exit> {
    let voice = Voice::new(io::stdout());
    let words = || Ok(voice.asked(io::stdin().lock())?);
    let launched = perform_heard(words, &args.out, |_, interrupt| {
        voice.watch(interrupt);
        Box::new(voice.clone())
    })?;
    give_to_caller(launched.file.parent().unwrap_or(Path::new(".")));
    voice.send(&launched.file).context("the run cannot be sent, and stays here")?;
    Ok(Exit::Done)
}

pub fn on_hosts(args: &RunArgs) -> anyhow::Result<Exit> {
    let way = Way::of(args.hosts.as_deref().context("--hosts names a file")?);
    let hosts = way.hosts()?;
    if args.choice.plan == TOUR.0 {
        bail!("a tour asks nothing of a fleet; name one plan");
    }
    let plan = asked(args)?;
    let folder = new_folder(&args.out, &format!("{}-fleet", plan.name))?;
    let interrupt = Interrupt::on_signals()?;
    let board = Board::new(&hosts, args.json);
    let ask = Ask {
        hosts: &hosts,
        command: &|host| way.command(host, &args.hosts_program, &["run", "--as-host"]),
        plan: &plan,
        folder: &folder,
        limits: Limits::of(&plan),
        interrupt: &interrupt,
    };
    let ends = gather(&ask, &mut |host, heard| board.hear(host, heard));
    board.all.clear()?;
    give_to_caller(&folder);
    // Only a folder to which nothing came is empty.
    let _ = std::fs::remove_dir(&folder);
    if !args.json {
        terminal::put(&summary(&hosts, &ends, &folder));
    }
    let exit = judged(&ends, args.json)?;
    Ok(match ends.iter().all(Result::is_ok) {
        _ if interrupt.is_raised() => Exit::Interrupted,
        true => exit,
        false => Exit::TrialsFailed,
    })
}

fn summary(hosts: &[String], ends: &[End], folder: &Path) -> String {
    let all = counted(hosts.len() as u64, "host");
    let mut text = match ends.iter().flatten().count() {
        0 => format!("none of {all} came back\n"),
        came => format!("{came} of {all} came back; their runs: {}\n", folder.display()),
    };
    let lost = hosts.iter().zip(ends).filter_map(|(host, end)| Some((host, end.as_ref().err()?)));
    text.extend(lost.map(|(host, why)| format!("lost      {host}: {why}\n")));
    text + "\n"
}

/// What the fleet says; one run alone says nothing of others.
fn judged(ends: &[End], json: bool) -> anyhow::Result<Exit> {
    let runs = ends.iter().flatten().map(|path| Ok((read_run(path)?.1, path.as_path())));
    let runs = runs.collect::<anyhow::Result<Vec<_>>>()?;
    if runs.len() < 2 {
        return Ok(Exit::TrialsFailed);
    }
    let runs: Vec<_> = runs.iter().map(|(run, path)| (run, *path)).collect();
    let compared = compare::print(&runs, json)?;
    let Some(fleet) = compared.fleet else {
        terminal::tell("no fleet: the runs do not say that they are of two hosts");
        return Ok(Exit::NoAnswer);
    };
    let none = fleet.unanswered.map(|_| AnswerEnd::NoAnswer);
    Ok(match fleet.answers.first().map(|answer| answer.end).or(none) {
        None | Some(AnswerEnd::Winner) => Exit::Done,
        Some(AnswerEnd::Equal) => Exit::Equal,
        Some(AnswerEnd::NoAnswer) => Exit::NoAnswer,
    })
}

/// A line for each host, which changes on a terminal; one behind the other elsewhere, as JSON where that is asked for.
struct Board {
    all: MultiProgress,
    bars: BTreeMap<String, ProgressBar>,
    json: bool,
}

impl Board {
    fn new(hosts: &[String], json: bool) -> Board {
        let all = MultiProgress::with_draw_target(terminal::bar_target());
        let style = ProgressStyle::with_template("{prefix}  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = |host: &String| {
            let bar = ProgressBar::new_spinner().with_style(style.clone());
            (host.clone(), all.add(bar.with_prefix(host.clone()).with_message("called")))
        };
        let bars = hosts.iter().map(bar).collect();
        Board { all, bars, json }
    }

    fn hear(&self, host: &str, heard: &Heard) {
        if self.json {
            let mut value = match heard {
                Heard::Event(event) => serde_json::to_value(event).unwrap_or_default(),
                Heard::End(Ok(path)) => json!({ "came": path }),
                Heard::End(Err(why)) => json!({ "lost": why }),
            };
            value["host"] = host.into();
            return terminal::line(&value.to_string());
        }
        let text = in_words(heard).replace('\n', " ");
        match self.bars.get(host) {
            Some(bar) if io::stderr().is_terminal() => bar.set_message(text),
            _ => terminal::tell(&format!("{host}  {text}")),
        }
    }
}

fn in_words(heard: &Heard) -> String {
    let event = match heard {
        Heard::Event(event) => &**event,
        Heard::End(Ok(path)) => return format!("came: {}", path.display()),
        Heard::End(Err(why)) => return format!("LOST: {why}"),
    };
    match event {
        Event::RunStarted { trials, expected_s, .. } => {
            format!("{}, about {}", counted((*trials).into(), "trial"), span_text(*expected_s))
        }
        Event::TrialStarted { block, candidate, levels, .. } => {
            format!("block {block}  {candidate} {levels}").trim_end().to_owned()
        }
        Event::TrialFinished { outcome, headline, left_s, .. } => {
            let result = match (outcome, headline) {
                (Outcome::Finished, Some(headline)) => headline_text(headline),
                (Outcome::Finished, None) => "done".into(),
                (Outcome::Failed { reason } | Outcome::Skipped { reason }, _) => reason.clone(),
            };
            format!("{result}  ({} left)", span_text(*left_s))
        }
        Event::Noticed { text } => format!("note: {text}"),
        Event::RunFinished { how, note } => format!("{how}: {note}"),
        Event::Preparing { what, .. } | Event::TrialProgress { phase: what, .. } => what.clone(),
    }
}
