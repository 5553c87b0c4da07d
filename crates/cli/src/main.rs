//! pickfs: which file system for my application? Words to typed values and back to exit
//! codes; everything else is in the libraries.
//!
//! `pickfs run quick` is the five-minute answer; `pickfs --help` shows the rest.

mod args;
mod commands;
mod exit;
mod overrides;
mod progress;
mod screen;

use std::process::ExitCode;

use clap::Parser;

use crate::{
    args::{Cli, Command},
    exit::Exit,
};

fn main() -> ExitCode {
    let cli = Cli::parse();
    if !matches!(cli.command, Command::Run(_) | Command::Trust(_) | Command::Tour(_)) {
        pickfs_sys::broken_pipe::end_quietly();
    }
    let result = match cli.command {
        Command::Run(args) => commands::run::run(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Doctor(args) => commands::doctor::doctor(&args),
        Command::Features(args) => commands::features::features(&args),
        Command::Trust(args) => commands::trust::trust(&args),
        Command::Tour(args) => commands::tour::tour(&args),
        Command::List(args) => commands::list::list(&args),
        Command::Show(args) => commands::show::show(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Clean(args) => commands::clean::clean(&args),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("pickfs: {error:#}");
            Exit::of_error(&error).into()
        }
    }
}
