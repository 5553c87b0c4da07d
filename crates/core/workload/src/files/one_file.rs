//! A phase ends with fsync and close, which its time holds and its latencies do not. The file is
//! made again between the characters and the blocks, as the original does; making and removing it
//! is not timed.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use pickfs_sys::aligned_buffer::AlignedBuffer;
use rustix::fs::{OFlags, SeekFrom};

use super::{
    calls::{self, fsync_and_close, open, read_full, seek, write_all},
    content::{Content, Expected},
    lane::Lane,
    phases::{Kind, Phase},
    scratch_file::ScratchFile,
    seeking,
    settings::{Direct, Settings},
    tree::SCRATCH,
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

/// Every so many chunks that are read one is compared with what must be in it.
const CHECK_EVERY: u64 = 64;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let settings = lane.settings;
    if settings.size_bytes == 0 {
        return Ok(());
    }
    let path = lane.runner.directory().join(SCRATCH.to_string_lossy().as_ref());
    let content = Content::new(settings.data, settings.chunk_bytes, u64::from(settings.seed));
    let mut stage = Stage { settings, file: ScratchFile::at(path.clone()), path, content };
    let mut blocked = lane.fitted.one_file.clone();
    for phase in Phase::asked(settings).into_iter().filter(|phase| phase.is_on_one_file()) {
        if let Some(reason) = lane.fitted.reason(phase).or(blocked.as_deref()) {
            let reason = reason.to_owned();
            lane.skip(phase, &reason)?;
            // A skipped seek phase takes its numbers all the same, so that names stay.
            if phase == Phase::Seeks {
                lane.stream.skip(settings.seeks);
            }
        } else if !stage.run(lane, phase)? && matches!(phase, Phase::BlockWrite | Phase::Rewrite) {
            blocked = Some(format!("{} failed", phase.word()));
        }
    }
    Ok(())
}

struct Stage<'a> {
    settings: &'a Settings,
    file: ScratchFile,
    path: PathBuf,
    content: Content,
}

