//! Each size is compared with what was written, and now and then the bytes.

use std::{ffi::CStr, os::fd::AsFd};

use super::{
    calls::{Folder, close, fault_of, read_full},
    coldness,
    lane::Lane,
    many_files::{Parts, Set, along},
    names::NameBuffer,
    phases::{Kind, Phase},
    small_content::SmallContent,
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

/// The bytes of every so many files are compared.
const CHECK_EVERY: u32 = 16;

pub(super) fn run(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<(), Fault> {
    let began = coldness::begin(lane, phase, set)?;
    let chunk_bytes = lane.settings.file_chunk_bytes;
    let mut bytes = 0;
    let look = |(names, tree, content): Parts<'_>, watch: &mut Watch| {
        let mut eyes = Eyes { content, buffer: vec![0; chunk_bytes], seen: 0, bytes: 0 };
        if phase == Phase::SeqStat {
            for number in 0..tree.holders() {
                let folder = tree.holder(number);
                let each = |name: &CStr, watch: &mut Watch| match names.index_of(name.to_bytes()) {
                    Some(index) => eyes.look(folder, name, index, watch),
                    // Somebody else's entries are looked over; deleting tells of them.
                    None => watch.aside(0),
                };
                along(folder, Kind::Readdir, watch, each, || false)?;
            }
        } else {
            let mut name = NameBuffer::new();
            for place in 0..names.count() {
                let index = names.at(place);
                names.path(index, &mut name);
                eyes.look(tree.top(), name.as_c_str(), index, watch)?;
            }
        }
        let (seen, count) = (eyes.seen, names.count());
        if seen != count {
            let what = format!("{seen} files are there of {count} that were created");
            return Err(Fault::Wrong { what });
        }
        bytes = eyes.bytes;
        Ok((Done { work: f64::from(seen), real_bytes: bytes }, seen))
    };
    let ran = lane.run_checked(phase, set.parts(), look, |seen| Ok(seen.into()))?;
    if ran {
        coldness::tell(lane, began.as_ref(), set.names.count(), bytes);
    }
    Ok(())
}

struct Eyes<'a> {
    content: &'a SmallContent,
    buffer: Vec<u8>,
    seen: u32,
    bytes: u64,
}

impl Eyes<'_> {
    /// In the loop itself, as [`super::deleting`] says of its own.
    #[inline(always)]
    fn look(
        &mut self,
        folder: &Folder,
        name: &CStr,
        index: u32,
        watch: &mut Watch,
    ) -> Result<(), Fault> {
        watch.begin();
        let found_bytes = folder.stat(name)?.st_size as u64;
        watch.step(Kind::Stat);
        if found_bytes > 0 {
            let is_checked = index % CHECK_EVERY == 0;
            let file = folder.read(name)?;
            let in_file = |fault| fault_of(fault, name);
            for offset in (0..found_bytes as usize).step_by(self.buffer.len()) {
                let length = self.buffer.len().min(found_bytes as usize - offset);
                let found = &mut self.buffer[..length];
                read_full(file.as_fd(), found, &folder.path).map_err(in_file)?;
                if is_checked && found != self.content.piece(index, offset, length) {
                    let path = folder.path_of(name);
                    let what = format!("{}: other bytes at offset {offset}", path.display());
                    return Err(Fault::Wrong { what });
                }
            }
            close(file, &folder.path).map_err(in_file)?;
            watch.step(Kind::Read);
        }
        watch.done(0)?;
        let expected_bytes = u64::from(self.content.size_of(index));
        if found_bytes != expected_bytes {
            let path = folder.path_of(name);
            let what =
                format!("{}: {found_bytes} bytes instead of {expected_bytes}", path.display());
            return Err(Fault::Wrong { what });
        }
        self.seen += 1;
        self.bytes += found_bytes;
        Ok(())
    }
}
