//! A phase ends with fsync and close, which its time holds and its latencies do not. The file is
//! made again between the characters and the blocks, as the original does; making and removing it
//! is not timed.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use pickfs_sys::aligned_buffer::AlignedBuffer;
use rustix::fs::{OFlags, SeekFrom};

use super::{
    calls::{self, fsync_and_close, open, read_full, seek, write_all},
    content::{Content, Expected},
    interrupt,
    lane::Lane,
    laps::Places,
    original::{Original, cpu_ns},
    phases::{Kind, Phase},
    scratch_file::ScratchFile,
    seeking,
    settings::{Direct, Settings},
    tree::SCRATCH,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench},
};

/// Every so many chunks that are read one is compared with what must be in it.
const CHECK_EVERY: u64 = 64;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let phases: Vec<Phase> =
        Phase::asked(lane.settings).into_iter().filter(|phase| phase.is_on_one_file()).collect();
    let path = lane.runner.directory().join(SCRATCH.to_string_lossy().as_ref());
    let mut stage = Stage { file: ScratchFile::at(path), content: None };
    let mut blocked = lane.fitted.one_file.clone();
    for phase in phases {
        if let Some(reason) = lane.fitted.reason(phase).or(blocked.as_deref()) {
            let reason = reason.to_owned();
            lane.skip(phase, &reason)?;
            // A skipped seek phase takes its numbers all the same, so that names stay.
            if phase == Phase::Seeks {
                lane.stream.skip(lane.settings.seeks);
            }
            continue;
        }
        let ran = stage.run(lane, phase)?;
        if !ran && matches!(phase, Phase::BlockWrite | Phase::Rewrite) {
            blocked = Some(format!("{} failed", phase.word()));
        }
    }
    stage.file.remove();
    Ok(())
}

struct Stage {
    file: ScratchFile,
    content: Option<Content>,
}

impl Stage {
    fn run(&mut self, lane: &mut Lane, phase: Phase) -> Result<bool, Fault> {
        let files = [self.file.path().to_owned()];
        let residency = lane.make_cold(phase, &files)?;
        let ran = match phase {
            Phase::CharWrite => self.char_write(lane),
            Phase::BlockWrite => self.block_write(lane),
            Phase::Rewrite => self.rewrite(lane),
            Phase::CharRead => self.char_read(lane),
            Phase::BlockRead => self.block_read(lane),
            _ => seeking::run(lane, &mut self.file, self.content.as_ref()),
        }?;
        if ran {
            lane.tell_residency(residency);
        }
        Ok(ran)
    }

    fn char_write(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let settings = lane.settings;
        let file = &mut self.file;
        lane.run(Phase::CharWrite, |bench, original| {
            let open = file.create(OFlags::RDWR)?;
            let path = file.path();
            timed(bench, original, settings.char_bytes, |bench, original| {
                let mut left = settings.char_bytes;
                while left > 0 {
                    let length = left.min(settings.chunk_bytes as u64);
                    let start_ns = bench.now_ns();
                    for place in 0..length {
                        write_all(open.as_fd(), &[place as u8 & 0x7f], path)?;
                    }
                    lap(bench, original, start_ns, settings.char_bytes - left);
                    left -= length;
                    interrupt::check()?;
                }
                fsync_and_close(open, path)
            })
        })
    }

    fn block_write(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let settings = lane.settings;
        if settings.is_bonnie && settings.char_bytes == 0 {
            self.file.touch(direct_write(settings))?;
        }
        let mut content =
            Content::new(settings.data, settings.chunk_bytes, u64::from(settings.seed));
        let file = &mut self.file;
        let ran = lane.run(Phase::BlockWrite, |bench, original| {
            let open = file.create(OFlags::RDWR | direct_write(settings))?;
            let path = file.path();
            timed(bench, original, settings.size_bytes, |bench, original| {
                let places = Places::of(&Phase::BlockWrite.kinds(settings));
                for index in 0..settings.chunks() {
                    let bytes = content.chunk(index);
                    let offset_bytes = index * settings.chunk_bytes as u64;
                    let start_ns = bench.now_ns();
                    write_all(open.as_fd(), bytes, path)?;
                    let end_ns = places.until_now(bench, Kind::Write, start_ns, offset_bytes);
                    original.note(end_ns - start_ns);
                    sync_block(&open, path, settings, &places, bench, offset_bytes)?;
                    interrupt::check()?;
                }
                fsync_and_close(open, path)
            })
        })?;
        self.content = Some(content);
        Ok(ran)
    }

