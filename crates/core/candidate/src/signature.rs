//! What lies on a device: signatures as libblkid knows them, and whether its ends and sampled
//! places between are zeros. Reads only.
//! `blkid -p` says what the device is, and `wipefs --no-act` every signature beside it (blkid
//! gives up with status 8 when there are several).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde::Deserialize;

use crate::availability::find_program;
use crate::interlock::Refusal;

/// How much of each end is read.
const END_BYTES: u64 = 1 << 20;
/// Places between the ends, evenly apart, and how much is read of each.
const PLACES: u64 = 64;
const PLACE_BYTES: u64 = 64 << 10;
/// blkid found nothing, or nothing that it is sure of.
const BLKID_NOTHING: i32 = 2;
/// blkid found several things that exclude each other.
const BLKID_AMBIVALENT: i32 = 8;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Signature {
    /// libblkid's name: `ext4`, `LVM2_member`, `dos`.
    #[serde(rename = "type")]
    pub name: String,
    /// libblkid's group: `filesystem`, `raid`, `crypto`, `partition-table`, `other`.
    #[serde(default, deserialize_with = "text_or_null")]
    pub usage: String,
}

/// Only a file system's signature may be overwritten, with consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// That one device holds alone.
    FileSystem,
    PartitionTable,
    Raid,
    Lvm,
    /// LUKS, BitLocker and their like.
    Encrypted,
    Zfs,
    Bcache,
    Multipath,
    Swap,
    /// Of a file system on another device.
    Log,
    /// Anything else that libblkid knows: a DRBD, a Ceph store.
    Other,
}

impl Signature {
    /// Names come before groups: libblkid calls a ZFS member a file system.
    pub fn meaning(&self) -> Meaning {
        match (self.name.as_str(), self.usage.as_str()) {
            ("zfs_member", _) => Meaning::Zfs,
            ("bcache", _) => Meaning::Bcache,
            ("mpath_member", _) => Meaning::Multipath,
            ("LVM1_member" | "LVM2_member", _) => Meaning::Lvm,
            ("swap" | "swsuspend", _) => Meaning::Swap,
            ("jbd" | "xfs_external_log", _) => Meaning::Log,
            (_, "crypto") => Meaning::Encrypted,
            (name, _) if name.starts_with("crypto_") => Meaning::Encrypted,
            (_, "raid") => Meaning::Raid,
            (_, "partition-table") => Meaning::PartitionTable,
            (_, "filesystem") => Meaning::FileSystem,
            _ => Meaning::Other,
        }
    }
}

pub fn signatures(device: &Path) -> Result<Vec<Signature>, Refusal> {
    let mut found = blkid(device)?;
    for signature in wipefs(device)? {
        if !found.iter().any(|known| known.name == signature.name) {
            found.push(signature);
        }
    }
    Ok(found)
}

fn blkid(device: &Path) -> Result<Vec<Signature>, Refusal> {
    let output = ask("blkid", &["-p", "-o", "export"], device)?;
    match output.status.code() {
        Some(0) => Ok(parse_export(&String::from_utf8_lossy(&output.stdout))),
        Some(BLKID_NOTHING | BLKID_AMBIVALENT) => Ok(Vec::new()),
        _ => Err(not_answered("blkid", device, &output)),
    }
}

fn wipefs(device: &Path) -> Result<Vec<Signature>, Refusal> {
    let args = ["--no-act", "--json", "--output", "TYPE,USAGE"];
    let output = ask("wipefs", &args, device)?;
    if !output.status.success() {
        return Err(not_answered("wipefs", device, &output));
    }
    parse_json(&output.stdout).ok_or_else(|| not_answered("wipefs", device, &output))
}

fn ask(program: &'static str, args: &[&str], device: &Path) -> Result<Output, Refusal> {
    let missing = || Refusal::NoProgram { device: device.to_owned(), program };
    let path = find_program(program).ok_or_else(missing)?;
    let mut command = Command::new(path);
    command.args(args).arg(device).env("LC_ALL", "C").stdin(Stdio::null());
    command.output().map_err(|_| missing())
}

fn not_answered(program: &'static str, device: &Path, output: &Output) -> Refusal {
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Refusal::NotThere { device: device.to_owned(), reason: format!("{program} says: {said}") }
}

