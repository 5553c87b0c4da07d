//! The options of a candidate, held against what its tools accept: none may name a device, file or
//! folder outside the scratch. Whether a value is sensible is left to the tools.

use pickfs_record::CandidateSpec;

use super::{FileSystem, Formatter, recipe};
use crate::{error::TargetError, own_format, plan};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    pub alone: &'static str,
    /// Options with a value, behind `=`, joined (`-b4096`) or in the next word.
    pub valued: &'static str,
    /// Those whose value is any text: labels.
    pub text: &'static str,
    /// Those that name a file, folder or device, or run a program.
    pub outside: &'static str,
}

/// Keys, of any mkfs program and any mount, whose value leads outside.
const OUTSIDE_KEYS: &str = "device logdev rtdev journal_path journal_dev jdev name file options \
    protofile altroot cachefile mountpoint keylocation sharenfs sharesmb loop offset sizelimit \
    bind rbind move remount helper uhelper source usermapping logfile modules subdir xattrmapping \
    lowerdir upperdir workdir";
/// Those of them that name the device of a log (journal).
const LOG_KEYS: &str = "logdev journal_path journal_dev device";
/// Options whose value is a path within the new file system.
const INSIDE_KEYS: &str = "subvol";

/// An error with the first word that could reach outside the scratch.
pub fn check(candidate: &CandidateSpec) -> Result<(), TargetError> {
    let row = plan::row_of(candidate)?;
    let check = Check { candidate, row };
    check.mount()?;
    match row.formatter {
        Formatter::Own => {
            let words: Vec<String> = recipe::make_words(candidate).collect();
            own_format::asked_size(row.name, &words).map(drop)
        }
        Formatter::Packaged(_) | Formatter::None => check.make(),
    }
}

struct Check<'a> {
    candidate: &'a CandidateSpec,
    row: &'static FileSystem,
}

impl Check<'_> {
    fn mount(&self) -> Result<(), TargetError> {
        self.candidate.mount_options.iter().try_for_each(|option| self.list(option))
    }

    fn make(&self) -> Result<(), TargetError> {
        let known = self.row.words;
        let mut words = recipe::make_words(self.candidate);
        while let Some(word) = words.next() {
            if !word.starts_with('-') || matches!(word.as_str(), "-" | "--") {
                return Err(self.refused(&word, POSITIONAL));
            }
            let (option, joined) = option_of(&word, known.alone);
            let is = |list: &str| list.split_whitespace().any(|one| one == option);
            let cut = |one: &str| option.len() > 3 && one.starts_with(&option);
            if is(known.outside) || known.outside.split_whitespace().any(cut) {
                return Err(self.refused(&word, OUTSIDE));
            }
            if is(known.text) || is(known.valued) {
                let value = joined.map(str::to_owned).or_else(|| words.next()).unwrap_or_default();
                if is(known.valued) {
                    self.list(&value)?;
                }
            } else if joined.is_some() && !option.starts_with("--") {
                return Err(self.refused(&word, UNKNOWN));
            } else if let Some(value) = joined {
                self.list(value)?;
            }
        }
        Ok(())
    }

    /// A value, or several with commas between: `su=64k,sw=2`.
    fn list(&self, value: &str) -> Result<(), TargetError> {
        value.split(',').try_for_each(|part| self.part(part.trim()))
    }

    fn part(&self, part: &str) -> Result<(), TargetError> {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let key = key.trim();
        let among = |list: &str| list.split_whitespace().any(|one| one == key);
        match () {
            () if part.contains(['"', '\\']) => Err(self.refused(part, QUOTED)),
            () if for_helpers(key) => Err(self.refused(part, HELPERS)),
            () if among(LOG_KEYS) && self.row.log_apart(self.candidate).is_some() => {
                Err(self.refused(part, LOG))
            }
            () if among(OUTSIDE_KEYS) => Err(self.refused(part, OUTSIDE)),
            () if among(INSIDE_KEYS) => Ok(()),
            () if leads_somewhere(part) || leads_somewhere(value) => {
                Err(self.refused(part, OUTSIDE))
            }
            () => Ok(()),
        }
    }

    fn refused(&self, word: &str, why: &'static str) -> TargetError {
        TargetError::Other(format!("candidate `{}`: `{word}` {why}", self.candidate))
    }
}

const POSITIONAL: &str = "follows no option that takes a value and would name another device or file; leave it \
     out, or join it to its option: --option=value";
const OUTSIDE: &str = "names a device, file or folder outside the scratch; leave it out";
const QUOTED: &str =
    "has a quotation mark or a backslash, which mount(8) and its helpers take away; leave it out";
