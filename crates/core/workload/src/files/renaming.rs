//! The files are empty, and making them is not timed.

use std::ffi::CStr;

use super::{
    coldness, interrupt,
    lane::Lane,
    many_files::{Set, along},
    names::{Layout, NameBuffer, Names},
    phases::{Kind, Phase},
    small_content::SmallContent,
    tree::{LINKED, RENAMED, Tree},
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let phases = [Phase::ReadDirectory, Phase::Rename, Phase::Link];
    if let Some(reason) = lane.fitted.many_files.clone() {
        return lane.skip_all(&phases, &reason);
    }
    let names = Names::draw(Layout::Random, lane.settings.spread, &mut lane.stream);
    let content = SmallContent::none(lane.settings.data);
    let mut set = Set { names, tree: None, content };
    let made = make(lane, &mut set);
    if !read_directories(lane, &mut set, made)? {
        return lane.skip_all(&phases[1..], &format!("{} failed", phases[0].word()));
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
    let open = made.and_then(|()| set.parts());
    let ran = lane.run(Phase::ReadDirectory, open, |(_, tree, _), watch| {
        let mut each = |name: &CStr, watch: &mut Watch| {
            count += u32::from(!matches!(name.to_bytes(), b"." | b".."));
            watch.done(0)
        };
        for number in 0..tree.holders() {
            along(tree.holder(number), Kind::Whole, watch, &mut each, || false)?;
        }
        Ok((Done::work(f64::from(count)), ()))
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
    lane.run(phase, set.parts(), |(names, tree, _), watch| {
        let (mut old, mut new) = (NameBuffer::new(), NameBuffer::new());
        let (from, to) = match phase {
            Phase::Rename => (None, RENAMED),
            _ => (Some(RENAMED), LINKED),
        };
        for place in 0..names.count() {
            let index = names.at(place);
            names.form(index, from, &mut old);
            names.form(index, Some(to), &mut new);
            watch.begin();
            match phase {
                Phase::Rename => tree.top().rename(old.as_c_str(), new.as_c_str())?,
                _ => tree.top().link(old.as_c_str(), new.as_c_str())?,
            }
            watch.step(Kind::Whole);
            watch.done(0)?;
        }
        Ok((Done::work(f64::from(names.count())), ()))
    })
}
