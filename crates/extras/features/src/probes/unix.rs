use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use crate::answers::{Answer, Verdict};
use rustix::fs::{CWD, FileType, Mode, XattrFlags, makedev, mknodat};
use rustix::io::Errno;

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult, means_no};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("permissions", permissions).kept(look_at_permissions),
    Probe::new("owners", owners).kept(look_at_owners),
    Probe::new("hard-links", hard_links).kept(look_at_hard_links),
    Probe::new("symbolic-links", symbolic_links).kept(look_at_symbolic_link),
    Probe::new("special-files", special_files).kept(look_at_special_files),
    Probe::new("acl", acl).kept(look_at_acl),
    Probe::new("xattr-user", |room| attribute(room, "user.pickfs"))
        .kept(|room| look_at_attribute(room, "user.pickfs")),
    Probe::new("xattr-trusted", |room| attribute(room, "trusted.pickfs"))
        .kept(|room| look_at_attribute(room, "trusted.pickfs")),
    Probe::new("xattr-security", |room| attribute(room, "security.pickfs"))
        .kept(|room| look_at_attribute(room, "security.pickfs")),
];

const MODES: [u32; 4] = [0o640, 0o705, 0o400, 0o4711];

fn permissions(room: &Room) -> Asking {
    for mode in MODES {
        let name = format!("{mode:04o}");
        room.filled(&name, b"x")?;
        let path = room.path(&name);
        match fs::set_permissions(&path, Permissions::from_mode(mode)).asked("chmod") {
            // A driver may refuse some modes and take others: a refused one has no file.
            Err(refusal) if means_no(refusal.errno, room.is_root) => {
                fs::remove_file(&path).needed("unlink")?;
            }
            other => other?,
        }
    }
    look_at_permissions(room)
}

fn look_at_permissions(room: &Room) -> Asking {
    let kept = |mode: u32| match fs::metadata(room.path(&format!("{mode:04o}"))) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => Ok(Some(other.needed("stat")?.mode() & 0o7777)),
    };
    let seen: Asking<Vec<_>> = MODES.into_iter().map(|mode| Ok((mode, kept(mode)?))).collect();
    Ok(stuck_modes(&seen?))
}

/// `None`: the call was refused.
fn stuck_modes(seen: &[(u32, Option<u32>)]) -> Answer {
    let kept = seen.iter().filter(|(set, got)| Some(*set) == *got).count();
    let told = |(set, got): &(u32, Option<u32>)| match got {
        Some(got) => format!("{set:04o} became {got:04o}"),
        None => format!("{set:04o} was refused"),
    };
    let lost: Vec<_> = seen.iter().filter(|(set, got)| Some(*set) != *got).map(told).collect();
    match (kept, lost.len()) {
        (_, 0) => Answer::new(Verdict::Yes, ""),
        (0, _) => Answer::new(Verdict::No, lost.join(", ")),
        _ => Answer::new(Verdict::Partly, lost.join(", ")),
    }
}

const USER: u32 = 12_345;
const GROUP: u32 = 23_456;

fn owners(room: &Room) -> Asking {
    room.filled("file", b"x")?;
    std::os::unix::fs::chown(room.path("file"), Some(USER), Some(GROUP)).asked("chown")?;
    look_at_owners(room)
}

fn look_at_owners(room: &Room) -> Asking {
    let facts = fs::metadata(room.path("file")).needed("stat")?;
    Ok(match (facts.uid() == USER, facts.gid() == GROUP) {
        (true, true) => Answer::new(Verdict::Yes, ""),
        (false, false) => Answer::new(Verdict::No, "chown is accepted and has no effect"),
        (true, false) => Answer::new(Verdict::Partly, "the user sticks, the group does not"),
        (false, true) => Answer::new(Verdict::Partly, "the group sticks, the user does not"),
    })
}

