use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::answers::{Answer, Verdict};
use pickfs_sys::aligned_buffer::AlignedBuffer;
use pickfs_sys::files::{Access, FileError, OpenHow};
use pickfs_sys::mapped_file::{MapError, MappedFile};
use pickfs_sys::residency;
use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult, ToErrno};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("direct", direct),
    Probe::new("mmap", mapping),
    Probe::new("folder-sync", folder_sync),
];

const BYTES: usize = 64 << 10;

fn direct(room: &Room) -> Asking {
    room.filled("file", &[1; BYTES])?.sync_all().needed("fsync")?;
    let path = room.path("file");
    let how = OpenHow { direct: true, ..OpenHow::new(Access::ReadWrite) };
    let file = how.open(&path).asked("open with O_DIRECT")?;
    let mut buffer = AlignedBuffer::zeroed(BYTES);
    buffer.fill(2);
    file.write_all_at(&buffer, 0).asked("direct write")?;
    evict(&file)?;
    file.read_exact_at(&mut buffer, 0).asked("direct read")?;
    let is_right = buffer.iter().all(|byte| *byte == 2);
    let cached = cached_pages(&path);
    let step = direct_step(&file);
    Ok(direct_answer(is_right, cached, step))
}

/// At which a direct write is taken.
fn direct_step(file: &File) -> Option<usize> {
    let buffer = AlignedBuffer::zeroed(4096);
    let takes = |step: &usize| file.write_at(&buffer[..*step], *step as u64).is_ok();
    [512, 1024, 2048, 4096].into_iter().find(takes)
}

fn evict(file: &File) -> Asking<()> {
    file.sync_all().needed("fsync")?;
    fadvise(file, 0, None, Advice::DontNeed).needed("posix_fadvise")
}

/// `None` where the kernel does not tell.
fn cached_pages(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    residency::resident_pages(&file).ok().map(|pages| pages.resident_count as u64)
}

/// The bytes read, pages in the cache after an eviction and a direct read, and the step.
fn direct_answer(is_right: bool, cached_pages: Option<u64>, step: Option<usize>) -> Answer {
    let steps = match step {
        Some(step) => format!("in steps of {step} B"),
        None => "in steps of more than 4096 B".into(),
    };
    match (is_right, cached_pages) {
        (false, _) => Answer::new(Verdict::No, "accepted, and it reads other bytes"),
        (true, Some(0)) => Answer::new(Verdict::Yes, steps),
        (true, Some(_)) => {
            Answer::new(Verdict::Partly, format!("accepted, and goes through the cache; {steps}"))
        }
        (true, None) => {
            Answer::new(Verdict::Yes, format!("{steps}; the cache cannot be looked at"))
        }
    }
}

fn mapping(room: &Room) -> Asking {
    let file = room.filled("file", &[1; BYTES])?;
    let path = room.path("file");
    let mut map = MappedFile::map(&file, &path, BYTES).asked("mmap")?;
    map.write_at(5000, b"mapped").needed("write to a mapping")?;
    let is_seen = room.read("file")?[5000..5006] == *b"mapped";
    map.sync(0..BYTES).needed("msync")?;
    drop(map);
    evict(&file)?;
    let is_kept = room.read("file")?[5000..5006] == *b"mapped";
    Ok(match (is_seen, is_kept) {
        (true, true) => Answer::new(Verdict::Yes, ""),
        (false, true) => Answer::new(Verdict::Partly, "read(2) sees it only after msync"),
        (_, false) => Answer::new(Verdict::No, "it is lost after msync and eviction"),
    })
}

fn folder_sync(room: &Room) -> Asking {
    room.filled("file", b"x")?;
    let folder = room.open_folder()?;
    rustix::fs::fsync(&folder).asked("fsync of a folder")?;
    Ok(Answer::new(Verdict::Yes, ""))
}

impl ToErrno for FileError {
    fn to_errno(&self) -> Errno {
        match self {
            FileError::Open { cause, .. } | FileError::Request { cause, .. } => cause.to_errno(),
        }
    }
}

impl ToErrno for MapError {
    fn to_errno(&self) -> Errno {
        match self {
            MapError::Request { cause, .. } => cause.to_errno(),
            _ => Errno::IO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn direct_io_that_leaves_pages_is_only_partly_direct() {
        assert_eq!(direct_answer(true, Some(0), Some(512)).verdict, Verdict::Yes);
        let cached = direct_answer(true, Some(16), Some(512));
        assert_eq!(cached.verdict, Verdict::Partly);
        assert_eq!(cached.words, "accepted, and goes through the cache; in steps of 512 B");
        assert_eq!(direct_answer(false, Some(0), None).verdict, Verdict::No);
    }
}
