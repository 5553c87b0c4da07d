use pickfs_record::{Action, CandidateSpec, RunRecord, StepRecord, TrialRecord};

use crate::panels::{Disturbed, Group};

pub(super) fn of_best(run: &RunRecord, group: &Group<'_>, best: &[String]) -> Vec<String> {
    let members = group.members.iter().filter(|member| best.contains(&member.label));
    let mut commands: Vec<String> = Vec::new();
    for member in members {
        let Some(trial) = member.chosen(Disturbed::Kept).first().copied() else { continue };
        let cell = run.cells.iter().find(|cell| cell.id == trial.cell);
        let places = Places::of(trial);
        for step in trial.steps.iter().filter(|step| step.succeeded && builds(step)) {
            let action = &step.step.action;
            let log = places.log;
            let action = cell.map_or(action.clone(), |cell| asked(action, &cell.candidate, log));
            let command = places.general(&action.to_string());
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    commands
}

/// A step as the candidate asks for it: no force, no quiet, no discard or lazy work switched off,
/// no size and no block size of the laboratory. What says which file system it is stays: a command of the
/// program (`bcachefs format`), `-F 32` of FAT, `--format 3.6` of Reiser, and a log on another device.
fn asked(action: &Action, candidate: &CandidateSpec, log: Option<&str>) -> Action {
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
        Action::Exec { program, args } if args.iter().any(|word| word == "journal_dev") => {
            let pair = |pair: &&[String]| pair[1] == "journal_dev" || pair[0] == "-b";
            let kept = args.windows(2).filter(pair).flatten().cloned();
            let args = kept.chain(log.map(str::to_owned)).collect();
            Action::Exec { program: program.clone(), args }
        }
        Action::Exec { program, args } if is_formatter(program, args) => {
            let verb = args.first().filter(|word| !word.starts_with('-') && !word.starts_with('/'));
            let kind = args.windows(2).find(|pair| {
                let is_number = pair[1].chars().all(|sign| sign.is_ascii_digit());
                (pair[0] == "-F" && is_number || pair[0] == "--format") && !has(&pair[0])
            });
            let device = args.iter().rfind(|word| word.starts_with('/') && !has(word));
            let own = candidate.mkfs_options.iter().filter(|word| *word != "discard");
            let words = verb.into_iter().chain(kind.into_iter().flatten());
            let apart = log.map(|log| log_apart(args, log, has)).unwrap_or_default();
            let args = words.chain(own).cloned().chain(apart).chain(device.cloned()).collect();
            Action::Exec { program: program.clone(), args }
        }
        other => other.clone(),
    }
}

/// What names the log's device, without the size that the laboratory gave it, and the size of a block, which a
/// journal and its file system must share.
fn log_apart(args: &[String], log: &str, has: impl Fn(&String) -> bool) -> Vec<String> {
    let names = |part: &str| part.split_once('=').is_some_and(|(_, value)| value == log);
    let pairs = || args.windows(2);
    let Some(pair) = pairs().find(|pair| pair[1].split(',').any(names)) else { return Vec::new() };
    let kept: Vec<&str> = pair[1].split(',').filter(|part| !part.starts_with("size=")).collect();
    let block = pairs().find(|block| pair[0] == "-J" && block[0] == "-b" && !has(&block[0]));
    let own = [pair[0].clone(), kept.join(",")];
    block.into_iter().flatten().cloned().chain(own).collect()
}

struct Places<'a> {
    device: Option<&'a str>,
    log: Option<&'a str>,
    at: Option<&'a str>,
}