const HELPERS: &str =
    "is for mount(8) and its helpers, which could reach outside the scratch; leave it out";
const LOG: &str = "names a device outside the scratch; leave it out, and name the device of the log with \
     --device NODE --log-device NODE";
const UNKNOWN: &str = "is no option that pickfs knows; write each letter as a word of its own";
/// An option and what is joined to it. Of letters behind one dash the first that takes a value or is
/// not known, as getopt(3) reads them.
fn option_of<'a>(word: &'a str, alone: &str) -> (String, Option<&'a str>) {
    if word.starts_with("--") {
        return match word.split_once('=') {
            Some((option, value)) => (option.into(), Some(value)),
            None => (word.into(), None),
        };
    }
    let mut found = (word.to_owned(), None);
    for (at, letter) in word.char_indices().skip(1) {
        let behind = &word[at + letter.len_utf8()..];
        found = (format!("-{letter}"), Some(behind).filter(|behind| !behind.is_empty()));
        if !alone.split_whitespace().any(|option| option == found.0) {
            break;
        }
    }
    found
}

/// Options that programs in user space act on. Source: mount(8), "FILESYSTEM-INDEPENDENT MOUNT OPTIONS", dm-verity.
fn for_helpers(key: &str) -> bool {
    ["verity.", "X-", "x-"].iter().any(|begin| key.starts_with(begin))
}

