//! Space: holes, and what fallocate(2) does with each of its modes. A mode that
//! is accepted must also have its effect.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::answers::{Answer, Verdict};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate};

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("sparse", sparse),
    Probe::new("seek-hole", seek_hole),
    Probe::new("fallocate", |room| reserve(room, FallocateFlags::empty(), RESERVED_BYTES)),
    Probe::new("fallocate-keep", |room| reserve(room, FallocateFlags::KEEP_SIZE, 0)),
    Probe::new("punch", punch),
    Probe::new("zero-range", |room| change(room, FallocateFlags::ZERO_RANGE, zeroed)),
    Probe::new("collapse", |room| change(room, FallocateFlags::COLLAPSE_RANGE, collapsed)),
    Probe::new("insert", |room| change(room, FallocateFlags::INSERT_RANGE, inserted)),
    Probe::new("unshare", |room| change(room, FallocateFlags::UNSHARE_RANGE, <[u8]>::to_vec)),
];

const HOLE_BYTES: u64 = 8 << 20;
const RESERVED_BYTES: u64 = 1 << 20;
/// Three parts of this size.
const PART_BYTES: usize = 256 << 10;

/// 8 MiB of hole and 4 KiB of data behind it, on its device.
pub fn with_hole(room: &Room) -> Asking<File> {
    let file = room.file("hole")?;
    file.write_all_at(&[7; 4096], HOLE_BYTES).needed("write")?;
    file.sync_all().needed("fsync")?;
    Ok(file)
}

/// As stat counts them.
fn allocated_bytes(file: &File) -> Asking<u64> {
    Ok(file.metadata().needed("stat")?.blocks() * 512)
}

fn sparse(room: &Room) -> Asking {
    let file = with_hole(room)?;
    Ok(sparse_answer(allocated_bytes(&file)?))
}

/// Of a hole of 8 MiB with 4 KiB of data.
fn sparse_answer(allocated_bytes: u64) -> Answer {
    let text = crate::figures::size_text(allocated_bytes);
    match allocated_bytes {
        0 => Answer::new(Verdict::Partly, "stat counts no blocks at all, so it cannot be seen"),
        1..=0x10_0000 => Answer::new(Verdict::Yes, ""),
        _ => Answer::new(Verdict::No, format!("a hole of 8 MiB takes {text}")),
    }
}

fn seek_hole(room: &Room) -> Asking {
    let file = with_hole(room)?;
    let data = rustix::fs::seek(&file, SeekFrom::Data(0)).asked("lseek")?;
    let hole = rustix::fs::seek(&file, SeekFrom::Hole(0)).asked("lseek")?;
    Ok(hole_answer(data, hole))
}

/// Data begins at 8 MiB.
fn hole_answer(data_bytes: u64, hole_bytes: u64) -> Answer {
    match (data_bytes, hole_bytes) {
        (0, _) => Answer::new(Verdict::No, "all is told to be data"),
        (data, 0) if data <= HOLE_BYTES && data > HOLE_BYTES / 2 => Answer::new(Verdict::Yes, ""),
        (data, hole) => {
            Answer::new(Verdict::Partly, format!("data at {data}, a hole at {hole}, of 8388608"))
        }
    }
}

fn reserve(room: &Room, flags: FallocateFlags, size_bytes: u64) -> Asking {
    let file = room.file("file")?;
    fallocate(&file, flags, 0, RESERVED_BYTES).asked("fallocate")?;
    file.sync_all().needed("fsync")?;
    let size = file.metadata().needed("stat")?.len();
    let allocated = allocated_bytes(&file)?;
    Ok(match (size == size_bytes, allocated >= RESERVED_BYTES) {
        (true, true) => Answer::new(Verdict::Yes, ""),
        (false, _) => Answer::new(Verdict::Partly, format!("the size is {size}")),
        (true, false) => {
            let text = crate::figures::size_text(allocated);
            Answer::new(Verdict::Partly, format!("accepted, and stat counts {text} of 1 MiB"))
        }
    })
}

