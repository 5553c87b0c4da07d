//! Wears a fresh file system in: small files come and go and a large one grows, until the device has
//! taken so many bytes that the file system's own log has gone round.
//!
//! Fresh and worn are two different cells: a log that has never been full costs less (or, on an image
//! with unwritten extents, more).

use std::{
    fs::{self, File},
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use pickfs_sys::{block::BlockDevice, mount};

use crate::{fault::Fault, journal::neighbour::one_file};

const LONGEST: Duration = Duration::from_secs(60);
const FILES_A_ROUND: u64 = 16;
const APPENDED_A_ROUND: usize = 1 << 20;
/// The large file begins again at this size, so that a small image is not filled.
const LARGEST_BYTES: u64 = 32 << 20;

pub(super) fn wear(directory: &Path, wanted_bytes: u64) -> Result<String, Fault> {
    let scratch = directory.join("wear");
    fs::create_dir_all(&scratch).map_err(Fault::io("create", &scratch))?;
    let device = device_of(directory);
    let count = || device.as_ref().and_then(BlockDevice::statistics).map(|s| s.written_bytes);
    let (before, began) = (count(), Instant::now());
    let (mut files, mut appended_bytes) = (0, 0);
    let mut reached = 0;
    while reached < wanted_bytes && began.elapsed() < LONGEST {
        appended_bytes += round(&scratch, &mut files)?;
        reached = match (before, count()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            _ => appended_bytes,
        };
    }
    fs::remove_dir_all(&scratch).map_err(Fault::io("remove", &scratch))?;
    let whose = if before.is_some() { "reached the device" } else { "were appended (no device)" };
    let short = if reached < wanted_bytes { ", time was up" } else { "" };
    Ok(format!(
        "worn in: {files} files made and removed, {reached} of {wanted_bytes} bytes {whose} in \
         {:.1} s{short}",
        began.elapsed().as_secs_f64()
    ))
}

fn round(scratch: &Path, files: &mut u64) -> Result<u64, Fault> {
    for _ in 0..FILES_A_ROUND {
        one_file(scratch, *files)?;
        *files += 1;
    }
    let path = scratch.join("large");
    if fs::metadata(&path).is_ok_and(|metadata| metadata.len() >= LARGEST_BYTES) {
        fs::remove_file(&path).map_err(Fault::io("remove", &path))?;
    }
    let appended = File::options().create(true).append(true).open(&path).and_then(|mut file| {
        file.write_all(&vec![0x77; APPENDED_A_ROUND])?;
        file.sync_data()
    });
    appended.map_err(Fault::io("append to", &path))?;
    Ok(APPENDED_A_ROUND as u64)
}

/// The device below a directory, if there is one that counts.
fn device_of(directory: &Path) -> Option<BlockDevice> {
    let source = mount::mount_of(directory).ok()?.source;
    BlockDevice::at(&source).ok().filter(|device| device.statistics().is_some())
}