/// `KEY=value` lines: TYPE with USAGE, PTTYPE.
fn parse_export(text: &str) -> Vec<Signature> {
    let value = |key: &str| {
        text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).map(str::to_owned)
    };
    let content =
        value("TYPE").map(|name| Signature { name, usage: value("USAGE").unwrap_or_default() });
    let table = value("PTTYPE").map(|name| Signature { name, usage: "partition-table".into() });
    content.into_iter().chain(table).collect()
}

/// Nothing at all, or `{"signatures": [{"type": "ext4", "usage": "filesystem"}]}`.
fn parse_json(bytes: &[u8]) -> Option<Vec<Signature>> {
    #[derive(Deserialize)]
    struct Listing {
        signatures: Vec<Signature>,
    }
    if bytes.trim_ascii().is_empty() {
        return Some(Vec::new());
    }
    serde_json::from_slice::<Listing>(bytes).ok().map(|listing| listing.signatures)
}

fn text_or_null<'de, D: serde::Deserializer<'de>>(field: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(field)?.unwrap_or_default())
}

/// Bytes other than zero, in bytes from its start: each end is read, and places between them. What
/// lies only between those goes unnoticed.
pub fn place_in_use(device: &Path, size_bytes: u64) -> std::io::Result<Option<u64>> {
    let file = File::open(device)?;
    let last_place = size_bytes.saturating_sub(PLACE_BYTES);
    let between = (1..PLACES).map(|place| (last_place / PLACES * place, PLACE_BYTES));
    let ends = [(0, END_BYTES), (size_bytes.saturating_sub(END_BYTES), END_BYTES)];
    for (offset_bytes, length) in ends.into_iter().chain(between) {
        let mut bytes = vec![0; length.min(size_bytes - offset_bytes) as usize];
        file.read_exact_at(&mut bytes, offset_bytes)?;
        if let Some(at) = bytes.iter().position(|&byte| byte != 0) {
            return Ok(Some(offset_bytes + at as u64));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(name: &str, usage: &str) -> Meaning {
        Signature { name: name.into(), usage: usage.into() }.meaning()
    }

    #[test]
    fn only_what_is_surely_a_file_system_counts_as_one() {
        assert_eq!(meaning("ext4", "filesystem"), Meaning::FileSystem);
        assert_eq!(meaning("zfs_member", "filesystem"), Meaning::Zfs);
        assert_eq!(meaning("LVM2_member", "raid"), Meaning::Lvm);
        assert_eq!(meaning("linux_raid_member", "raid"), Meaning::Raid);
        assert_eq!(meaning("crypto_LUKS", "crypto"), Meaning::Encrypted);
        assert_eq!(meaning("bcache", "other"), Meaning::Bcache);
        assert_eq!(meaning("swap", "other"), Meaning::Swap);
        assert_eq!(meaning("jbd", "other"), Meaning::Log);
        assert_eq!(meaning("something-new", ""), Meaning::Other);
    }

    #[test]
    fn what_blkid_exports_is_read() {
        let text = "DEVNAME=/dev/sdb\nVERSION=1.0\nTYPE=ext4\nUSAGE=filesystem\n";
        let expected = Signature { name: "ext4".into(), usage: "filesystem".into() };
        assert_eq!(parse_export(text), [expected]);
        let table = parse_export("DEVNAME=/dev/sdb\nPTUUID=1\nPTTYPE=gpt\n");
        assert_eq!(table[0].meaning(), Meaning::PartitionTable);
        assert!(parse_export("").is_empty());
    }

    #[test]
    fn what_wipefs_lists_is_read_and_nonsense_is_not_taken_for_nothing() {
        let json = br#"{"signatures":[{"type":"dos","usage":null},{"type":"xfs","usage":"x"}]}"#;
        assert_eq!(parse_json(json).unwrap().len(), 2);
        assert_eq!(parse_json(b"\n"), Some(Vec::new()));
        assert_eq!(parse_json(b"oops"), None);
    }

    #[test]
    fn bytes_at_either_end_and_in_the_middle_are_seen() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let size_bytes = 512 << 20;
        file.as_file().set_len(size_bytes).unwrap();
        let place = || place_in_use(file.path(), size_bytes).unwrap();
        assert_eq!(place(), None);
        file.as_file().write_all_at(&vec![b'x'; 9 << 20], 250 << 20).unwrap();
        assert!(place().is_some_and(|at| (250 << 20..259 << 20).contains(&at)));
        file.as_file().write_all_at(b"x", size_bytes - 1).unwrap();
        assert_eq!(place(), Some(size_bytes - 1));
        file.as_file().write_all_at(b"x", 5000).unwrap();
        assert_eq!(place(), Some(5000));
    }
}