fn leads_somewhere(text: &str) -> bool {
    let is_tag =
        ["UUID=", "LABEL=", "PARTUUID=", "PARTLABEL="].iter().any(|tag| text.starts_with(tag));
    is_tag || text.contains('/') || matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use std::{
        path::Path,
        process::{Command, Stdio},
    };

    use super::*;
    use crate::{availability::find_program, fs::FILE_SYSTEMS};

    fn said(candidate: &str) -> String {
        check(&candidate.parse().unwrap()).map_or_else(|e| e.to_string(), |()| "taken".into())
    }

    #[test]
    fn what_tools_accept_within_the_scratch_is_taken() {
        for candidate in [
            "ext4:noatime,barrier=0,data=writeback;mkfs=-O ^has_journal -b 4096 -E stride=4,hash_seed=1",
            "ext4;mkfs=-Fb1024 -L /data -m .5 -jU 0b4a4dd3-2b1e-4b9c-9d61-cdcaf5f2dbd5",
            "xfs:logbsize=256k;mkfs=-m crc=1,reflink=0 -d su=64k,sw=2 -l size=64m,internal=1 discard",
            "btrfs:compress=zstd:3,subvol=/;mkfs=-n 16k --csum xxhash --label=a/b --new-thing=3 -M",
            "f2fs:compress_extension=*;mkfs=-O extra_attr,compression -l x",
            "fat32;mkfs=-s 8 -n DATA",
            "zfs:recordsize=8K;mkfs=-o ashift=12 -O atime=off",
            "tmpfs:size=50%,huge=always,mpol=bind:0",
            "bcachefs;mkfs=--block_size=4k --compression=lz4",
        ] {
            assert_eq!(said(candidate), "taken", "{candidate}");
        }
    }

    #[test]
    fn what_leads_outside_the_scratch_is_refused_with_its_word() {
        for (candidate, word) in [
            ("btrfs;mkfs=/dev/sdb", "/dev/sdb"),
            ("btrfs;mkfs=-M sdb", "sdb"),
            ("btrfs;mkfs=-- sdb", "--"),
            ("btrfs;mkfs=-fr DIR", "-fr"),
            ("btrfs;mkfs=--rootd=DIR", "--rootd=DIR"),
            ("btrfs;mkfs=--new-thing=/etc", "/etc"),
            ("btrfs:device=/dev/sdb", "device=/dev/sdb"),
            ("ext4;mkfs=-z undo", "-z"),
            ("ext4;mkfs=-Fzundo", "-Fzundo"),
            ("ext4;mkfs=-d /etc", "-d"),
            ("ext4;mkfs=-l blocks", "-l"),
            ("ext4;mkfs=-Jdevice=UUID=1", "device=UUID=1"),
            ("ext4;mkfs=-b 4096 -J size=4,device=sdb", "device=sdb"),
            ("ext4;mkfs=-Xz", "-Xz"),
            ("ext4:journal_path=/dev/sdb", "journal_path=/dev/sdb"),
            ("ext4:noatime,loop=/dev/loop9", "loop=/dev/loop9"),
            ("ext4:remount", "remount"),
            ("xfs;mkfs=-l logdev=/dev/sdb,size=64m", "logdev=/dev/sdb"),
            ("xfs:rtdev=sdb", "rtdev=sdb"),
            ("xfs;mkfs=-c options=x", "-c"),
            ("fat32;mkfs=-C 1000", "-C"),
            ("fat32;mkfs=--mbr sdb", "sdb"),
            ("f2fs;mkfs=-h sdb", "sdb"),
            ("reiserfs-3.6;mkfs=--journal-device=sdb", "--journal-device=sdb"),
            ("bcachefs;mkfs=--source=x", "--source=x"),
            ("zfs:mountpoint=/etc", "mountpoint=/etc"),
            ("zfs;mkfs=mirror", "mirror"),
        ] {
            let said = said(candidate);
            assert!(said.contains(&format!("`{word}` ")), "{candidate}: {said}");
        }
        for candidate in
            ["xfs:logdev=/dev/sdb", "ext3;mkfs=-J device=/dev/sdb", "ext4;mkfs=-O journal_dev"]
        {
            assert!(said(candidate).ends_with("--device NODE --log-device NODE"), "{candidate}");
        }
        assert_eq!(
            said("btrfs;mkfs=/dev/sdb"),
            "candidate `btrfs;mkfs=/dev/sdb`: `/dev/sdb` follows no option that takes a value and would \
             name another device or file; leave it out, or join it to its option: --option=value"
        );
    }

    /// What a tool says first of a letter, without the letter.
    fn first_said(path: &Path, verb: Option<&str>, letter: char) -> String {
        let mut command = Command::new(path);
        let command = command.args(verb).arg(format!("-{letter}")).env("LC_ALL", "C");
        let said = command.stdin(Stdio::null()).output().expect("it starts").stderr;
        let said = String::from_utf8_lossy(&said);
        let first = said.lines().next().unwrap_or_default();
        first.replace(&format!("'{letter}'"), "").replace(&format!("'-{letter}'"), "")
    }

    /// getopt(3) complains of a letter that lacks its value before the tool misses the name of a device. A letter
    /// that this version does not know is another's.
    #[test]
    fn the_tables_take_letters_as_the_installed_tools_do() {
        for row in FILE_SYSTEMS {
            let known = row.words;
            let Formatter::Packaged(program) = row.formatter else { continue };
            // zpool asks its daemon first.
            let found = find_program(program.name).filter(|_| program.name != "zpool");
            let Some(path) = found else { continue };
            let verb = (program.name == "bcachefs").then_some("format");
            let unknown = first_said(&path, verb, '@');
            for letter in ('a'..='z').chain('A'..='Z') {
                let said = first_said(&path, verb, letter);
                let word = format!("-{letter}");
                let is = |list: &str| list.split_whitespace().any(|one| one == word);
                // mkntfs says so in words of its own, also of what it does not know.
                let fits = match () {
                    () if said.contains("option requires an argument --") => {
                        [known.valued, known.text, known.outside].into_iter().any(is)
                    }
                    () if said == unknown || said.contains("requires an argument") => true,
                    () => is(known.alone) || is(known.outside),
                };
                assert!(
                    fits,
                    "{} {word} is not in `words` as the tool has it: {said}",
                    program.name
                );
            }
        }
    }

    #[test]
    fn what_programs_in_user_space_act_on_is_refused() {
        for (candidate, word) in [
            ("ext4:\"loop\"", "\"loop\""),
            ("xfs:\"logdev\"=sdb", "\"logdev\"=sdb"),
            ("ntfs-3g:lo\\op", "lo\\op"),
            ("ext4:noatime,loop =loop9", "loop =loop9"),
            ("ext4;mkfs=-J \"device\"=sdb", "\"device\"=sdb"),
            ("ext4:verity.hashdevice=sdb", "verity.hashdevice=sdb"),
            ("ext4:verity.roothash=0", "verity.roothash=0"),
            ("ext4:uhelper=sh", "uhelper=sh"),
            ("ext4:helper=sh", "helper=sh"),
            ("ext4:X-mount.mkdir", "X-mount.mkdir"),
            ("ext4:x-systemd.automount", "x-systemd.automount"),
        ] {
            let said = said(candidate);
            assert!(said.contains(&format!("`{word}` ")), "{candidate}: {said}");
        }
    }

    #[test]
    fn options_that_hide_in_one_word_of_a_stored_plan_are_seen() {
        let mut hidden: CandidateSpec = "ext4".parse().unwrap();
        hidden.mount_options = vec!["noatime,loop=/dev/loop9".into()];
        assert!(check(&hidden).is_err());
    }
}
