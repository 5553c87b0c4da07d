//! The safe save: a new file is written, synced and closed, then takes the name of the old one,
//! then the directory is synced.
//! Source: rename(2), fsync(2): a rename is atomic, and only the sync before it makes sure that the
//! name never leads to an empty file after a crash.

use std::{ffi::CString, os::fd::AsFd};

use super::{
    calls::{close, fault_of, fsync, read_full, write_all},
    content::noise,
    lane::Lane,
    phases::{Kind, Phase},
    settings::Settings,
    spread::Spread,
    tree::Tree,
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

const DOCUMENTS: u32 = 64;
const STAMP_BYTES: usize = 4;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let settings = lane.settings;
    let desk = Desk::new(lane);
    let save = |mut desk: Desk, watch: &mut Watch| {
        for number in 0..settings.saves {
            desk.save(settings, number, watch)?;
        }
        let real_bytes = u64::from(settings.saves) * settings.save_bytes as u64;
        Ok((Done { work: f64::from(settings.saves), real_bytes }, desk))
    };
    lane.run_checked(Phase::SafeSave, desk, save, |mut desk| desk.check(settings)).map(drop)
}

struct Desk {
    tree: Tree,
    bytes: Vec<u8>,
    begun: u32,
}

impl Desk {
    fn new(lane: &Lane) -> Result<Desk, Fault> {
        let settings = lane.settings;
        let length = settings.save_bytes.next_multiple_of(8);
        let bytes = noise(length, u64::from(settings.seed))[..settings.save_bytes].to_vec();
        let tree = Tree::make(lane.runner.directory(), Spread::new(0, 1))?;
        Ok(Desk { tree, bytes, begun: 0 })
    }

    fn save(&mut self, settings: &Settings, number: u32, watch: &mut Watch) -> Result<(), Fault> {
        let (new, document) = (new_name(number), document_name(number));
        stamp(&mut self.bytes, number);
        self.begun = number + 1;
        let folder = self.tree.top();
        let of_new = |fault| fault_of(fault, &new);
        watch.begin();
        let file = folder.create(&new)?;
        write_all(file.as_fd(), &self.bytes, &folder.path).map_err(&of_new)?;
        watch.step(Kind::Write);
        fsync(file.as_fd(), &folder.path).map_err(&of_new)?;
        watch.step(Kind::Fsync);
        close(file, &folder.path).map_err(&of_new)?;
        watch.step(Kind::Close);
        folder.rename(&new, &document)?;
        watch.step(Kind::Rename);
        if settings.save_syncs_directory {
            folder.fsync()?;
            watch.step(Kind::FsyncDirectory);
        }
        watch.whole();
        watch.done(0)
    }

    fn check(&mut self, settings: &Settings) -> Result<u64, Fault> {
        let documents = settings.saves.min(DOCUMENTS);
        let mut found = vec![0; self.bytes.len()];
        for number in settings.saves - documents..settings.saves {
            let name = document_name(number);
            let folder = self.tree.top();
            let file = folder.read(&name)?;
            read_full(file.as_fd(), &mut found, &folder.path)
                .map_err(|fault| fault_of(fault, &name))?;
            stamp(&mut self.bytes, number);
            if found != self.bytes {
                let path = folder.path_of(&name);
                let what = format!("{} is not what save {number} wrote", path.display());
                return Err(Fault::Wrong { what });
            }
        }
        Ok(u64::from(documents))
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let folder = self.tree.top();
        for number in 0..self.begun.min(DOCUMENTS) {
            let _ = folder.unlink(&document_name(number));
        }
        if let Some(last) = self.begun.checked_sub(1) {
            let _ = folder.unlink(&new_name(last));
        }
    }
}

/// Says in a document which save it is, as far as it has room.
fn stamp(bytes: &mut [u8], number: u32) {
    let length = STAMP_BYTES.min(bytes.len());
    bytes[..length].copy_from_slice(&number.to_le_bytes()[..length]);
}

fn document_name(number: u32) -> CString {
    CString::new(format!("doc-{}", number % DOCUMENTS)).expect("digits")
}

fn new_name(number: u32) -> CString {
    CString::new(format!("doc-{}.new", number % DOCUMENTS)).expect("digits")
}
