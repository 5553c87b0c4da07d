//! Decided before anything is touched; nothing is fetched here.
//! Results of two engines are never ranked against each other: what is slow may be the engine.
//! Where a plan's cells run under more than one, each gets the level `engine`, so that panels hold
//! one engine each.

use std::collections::BTreeSet;

use pickfs_candidate::{
    Availability, availability,
    fs::{self, FileSystem, Support},
    knob::{ENGINE, KERNEL},
};
use pickfs_guest::{ENGINES, Engine, engine};
use pickfs_record::{BackingSpec, Cell, Level, Plan, record::SkippedCell, typed::program};

use crate::expand::{Expansion, cell_id};

pub const ENGINE_LEVEL: &str = "engine";
pub const NATIVE: &str = "native";
const AUTO: &str = "auto";
const QEMU: &str = "qemu";

pub fn engine_of(cell: &Cell) -> Option<Engine> {
    Engine::find(cell.knobs.get(ENGINE)?)
}

pub fn any_native(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| engine_of(cell).is_none())
}

pub fn any_in_guests(cells: &[Cell]) -> bool {
    cells.iter().any(|cell| engine_of(cell).is_some())
}

pub(crate) fn settle_engines(plan: &Plan, expansion: &mut Expansion) {
    for mut cell in std::mem::take(&mut expansion.cells) {
        match chosen(plan, &cell) {
            Ok(name) => {
                if cell.knobs.contains_key(ENGINE) || cell.knobs.contains_key(KERNEL) {
                    put_engine(plan, &mut cell, name);
                }
                expansion.cells.push(cell);
            }
            Err((reason, remedy)) => {
                expansion.skipped.push(SkippedCell { cell, reason, remedy });
            }
        }
    }
    tell_engines_apart(expansion);
}

fn put_engine(plan: &Plan, cell: &mut Cell, name: &str) {
    match name {
        NATIVE => cell.knobs.remove(ENGINE),
        name => cell.knobs.insert(ENGINE.into(), name.into()),
    };
    cell.id = cell_id(&cell.candidate, &plan.backing, &cell.workload, &cell.knobs);
}

fn tell_engines_apart(expansion: &mut Expansion) {
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

fn name_of(cell: &Cell) -> &'static str {
    engine_of(cell).map_or(NATIVE, Engine::name)
}

pub(crate) type Gap = (String, String);

fn chosen(plan: &Plan, cell: &Cell) -> Result<&'static str, Gap> {
    let has_kernel = cell.knobs.contains_key(KERNEL);
    let unasked = if has_kernel { AUTO } else { NATIVE };
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
        AUTO | QEMU => first_that_can(plan, cell, row).map(Engine::name),
        asked => {
            let engine = Engine::find(asked).ok_or_else(|| {
                (format!("no engine `{asked}`"), "leave --engine out, or use auto".to_owned())
            })?;
            can_serve(plan, cell, row, engine).map(|()| engine.name())
        }
    }
}

fn runs_here(plan: &Plan, cell: &Cell, row: &FileSystem) -> bool {
    let here = matches!(availability::of(row), Availability::Ready);
    let in_directory = matches!(plan.backing, BackingSpec::Directory { .. });
    let is_free = !cell.knobs.contains_key(KERNEL);
    in_directory || (is_free && here && rustix::process::geteuid().is_root())
}

fn first_that_can(plan: &Plan, cell: &Cell, row: &FileSystem) -> Result<Engine, Gap> {
    let [kvm, tcg] = ENGINES;
    match can_serve(plan, cell, row, kvm) {
        Ok(()) => Ok(kvm),
        Err(_) => can_serve(plan, cell, row, tcg).map(|()| tcg),
    }
}

fn can_serve(plan: &Plan, cell: &Cell, row: &FileSystem, engine: Engine) -> Result<(), Gap> {
    if let BackingSpec::Device { .. } | BackingSpec::Directory { .. } = plan.backing {
        let reason = "a guest's candidates are made on an image";
        return Err((reason.into(), "leave --device and --dir out, or --engine".into()));
    }
    if plan.capacity.is_some() {
        let reason =
            "a search for the highest rate is not made in guests: it would find the engine's";
        return Err((reason.into(), "leave [capacity] out, or use --engine native".into()));
    }
    let of_guests = [ENGINE, KERNEL];
    if let Some(knob) = cell.knobs.keys().find(|name| !of_guests.contains(&name.as_str())) {
        let reason = format!("{knob} is turned on this machine, not in a guest");
        return Err((reason, format!("leave {knob} out, or use --engine native")));
    }
    row_gap(row, engine).map_or(Ok(()), Err)
}

