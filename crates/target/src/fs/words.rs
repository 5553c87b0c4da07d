//! The options of a candidate, held against what its tools accept: none may name
//! a device, file or folder outside the scratch. Whether a value is sensible is
//! left to the tools.
//!
//! ```
//! use pickfs_target::fs::words;
//! let refused = words::check(&"btrfs;mkfs=/dev/sdb".parse()?, false).unwrap_err();
//! assert!(refused.to_string().contains("`/dev/sdb`"));
//! # Ok::<(), pickfs_model::CandidateError>(())
//! ```

use pickfs_model::CandidateSpec;

use super::{FileSystem, Formatter, recipe};
use crate::{error::TargetError, own_format, plan};

/// The word that stands for the log device in a candidate: `xfs:logdev=LOG;mkfs=-l logdev=LOG`.
pub const LOG: &str = "LOG";

/// The options of one mkfs program, each list with blanks between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Words {
    /// Options without a value.
    pub alone: &'static str,
    /// Options with a value, behind `=`, joined (`-b4096`) or in the next word.
    pub valued: &'static str,
    /// Those whose value is any text: labels.
    pub text: &'static str,
    /// Those that name a file, folder or device, or run a program.
    pub outside: &'static str,
    /// Keys that may name the log device, among the suboptions of mkfs and the options of mount.
    pub log_keys: &'static str,
}

/// Keys, of any mkfs program and any mount, whose value leads outside.
const OUTSIDE_KEYS: &str = "device logdev rtdev journal_path journal_dev jdev name file options \
    protofile altroot cachefile mountpoint keylocation sharenfs sharesmb loop offset sizelimit \
    bind rbind move remount helper source usermapping logfile modules subdir xattrmapping \
    lowerdir upperdir workdir";
/// Options whose value is a path within the new file system.
const INSIDE_KEYS: &str = "subvol";

/// Refuses what could reach outside the scratch. A log device may be named where there is one.
///
/// # Errors
/// [`TargetError::Option`] with the first such word; [`TargetError::FormatWord`] of our formatters.
pub fn check(candidate: &CandidateSpec, has_log: bool) -> Result<(), TargetError> {
    let row = plan::row_of(candidate)?;
    let check = Check { candidate, row, has_log };
    check.mount()?;
    match row.needs().formatter {
        Formatter::Own => {
            let words: Vec<String> = recipe::make_words(candidate).collect();
            own_format::asked_size(row.name(), &words).map(drop)
        }
        Formatter::Packaged(_) | Formatter::None => check.make(),
    }
}

/// Whether the candidate asks for the log device.
pub fn asks_log(candidate: &CandidateSpec) -> bool {
    let words = candidate.mount_options.iter().chain(&candidate.mkfs_options);
    words.flat_map(|word| word.split(',')).any(is_log)
}

fn is_log(part: &str) -> bool {
    part.strip_suffix(LOG).is_some_and(|key| key.ends_with('='))
}

/// The candidate with the log device's node in the place of `LOG`.
pub fn with_log(candidate: &CandidateSpec, node: &str) -> CandidateSpec {
    let put = |word: &String| {
        let parts = word.split(',').map(|part| match part.strip_suffix(LOG) {
            Some(key) if key.ends_with('=') => format!("{key}{node}"),
            _ => part.to_owned(),
        });
        parts.collect::<Vec<_>>().join(",")
    };
    let mut named = candidate.clone();
    named.mount_options = candidate.mount_options.iter().map(put).collect();
    named.mkfs_options = candidate.mkfs_options.iter().map(put).collect();
    named
}

struct Check<'a> {
    candidate: &'a CandidateSpec,
    row: &'static dyn FileSystem,
    has_log: bool,
}

