//! The largest file, found with one byte at its end. Only where holes take no
//! space: elsewhere the search would fill the device.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt};

use crate::answers::{Answer, Verdict};

use super::space::with_hole;
use crate::figures::size_text;
use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[Probe::new("largest-file", largest)];

/// The largest offset that a program can name.
const OFFSET_MAX: u64 = i64::MAX as u64;

fn largest(room: &Room) -> Asking {
    if !room.is_scratch && room.is_fuse() {
        let words =
            "a program serves this directory; what it makes of huge sizes is not tried here";
        return Ok(Answer::new(Verdict::NotAsked, words));
    }
    let file = with_hole(room)?;
    let taken = file.metadata().needed("stat")?.blocks() * 512;
    if taken > 1 << 20 {
        let words = "holes take space here, so the search would fill the device";
        return Ok(Answer::new(Verdict::NotAsked, words));
    }
    drop(file);
    let size_bytes = search(|size| can_hold(room, size));
    Ok(size_answer(size_bytes))
}

/// Up to the largest offset.
fn search(mut holds: impl FnMut(u64) -> bool) -> u64 {
    let (mut low, mut high) = (0, OFFSET_MAX);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        match holds(middle) {
            true => low = middle,
            false => high = middle - 1,
        }
    }
    low
}

/// Each size is tried in a file of its own: shrinking one again is another question.
fn can_hold(room: &Room, size_bytes: u64) -> bool {
    let path = room.path("large");
    let Ok(file) = File::create(&path) else { return false };
    let grown = file.set_len(size_bytes).is_ok();
    let written = grown && file.write_all_at(&[1], size_bytes - 1).is_ok();
    drop(file);
    let _ = std::fs::remove_file(path);
    written
}

fn size_answer(size_bytes: u64) -> Answer {
    match size_bytes {
        0 => Answer::new(Verdict::Failed, "not one byte could be written"),
        OFFSET_MAX => {
            Answer::measured(size_text(OFFSET_MAX), "as far as an offset in a program reaches")
        }
        other => Answer::measured(size_text(other), format!("{other} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_finds_the_last_size_that_holds() {
        for limit in [1, 4096, (4 << 30) - 1, (16 << 40) - 4096, OFFSET_MAX] {
            assert_eq!(search(|size| size <= limit), limit);
        }
        assert_eq!(search(|_| false), 0);
    }

    #[test]
    fn a_size_at_the_end_of_offsets_says_so() {
        assert_eq!(size_answer(OFFSET_MAX).words, "as far as an offset in a program reaches");
        assert_eq!(size_answer((4 << 30) - 1).cell(), "<4 GiB");
        assert_eq!(size_answer(0).verdict, Verdict::Failed);
    }
}