fn hard_links(room: &Room) -> Asking {
    room.filled("one", b"first")?;
    fs::hard_link(room.path("one"), room.path("two")).asked("link")?;
    fs::write(room.path("two"), b"second").needed("write")?;
    look_at_hard_links(room)
}

fn look_at_hard_links(room: &Room) -> Asking {
    if room.read("one")? != b"second" {
        return Ok(Answer::new(Verdict::No, "the second name is a file of its own"));
    }
    let links = fs::metadata(room.path("one")).needed("stat")?.nlink();
    Ok(match links {
        2 => Answer::new(Verdict::Yes, ""),
        other => Answer::new(Verdict::Partly, format!("two names, but st_nlink says {other}")),
    })
}

fn symbolic_links(room: &Room) -> Asking {
    room.filled("target", b"there")?;
    symlink("target", room.path("link")).asked("symlink")?;
    look_at_symbolic_link(room)
}

fn look_at_symbolic_link(room: &Room) -> Asking {
    let kept = fs::read_link(room.path("link")).needed("readlink")?;
    if kept != Path::new("target") {
        return Ok(Answer::new(Verdict::No, format!("the link says {}", kept.display())));
    }
    match room.read("link")?.as_slice() {
        b"there" => Ok(Answer::new(Verdict::Yes, "")),
        _ => Ok(Answer::new(Verdict::Partly, "it is kept, but does not lead to the file")),
    }
}

/// Kinds of special files, with the device number of the one that has any: /dev/null's.
fn kinds() -> [(&'static str, FileType, u64); 3] {
    let null = makedev(1, 3);
    [
        ("FIFO", FileType::Fifo, 0),
        ("socket", FileType::Socket, 0),
        ("device", FileType::CharacterDevice, null),
    ]
}

fn special_files(room: &Room) -> Asking {
    let mode = Mode::from_raw_mode(0o600);
    let mut refusals = Vec::new();
    for (name, kind, device) in kinds() {
        let made = mknodat(CWD, room.path(name), kind, mode, device).asked("mknod");
        refusals.extend(made.err().map(|refusal| (name, refusal)));
    }
    match refusals.as_slice() {
        [.., (_, last)] if refusals.len() == kinds().len() => Err(last.clone()),
        [] => look_at_special_files(room),
        some => {
            let words: Vec<_> = some.iter().map(|(name, why)| format!("{name}: {why}")).collect();
            Ok(Answer::new(Verdict::Partly, words.join(", ")))
        }
    }
}

fn look_at_special_files(room: &Room) -> Asking {
    let mut missing = Vec::new();
    for (name, kind, device) in kinds() {
        if !is_kind(&room.path(name), kind, device)? {
            missing.push(name);
        }
    }
    Ok(match missing.len() {
        0 => Answer::new(Verdict::Yes, ""),
        3 => Answer::new(Verdict::No, "accepted, and none of them is there"),
        _ => Answer::new(Verdict::Partly, format!("not there: {}", missing.join(", "))),
    })
}

fn is_kind(path: &Path, kind: FileType, device: u64) -> Asking<bool> {
    let facts = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other.needed("stat")?,
    };
    let found = facts.file_type();
    Ok(match kind {
        FileType::Fifo => found.is_fifo(),
        FileType::Socket => found.is_socket(),
        _ => found.is_char_device() && facts.rdev() == device,
    })
}