impl Check<'_> {
    fn mount(&self) -> Result<(), TargetError> {
        self.candidate.mount_options.iter().try_for_each(|option| self.list(option))
    }

    fn make(&self) -> Result<(), TargetError> {
        let known = self.row.words();
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
        let among = |list: &str| list.split_whitespace().any(|one| one == key);
        match () {
            () if is_log(part) && among(self.row.words().log_keys) => match self.has_log {
                true => Ok(()),
                false => Err(self.refused(part, NO_LOG)),
            },
            () if among(self.row.words().log_keys) => Err(self.refused(part, LOG_IS_NAMED)),
            () if among(OUTSIDE_KEYS) => Err(self.refused(part, OUTSIDE)),
            () if among(INSIDE_KEYS) => Ok(()),
            () if leads_somewhere(part) || leads_somewhere(value) => {
                Err(self.refused(part, OUTSIDE))
            }
            () => Ok(()),
        }
    }

    fn refused(&self, word: &str, why: &'static str) -> TargetError {
        let (candidate, word) = (self.candidate.to_string(), word.to_owned());
        TargetError::Option { candidate, word, why }
    }
}

const POSITIONAL: &str = "follows no option that takes a value and would name another device or file; leave it \
     out, or join it to its option: --option=value";
const OUTSIDE: &str = "names a device, file or folder outside the scratch; leave it out";
const UNKNOWN: &str = "is no option that pickfs knows; write each letter as a word of its own";
const NO_LOG: &str = "asks for a log device and there is none; name one with --log-device NODE";
const LOG_IS_NAMED: &str = "names a device outside the scratch; write LOG in the device's place and name the device with \
     --log-device NODE";

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

fn leads_somewhere(text: &str) -> bool {
    let is_tag =
        ["UUID=", "LABEL=", "PARTUUID=", "PARTLABEL="].iter().any(|tag| text.starts_with(tag));
    is_tag || text.contains('/') || matches!(text, "." | "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(candidate: &str, has_log: bool) -> String {
        check(&candidate.parse().unwrap(), has_log)
            .map_or_else(|e| e.to_string(), |()| "taken".into())
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
            assert_eq!(said(candidate, false), "taken", "{candidate}");
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
            ("reiserfs-3.6;mkfs=--journal-device=sdb", "--journal-device=sdb"),
            ("bcachefs;mkfs=--source=x", "--source=x"),
            ("zfs:mountpoint=/etc", "mountpoint=/etc"),
            ("zfs;mkfs=mirror", "mirror"),
        ] {
            let said = said(candidate, false);
            assert!(said.contains(&format!("`{word}` ")), "{candidate}: {said}");
        }
        assert_eq!(
            said("btrfs;mkfs=/dev/sdb", false),
            "candidate `btrfs;mkfs=/dev/sdb`: `/dev/sdb` follows no option that takes a value and would \
             name another device or file; leave it out, or join it to its option: --option=value"
        );
    }

    #[test]
    fn options_that_hide_in_one_word_of_a_stored_plan_are_seen() {
        let mut hidden: CandidateSpec = "ext4".parse().unwrap();
        hidden.mount_options = vec!["noatime,loop=/dev/loop9".into()];
        assert!(check(&hidden, false).is_err());
    }

    #[test]
    fn a_log_device_is_written_as_log_and_put_in_its_place() {
        let candidate = "xfs:logdev=LOG;mkfs=-l logdev=LOG,size=64m";
        assert!(said(candidate, false).ends_with("name one with --log-device NODE"));
        assert_eq!(said(candidate, true), "taken");
        assert!(said("xfs;mkfs=-l logdev=/dev/sdb", true).contains("write LOG"));
        assert!(said("btrfs:device=LOG", true).contains("outside the scratch"));
        let spec: CandidateSpec = candidate.parse().unwrap();
        assert!(asks_log(&spec) && !asks_log(&"ext4;mkfs=-L LOG".parse().unwrap()));
        let named = with_log(&spec, "/dev/sdb").to_string();
        assert_eq!(named, "xfs:logdev=/dev/sdb;mkfs=-l logdev=/dev/sdb,size=64m");
    }
}
