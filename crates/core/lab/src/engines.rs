//! Decided before anything is touched; nothing is fetched here.
//! Results of two engines are never ranked against each other: what is slow may be the engine.
//! Where a plan's cells run under more than one, each gets the level `engine`, so that panels hold
//! one engine each.

use std::{collections::BTreeSet, sync::OnceLock};

use pickfs_candidate::{
    Availability, GuestImage, availability,
    fs::{self, FileSystem},
    knob::{ENGINE, KERNEL, MEMORY, OF_GUESTS},
};
use pickfs_record::{BackingSpec, Cell, Event, Level, Plan, TrialRecord};

use crate::{
    expand::{Expansion, cell_id},
    machine::Means,
    stage::TrialOrder,
};

pub const ENGINE_LEVEL: &str = "engine";
pub const NATIVE: &str = "native";
const AUTO: &str = "auto";
const QEMU: &str = "qemu";

/// Engines for guests, kernels beside that of this machine: an extra.
pub trait Engines: Sync {
    /// The preferred one first.
    fn names(&self) -> &'static [&'static str];

    /// Why an engine cannot serve a file system here, and what would help.
    fn gap(&self, row: &FileSystem, engine: &str) -> Option<Gap>;

    /// Whether a module for it can be built.
    fn is_buildable(&self, row: &FileSystem) -> bool;

    /// Packages that a guest for this file system would fetch.
    fn missing(&self, row: &FileSystem) -> Vec<&'static str>;

    /// Fetches what these cells run under and are made by; the error names what is to be had.
    fn fetch(&self, cells: &[Cell]) -> Result<Box<dyn Kernels>, String>;
}

/// What the guests of a run boot.
pub trait Kernels {
    /// Leaves out the cells whose kernel or program lacks something.
    fn leave_out(&self, expansion: &mut Expansion);

    fn stage(self: Box<Self>, means: Means, image: GuestImage) -> Box<dyn GuestStage>;
}

pub trait GuestStage {
    fn perform(&mut self, order: &TrialOrder<'_>, tell: &mut dyn FnMut(Event)) -> TrialRecord;

    /// Why no further guest can have the image.
    fn stuck(&self) -> Option<String>;

    fn into_image(self: Box<Self>) -> GuestImage;
}

static ENGINES: OnceLock<&dyn Engines> = OnceLock::new();

/// From now on trials can run in guests.
pub fn add(engines: &'static dyn Engines) {
    let _ = ENGINES.set(engines);
}

pub fn engines() -> Option<&'static dyn Engines> {
    ENGINES.get().copied()
}

/// The engine of a cell that [`settle_engines`] has seen.
pub fn engine_of(cell: &Cell) -> Option<&str> {
    cell.knobs.get(ENGINE).map(String::as_str).filter(|name| *name != NATIVE)
}

pub fn any_native(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| engine_of(cell).is_none())
}

pub fn any_in_guests(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| engine_of(cell).is_some())
}

pub fn settle_engines(plan: &Plan, expansion: &mut Expansion) {
    expansion.leave_out(|cell| {
        let name = match chosen(plan, cell) {
            Ok(name) => name,
            Err(gap) => return Some(gap),
        };
        if OF_GUESTS.iter().any(|knob| cell.knobs.contains_key(*knob)) {
            put_engine(plan, cell, name);
        }
        None
    });
    tell_engines_apart(expansion);
}

fn put_engine(plan: &Plan, cell: &mut Cell, name: &str) {
    if name == NATIVE {
        cell.knobs.retain(|knob, _| !OF_GUESTS.contains(&knob.as_str()));
    } else {
        cell.knobs.insert(ENGINE.into(), name.into());
    }
    cell.id = cell_id(&cell.candidate, &plan.backing, &cell.workload, &cell.knobs);
}

pub fn tell_engines_apart(expansion: &mut Expansion) {
    let names: BTreeSet<&str> = expansion.cells.iter().map(name_of).collect();
    if names.len() < 2 {
        return;
    }
    for cell in &mut expansion.cells {
        let value = name_of(cell).to_owned();
        cell.levels.retain(|level| level.axis != ENGINE);
        cell.levels.push(Level { axis: ENGINE_LEVEL.into(), value });
    }
}

pub fn name_of(cell: &Cell) -> &str {
    engine_of(cell).unwrap_or(NATIVE)
}

/// The reason, and what would help.
pub type Gap = (String, String);

fn chosen(plan: &Plan, cell: &Cell) -> Result<&'static str, Gap> {
    let has_kernel = cell.knobs.contains_key(KERNEL);
    let unasked = match cell.knobs.contains_key(MEMORY) {
        true => QEMU,
        false if has_kernel => AUTO,
        false => NATIVE,
    };
    let asked = cell.knobs.get(ENGINE).map_or(unasked, String::as_str);
    let name = &cell.candidate.fs;
    let Some(row) = fs::find(name) else { return Ok(NATIVE) };
    match asked {
        NATIVE if has_kernel => {
            let reason = "this machine runs the kernel that it runs; guest.kernel is for guests";
            Err((reason.into(), "leave guest.engine = native out".into()))
        }
        NATIVE => Ok(NATIVE),
        AUTO if runs_here(plan, cell, row) => Ok(NATIVE),
        AUTO | QEMU => first_that_can(plan, cell, row),
        asked => can_serve(plan, cell, row, asked),
    }
}

fn runs_here(plan: &Plan, cell: &Cell, row: &FileSystem) -> bool {
    let here = matches!(availability::of(row), Availability::Ready);
    let in_directory = matches!(plan.backing, BackingSpec::Directory { .. });
    let is_free = !cell.knobs.contains_key(KERNEL);
    in_directory || (is_free && here && rustix::process::geteuid().is_root())
}

/// The first that can; else why the last one cannot.
fn first_that_can(plan: &Plan, cell: &Cell, row: &FileSystem) -> Result<&'static str, Gap> {
    let mut gap = no_guests();
    for name in engines().map_or(&[] as &[_], |engines| engines.names()) {
        match can_serve(plan, cell, row, name) {
            Ok(name) => return Ok(name),
            Err(its) => gap = its,
        }
    }
    Err(gap)
}

fn no_guests() -> Gap {
    ("this build has no guests".into(), "build pickfs with its feature guest".into())
}

fn can_serve(plan: &Plan, cell: &Cell, row: &FileSystem, asked: &str) -> Result<&'static str, Gap> {
    let engines = engines().ok_or_else(no_guests)?;
    let engine = engines.names().iter().find(|name| **name == asked).ok_or_else(|| {
        (format!("no engine `{asked}`"), "leave --engine out, or use auto".to_owned())
    })?;
    if let BackingSpec::Device { .. } | BackingSpec::Directory { .. } = plan.backing {
        let reason = "a guest's candidates are made on an image";
        return Err((reason.into(), "leave --device and --dir out, or --engine".into()));
    }
    if plan.capacity.is_some() {
        let reason =
            "a search for the highest rate is not made in guests: it would find the engine's";
        return Err((reason.into(), "leave [capacity] out, or use --engine native".into()));
    }
    if let Some(knob) = cell.knobs.keys().find(|name| !OF_GUESTS.contains(&name.as_str())) {
        let reason = format!("{knob} is turned on this machine, not in a guest");
        return Err((reason, format!("leave {knob} out, or use --engine native")));
    }
    engines.gap(row, engine).map_or(Ok(engine), Err)
}
