use std::{ffi::OsString, path::Path};

use clap::CommandFactory;
use pickfs_lab::plans::{PLANS, built_in};
use pickfs_model::closest::closest;

use crate::args::Cli;

/// The words of the program, its name the first, with the verb that they mean: `run` before a plan or options,
/// `exec` where a command stands behind `--`, `--help` where there is nothing.
pub fn with_verb(mut words: Vec<OsString>) -> Vec<OsString> {
    let first = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let is_of_clap = |word: &str| ["help", "-h", "--help", "-V", "--version"].contains(&word);
    let verb = match first {
        "" if words.len() == 1 => "--help",
        word if is_of_clap(word) || is_meant_as_verb(word) => return words,
        _ if words.iter().any(|word| word == "--") => "exec",
        _ => "run",
    };
    words.insert(1, verb.into());
    words
}

fn is_meant_as_verb(word: &str) -> bool {
    let program = Cli::command();
    let verbs = || program.get_subcommands().map(clap::Command::get_name);
    let is_plan = built_in(word).is_some() || word.ends_with(".toml") || Path::new(word).exists();
    if verbs().any(|verb| verb == word) {
        return true;
    }
    let plans = PLANS.iter().map(|plan| plan.name);
    !is_plan && closest(word, verbs().chain(plans)).is_some_and(|meant| built_in(meant).is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &str) -> String {
        let words = format!("pickfs {words}");
        let words = with_verb(words.split_whitespace().map(OsString::from).collect());
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn a_plan_and_options_are_a_run_and_a_command_is_an_exec() {
        for (words, verb) in [
            ("", "--help"),
            ("quick --ram", "run quick --ram"),
            ("--dir /data", "run --dir /data"),
            ("mine.toml", "run mine.toml"),
            ("Quick", "run Quick"),
            ("--fs ext4,xfs -- make", "exec --fs ext4,xfs -- make"),
            ("-- make", "exec -- make"),
            ("exec -- make", "exec -- make"),
            ("trust --ram", "trust --ram"),
            ("reprot x", "reprot x"),
            ("--version", "--version"),
            ("help run", "help run"),
        ] {
            assert_eq!(read(words), format!("pickfs {verb}").trim(), "{words}");
        }
    }
}