impl<'a> Places<'a> {
    fn of(trial: &'a TrialRecord) -> Places<'a> {
        let actions = || trial.steps.iter().map(|step| &step.step.action);
        let mut cleared = actions().filter_map(|action| match action {
            Action::Call { name, args } if name == "clear-ends" => args.first().map(String::as_str),
            _ => None,
        });
        let source = actions().find_map(|action| match action {
            Action::Mount { source, .. } => Some(source.as_str()),
            _ => None,
        });
        let at = actions().find_map(|action| match action {
            Action::Mount { at, .. } | Action::Unmount { at } => Some(at.as_str()),
            _ => None,
        });
        let source = source.filter(|source| source.starts_with("/dev/"));
        let device = cleared.next().or(source);
        let log = cleared.find(|node| Some(*node) != device);
        Places { device, log, at }
    }

    fn general(&self, command: &str) -> String {
        let words = [(self.at, "DIRECTORY"), (self.log, "LOGDEVICE"), (self.device, "DEVICE")];
        let named = words.iter().filter_map(|(path, word)| path.map(|path| (path, word)));
        named.fold(command.to_owned(), |command, (path, word)| whole(&command, path, word))
    }
}

/// Whole paths replaced by a word: `/dev/loop1` is not in `/dev/loop10`.
fn whole(command: &str, path: &str, word: &str) -> String {
    let goes_on = |sign: char| sign.is_alphanumeric() || matches!(sign, '-' | '_' | '.');
    let (mut text, mut rest) = (String::new(), command);
    while let Some(at) = rest.find(path).filter(|_| !path.is_empty()) {
        let (before, behind) = (&rest[..at], &rest[at + path.len()..]);
        let starts = !before.ends_with(|sign| goes_on(sign) || sign == '/');
        text.push_str(before);
        text.push_str(if starts && !behind.starts_with(goes_on) { word } else { path });
        rest = behind;
    }
    text + rest
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

fn is_formatter(program: &str, args: &[String]) -> bool {
    let is_verb = args.first().is_some_and(|word| word == "format");
    program.starts_with("mk") || program.ends_with("format") || is_verb
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_to_copy_carry_what_the_candidate_asked_for_and_nothing_else() {
        let copied = |candidate: &str, program: &str, args: &str| {
            let args = args.split(' ').map(str::to_owned).collect();
            let action = Action::Exec { program: program.into(), args };
            asked(&action, &candidate.parse().expect("a candidate"), None).to_string()
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
        let of =
            |candidate: &str| asked(&mount, &candidate.parse().expect("one"), None).to_string();
        assert_eq!(of("btrfs:noatime"), "mount -t btrfs -o noatime /dev/sdb /mnt");
        assert!(of("btrfs:noatime,nodiscard").contains("nodiscard"));
    }

    #[test]
    fn a_log_device_is_a_word_to_fill_in_and_keeps_its_options() {
        let copied = |candidate: &str, steps: &[&str]| -> Vec<String> {
            let candidate = candidate.parse().expect("a candidate");
            let places =
                Places { device: Some("/dev/loop10"), log: Some("/dev/loop1"), at: Some("/m/a") };
            let action = |line: &&str| {
                let mut words = line.split(' ').map(str::to_owned);
                let program = words.next().expect("a program");
                Action::Exec { program, args: words.collect() }
            };
            let asked = |line| asked(&action(line), &candidate, places.log).to_string();
            steps.iter().map(|line| places.general(&asked(line))).collect()
        };
        let pinned = "-E nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        let journal = |block: &str| {
            format!("mkfs.ext4 -q -F -O journal_dev -b {block} {pinned} /dev/loop1 262144")
        };
        let made = format!("mkfs.ext4 -q -F -b 4096 {pinned} -J device=/dev/loop1 /dev/loop10");
        assert_eq!(
            copied("ext4", &[&journal("4096"), &made]),
            [
                "mkfs.ext4 -O journal_dev -b 4096 LOGDEVICE",
                "mkfs.ext4 -b 4096 -J device=LOGDEVICE DEVICE"
            ]
        );
        let made = format!("mkfs.ext4 -q -F {pinned} -b 1024 -J device=/dev/loop1 /dev/loop10");
        assert_eq!(
            copied("ext4;mkfs=-b 1024", &[&journal("1024"), &made]),
            [
                "mkfs.ext4 -O journal_dev -b 1024 LOGDEVICE",
                "mkfs.ext4 -b 1024 -J device=LOGDEVICE DEVICE"
            ]
        );
        let made =
            "mkfs.xfs -q -f -K -l logdev=/dev/loop1,size=1073741824,sectsize=4096 /dev/loop10";
        let mount = "mount -t xfs -o noatime,logdev=/dev/loop1 /dev/loop10 /m/a";
        assert_eq!(
            copied("xfs:noatime", &[made, mount]),
            [
                "mkfs.xfs -l logdev=LOGDEVICE,sectsize=4096 DEVICE",
                "mount -t xfs -o noatime,logdev=LOGDEVICE DEVICE DIRECTORY"
            ]
        );
    }
}
