mod agree;
mod args;
mod commands;
mod examples;
mod exit;
mod extras;
mod overrides;
mod places;
mod private;
mod progress;
mod screen;
mod terminal;
mod verb;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Command};

fn main() -> ExitCode {
    pickfs_sys::signal_wait::keep_ended_children();
    pickfs_sys::signal_wait::outlive_file_limit();
    if let Some(ended) = extras::arrange().or_else(pickfs_worker::run) {
        return ended;
    }
    if pickfs_sys::namespace::is_private() {
        // Not `exe`: pkill(1) of our name reaches this one, too, and who got it with others passes it on to nobody.
        let _ = rustix::thread::set_name(c"pickfs");
    }
    let words: Vec<_> = std::env::args_os().collect();
    if let Some(line) = verb::successor(&words) {
        terminal::tell(&line);
        return ExitCode::from(2);
    }
    let cli = match Cli::try_parse_from(verb::with_verb(words)) {
        Ok(cli) => cli,
        // An error repeats words that may be anybody's.
        Err(help) if !help.use_stderr() => {
            terminal::put_help(&help);
            return exit::told(Ok(exit::Exit::Done), false).into();
        }
        Err(error) => {
            terminal::draw(&error.render().to_string());
            return ExitCode::from(2);
        }
    };
    if !cli.command.outlives_its_reader() {
        pickfs_sys::broken_pipe::end_quietly();
    }
    let speaks_json = cli.command.speaks_json();
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Exec(args) => commands::exec::exec(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Crash(args) => extras::crash(&args),
        Command::Features(args) => extras::features(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Choose(args) => commands::choose::choose(&args),
        Command::Explain(args) => commands::explain::explain(&args),
        Command::Serve(args) => extras::serve(&args),
        Command::Man(args) => commands::man::man(&args),
    };
    exit::told(result, speaks_json).into()
}
