//! `pickfs completions`: what a shell needs to complete our words.

use clap::CommandFactory;

use crate::{
    args::{Cli, CompletionsArgs},
    exit::Exit,
    screen::put,
};

/// Prints the script of a shell.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pickfs", &mut script);
    put(&String::from_utf8(script)?);
    Ok(Exit::Done)
}
