//! Only names that were created are removed: anything else in the directory stays, and keeps its
//! directory.

use std::mem::MaybeUninit;

use rustix::fs::{RawDir, SeekFrom};

use super::{
    calls::{close, fault},
    interrupt,
    lane::Lane,
    laps::Places,
    looking::{LISTING_BYTES, not_made},
    many_files::{Set, sync_after, timed},
    names::{NameBuffer, Names},
    original::Original,
    phases::{Kind, Phase},
    settings::Settings,
    tree::Tree,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench},
};

pub(super) fn run(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<bool, Fault> {
    let settings = lane.settings;
    let Set { names, tree, .. } = set;
    let mut told = (0, 0);
    let ran = lane.run(phase, |bench, original| {
        let tree = tree.as_mut().ok_or_else(not_made)?;
        tree.open()?;
        let places = Places::of(&phase.kinds(settings));
        let mut hand = Hand { settings, names, places, deleted: 0, passes: 0 };
        timed(bench, original, |bench, original| {
            if phase == Phase::SeqDelete {
                tree.foreign = 0;
                for number in 0..tree.holders() {
                    hand.empty(tree, number, bench, original)?;
                    if tree.has_directories() {
                        tree.remove_folder(number)?;
                    }
                }
            } else {
                let mut name = NameBuffer::new();
                for place in 0..names.count() {
                    let index = names.at(place);
                    names.path(index, &mut name);
                    let start_ns = bench.now_ns();
                    tree.top().unlink(name.as_c_str())?;
                    let mut end_ns = hand.places.until_now(bench, Kind::Unlink, start_ns, 0);
                    if settings.fsync_deletes.directory {
                        tree.folder_of(names, index).fsync()?;
                        end_ns = hand.places.until_now(bench, Kind::FsyncDirectory, end_ns, 0);
                    }
                    original.note(end_ns - start_ns);
                    hand.deleted += 1;
                    interrupt::check()?;
                }
                tree.remove_folders()?;
            }
            let (deleted, count) = (hand.deleted, names.count());
            if deleted != count {
                let what = format!("readdir gave {deleted} files of {count} that were created");
                return Err(Fault::Wrong { what });
            }
            tree.created = 0;
            tree.remove_top()?;
            sync_after(settings, tree.parent())?;
            told = (tree.foreign, hand.passes);
            Ok(Done::work(f64::from(hand.deleted)))
        })
    })?;
    tell(lane, ran, told);
    Ok(ran)
}

fn tell(lane: &mut Lane, ran: bool, (foreign, passes): (u64, u64)) {
    if ran && passes > 0 {
        lane.runner.value_last("further_passes", passes as f64);
    }
    if ran && foreign > 0 {
        let text = format!(
            "{foreign} entries of somebody else were seen in the directory; they stay, and so does it"
        );
        lane.runner.flag_last("foreign-files", text);
    }
}

struct Hand<'a> {
    settings: &'a Settings,
    names: &'a Names,
    places: Places,
    deleted: u32,
    passes: u64,
}

impl Hand<'_> {
    /// Where entries move while it is read, some are not given in the first pass: it is read again
    /// until a pass gives none of ours.
    fn empty(
        &mut self,
        tree: &mut Tree,
        number: u32,
        bench: &mut PhaseBench,
        original: &mut Original,
    ) -> Result<(), Fault> {
        let folder = tree.holder(number);
        let listing = folder.listing()?;
        let expected = self.names.spread().files_in(number);
        let mut deleted = 0;
        loop {
            let (ours, foreign) = self.pass(tree, number, &listing, bench, original)?;
            deleted += ours;
            if deleted >= expected || ours == 0 {
                tree.foreign += foreign;
                break;
            }
            self.passes += 1;
            let rewound = rustix::fs::seek(&listing, SeekFrom::Start(0));
            rewound.map_err(fault("seek", &tree.top().path))?;
        }
        self.deleted += deleted;
        close(listing, &tree.top().path)
    }

    /// Gives how many files of ours were deleted, and how many others were seen.
    fn pass(
        &self,
        tree: &Tree,
        number: u32,
        listing: &std::os::fd::OwnedFd,
        bench: &mut PhaseBench,
        original: &mut Original,
    ) -> Result<(u32, u64), Fault> {
        let folder = tree.holder(number);
        let mut memory = [MaybeUninit::uninit(); LISTING_BYTES];
        let mut entries = RawDir::new(listing, &mut memory);
        let (mut ours, mut foreign) = (0, 0);
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
            if self.names.index_of(name.to_bytes()).is_none() {
                foreign += u64::from(!matches!(name.to_bytes(), b"." | b".."));
                continue;
            }
            let start_ns = bench.now_ns();
            folder.unlink(name)?;
            let mut end_ns = self.places.until_now(bench, Kind::Unlink, start_ns, 0);
            if self.settings.fsync_deletes.directory {
                folder.fsync()?;
                end_ns = self.places.until_now(bench, Kind::FsyncDirectory, end_ns, 0);
            }
            original.note(before_ns + end_ns - start_ns);
            ours += 1;
            interrupt::check()?;
        }
        Ok((ours, foreign))
    }
}
