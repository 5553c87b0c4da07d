//! The words that were typed for a run, with other options: what a fix proposes.

use pickfs_record::{
    BackingSpec, Plan, RunRecord,
    typed::{program, quoted},
};

/// What goes on with a run that was cut short, in the folder that was typed for it.
pub(super) fn resume(run: &RunRecord) -> String {
    let mut words = run.plan.typed.iter();
    let out = words.find_map(|word| match word.strip_prefix("--out") {
        Some("") => Some(None),
        Some(rest) => rest.strip_prefix('=').map(Some),
        None => None,
    });
    let out = match out {
        Some(Some(folder)) => folder,
        Some(None) => words.next().map_or("pickfs-runs", String::as_str),
        None => "pickfs-runs",
    };
    let (program, out) = (split(&run.plan.typed).0.join(" "), quoted(out.trim_end_matches('/')));
    format!("{program} --resume {out}/{}", run.name)
}

pub fn command(plan: &Plan, options: &[(&str, Option<&str>)]) -> String {
    let (program, mut words) = split(&plan.typed);
    match words.first().map(String::as_str) {
        None | Some("rerun") => words = of_plan(plan),
        Some(_) => {}
    }
    let at = usize::from(words.first().is_some_and(|verb| verb == "run"));
    if let Some(word) = words.get_mut(at).filter(|word| *word == "tour") {
        word.clone_from(&plan.name);
    }
    again(&[program, words].concat(), options)
}

/// Typed words with other options: a value replaces the one that was typed, an empty one takes the option away.
/// Of `--set` only what sets the same parameter is replaced.
pub fn again(typed: &[String], options: &[(&str, Option<&str>)]) -> String {
    let (program, mut words) = split(typed);
    if words.first().is_some_and(|verb| verb == "run") {
        words.remove(0);
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let own = words.split_off(end);
    for (name, value) in options {
        match (*name, value) {
            ("--set", Some(setting)) => without_setting(&mut words, parameter_of(setting)),
            _ => without(&mut words, name, value.is_some()),
        }
        match value {
            Some("") => {}
            Some(value) => words.extend([(*name).to_owned(), (*value).to_owned()]),
            None => words.push((*name).to_owned()),
        }
    }
    let words = program.iter().chain(&words).chain(&own).map(|word| quoted(word));
    words.collect::<Vec<_>>().join(" ")
}

/// The program as it was called, and what was said to it: a run file may name none but ours.
fn split(typed: &[String]) -> (Vec<String>, Vec<String>) {
    let is_program = |word: &&String| matches!(word.as_str(), "sudo" | "./run" | "pickfs");
    let own: Vec<String> = typed.iter().take_while(is_program).cloned().collect();
    let words = typed[own.len()..].to_vec();
    (if own.is_empty() { vec![program().into()] } else { own }, words)
}

fn without(words: &mut Vec<String>, name: &str, has_value: bool) {
    let with_value = format!("{name}=");
    words.retain(|word| !word.starts_with(&with_value));
    while let Some(at) = words.iter().position(|word| word == name) {
        let end = (at + 1 + usize::from(has_value)).min(words.len());
        words.drain(at..end);
    }
}

/// Takes a parameter away, with one value or, as an axis, with several.
fn without_setting(words: &mut Vec<String>, parameter: &str) {
    let sets = |setting: &str| parameter_of(setting) == parameter;
    for option in ["--set", "--axis"] {
        let joined = format!("{option}=");
        words.retain(|word| !word.strip_prefix(&joined).is_some_and(sets));
        while let Some(at) = words.windows(2).position(|two| two[0] == option && sets(&two[1])) {
            words.drain(at..at + 2);
        }
    }
}

fn parameter_of(setting: &str) -> &str {
    setting.split_once('=').map_or(setting, |(parameter, _)| parameter)
}

fn of_plan(plan: &Plan) -> Vec<String> {
    let mut words = vec![plan.name.clone()];
    let mut add = |name: &str, path: &std::path::Path| {
        words.extend([name.to_owned(), path.display().to_string()]);
    };
    match &plan.backing {
        BackingSpec::Loop { directory: Some(path), .. } => add("--image-dir", path),
        BackingSpec::Device { path, .. } => add("--device", path),
        BackingSpec::Directory { .. } => {
            plan.backing.directories().iter().for_each(|path| add("--dir", path));
        }
        BackingSpec::Loop { directory: None, .. } | BackingSpec::Ram { .. } => {}
    }
    match plan.backing {
        BackingSpec::Ram { .. } => words.push("--ram".into()),
        BackingSpec::Device { .. } => words.push("--erase".into()),
        _ => {}
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, fake_run};

    #[test]
    fn options_are_replaced_and_commands_stay_behind_their_sign() {
        let mut plan = fake_run(&FakeRun::default()).plan;
        let mut with = |typed: &str, options: &[(&str, Option<&str>)]| {
            plan.typed = typed.split(' ').map(String::from).collect();
            command(&plan, options)
        };
        let blocks = [("--blocks", Some("20"))];
        assert_eq!(with("./run --blocks 5 --ram", &blocks), "./run --ram --blocks 20");
        assert_eq!(with("pickfs run --blocks=5", &blocks), "pickfs --blocks 20");
        let own = "pickfs exec --blocks 3 -- tar --blocks $(x)";
        assert_eq!(with(own, &blocks), "pickfs exec --blocks 20 -- tar --blocks '$(x)'");
        let rate = [("--set", Some("rate=80/s"))];
        let typed = "./run --set rate=200/s --set=rate=9/s --axis rate=1,2 --set size=64";
        assert_eq!(with(typed, &rate), "./run --set size=64 --set rate=80/s");
        for tour in ["pickfs tour --ram", "pickfs run tour --ram"] {
            assert_eq!(with(tour, &blocks), "pickfs journal --ram --blocks 20");
        }
        assert_eq!(with("rm -rf /;reboot", &blocks), "pickfs rm -rf '/;reboot' --blocks 20");
    }
}
