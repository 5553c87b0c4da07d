use std::ffi::CString;

use super::{
    calls::close,
    lane::Lane,
    phases::{Kind, Phase},
    spread::Spread,
    tree::Tree,
};
use crate::{fault::Fault, phase::Done};

/// What was made in a top directory of its own: numbered names, which go when this is dropped.
struct Numbered {
    tree: Tree,
    made: u32,
    are_directories: bool,
}

impl Numbered {
    fn new(lane: &Lane, are_directories: bool) -> Result<Numbered, Fault> {
        let tree = Tree::make(lane.runner.directory(), Spread::new(0, 1))?;
        Ok(Numbered { tree, made: 0, are_directories })
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        for number in 0..self.made {
            let name = name(number);
            let _ = match self.are_directories {
                true => self.tree.top().remove_directory(&name).is_ok(),
                false => self.tree.top().unlink(&name).is_ok(),
            };
        }
    }
}

fn name(number: u32) -> CString {
    CString::new(format!("n{number:07x}")).expect("digits")
}

/// As many directories as there are files, as far as one directory holds them.
pub(super) fn make_directories(lane: &mut Lane) -> Result<(), Fault> {
    let count = lane.settings.spread.files.min(lane.fitted.directories_max).max(1);
    let numbered = Numbered::new(lane, true);
    let made = lane.run(Phase::MakeDirectories, numbered, |mut numbered, watch| {
        for number in 0..count {
            let name = name(number);
            watch.begin();
            numbered.tree.top().make_directory(&name)?;
            watch.step(Kind::Whole);
            numbered.made = number + 1;
            watch.done(0)?;
        }
        Ok((Done::work(f64::from(count)), numbered))
    });
    made.map(drop)
}

/// A new, empty file and then fsync of its directory: what makes the name durable.
pub(super) fn sync_directory(lane: &mut Lane) -> Result<(), Fault> {
    let saves = lane.settings.saves;
    let numbered = Numbered::new(lane, false);
    let synced = lane.run(Phase::SyncDirectory, numbered, |mut numbered, watch| {
        for number in 0..saves {
            let (name, top) = (name(number), numbered.tree.top());
            watch.begin();
            let file = top.create(&name)?;
            watch.step(Kind::Create);
            numbered.made = number + 1;
            close(file, &top.path)?;
            watch.begin();
            top.fsync()?;
            watch.step(Kind::FsyncDirectory);
            watch.done(0)?;
        }
        Ok((Done::work(f64::from(saves)), numbered))
    });
    synced.map(drop)
}
