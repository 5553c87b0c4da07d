use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::answers::{Answer, Verdict};
use pickfs_sys::extents;

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] =
    &[Probe::new("reflink", reflink), Probe::new("copy-range", copy_range)];

const BYTES: usize = 256 << 10;

fn original(room: &Room) -> Asking<(File, Vec<u8>)> {
    let bytes: Vec<u8> = (0..BYTES).map(|at| (at / 512 % 251) as u8).collect();
    let file = room.filled("original", &bytes)?;
    file.sync_all().needed("fsync")?;
    Ok((file, bytes))
}

fn reflink(room: &Room) -> Asking {
    let (original, bytes) = original(room)?;
    let copy = room.file("copy")?;
    rustix::fs::ioctl_ficlone(&copy, &original).asked("ioctl FICLONE")?;
    if room.read("copy")? != bytes {
        return Ok(Answer::new(Verdict::No, "accepted, and the copy differs"));
    }
    copy.write_all_at(&[0xff; 4096], 8192).needed("write")?;
    copy.sync_all().needed("fsync")?;
    Ok(match room.read("original")? == bytes {
        true => Answer::new(Verdict::Yes, ""),
        false => Answer::new(Verdict::No, "a write to the copy changes the original"),
    })
}

fn copy_range(room: &Room) -> Asking {
    let (original, bytes) = original(room)?;
    let copy = room.file("copy")?;
    let mut done = 0;
    while done < BYTES {
        let (mut from, mut to) = (done as u64, done as u64);
        let rest = BYTES - done;
        let call =
            rustix::fs::copy_file_range(&original, Some(&mut from), &copy, Some(&mut to), rest);
        match call.asked("copy_file_range")? {
            0 => break,
            count => done += count,
        }
    }
    copy.sync_all().needed("fsync")?;
    let same = room.read("copy")? == bytes;
    Ok(copy_answer(same, is_shared(&copy)))
}

/// `None` where the file system does not tell.
fn is_shared(file: &File) -> Option<bool> {
    let extents = extents::fiemap(file).ok()?;
    Some(extents.iter().any(|extent| extent.flags.is_shared()))
}

fn copy_answer(is_same: bool, is_shared: Option<bool>) -> Answer {
    match (is_same, is_shared) {
        (false, _) => Answer::new(Verdict::No, "accepted, and the copy differs"),
        (true, Some(true)) => Answer::new(Verdict::Yes, "the blocks are shared"),
        (true, Some(false)) => Answer::new(Verdict::Yes, "the bytes are copied"),
        (true, None) => Answer::new(Verdict::Yes, "whether blocks are shared cannot be seen"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_tells_whether_it_shares() {
        assert_eq!(copy_answer(true, Some(true)).words, "the blocks are shared");
        assert_eq!(copy_answer(true, Some(false)).words, "the bytes are copied");
        assert_eq!(copy_answer(false, None).verdict, Verdict::No);
    }
}
