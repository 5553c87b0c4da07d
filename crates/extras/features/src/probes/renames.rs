use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};

use crate::answers::{Answer, Verdict};
use pickfs_sys::files::{Access, OpenHow};
use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat_with};
use rustix::io::Errno;

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("rename-over-open", over_open),
    Probe::new("unlink-open", unlink_open),
    Probe::new("rename-noreplace", no_replace),
    Probe::new("rename-exchange", exchange),
    Probe::new("rename-whiteout", whiteout),
    Probe::new("unnamed", unnamed),
];

fn over_open(room: &Room) -> Asking {
    let old = room.filled("name", b"old")?;
    room.filled("other", b"new")?;
    fs::rename(room.path("other"), room.path("name")).asked("rename")?;
    let mut kept = [0; 3];
    old.read_exact_at(&mut kept, 0).needed("read")?;
    let named = room.read("name")?;
    Ok(match (&kept, named.as_slice()) {
        (b"old", b"new") => leftover_answer(&room.names()?, &["name"]),
        (_, b"new") => Answer::new(Verdict::Partly, "the open file reads the new bytes"),
        _ => Answer::new(Verdict::No, "the name still reads the old bytes"),
    })
}

fn unlink_open(room: &Room) -> Asking {
    let mut file = room.filled("file", b"one")?;
    fs::remove_file(room.path("file")).asked("unlink")?;
    file.write_all(b"two").needed("write")?;
    let mut bytes = [0; 6];
    file.read_exact_at(&mut bytes, 0).needed("read")?;
    let names = room.names()?;
    Ok(match &bytes {
        b"onetwo" => leftover_answer(&names, &[]),
        _ => Answer::new(Verdict::No, "it does not read what was written"),
    })
}

/// FUSE keeps a file in use under another name (`.fuse_hidden...`) until it is closed.
fn leftover_answer(listed: &[std::ffi::OsString], expected: &[&str]) -> Answer {
    let strange = listed.iter().find(|name| !expected.iter().any(|one| *name == one));
    match strange {
        None => Answer::new(Verdict::Yes, ""),
        Some(name) => {
            let name: String = name.to_string_lossy().chars().take(12).collect();
            Answer::new(Verdict::Partly, format!("{name}... is listed until it is closed"))
        }
    }
}

fn rename_with(room: &Room, from: &str, to: &str, flags: RenameFlags) -> Result<(), Errno> {
    renameat_with(CWD, room.path(from), CWD, room.path(to), flags)
}

fn no_replace(room: &Room) -> Asking {
    room.filled("one", b"one")?;
    room.filled("two", b"two")?;
    rename_with(room, "one", "free", RenameFlags::NOREPLACE).asked("renameat2")?;
    let over = rename_with(room, "free", "two", RenameFlags::NOREPLACE);
    let kept = room.read("two")? == b"two";
    Ok(match (over, kept) {
        (Err(Errno::EXIST), true) => Answer::new(Verdict::Yes, ""),
        (_, false) => Answer::new(Verdict::No, "it renames over a file all the same"),
        (over, true) => {
            let said = over.asked("renameat2").map_err(|refusal| refusal.to_string());
            Answer::new(Verdict::Partly, format!("a taken name gives {said:?}, not EEXIST"))
        }
    })
}

fn exchange(room: &Room) -> Asking {
    room.filled("one", b"one")?;
    room.filled("two", b"two")?;
    rename_with(room, "one", "two", RenameFlags::EXCHANGE).asked("renameat2")?;
    Ok(match (room.read("one")?.as_slice(), room.read("two")?.as_slice()) {
        (b"two", b"one") => Answer::new(Verdict::Yes, ""),
        _ => Answer::new(Verdict::No, "accepted, and the names are not exchanged"),
    })
}

fn whiteout(room: &Room) -> Asking {
    room.filled("one", b"one")?;
    rename_with(room, "one", "two", RenameFlags::WHITEOUT).asked("renameat2")?;
    let facts = fs::symlink_metadata(room.path("one")).needed("stat")?;
    Ok(match (facts.file_type().is_char_device(), facts.rdev()) {
        (true, 0) => Answer::new(Verdict::Yes, ""),
        _ => Answer::new(Verdict::No, "accepted, and no whiteout is left"),
    })
}

fn unnamed(room: &Room) -> Asking {
    let opened = OpenHow::new(Access::ReadWrite).open_unnamed(room.folder());
    let mut file = opened.asked("open with O_TMPFILE")?;
    file.write_all(b"bytes").needed("write")?;
    let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let linked = linkat(CWD, own, CWD, room.path("name"), AtFlags::SYMLINK_FOLLOW);
    Ok(match linked.asked("linkat") {
        Err(refusal) => Answer::new(Verdict::Partly, format!("it cannot get a name: {refusal}")),
        Ok(()) if room.read("name")? == b"bytes" => Answer::new(Verdict::Yes, ""),
        Ok(()) => Answer::new(Verdict::Partly, "named, it does not read what was written"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_name_makes_it_partly() {
        assert_eq!(leftover_answer(&["name".into()], &["name"]).verdict, Verdict::Yes);
        let answer = leftover_answer(&[".fuse_hidden000001".into()], &[]);
        assert_eq!(answer.words, ".fuse_hidden... is listed until it is closed");
    }
}