/// An access list as the kernel takes it: a version, then entries of tag, rights and id.
/// Source: `include/uapi/linux/posix_acl_xattr.h`.
///
/// ```text
/// 0         4    6        8
/// | version | tag | rights | id | ...   little endian; id is -1 where the tag needs none
/// ```
fn access_list() -> Vec<u8> {
    const OWNER: u16 = 0x01;
    const NAMED_USER: u16 = 0x02;
    const OWNING_GROUP: u16 = 0x04;
    const MASK: u16 = 0x10;
    const OTHERS: u16 = 0x20;
    let none = u32::MAX;
    let entries = [
        (OWNER, 6_u16, none),
        (NAMED_USER, 7, USER),
        (OWNING_GROUP, 4, none),
        (MASK, 5, none),
        (OTHERS, 0, none),
    ];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

const ACL: &str = "system.posix_acl_access";

fn acl(room: &Room) -> Asking {
    room.filled("file", b"x")?;
    let (path, list) = (room.path("file"), access_list());
    rustix::fs::setxattr(&path, ACL, &list, XattrFlags::empty()).asked("setxattr")?;
    look_at_acl(room)
}

fn look_at_acl(room: &Room) -> Asking {
    let path = room.path("file");
    let kept = read_attribute(&path, ACL, 512)?;
    let mode = fs::metadata(&path).needed("stat")?.mode() & 0o777;
    Ok(match (kept == access_list(), mode) {
        (true, 0o650) => Answer::new(Verdict::Yes, ""),
        (true, other) => {
            Answer::new(Verdict::Partly, format!("kept, but the mode says {other:04o}, not 0650"))
        }
        (false, _) => Answer::new(Verdict::No, "accepted, and not there afterwards"),
    })
}

const ATTRIBUTE_BYTES_MAX: usize = 65_536;
const VALUE: [u8; 32] = [0x5a; 32];

fn attribute(room: &Room, name: &str) -> Asking {
    room.filled("large", b"x")?;
    room.filled("file", b"x")?;
    rustix::fs::setxattr(room.path("file"), name, &VALUE, XattrFlags::empty()).asked("setxattr")?;
    let seen = look_at_attribute(room, name)?;
    if seen.verdict != Verdict::Yes {
        return Ok(seen);
    }
    let sizes = (6..=16).map(|power| 1_usize << power);
    let path = room.path("large");
    let largest = sizes.take_while(|size| takes(&path, name, *size)).last().unwrap_or(32);
    let text = crate::figures::size_text(largest as u64);
    let limit =
        if largest == ATTRIBUTE_BYTES_MAX { ", all that the kernel lets through" } else { "" };
    Ok(Answer::new(Verdict::Yes, format!("values up to {text}{limit}")))
}

fn look_at_attribute(room: &Room, name: &str) -> Asking {
    Ok(match read_attribute(&room.path("file"), name, 64)? == VALUE {
        true => Answer::new(Verdict::Yes, ""),
        false => Answer::new(Verdict::No, "accepted, and not there afterwards"),
    })
}

fn takes(path: &Path, name: &str, size: usize) -> bool {
    let value = vec![0x5a_u8; size];
    let set = rustix::fs::setxattr(path, name, &value, XattrFlags::empty());
    set.is_ok() && read_attribute(path, name, size).is_ok_and(|kept| kept == value)
}

/// Empty where there is none.
fn read_attribute(path: &Path, name: &str, room_bytes: usize) -> Asking<Vec<u8>> {
    let mut kept = vec![0; room_bytes];
    let path = path.as_os_str().as_bytes();
    let length = match rustix::fs::getxattr(path, name, kept.as_mut_slice()) {
        Err(Errno::NODATA) => 0,
        other => other.needed("getxattr")?,
    };
    kept.truncate(length);
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_that_stick_all_some_and_none() {
        let all = [(0o640, Some(0o640)), (0o400, Some(0o400))];
        assert_eq!(stuck_modes(&all).verdict, Verdict::Yes);
        let fat = [(0o640, Some(0o755)), (0o400, None)];
        let answer = stuck_modes(&fat);
        assert_eq!(answer.verdict, Verdict::No);
        assert_eq!(answer.words, "0640 became 0755, 0400 was refused");
        let some = [(0o640, Some(0o640)), (0o4711, Some(0o711))];
        assert_eq!(stuck_modes(&some).verdict, Verdict::Partly);
    }

    #[test]
    fn the_access_list_has_its_version_and_five_entries() {
        let list = access_list();
        assert_eq!((list.len(), &list[..4]), (4 + 5 * 8, &[2, 0, 0, 0][..]));
    }
}