    fn rewrite(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let settings = lane.settings;
        let path = self.file.path();
        lane.run(Phase::Rewrite, |bench, original| {
            let open = open(path, OFlags::RDWR | direct_all(settings))?;
            seek(open.as_fd(), SeekFrom::Start(0), path)?;
            let done = timed(bench, original, settings.size_bytes, |bench, original| {
                let places = Places::of(&Phase::Rewrite.kinds(settings));
                let mut buffer = AlignedBuffer::zeroed(settings.chunk_bytes);
                let back = SeekFrom::Current(-(settings.chunk_bytes as i64));
                for index in 0..settings.chunks() {
                    let offset_bytes = index * settings.chunk_bytes as u64;
                    let start_ns = bench.now_ns();
                    read_full(open.as_fd(), &mut buffer, path)?;
                    let read_ns = bench.now_ns();
                    let place = index as usize & (settings.chunk_bytes - 1);
                    buffer[place] = buffer[place].wrapping_add(1);
                    seek(open.as_fd(), back, path)?;
                    write_all(open.as_fd(), &buffer, path)?;
                    let end_ns = places.until_now(bench, Kind::Write, read_ns, offset_bytes);
                    places.lap(bench, Kind::Read, (start_ns, read_ns), offset_bytes);
                    original.note(end_ns - start_ns);
                    sync_block(&open, path, settings, &places, bench, offset_bytes)?;
                    interrupt::check()?;
                }
                fsync_and_close(open, path)
            })?;
            // Each byte is read and written, and counted once.
            Ok(Done { real_bytes: 2 * done.real_bytes, ..done })
        })
    }

    fn char_read(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let settings = lane.settings;
        let path = self.file.path();
        let all = settings.char_bytes.min(settings.size_bytes);
        lane.run(Phase::CharRead, |bench, original| {
            let open = open(path, OFlags::RDWR)?;
            let mut counts = [0u64; 256];
            timed(bench, original, all, |bench, original| {
                let mut left = all;
                while left > 0 {
                    let length = left.min(settings.chunk_bytes as u64);
                    let start_ns = bench.now_ns();
                    for _ in 0..length {
                        let mut byte = [0];
                        read_full(open.as_fd(), &mut byte, path)?;
                        counts[usize::from(byte[0])] += 1;
                    }
                    lap(bench, original, start_ns, all - left);
                    left -= length;
                    interrupt::check()?;
                }
                std::hint::black_box(&counts);
                fsync_and_close(open, path)
            })
        })
    }

    fn block_read(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let settings = lane.settings;
        let (path, content) = (self.file.path(), self.content.as_ref());
        let mut checked = 0;
        let ran = lane.run(Phase::BlockRead, |bench, original| {
            let open = open(path, OFlags::RDWR | direct_all(settings))?;
            seek(open.as_fd(), SeekFrom::Start(0), path)?;
            timed(bench, original, settings.size_bytes, |bench, original| {
                let mut buffer = AlignedBuffer::zeroed(settings.chunk_bytes);
                let mut expected = Vec::with_capacity(settings.chunk_bytes);
                for index in 0..settings.chunks() {
                    let offset_bytes = index * settings.chunk_bytes as u64;
                    let start_ns = bench.now_ns();
                    read_full(open.as_fd(), &mut buffer, path)?;
                    lap(bench, original, start_ns, offset_bytes);
                    if let Some(content) = content.filter(|_| index % CHECK_EVERY == 0) {
                        let kind = Expected::Rewritten;
                        let found = content.difference(index, &buffer, kind, &mut expected);
                        differs(found, path, offset_bytes)?;
                        checked += 1;
                    }
                    interrupt::check()?;
                }
                fsync_and_close(open, path)
            })
        })?;
        lane.checked += checked;
        Ok(ran)
    }
}

fn timed(
    bench: &mut PhaseBench,
    original: &mut Original,
    bytes: u64,
    work: impl FnOnce(&mut PhaseBench, &mut Original) -> Result<(), Fault>,
) -> Result<Done, Fault> {
    bench.span_begins();
    let before_ns = cpu_ns();
    work(bench, original)?;
    original.cpu_ns = cpu_ns() - before_ns;
    bench.span_ends();
    Ok(Done::bytes(bytes))
}

fn lap(bench: &mut PhaseBench, original: &mut Original, start_ns: u64, offset_bytes: u64) {
    let end_ns = bench.now_ns();
    bench.lap(0, start_ns, end_ns, offset_bytes);
    original.note(end_ns - start_ns);
}

fn sync_block(
    file: &OwnedFd,
    path: &Path,
    settings: &Settings,
    places: &Places,
    bench: &mut PhaseBench,
    offset_bytes: u64,
) -> Result<(), Fault> {
    if settings.fsync_each_block {
        let start_ns = bench.now_ns();
        calls::fsync(file.as_fd(), path)?;
        places.until_now(bench, Kind::Fsync, start_ns, offset_bytes);
    }
    Ok(())
}

pub(super) fn differs(place: Option<usize>, path: &Path, offset_bytes: u64) -> Result<(), Fault> {
    place.map_or(Ok(()), |place| {
        let at = offset_bytes + place as u64;
        Err(Fault::Wrong { what: format!("{}: another byte at offset {at}", path.display()) })
    })
}

fn direct_write(settings: &Settings) -> OFlags {
    flag_if(settings.direct != Direct::Off, OFlags::DIRECT)
}

fn direct_all(settings: &Settings) -> OFlags {
    flag_if(settings.direct == Direct::All, OFlags::DIRECT)
}

fn flag_if(is_set: bool, flag: OFlags) -> OFlags {
    if is_set { flag } else { OFlags::empty() }
}