/// Three parts that can be told apart.
fn parts() -> Vec<u8> {
    [1, 2, 3].into_iter().flat_map(|byte| std::iter::repeat_n(byte, PART_BYTES)).collect()
}

fn zeroed(whole: &[u8]) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    bytes[PART_BYTES..2 * PART_BYTES].fill(0);
    bytes
}

fn collapsed(whole: &[u8]) -> Vec<u8> {
    [&whole[..PART_BYTES], &whole[2 * PART_BYTES..]].concat()
}

fn inserted(whole: &[u8]) -> Vec<u8> {
    [&whole[..PART_BYTES], &vec![0; PART_BYTES], &whole[PART_BYTES..]].concat()
}

/// Does a mode to the middle part and compares what is there with what must be.
fn change(room: &Room, flags: FallocateFlags, expected: fn(&[u8]) -> Vec<u8>) -> Asking {
    let whole = parts();
    let file = room.filled("file", &whole)?;
    file.sync_all().needed("fsync")?;
    let part = PART_BYTES as u64;
    fallocate(&file, flags, part, part).asked("fallocate")?;
    same_bytes(room, &expected(&whole))
}

fn same_bytes(room: &Room, expected: &[u8]) -> Asking {
    Ok(match room.read("file")? == expected {
        true => Answer::new(Verdict::Yes, ""),
        false => Answer::new(Verdict::Partly, "accepted, and the bytes are not as they must be"),
    })
}

fn punch(room: &Room) -> Asking {
    let whole = parts();
    let file = room.filled("file", &whole)?;
    file.sync_all().needed("fsync")?;
    let before = allocated_bytes(&file)?;
    let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let part = PART_BYTES as u64;
    fallocate(&file, flags, part, part).asked("fallocate")?;
    file.sync_all().needed("fsync")?;
    let freed = before.saturating_sub(allocated_bytes(&file)?);
    let same = room.read("file")? == zeroed(&whole);
    Ok(punch_answer(same, freed))
}

/// `freed_bytes` of a hole of 256 KiB.
fn punch_answer(is_right: bool, freed_bytes: u64) -> Answer {
    match (is_right, freed_bytes >= PART_BYTES as u64 / 2) {
        (true, true) => Answer::new(Verdict::Yes, ""),
        (true, false) => Answer::new(Verdict::Partly, "reads as zeros, and the space stays taken"),
        (false, _) => Answer::new(Verdict::No, "accepted, and the bytes are not as they must be"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_takes_nothing_or_all_of_its_size() {
        assert_eq!(sparse_answer(4096).verdict, Verdict::Yes);
        assert_eq!(sparse_answer(8 << 20).words, "a hole of 8 MiB takes 8 MiB");
        assert_eq!(sparse_answer(0).verdict, Verdict::Partly);
    }

    #[test]
    fn the_generic_answer_to_seek_is_a_no() {
        assert_eq!(hole_answer(0, (8 << 20) + 4096).words, "all is told to be data");
        assert_eq!(hole_answer(8 << 20, 0).verdict, Verdict::Yes);
        assert_eq!(hole_answer((8 << 20) - 65_536, 0).verdict, Verdict::Yes);
        assert_eq!(hole_answer(4096, 4096).verdict, Verdict::Partly);
    }

    #[test]
    fn a_punched_hole_must_read_as_zeros_and_free_its_space() {
        assert_eq!(punch_answer(true, 256 << 10).verdict, Verdict::Yes);
        assert_eq!(punch_answer(true, 0).verdict, Verdict::Partly);
        assert_eq!(punch_answer(false, 256 << 10).verdict, Verdict::No);
    }

    #[test]
    fn modes_move_and_clear_whole_parts() {
        let whole = parts();
        assert_eq!(collapsed(&whole).len(), 2 * PART_BYTES);
        assert_eq!(collapsed(&whole)[PART_BYTES], 3);
        assert_eq!(inserted(&whole)[PART_BYTES], 0);
        assert_eq!(inserted(&whole)[2 * PART_BYTES], 2);
        assert_eq!(zeroed(&whole)[PART_BYTES], 0);
    }
}
