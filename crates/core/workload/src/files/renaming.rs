//! The files are empty, and making them is not timed.

use std::mem::MaybeUninit;

use rustix::fs::RawDir;

use super::{
    calls::fault,
    coldness, interrupt,
    lane::Lane,
    looking::{LISTING_BYTES, not_made},
    many_files::{Set, timed},
    names::{Layout, NameBuffer, Names},
    phases::Phase,
    small_content::SmallContent,
    tree::{LINKED, RENAMED, Tree},
};
use crate::{fault::Fault, phase::Done};

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let phases = [Phase::ReadDirectory, Phase::Rename, Phase::Link];
    if let Some(reason) = lane.fitted.many_files.clone() {
        return phases.iter().try_for_each(|phase| lane.skip(*phase, &reason));
    }
    let names = Names::draw(Layout::Random, lane.settings.spread, &mut lane.stream);
    let content = SmallContent::none(lane.settings.data);
    let mut set = Set { names, tree: None, content };
    let made = make(lane, &mut set);
    if !read_directories(lane, &mut set, made)? {
        let reason = format!("{} failed", phases[0].word());
        return phases[1..].iter().try_for_each(|phase| lane.skip(*phase, &reason));
    }
    set.names.shuffle(&mut lane.stream);
    let renamed = each_name(lane, Phase::Rename, &mut set)?;
    match (lane.fitted.reason(Phase::Link), renamed) {
        (Some(reason), _) => {
            let reason = reason.to_owned();
            lane.skip(Phase::Link, &reason)
        }
        (None, false) => lane.skip(Phase::Link, "rename failed"),
        (None, true) => each_name(lane, Phase::Link, &mut set).map(drop),
    }
}

fn make(lane: &Lane, set: &mut Set) -> Result<(), Fault> {
    let tree = set.tree.insert(Tree::make(lane.runner.directory(), lane.settings.spread)?);
    let mut name = NameBuffer::new();
    for index in 0..set.names.count() {
        set.names.path(index, &mut name);
        drop(tree.top().create(name.as_c_str())?);
        tree.created = index + 1;
        interrupt::check()?;
    }
    tree.close();
    Ok(())
}

fn read_directories(
    lane: &mut Lane,
    set: &mut Set,
    made: Result<(), Fault>,
) -> Result<bool, Fault> {
    let began = coldness::begin(lane, Phase::ReadDirectory, set)?;
    let (mut count, expected) = (0, set.names.count());
    let ran = lane.run(Phase::ReadDirectory, |bench, original| {
        made?;
        let tree = set.tree()?;
        tree.open()?;
        timed(bench, original, |bench, original| {
            for number in 0..tree.holders() {
                let folder = tree.holder(number);
                let listing = folder.listing()?;
                let mut memory = [MaybeUninit::uninit(); LISTING_BYTES];
                let mut entries = RawDir::new(&listing, &mut memory);
                loop {
                    let is_call = entries.is_buffer_empty();
                    let start_ns = if is_call { bench.now_ns() } else { 0 };
                    let Some(entry) = entries.next() else { break };
                    let entry = entry.map_err(fault("readdir", &folder.path))?;
                    if is_call {
                        let end_ns = bench.now_ns();
                        bench.lap(0, start_ns, end_ns, 0);
                        original.note(end_ns - start_ns);
                    }
                    count += u32::from(!matches!(entry.file_name().to_bytes(), b"." | b".."));
                    interrupt::check()?;
                }
            }
            Ok(Done::work(f64::from(count)))
        })
    })?;
    if ran {
        coldness::tell(lane, began.as_ref(), count, 0);
        lane.checked += u64::from(count.min(expected));
        if count != expected {
            let text = format!("{count} entries where {expected} files were created");
            lane.runner.flag_last("foreign-files", text);
        }
    }
    Ok(ran)
}

fn each_name(lane: &mut Lane, phase: Phase, set: &mut Set) -> Result<bool, Fault> {
    let count = set.names.count();
    let ran = lane.run(phase, |bench, original| {
        let Set { names, tree, .. } = set;
        let tree = tree.as_mut().ok_or_else(not_made)?;
        tree.open()?;
        timed(bench, original, |bench, original| {
            let (mut old, mut new) = (NameBuffer::new(), NameBuffer::new());
            for place in 0..count {
                let index = names.at(place);
                let (from, to) = match phase {
                    Phase::Rename => (None, RENAMED),
                    _ => (Some(RENAMED), LINKED),
                };
                names.form(index, from, &mut old);
                names.form(index, Some(to), &mut new);
                let start_ns = bench.now_ns();
                match phase {
                    Phase::Rename => tree.top().rename(old.as_c_str(), new.as_c_str())?,
                    _ => tree.top().link(old.as_c_str(), new.as_c_str())?,
                }
                let end_ns = bench.now_ns();
                bench.lap(0, start_ns, end_ns, 0);
                original.note(end_ns - start_ns);
                interrupt::check()?;
            }
            Ok(Done::work(f64::from(count)))
        })
    })?;
    Ok(ran)
}
