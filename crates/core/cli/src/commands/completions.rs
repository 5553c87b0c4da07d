use clap::CommandFactory;
use clap_complete::Shell;
use pickfs_candidate::fs::FILE_SYSTEMS;
use pickfs_lab::plans::{PLANS, TOUR};

use crate::{args::Cli, exit::Exit, terminal};

const BASH: &str = include_str!("completions.bash");

const ZSH: &str = "
_pickfs_plans() { compadd -- @PLANS@; _files -g '*.toml' }
_pickfs_file_systems() { _values -s , 'file system' @FILE_SYSTEMS@ }
_pickfs_runs() { compadd -- pickfs-runs/*(N/); _files }
";

const FISH: &str = "
complete -c pickfs -n \"__fish_pickfs_using_subcommand run plan\" -a '@PLANS@'
complete -c pickfs -n \"__fish_pickfs_using_subcommand show report compare explain choose\" -a '(__fish_complete_directories pickfs-runs/)'
complete -c pickfs -l fs -x -a '@FILE_SYSTEMS@'
";

pub fn completions(shell: Shell) -> anyhow::Result<Exit> {
    let mut program = Cli::command();
    if matches!(shell, Shell::Zsh | Shell::Fish) {
        // A plan in place of a verb, with its question beside it.
        for plan in PLANS {
            let question = plan.read()?.question;
            program = program.subcommand(clap::Command::new(plan.name).about(question));
        }
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "pickfs", &mut script);
    terminal::put(&with_names(shell, String::from_utf8(script)?));
    Ok(Exit::Done)
}

fn with_names(shell: Shell, script: String) -> String {
    let plans: Vec<&str> = PLANS.iter().map(|plan| plan.name).chain([TOUR.0]).collect();
    let file_systems: Vec<&str> = FILE_SYSTEMS.iter().map(|row| row.name).collect();
    let named = |text: &str| {
        let text = text.replace("@PLANS@", &plans.join(" "));
        text.replace("@FILE_SYSTEMS@", &file_systems.join(" "))
    };
    match shell {
        Shell::Bash => script + &named(BASH),
        Shell::Zsh => {
            let script = script.replace("(run)\n", &format!("(run|{})\n", plans.join("|")));
            let mut lines = script.lines().map(zsh_line);
            let first = lines.next().unwrap_or_default();
            first + &named(ZSH) + &lines.collect::<String>()
        }
        Shell::Fish => {
            let with_plans = format!("using_subcommand run {}\"", plans.join(" "));
            script.replace("using_subcommand run\"", &with_plans) + &named(FISH)
        }
        _ => script,
    }
}

fn zsh_line(line: &str) -> String {
    let is_run = ["':run", "'::run"].iter().any(|start| line.starts_with(start));
    let line = match is_run || line.contains(":RUN:_files") {
        true => line.replace(":_files'", ":_pickfs_runs'"),
        false => line.replace("a plan file:_default'", "a plan file:_pickfs_plans'"),
    };
    line.replace(":CANDIDATE:_default'", ":CANDIDATE:_pickfs_file_systems'") + "\n"
}
