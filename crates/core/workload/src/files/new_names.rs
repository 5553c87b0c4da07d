use std::ffi::CString;

use super::{
    calls::{Folder, close},
    interrupt,
    lane::Lane,
    laps::Places,
    many_files::timed,
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

    fn top(&self) -> &Folder {
        self.tree.top()
    }
}

impl Drop for Numbered {
    fn drop(&mut self) {
        for number in 0..self.made {
            let name = name(number);
            let _ = match self.are_directories {
                true => self.top().remove_directory(&name).is_ok(),
                false => self.top().unlink(&name).is_ok(),
            };
        }
    }
}

fn name(number: u32) -> CString {
    CString::new(format!("n{number:07x}")).expect("digits")
}

/// As many directories as there are files, as far as one directory holds them.
pub(super) fn make_directories(lane: &mut Lane) -> Result<(), Fault> {
    let settings = lane.settings;
    let count = settings.spread.files.min(lane.fitted.directories_max).max(1);
    let numbered = Numbered::new(lane, true);
    let mut kept = None;
    lane.run(Phase::MakeDirectories, |bench, original| {
        let numbered = kept.insert(numbered?);
        timed(bench, original, |bench, original| {
            for number in 0..count {
                let name = name(number);
                let start_ns = bench.now_ns();
                numbered.top().make_directory(&name)?;
                let end_ns = bench.now_ns();
                numbered.made = number + 1;
                bench.lap(0, start_ns, end_ns, 0);
                original.note(end_ns - start_ns);
                interrupt::check()?;
            }
            Ok(Done::work(f64::from(count)))
        })
    })?;
    Ok(())
}

/// A new, empty file and then fsync of its directory: what makes the name durable.
pub(super) fn sync_directory(lane: &mut Lane) -> Result<(), Fault> {
    let settings = lane.settings;
    let places = Places::of(&Phase::SyncDirectory.kinds(settings));
    let numbered = Numbered::new(lane, false);
    let mut kept = None;
    lane.run(Phase::SyncDirectory, |bench, original| {
        let numbered = kept.insert(numbered?);
        timed(bench, original, |bench, original| {
            for number in 0..settings.saves {
                let name = name(number);
                let start_ns = bench.now_ns();
                let file = numbered.top().create(&name)?;
                let made_ns = places.until_now(bench, Kind::Create, start_ns, 0);
                numbered.made = number + 1;
                close(file, &numbered.top().path)?;
                let closed_ns = bench.now_ns();
                numbered.top().fsync()?;
                let end_ns = places.until_now(bench, Kind::FsyncDirectory, closed_ns, 0);
                original.note(made_ns - start_ns + end_ns - closed_ns);
                interrupt::check()?;
            }
            Ok(Done::work(f64::from(settings.saves)))
        })
    })?;
    Ok(())
}
