//! The commands of a verdict: what made and mounted the best, fit to be copied.
//! What only the laboratory needs is left out; a trial's steps have all of it.

use pickfs_model::{Action, CandidateSpec, RunRecord, StepRecord, TrialRecord};

use crate::panels::{Group, Robbed};

/// What made and mounted the best, each command once.
pub(super) fn of_best(run: &RunRecord, group: &Group<'_>, best: &[String]) -> Vec<String> {
    let members = group.members.iter().filter(|member| best.contains(&member.label));
    let mut commands: Vec<String> = Vec::new();
    for member in members {
        let Some(trial) = member.chosen(Robbed::Kept).first().copied() else { continue };
        let cell = run.cells.iter().find(|cell| cell.id == trial.cell);
        for step in trial.steps.iter().filter(|step| step.succeeded && builds(step)) {
            let action = &step.step.action;
            let action = cell.map_or(action.clone(), |cell| asked(action, &cell.candidate));
            let command = general(&action.to_string(), trial);
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

/// A step as the candidate asks for it: no force, no quiet, no discard or lazy work switched off,
/// no size and no block size of the laboratory. What says which file system it is stays: a command of the
/// program (`bcachefs format`), `-F 32` of FAT, `--format 3.6` of Reiser.
fn asked(action: &Action, candidate: &CandidateSpec) -> Action {
    let has = |word: &String| candidate.mkfs_options.contains(word);
    match action {
        Action::Mount { source, fs_type, options, at } => {
            let is_asked = |option: &&String| {
                *option != "nodiscard" || candidate.mount_options.contains(option)
            };
            let options = options.iter().filter(is_asked).cloned().collect();
            let (source, fs_type, at) = (source.clone(), fs_type.clone(), at.clone());
            Action::Mount { source, fs_type, options, at }
        }
        Action::Exec { program, args } if program == "zpool" => {
            let is_asked = |word: &&String| *word != "-f" || has(word);
            let args = args.iter().filter(is_asked).cloned().collect();
            Action::Exec { program: program.clone(), args }
        }
        Action::Exec { program, args } if is_formatter(program) => {
            let verb = args.first().filter(|word| !word.starts_with('-') && !word.starts_with('/'));
            let kind = args.windows(2).find(|pair| {
                let is_number = pair[1].chars().all(|sign| sign.is_ascii_digit());
                (pair[0] == "-F" && is_number || pair[0] == "--format") && !has(&pair[0])
            });
            let device = args.iter().rfind(|word| word.starts_with('/') && !has(word));
            let own = candidate.mkfs_options.iter().filter(|word| *word != "discard");
            let words = verb.into_iter().chain(kind.into_iter().flatten());
            let args = words.chain(own).chain(device).cloned().collect();
            Action::Exec { program: program.clone(), args }
        }
        other => other.clone(),
    }
}

/// A command for the reader's own machine: scratch device and mount point of the trial
/// become words to fill in.
fn general(command: &str, trial: &TrialRecord) -> String {
    let mount = trial.steps.iter().find_map(|step| match &step.step.action {
        Action::Mount { source, at, .. } => Some((source.as_str(), at.as_str())),
        _ => None,
    });
    let Some((source, at)) = mount else { return command.to_owned() };
    let named = command.replace(at, "DIRECTORY");
    if source.starts_with("/dev/") { named.replace(source, "DEVICE") } else { named }
}

fn builds(step: &StepRecord) -> bool {
    match &step.step.action {
        Action::Mount { .. } => true,
        Action::Exec { program, .. } => {
            program.contains("mkfs") || matches!(step.step.purpose.as_str(), "make" | "mount")
        }
        Action::Unmount { .. } | Action::Call { .. } => false,
    }
}

fn is_formatter(program: &str) -> bool {
    program.starts_with("mk") || matches!(program, "bcachefs" | "hformat")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_copy_carry_what_the_candidate_asked_for_and_nothing_else() {
        let copied = |candidate: &str, program: &str, args: &str| {
            let args = args.split(' ').map(str::to_owned).collect();
            let action = Action::Exec { program: program.into(), args };
            asked(&action, &candidate.parse().expect("a candidate")).to_string()
        };
        let pinned = "-q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        assert_eq!(
            copied("ext4", "mkfs.ext4", &format!("{pinned} /dev/loop0")),
            "mkfs.ext4 /dev/loop0"
        );
        assert_eq!(
            copied(
                "ext4;mkfs=-E stride=4 -O ^has_journal",
                "mkfs.ext4",
                &format!("{pinned},stride=4 -O ^has_journal /dev/loop0 262144")
            ),
            "mkfs.ext4 -E stride=4 -O ^has_journal /dev/loop0"
        );
        assert_eq!(
            copied("xfs;mkfs=-f", "mkfs.xfs", "-q -f -K -f /dev/sdb"),
            "mkfs.xfs -f /dev/sdb"
        );
        let fat = copied("fat32;mkfs=-s 8", "mkfs.fat", "-I -F 32 -s 8 /dev/sdb 1024");
        assert_eq!(fat, "mkfs.fat -F 32 -s 8 /dev/sdb");
        let reiser = "-q -f -f --format 3.6 /dev/sdb";
        assert_eq!(
            copied("reiserfs-3.6", "mkreiserfs", reiser),
            "mkreiserfs --format 3.6 /dev/sdb"
        );
        let bcachefs = "format --force --quiet --nodiscard --compression=lz4 /dev/sdb";
        assert_eq!(
            copied("bcachefs;mkfs=--compression=lz4", "bcachefs", bcachefs),
            "bcachefs format --compression=lz4 /dev/sdb"
        );
        let options = ["noatime", "nodiscard"].map(str::to_owned).to_vec();
        let (source, fs_type, at) = ("/dev/sdb".into(), "btrfs".into(), "/mnt".into());
        let mount = Action::Mount { source, fs_type, options, at };
        let of = |candidate: &str| asked(&mount, &candidate.parse().expect("one")).to_string();
        assert_eq!(of("btrfs:noatime"), "mount -t btrfs -o noatime /dev/sdb /mnt");
        assert!(of("btrfs:noatime,nodiscard").contains("nodiscard"));
    }
}
