//! Whether what a program makes durable reaches the device: flushes that the
//! kernel counts for it while a probe syncs sixteen times.

use std::fs::File;
use std::os::unix::fs::FileExt;

use pickfs_model::features::{Answer, Group, Verdict};
use pickfs_sys::block::BlockDevice;

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

/// Probes of this file.
pub const PROBES: &[Probe] = &[
    Probe::new(
        Group::Data,
        "flush",
        "fsync flushes the device",
        "Append 4 KiB and fsync, 16 times; count the device's flushes (/sys/block/*/stat).",
        appended,
    ),
    Probe::new(
        Group::Data,
        "flush-rewrite",
        "fdatasync flushes",
        "Rewrite the same 4 KiB and fdatasync, 16 times; count the device's flushes.",
        rewritten,
    ),
    Probe::new(
        Group::Data,
        "flush-folder",
        "fsync of a folder flushes",
        "Make a file and fsync its folder, 16 times; count the device's flushes.",
        folder,
    ),
];

const TIMES: u64 = 16;
const BYTES: usize = 4096;

fn appended(room: &Room) -> Asking {
    let file = room.file("file")?;
    counted(room, |turn| {
        file.write_all_at(&[turn as u8; BYTES], turn * BYTES as u64).needed("write")?;
        file.sync_all().asked("fsync")
    })
}

fn rewritten(room: &Room) -> Asking {
    let file = room.filled("file", &[0; BYTES])?;
    file.sync_all().needed("fsync")?;
    counted(room, |turn| {
        file.write_all_at(&[turn as u8; BYTES], 0).needed("write")?;
        file.sync_data().asked("fdatasync")
    })
}

fn folder(room: &Room) -> Asking {
    let folder = File::from(room.open_folder()?);
    counted(room, |turn| {
        room.file(&format!("file-{turn}"))?;
        folder.sync_all().asked("fsync of a folder")
    })
}

/// Counts flushes around sixteen turns; one turn before warms up.
fn counted(room: &Room, mut turn: impl FnMut(u64) -> Asking<()>) -> Asking {
    turn(0)?;
    let before = flush_count(room.device());
    for number in 1..=TIMES {
        turn(number)?;
    }
    let after = flush_count(room.device());
    Ok(flush_answer(before.zip(after).map(|(before, after)| after.saturating_sub(before))))
}

fn flush_count(device: Option<&BlockDevice>) -> Option<u64> {
    Some(device?.statistics()?.flush_count)
}

/// Flushes of the device during sixteen turns; `None` where there is no device to count at.
fn flush_answer(flushes: Option<u64>) -> Answer {
    let words = |flushes: u64| format!("{flushes} flushes in {TIMES} turns");
    match flushes {
        None => Answer::new(Verdict::NotAsked, "no device whose flushes are counted"),
        Some(0) => Answer::new(Verdict::No, words(0)),
        Some(flushes) if flushes < TIMES => Answer::new(Verdict::Partly, words(flushes)),
        Some(flushes) => {
            let tenths = (flushes * 10 + TIMES / 2) / TIMES;
            let each = usize::from(!tenths.is_multiple_of(10));
            let mut answer = Answer::new(Verdict::Yes, words(flushes));
            answer.value = Some(format!("{:.each$} each", tenths as f64 / 10.0));
            answer
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_flushes_than_turns_are_only_a_part() {
        assert_eq!(flush_answer(Some(0)).verdict, Verdict::No);
        assert_eq!(flush_answer(Some(8)).verdict, Verdict::Partly);
        assert_eq!(flush_answer(Some(24)).cell(), "1.5 each");
        assert_eq!(flush_answer(Some(32)).cell(), "2 each");
        assert_eq!(flush_answer(None).cell(), "-");
    }
}