impl Stage<'_> {
    fn run(&mut self, lane: &mut Lane, phase: Phase) -> Result<bool, Fault> {
        let residency = lane.make_cold(phase, std::slice::from_ref(&self.path))?;
        let ran = match phase {
            Phase::CharWrite => self.char_write(lane),
            Phase::BlockWrite => self.block_write(lane),
            Phase::Rewrite => self.rewrite(lane),
            Phase::CharRead => self.char_read(lane),
            Phase::BlockRead => self.block_read(lane),
            _ => seeking::run(lane, &self.path, &self.content),
        }?;
        if let Some(residency) = residency.filter(|_| ran) {
            lane.runner.value_last("resident_share", residency.share());
            if residency.page_count == 0 {
                lane.runner.flag_last("not-cold", "there was nothing to look at");
            } else if !residency.is_cold() {
                let percent = 100.0 * residency.share();
                let text = format!("{percent:.0} % of the file were still in memory");
                lane.runner.flag_last("not-cold", text);
            }
        }
        Ok(ran)
    }

    fn char_write(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let Stage { settings, path, file, .. } = self;
        let all = settings.char_bytes;
        let create = file.create(OFlags::RDWR);
        lane.run(Phase::CharWrite, create, |open, watch| {
            for offset_bytes in (0..all).step_by(settings.chunk_bytes) {
                let length = (all - offset_bytes).min(settings.chunk_bytes as u64);
                watch.begin();
                for place in 0..length {
                    write_all(open.as_fd(), &[place as u8 & 0x7f], path)?;
                }
                watch.step(Kind::Whole);
                watch.done(offset_bytes)?;
            }
            fsync_and_close(open, path)?;
            Ok((Done::bytes(all), ()))
        })
    }

    fn block_write(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let Stage { settings, path, file, content } = self;
        let direct = flag_if(settings.direct != Direct::Off, OFlags::DIRECT);
        if settings.is_bonnie && settings.char_bytes == 0 {
            file.touch(direct)?;
        }
        let create = file.create(OFlags::RDWR | direct);
        lane.run(Phase::BlockWrite, create, |open, watch| {
            for index in 0..settings.chunks() {
                let bytes = content.chunk(index);
                let offset_bytes = index * settings.chunk_bytes as u64;
                watch.begin();
                write_all(open.as_fd(), bytes, path)?;
                watch.step(Kind::Write);
                watch.done(offset_bytes)?;
                sync_block(&open, path, settings, watch, offset_bytes)?;
            }
            fsync_and_close(open, path)?;
            Ok((Done::bytes(settings.size_bytes), ()))
        })
    }

    fn rewrite(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let Stage { settings, path, .. } = self;
        let again = from_the_start(path, settings);
        lane.run(Phase::Rewrite, again, |open, watch| {
            let mut buffer = AlignedBuffer::zeroed(settings.chunk_bytes);
            let back = SeekFrom::Current(-(settings.chunk_bytes as i64));
            for index in 0..settings.chunks() {
                let offset_bytes = index * settings.chunk_bytes as u64;
                watch.begin();
                read_full(open.as_fd(), &mut buffer, path)?;
                watch.step(Kind::Read);
                let place = index as usize & (settings.chunk_bytes - 1);
                buffer[place] = buffer[place].wrapping_add(1);
                seek(open.as_fd(), back, path)?;
                write_all(open.as_fd(), &buffer, path)?;
                watch.step(Kind::Write);
                watch.done(offset_bytes)?;
                sync_block(&open, path, settings, watch, offset_bytes)?;
            }
            fsync_and_close(open, path)?;
            // Each byte is read and written, and counted once.
            let bytes = settings.size_bytes;
            Ok((Done { work: bytes as f64, real_bytes: 2 * bytes }, ()))
        })
    }

    fn char_read(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let Stage { settings, path, .. } = self;
        let all = settings.char_bytes.min(settings.size_bytes);
        lane.run(Phase::CharRead, open(path, OFlags::RDWR), |open, watch| {
            let mut counts = [0u64; 256];
            for offset_bytes in (0..all).step_by(settings.chunk_bytes) {
                let length = (all - offset_bytes).min(settings.chunk_bytes as u64);
                watch.begin();
                for _ in 0..length {
                    let mut byte = [0];
                    read_full(open.as_fd(), &mut byte, path)?;
                    counts[usize::from(byte[0])] += 1;
                }
                watch.step(Kind::Whole);
                watch.done(offset_bytes)?;
            }
            std::hint::black_box(&counts);
            fsync_and_close(open, path)?;
            Ok((Done::bytes(all), ()))
        })
    }

    fn block_read(&mut self, lane: &mut Lane) -> Result<bool, Fault> {
        let Stage { settings, path, content, .. } = self;
        let again = from_the_start(path, settings);
        let read = |open: OwnedFd, watch: &mut Watch| {
            let mut buffer = AlignedBuffer::zeroed(settings.chunk_bytes);
            let mut expected = Vec::with_capacity(settings.chunk_bytes);
            for index in 0..settings.chunks() {
                let offset_bytes = index * settings.chunk_bytes as u64;
                watch.begin();
                read_full(open.as_fd(), &mut buffer, path)?;
                watch.step(Kind::Whole);
                watch.done(offset_bytes)?;
                if index % CHECK_EVERY == 0 {
                    let kind = Expected::Rewritten;
                    let found = content.difference(index, &buffer, kind, &mut expected);
                    differs(found, path, offset_bytes)?;
                }
            }
            fsync_and_close(open, path)?;
            Ok((Done::bytes(settings.size_bytes), ()))
        };
        let checked = settings.chunks().div_ceil(CHECK_EVERY);
        lane.run_checked(Phase::BlockRead, again, read, |()| Ok(checked))
    }
}

fn from_the_start(path: &Path, settings: &Settings) -> Result<OwnedFd, Fault> {
    let direct = flag_if(settings.direct == Direct::All, OFlags::DIRECT);
    let open = open(path, OFlags::RDWR | direct)?;
    seek(open.as_fd(), SeekFrom::Start(0), path)?;
    Ok(open)
}

fn sync_block(
    file: &OwnedFd,
    path: &Path,
    settings: &Settings,
    watch: &mut Watch,
    offset_bytes: u64,
) -> Result<(), Fault> {
    if settings.fsync_each_block {
        watch.begin();
        calls::fsync(file.as_fd(), path)?;
        watch.step(Kind::Fsync);
        watch.aside(offset_bytes)?;
    }
    Ok(())
}

pub(super) fn differs(place: Option<usize>, path: &Path, offset_bytes: u64) -> Result<(), Fault> {
    place.map_or(Ok(()), |place| {
        let at = offset_bytes + place as u64;
        Err(Fault::Wrong { what: format!("{}: another byte at offset {at}", path.display()) })
    })
}

pub(super) fn flag_if(is_set: bool, flag: OFlags) -> OFlags {
    if is_set { flag } else { OFlags::empty() }
}
