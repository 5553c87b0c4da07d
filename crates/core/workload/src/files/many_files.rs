//! Creating and deleting end with a sync that their time holds (`sync_after`); making and, in the
//! beginning, opening the directories is not timed, removing them is.

use std::{ffi::CStr, mem::MaybeUninit};

use rustix::fs::{RawDir, SeekFrom};

use super::{
    calls::{Folder, close, fault},
    creating, deleting,
    lane::Lane,
    looking,
    names::{Layout, Names},
    phases::{Kind, Phase},
    settings::{Settings, Small, SyncAfter},
    small_content::SmallContent,
    tree::Tree,
    watch::Watch,
};
use crate::fault::Fault;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    if lane.settings.spread.files > 0 {
        let ordered = [Phase::SeqCreate, Phase::SeqStat, Phase::SeqDelete];
        run_set(lane, Layout::Sequential, ordered)?;
        let random = [Phase::RanCreate, Phase::RanStat, Phase::RanDelete];
        run_set(lane, Layout::Random, random)?;
    }
    Ok(())
}

pub(super) struct Set {
    pub(super) names: Names,
    pub(super) tree: Option<Tree>,
    pub(super) content: SmallContent,
}

/// Of a set that is open.
pub(super) type Parts<'a> = (&'a Names, &'a mut Tree, &'a mut SmallContent);

impl Set {
    pub(super) fn with(&mut self, tree: Result<Tree, Fault>) -> Result<Parts<'_>, Fault> {
        self.tree = Some(tree?);
        self.parts()
    }

    pub(super) fn parts(&mut self) -> Result<Parts<'_>, Fault> {
        let missing = || Fault::Failed { reason: "the directory of the files was not made".into() };
        let tree = self.tree.as_mut().ok_or_else(missing)?;
        tree.open()?;
        Ok((&self.names, tree, &mut self.content))
    }
}

impl Drop for Set {
    /// What a failed phase left goes: our names, and directories that are empty then.
    fn drop(&mut self) {
        if let Some(tree) = self.tree.as_mut().filter(|tree| tree.created > 0) {
            tree.clear(&self.names);
        }
    }
}

fn run_set(lane: &mut Lane, layout: Layout, phases: [Phase; 3]) -> Result<(), Fault> {
    let names = Names::draw(layout, lane.settings.spread, &mut lane.stream);
    let mut set = Set { names, tree: None, content: SmallContent::new(lane.settings) };
    if let Some(reason) = lane.fitted.reason(phases[0]) {
        let reason = reason.to_owned();
        // Sizes that would have been drawn, so that what comes behind keeps its names.
        if matches!(lane.settings.small, Small::Bytes(sizes) if !sizes.are_zero()) {
            lane.stream.skip(set.names.count());
        }
        return lane.skip_all(&phases, &reason);
    }
    if !creating::run(lane, phases[0], &mut set)? {
        return lane.skip_all(&phases[1..], &format!("{} failed", phases[0].word()));
    }
    let shuffle = |lane: &mut Lane, set: &mut Set| {
        if layout == Layout::Random {
            set.names.shuffle(&mut lane.stream);
        }
    };
    shuffle(lane, &mut set);
    looking::run(lane, phases[1], &mut set)?;
    shuffle(lane, &mut set);
    deleting::run(lane, phases[2], &mut set)
}

pub(super) fn sync_after(settings: &Settings, folder: &Folder) -> Result<(), Fault> {
    match settings.sync_after {
        SyncAfter::None => Ok(()),
        SyncAfter::FileSystem => folder.syncfs(),
        SyncAfter::Machine => {
            rustix::fs::sync();
            Ok(())
        }
    }
}

/// Memory for the entries of one readdir call, as in the C library.
const LISTING_BYTES: usize = 32 << 10;

/// Reads a directory along; each call of the kernel is a step of this kind. At its end `again` says
/// whether it is read once more.
pub(super) fn along(
    folder: &Folder,
    kind: Kind,
    watch: &mut Watch,
    mut each: impl FnMut(&CStr, &mut Watch) -> Result<(), Fault>,
    mut again: impl FnMut() -> bool,
) -> Result<(), Fault> {
    let listing = folder.listing()?;
    loop {
        let mut memory = [MaybeUninit::uninit(); LISTING_BYTES];
        let mut entries = RawDir::new(&listing, &mut memory);
        loop {
            let is_call = entries.is_buffer_empty();
            if is_call {
                watch.begin();
            }
            let Some(entry) = entries.next() else { break };
            let entry = entry.map_err(fault("readdir", &folder.path))?;
            if is_call {
                watch.step(kind);
            }
            each(entry.file_name(), watch)?;
        }
        if !again() {
            return close(listing, &folder.path);
        }
        rustix::fs::seek(&listing, SeekFrom::Start(0)).map_err(fault("seek", &folder.path))?;
    }
}
