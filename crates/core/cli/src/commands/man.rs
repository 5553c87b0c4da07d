//! No page is kept in the repository: an installer writes them from the program that
//! it installs, so that they cannot be of another version.

use std::{
    io::{Write, stdout},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::Context;
use clap::CommandFactory;
use rustix::termios::isatty;

use crate::{
    args::{Cli, ManArgs},
    commands::completions::completions,
    exit::Exit,
    terminal,
};

pub fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    if let Some(shell) = args.completions {
        return completions(shell);
    }
    match &args.out {
        Some(folder) => write_all(folder)?,
        None => show(&page(program())?)?,
    }
    Ok(Exit::Done)
}

fn program() -> clap::Command {
    Cli::command().about("choose a file system by experiment")
}

fn show(page: &[u8]) -> anyhow::Result<()> {
    let pager = match isatty(stdout()) {
        true => Command::new("man").args(["-l", "-"]).stdin(Stdio::piped()).spawn().ok(),
        false => None,
    };
    let Some(mut pager) = pager else {
        terminal::put(&String::from_utf8_lossy(page));
        return Ok(());
    };
    // A reader who leaves early closes the pipe.
    let _ = pager.stdin.take().expect("standard input is piped").write_all(page);
    pager.wait().context("man -l - was not waited for")?;
    Ok(())
}

fn page(command: clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

fn write_all(folder: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write pages to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(program(), folder).with_context(cannot)
}
