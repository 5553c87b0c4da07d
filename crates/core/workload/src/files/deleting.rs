//! Only names that were created are removed: anything else in the directory stays, and keeps its
//! directory.

use std::{cell::Cell, ffi::CStr};

use super::{
    calls::Folder,
    lane::Lane,
    many_files::{Set, along, sync_after},
    names::NameBuffer,
    phases::{Kind, Phase},
    settings::Settings,
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

pub(super) fn run(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<(), Fault> {
    let settings = lane.settings;
    let (mut foreign, mut passes) = (0, 0);
    let ran = lane.run(phase, set.parts(), |(names, tree, _), watch| {
        let mut deleted = 0;
        if phase == Phase::SeqDelete {
            tree.foreign = 0;
            for number in 0..tree.holders() {
                let (folder, expected) = (tree.holder(number), names.spread().files_in(number));
                let (all, ours, theirs) = (Cell::new(0), Cell::new(0), Cell::new(0));
                let each = |name: &CStr, watch: &mut Watch| {
                    if names.index_of(name.to_bytes()).is_none() {
                        theirs.set(
                            theirs.get() + u64::from(!matches!(name.to_bytes(), b"." | b"..")),
                        );
                        return watch.aside(0);
                    }
                    ours.set(ours.get() + 1);
                    unlink(settings, (folder, folder), name, watch)
                };
                // Where entries move while it is read, some are not given in the first pass: it is read again
                // until a pass gives none of ours.
                let again = || {
                    let found = ours.replace(0);
                    all.set(all.get() + found);
                    let is_over = all.get() >= expected || found == 0;
                    if !is_over {
                        passes += 1;
                        theirs.set(0);
                    }
                    !is_over
                };
                along(folder, Kind::Readdir, watch, each, again)?;
                deleted += all.get();
                tree.foreign += theirs.get();
                if tree.has_directories() {
                    tree.remove_folder(number)?;
                }
            }
        } else {
            let mut name = NameBuffer::new();
            for place in 0..names.count() {
                let index = names.at(place);
                names.path(index, &mut name);
                let folders = (tree.top(), tree.folder_of(names, index));
                unlink(settings, folders, name.as_c_str(), watch)?;
                deleted += 1;
            }
            tree.remove_folders()?;
        }
        if deleted != names.count() {
            let count = names.count();
            let what = format!("readdir gave {deleted} files of {count} that were created");
            return Err(Fault::Wrong { what });
        }
        tree.created = 0;
        tree.remove_top()?;
        sync_after(settings, tree.parent())?;
        foreign = tree.foreign;
        Ok((Done::work(f64::from(deleted)), ()))
    })?;
    if ran && passes > 0 {
        lane.runner.value_last("further_passes", f64::from(passes));
    }
    if ran && foreign > 0 {
        let text = format!(
            "{foreign} entries of somebody else were seen in the directory; they stay, and so does it"
        );
        lane.runner.flag_last("foreign-files", text);
    }
    Ok(())
}

/// By its name in the first folder; it stands in the second. In the loop itself: to return right behind a system
/// call makes the next one slower by a tenth (`BENCHMARKS.md`).
#[inline(always)]
fn unlink(
    settings: &Settings,
    (top, folder): (&Folder, &Folder),
    name: &CStr,
    watch: &mut Watch,
) -> Result<(), Fault> {
    watch.begin();
    top.unlink(name)?;
    watch.step(Kind::Unlink);
    if settings.fsync_deletes.directory {
        folder.fsync()?;
        watch.step(Kind::FsyncDirectory);
    }
    watch.done(0)
}
