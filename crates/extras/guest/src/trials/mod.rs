//! Trials in guests: the lab's engines, from choosing one to the record.

pub mod boot;
pub mod kernels;
mod lane;
mod stage;
pub mod tour;

use pickfs_candidate::{
    availability::to_be_brought,
    fs::{FileSystem, Support},
    knob::ENGINE,
};
use pickfs_lab::engines::{self, Gap};
use pickfs_record::{Cell, typed::program};

use self::kernels::Tools;
use crate::{
    engine::{self, Engine, Kernel},
    guest_tools::Tool,
    packages::PackageCache,
};

/// Engines of the lab.
pub struct Qemu;

impl engines::Engines for Qemu {
    fn names(&self) -> &'static [&'static str] {
        &["qemu-kvm", "qemu-tcg"]
    }

    fn gap(&self, row: &FileSystem, engine: &str) -> Option<Gap> {
        row_gap(row, Engine::find(engine)?)
    }

    fn is_buildable(&self, row: &FileSystem) -> bool {
        engine::knows(row) || row.guest.support == Support::Rebuilt
    }

    fn missing(&self, row: &FileSystem) -> Vec<&'static str> {
        let Ok(cache) = PackageCache::open_default() else { return Vec::new() };
        let mut missing = engine::missing_packages(&cache);
        let tools = to_be_brought(row).into_iter();
        let tools = tools.filter(|one| Tool::held(&cache, one.name, one.package).is_none());
        missing.extend(tools.map(|one| one.package));
        missing.dedup();
        missing
    }

    fn fetch(&self, cells: &[Cell]) -> Result<Box<dyn engines::Kernels>, String> {
        let kernels = kernels::Kernels::fetch(cells, None).map_err(|error| error.to_string())?;
        Ok(Box::new(kernels))
    }
}

fn engine_of(cell: &Cell) -> Option<Engine> {
    Engine::find(cell.knobs.get(ENGINE)?)
}

/// Why a guest with this kernel cannot have it, and what would help.
pub fn gap(row: &FileSystem, engine: Engine, kernel: &Kernel, tools: &Tools) -> Option<Gap> {
    row_gap(row, engine).or_else(|| kernels::gap(row, kernel)).or_else(|| tools.gap(row))
}

pub(crate) fn row_gap(row: &FileSystem, engine: Engine) -> Option<Gap> {
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
