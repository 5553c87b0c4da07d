//! Whether what a program makes durable reaches the device: flushes that the
//! kernel counts for it while a probe syncs sixteen times.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::answers::{Answer, Verdict};
use pickfs_sys::block::{BlockDevice, WriteCache};

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("flush", appended),
    Probe::new("flush-rewrite", rewritten),
    Probe::new("flush-folder", folder),
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

/// Counts flushes around sixteen turns; one turn before warms up. On a disk that others use,
/// theirs are counted over a pause of the same length and taken off.
fn counted(room: &Room, mut turn: impl FnMut(u64) -> Asking<()>) -> Asking {
    turn(0)?;
    let disk = match countable(room.device()) {
        Ok(disk) => disk,
        Err(reason) => return Ok(Answer::new(Verdict::NotAsked, reason)),
    };
    let (began, before) = (Instant::now(), flush_count(&disk));
    for number in 1..=TIMES {
        turn(number)?;
    }
    let (took, after) = (began.elapsed(), flush_count(&disk));
    let others = if room.is_scratch { 0 } else { flushes_in(&disk, took) };
    Ok(flush_answer(after.saturating_sub(before), others))
}

fn flushes_in(disk: &BlockDevice, pause: Duration) -> u64 {
    let before = flush_count(disk);
    std::thread::sleep(pause);
    flush_count(disk).saturating_sub(before)
}

fn flush_count(disk: &BlockDevice) -> u64 {
    disk.statistics().map_or(0, |counted| counted.flush_count)
}

/// The disk whose flushes the kernel counts: of a partition the whole disk. Device mapper, MD and
/// zram hand requests on uncounted (they have no `mq` folder in sysfs), and a disk that says to have
/// no write cache is never told to flush.
fn countable(device: Option<&BlockDevice>) -> Result<BlockDevice, &'static str> {
    let device = device.ok_or("no device whose flushes are counted")?;
    let sysfs = device.disk_sysfs();
    let name = sysfs.file_name().ok_or("the disk has no name in sysfs")?;
    let disk = BlockDevice::at(&Path::new("/dev").join(name));
    let disk = disk.map_err(|_| "the disk under this partition is not in /dev")?;
    if !sysfs.join("mq").exists() || disk.statistics().is_none() {
        return Err("the kernel does not count the flushes of this kind of device");
    }
    match disk.facts().write_cache {
        Some(WriteCache::WriteThrough) => Err("the device says to have no write cache to flush"),
        _ => Ok(disk),
    }
}

/// During sixteen turns, and those of others in the same time without.
fn flush_answer(counted: u64, others: u64) -> Answer {
    let flushes = counted.saturating_sub(others);
    let beside = match others {
        0 => String::new(),
        others => format!("; {others} of others in the same time are taken off"),
    };
    let words = format!("{flushes} flushes in {TIMES} turns{beside}");
    let verdict = match flushes {
        0 => Verdict::No,
        1..TIMES => Verdict::Partly,
        _ => Verdict::Yes,
    };
    let mut answer = Answer::new(verdict, words);
    if verdict == Verdict::Yes {
        let tenths = (flushes * 10 + TIMES / 2) / TIMES;
        let decimals = usize::from(tenths % 10 != 0);
        answer.value = Some(format!("{:.decimals$} each", tenths as f64 / 10.0));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_flushes_than_turns_are_only_a_part() {
        assert_eq!(flush_answer(0, 0).verdict, Verdict::No);
        assert_eq!(flush_answer(8, 0).verdict, Verdict::Partly);
        assert_eq!(flush_answer(24, 0).cell(), "1.5 each");
        assert_eq!(flush_answer(32, 0).cell(), "2 each");
    }

    #[test]
    fn flushes_of_others_are_taken_off() {
        let answer = flush_answer(40, 24);
        assert_eq!(answer.cell(), "1 each");
        assert!(answer.words.ends_with("24 of others in the same time are taken off"));
        assert_eq!(flush_answer(10, 24).verdict, Verdict::No);
    }

    #[test]
    fn where_nothing_is_counted_nothing_is_said() {
        assert_eq!(countable(None).unwrap_err(), "no device whose flushes are counted");
    }
}
