//! Each size is compared with what was written, and now and then the bytes.

use std::{
    ffi::CStr,
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::fs::RawDir;

use super::{
    calls::{Folder, close, fault, fault_of, read_full},
    coldness, interrupt,
    lane::Lane,
    laps::Places,
    many_files::{Set, timed},
    names::{NameBuffer, Names},
    original::Original,
    phases::{Kind, Phase},
    settings::{Settings, Small},
    small_content::SmallContent,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench},
};

/// The bytes of every so many files are compared.
const CHECK_EVERY: u32 = 16;
/// Memory for the entries of one readdir call, as in the C library.
pub(super) const LISTING_BYTES: usize = 32 << 10;

pub(super) fn run(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<bool, Fault> {
    let settings = lane.settings;
    let began = coldness::begin(lane, phase, set)?;
    let (mut checked, mut bytes) = (0, 0);
    let ran = lane.run(phase, |bench, original| {
        set.tree()?.open()?;
        let mut eyes = Eyes::new(settings, phase, &set.names, &set.content);
        let done = timed(bench, original, |bench, original| {
            let tree = set.tree.as_ref().ok_or_else(not_made)?;
            if phase == Phase::SeqStat {
                for number in 0..tree.holders() {
                    eyes.look_along(tree.holder(number), bench, original)?;
                }
            } else {
                let mut name = NameBuffer::new();
                for place in 0..eyes.names.count() {
                    let index = eyes.names.at(place);
                    eyes.names.path(index, &mut name);
                    original.note(eyes.look(tree.top(), name.as_c_str(), index, bench)?);
                    interrupt::check()?;
                }
            }
            Ok(Done { work: f64::from(eyes.seen), real_bytes: eyes.bytes })
        })?;
        (checked, bytes) = (eyes.seen, eyes.bytes);
        let count = set.names.count();
        if checked != count {
            let what = format!("{checked} files are there of {count} that were created");
            return Err(Fault::Wrong { what });
        }
        Ok(done)
    })?;
    lane.checked += u64::from(checked);
    if ran {
        coldness::tell(lane, began.as_ref(), checked, bytes);
    }
    Ok(ran)
}

pub(super) fn not_made() -> Fault {
    Fault::Failed { reason: "the directory of the files was not made".into() }
}

struct Eyes<'a> {
    settings: &'a Settings,
    names: &'a Names,
    content: &'a SmallContent,
    places: Places,
    buffer: Vec<u8>,
    seen: u32,
    bytes: u64,
}

impl<'a> Eyes<'a> {
    fn new(
        settings: &'a Settings,
        phase: Phase,
        names: &'a Names,
        content: &'a SmallContent,
    ) -> Eyes<'a> {
        Eyes {
            settings,
            names,
            content,
            places: Places::of(&phase.kinds(settings)),
            buffer: vec![0; settings.file_chunk_bytes],
            seen: 0,
            bytes: 0,
        }
    }

    fn look_along(
        &mut self,
        folder: &Folder,
        bench: &mut PhaseBench,
        original: &mut Original,
    ) -> Result<(), Fault> {
        let listing = folder.listing()?;
        let mut memory = [MaybeUninit::uninit(); LISTING_BYTES];
        let mut entries = RawDir::new(&listing, &mut memory);
        loop {
            let is_call = entries.is_buffer_empty();
            let start_ns = if is_call { bench.now_ns() } else { 0 };
            let Some(entry) = entries.next() else { break };
            let entry = entry.map_err(fault("readdir", &folder.path))?;
            let mut before_ns = 0;
            if is_call {
                before_ns = self.places.until_now(bench, Kind::Readdir, start_ns, 0) - start_ns;
            }
            let name = entry.file_name();
            // Somebody else's entries are looked over; deleting tells of them.
            if let Some(index) = self.names.index_of(name.to_bytes()) {
                original.note(before_ns + self.look(folder, name, index, bench)?);
            }
            interrupt::check()?;
        }
        close(listing, &folder.path)
    }

    fn look(
        &mut self,
        folder: &Folder,
        name: &CStr,
        index: u32,
        bench: &mut PhaseBench,
    ) -> Result<u64, Fault> {
        let start_ns = bench.now_ns();
        let facts = folder.stat(name)?;
        let mut end_ns = self.places.until_now(bench, Kind::Stat, start_ns, 0);
        if facts.st_size > 0 {
            let is_checked = index % CHECK_EVERY == 0;
            let file = folder.read(name)?;
            self.read(file, folder, name, index, facts.st_size as usize, is_checked)
                .map_err(|fault| fault_of(fault, name))?;
            end_ns = self.places.until_now(bench, Kind::Read, end_ns, 0);
        }
        let expected_bytes = match self.settings.small {
            Small::Bytes(_) => u64::from(self.content.size_of(index)),
            Small::HardLinks | Small::SymbolicLinks => 0,
        };
        let found_bytes = facts.st_size as u64;
        if found_bytes != expected_bytes {
            let path = folder.path_of(name);
            let what =
                format!("{}: {found_bytes} bytes instead of {expected_bytes}", path.display());
            return Err(Fault::Wrong { what });
        }
        self.seen += 1;
        Ok(end_ns - start_ns)
    }

    fn read(
        &mut self,
        file: OwnedFd,
        folder: &Folder,
        name: &CStr,
        index: u32,
        size: usize,
        is_checked: bool,
    ) -> Result<(), Fault> {
        let mut offset = 0;
        while offset < size {
            let length = self.buffer.len().min(size - offset);
            read_full(file.as_fd(), &mut self.buffer[..length], &folder.path)?;
            let expected = || self.content.piece(index, offset, length);
            if is_checked && self.buffer[..length] != *expected() {
                let path = folder.path_of(name);
                let what = format!("{}: other bytes at offset {offset}", path.display());
                return Err(Fault::Wrong { what });
            }
            offset += length;
        }
        self.bytes += size as u64;
        close(file, &folder.path)
    }
}