pub fn row_gap(row: &FileSystem, engine: Engine) -> Option<Gap> {
    if let Some(obstacle) = engine.obstacle() {
        return Some((obstacle, "use another engine".into()));
    }
    if !engine::knows(row) {
        let foreign = row.type_in_a_guest();
        let reason = format!("the guest's kernel has no writable file system {foreign}");
        let remedy = match row.guest.support {
            Support::Rebuilt => {
                format!("build its module: {} doctor --guests --build-modules", program())
            }
            _ => row.kernel_remedy(),
        };
        return Some((reason, remedy));
    }
    (row.guest.support == Support::HostProgram).then(|| {
        let reason = format!("the program behind {} is for the host", row.name);
        (reason, "use --engine native".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{expand::expand, plan_file::read_plan};

    fn expansion(candidates: &str, engine: &str) -> Expansion {
        let text = format!(
            "name = \"t\"\nquestion = \"?\"\ncandidates = [{candidates}]\nworkload = \"null\"\n\
             [params]\n\"guest.engine\" = \"{engine}\"\n\
             [design]\nblocks = 1\nreference = \"tmpfs\"\nprimary = []\n"
        );
        let plan = read_plan("t.toml", &text).expect("a good plan");
        let workload = pickfs_workload::find("null").expect("a workload");
        let ceiling = |_: &_| pickfs_record::Durability::PowerLoss;
        let mut expansion = expand(&plan, workload, ceiling).expect("expands");
        settle_engines(&plan, &mut expansion);
        expansion
    }

    #[test]
    fn an_engine_that_is_asked_for_runs_every_cell() {
        let one = expansion("\"tmpfs\", \"ramfs\"", "qemu-tcg");
        let engines: Vec<_> = one.cells.iter().map(name_of).collect();
        assert_eq!(engines, ["qemu-tcg", "qemu-tcg"]);
        assert_eq!(one.cells[0].levels_text(), "");
        let native = expansion("\"tmpfs\"", "native");
        assert_ne!(one.cells[0].id, native.cells[0].id);
        assert!(native.cells[0].knobs.is_empty());
    }

    #[test]
    fn a_kernel_of_its_own_asks_for_a_guest() {
        let with = |engine: &str| {
            let text = format!(
                "name = \"t\"\nquestion = \"?\"\ncandidates = [\"tmpfs\"]\nworkload = \"null\"\n{engine}\
                 [axes]\n\"guest.kernel\" = [\"5.10\", \"6.1\"]\n\
                 [design]\nblocks = 1\ncompare = \"guest.kernel\"\nreference = \"6.1\"\nprimary = []\n"
            );
            let plan = read_plan("t.toml", &text).expect("a good plan");
            crate::preflight::preflight(&plan)
        };
        let cells = with("").expect("guests run here").cells;
        let kernels: Vec<_> = cells.iter().map(|cell| cell.knobs[KERNEL].as_str()).collect();
        assert_eq!(kernels, ["5.10", "6.1"]);
        assert!(cells.iter().all(|cell| engine_of(cell).is_some()));
        assert_ne!(cells[0].id, cells[1].id);
        let native = "[params]\n\"guest.engine\" = \"native\"\n";
        let error = with(native).expect_err("refused").to_string();
        assert!(error.contains("guest.kernel is for guests"), "{error}");
    }

    #[test]
    fn what_no_kernel_of_an_engine_mounts_is_left_out_with_the_reason() {
        let left = expansion("\"tmpfs\", \"bcachefs\"", "qemu-tcg");
        assert_eq!(left.cells.len(), 1);
        assert!(!left.skipped[0].reason.is_empty() && !left.skipped[0].remedy.is_empty());
    }

    #[test]
    fn cells_of_two_engines_never_share_a_panel_nor_do_two_accelerations() {
        let mut all = expansion("\"tmpfs\"", "native");
        all.cells.extend(expansion("\"tmpfs\", \"ramfs\"", "qemu-tcg").cells);
        let mut kvm = all.cells[1].clone();
        kvm.knobs.insert(ENGINE.into(), "qemu-kvm".into());
        all.cells.push(kvm);
        tell_engines_apart(&mut all);
        let levels: Vec<_> = all.cells.iter().map(Cell::levels_text).collect();
        let of = |engine: &str| format!("engine={engine}");
        assert_eq!(levels, ["native", "qemu-tcg", "qemu-tcg", "qemu-kvm"].map(of));
    }

    #[test]
    fn qemu_is_kvm_where_that_is_proven_and_the_cell_says_which() {
        let proven = Engine::QemuKvm.obstacle().is_none();
        let expected = if proven { "qemu-kvm" } else { "qemu-tcg" };
        let cells = expansion("\"tmpfs\", \"ext4\"", "qemu").cells;
        let engines: Vec<_> = cells.iter().map(name_of).collect();
        assert_eq!(engines, [expected, expected]);
        assert_eq!(cells[0].knobs[ENGINE], expected);
    }
}
