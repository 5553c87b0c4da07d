//! Creating and deleting end with a sync that their time holds (`sync_after`); making and, in the
//! beginning, opening the directories is not timed, removing them is.

use super::{
    calls::Folder,
    creating, deleting,
    lane::Lane,
    looking,
    names::{Layout, Names},
    original::{Original, cpu_ns},
    phases::Phase,
    settings::{Settings, Small, SyncAfter},
    small_content::SmallContent,
    tree::Tree,
};
use crate::{
    fault::Fault,
    phase::{Done, PhaseBench},
};

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let asked = Phase::asked(lane.settings);
    if asked.contains(&Phase::SeqCreate) {
        run_set(lane, Layout::Sequential)?;
        run_set(lane, Layout::Random)?;
    }
    Ok(())
}

pub(super) struct Set {
    pub(super) names: Names,
    pub(super) tree: Option<Tree>,
    pub(super) content: SmallContent,
}

impl Set {
    pub(super) fn tree(&mut self) -> Result<&mut Tree, Fault> {
        let missing = || Fault::Failed { reason: "the directory of the files was not made".into() };
        self.tree.as_mut().ok_or_else(missing)
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

fn run_set(lane: &mut Lane, layout: Layout) -> Result<(), Fault> {
    let phases = phases(layout);
    let names = Names::draw(layout, lane.settings.spread, &mut lane.stream);
    let mut set = Set { names, tree: None, content: SmallContent::new(lane.settings) };
    if let Some(reason) = lane.fitted.reason(phases[0]) {
        let reason = reason.to_owned();
        // Sizes that would have been drawn, so that what comes behind keeps its names.
        if matches!(lane.settings.small, Small::Bytes(sizes) if !sizes.are_zero()) {
            lane.stream.skip(set.names.count());
        }
        return phases.iter().try_for_each(|phase| lane.skip(*phase, &reason));
    }
    if !creating::run(lane, phases[0], &mut set)? {
        let reason = format!("{} failed", phases[0].word());
        return phases[1..].iter().try_for_each(|phase| lane.skip(*phase, &reason));
    }
    shuffle(lane, &mut set, layout);
    looking::run(lane, phases[1], &mut set)?;
    shuffle(lane, &mut set, layout);
    deleting::run(lane, phases[2], &mut set)?;
    Ok(())
}

fn phases(layout: Layout) -> [Phase; 3] {
    match layout {
        Layout::Sequential => [Phase::SeqCreate, Phase::SeqStat, Phase::SeqDelete],
        Layout::Random => [Phase::RanCreate, Phase::RanStat, Phase::RanDelete],
    }
}

fn shuffle(lane: &mut Lane, set: &mut Set, layout: Layout) {
    if layout == Layout::Random {
        set.names.shuffle(&mut lane.stream);
    }
}

pub(super) fn timed(
    bench: &mut PhaseBench,
    original: &mut Original,
    work: impl FnOnce(&mut PhaseBench, &mut Original) -> Result<Done, Fault>,
) -> Result<Done, Fault> {
    bench.span_begins();
    let before_ns = cpu_ns();
    let done = work(bench, original)?;
    original.cpu_ns = cpu_ns() - before_ns;
    bench.span_ends();
    Ok(done)
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
