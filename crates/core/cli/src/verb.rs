use std::{ffi::OsString, path::Path};

use clap::CommandFactory;
use pickfs_lab::plans::{PLANS, TOUR, built_in};
use pickfs_record::{closest::closest, typed::program};

use crate::args::Cli;

/// Verbs that are gone, and what does their work now.
const RETIRED: [(&str, &str); 5] = [
    ("rerun", "run --again RUN"),
    ("list", "show [FOLDER]"),
    ("claims", "compare RUN ... --with claims"),
    ("completions", "man --completions SHELL"),
    ("clean", "doctor --clean [FOLDER]"),
];

/// Where the work of a retired verb is done now.
pub fn successor(words: &[OsString]) -> Option<String> {
    let verb = words.get(1)?;
    let (old, new) = RETIRED.iter().find(|(old, _)| verb == old)?;
    Some(format!("`{old}` is now `{} {new}`", program()))
}

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
    let is_named = |word: &str| built_in(word).is_some() || word == TOUR.0;
    let is_plan = is_named(word) || word.ends_with(".toml") || Path::new(word).exists();
    if verbs().any(|verb| verb == word) {
        return true;
    }
    let plans = PLANS.iter().map(|plan| plan.name).chain([TOUR.0]);
    !is_plan && closest(word, verbs().chain(plans)).is_some_and(|meant| !is_named(meant))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(words: &str) -> String {
        let words = format!("pickfs {words}");
        let words = with_verb(words.split_whitespace().map(OsString::from).collect());
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn a_retired_verb_names_its_successor() {
        let told =
            |words: &str| successor(&words.split(' ').map(OsString::from).collect::<Vec<_>>());
        let rerun = told("pickfs rerun pickfs-runs/a").expect("retired");
        assert!(
            rerun.starts_with("`rerun` is now `") && rerun.ends_with(" run --again RUN`"),
            "{rerun}"
        );
        assert_eq!([told("pickfs show"), told("pickfs")], [None, None]);
        for (old, new) in RETIRED {
            let program = Cli::command();
            assert!(program.find_subcommand(old).is_none(), "{old}");
            let mut words = new.split(' ');
            let verb = program.find_subcommand(words.next().unwrap()).expect("a verb");
            for option in words.filter_map(|word| word.strip_prefix("--")) {
                assert!(verb.get_arguments().any(|own| own.get_long() == Some(option)), "{new}");
            }
        }
        let verbs = Cli::command().get_subcommands().count();
        assert!(verbs <= 13, "{verbs} verbs: fold one");
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
            ("trust --ram", "run trust --ram"),
            ("tour --ram", "run tour --ram"),
            ("reprot x", "reprot x"),
            ("--version", "--version"),
            ("help run", "help run"),
        ] {
            assert_eq!(read(words), format!("pickfs {verb}").trim(), "{words}");
        }
    }
}
