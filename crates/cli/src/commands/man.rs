//! `pickfs man`: the manual from the words of the command line.
//!
//! No page is kept in the repository: an installer writes them from the program that
//! it installs, so that they cannot be of another version.

use std::path::Path;

use anyhow::Context;
use clap::CommandFactory;

use crate::{
    args::{Cli, ManArgs},
    exit::Exit,
    screen::put,
};

/// Prints the page of the program, or writes the pages of all its commands to a folder.
pub fn man(args: &ManArgs) -> anyhow::Result<Exit> {
    match &args.out {
        Some(folder) => write_all(folder)?,
        None => put(&String::from_utf8(page(Cli::command())?)?),
    }
    Ok(Exit::Done)
}

fn page(command: clap::Command) -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page)?;
    Ok(page)
}

fn write_all(folder: &Path) -> anyhow::Result<()> {
    let cannot = || format!("cannot write pages to {}", folder.display());
    std::fs::create_dir_all(folder).with_context(cannot)?;
    clap_mangen::generate_to(Cli::command(), folder).with_context(cannot)
}
