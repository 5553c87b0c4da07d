//! The first lane decides the sizes, for what is free changes as soon as anybody starts; the others
//! read its decision from a file in the mount, before anything large is written.

use std::{fs, path::Path};

use pickfs_sys::{files::sync_file_system, mount::file_system_use};
use serde::{Deserialize, Serialize};

use super::{
    files::{Data, Of},
    lane::Lane,
    meta_suite,
    own_files::OwnFiles,
    params::{Settings, Suite},
    prepared_files::{check_written, make_table, prepare},
    random_suite, read_suite,
    room::{Machine, Room, fitted},
    sizes::Sizes,
    sort_suite,
    symbols::Domain,
    write_suite,
};
use crate::{
    fault::Fault,
    measurement::Measured,
    phase::PhaseRunner,
    workload::{Prepared, Session},
};

const DECISION: &str = "column-sizes.json";

#[derive(Debug, Serialize, Deserialize)]
enum Decision {
    Sizes { scale: f64, memory_bytes: u64, notes: Vec<String> },
    Refused { reason: String },
}

pub(super) struct Course {
    settings: Settings,
    runner: Option<PhaseRunner>,
    own: OwnFiles,
    left: Vec<String>,
    checked: u64,
}

impl Course {
    pub(super) fn new(session: &Session) -> Result<Course, Fault> {
        let runner = PhaseRunner::new(session)?;
        let is_first = session.spec.lane == 0;
        let decision = is_first.then(|| session.spec.directory.join(DECISION));
        let own = OwnFiles::new(runner.directory(), decision);
        let settings = Settings::new(&session.params);
        Ok(Course { settings, runner: Some(runner), own, left: Vec::new(), checked: 0 })
    }
}

impl Prepared for Course {
    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let mut runner = self.runner.take().expect("a course is run once");
        let mount = &session.spec.directory;
        let machine = Machine::at(mount)?.alike(session.spec.scratch_bytes);
        let used_before = used_bytes(mount)?;
        let (sizes, notes) = agreed(&mut runner, &self.settings, mount, &machine)?;
        let data = Data::new(self.settings.profile, session.spec.seed, runner.lane());
        let domain = Domain::new(data.seed(Of::Domain));
        let mut lane = Lane::new(runner, self.settings.clone(), sizes, (data, domain, machine));
        let counts = suites(&mut lane, mount, used_before)?;
        self.checked = lane.checked;
        let mut measured = lane.runner.finish();
        super::durable::derive(&self.settings, &mut measured.phases);
        if session.spec.lane == 0 {
            measured.notes.extend(notes);
            measured.counts.extend(counts.into_iter().map(|(name, value)| (name.into(), value)));
        }
        Ok(measured)
    }

    /// Everything was compared where it was still there; what this lane made is removed.
    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        self.left = self.own.remove();
        Ok(self.checked)
    }

    fn left(&self) -> Vec<String> {
        self.left.clone()
    }
}

fn agreed(
    runner: &mut PhaseRunner,
    settings: &Settings,
    mount: &Path,
    machine: &Machine,
) -> Result<(Sizes, Vec<String>), Fault> {
    let path = mount.join(DECISION);
    if runner.lane() == 0 {
        let decision = decided(settings, runner.lanes(), machine);
        let text = serde_json::to_string(&decision).expect("numbers and texts");
        fs::write(&path, text).map_err(Fault::io("write", &path))?;
    }
    runner.together()?;
    let text = fs::read_to_string(&path).map_err(Fault::io("read", &path))?;
    // The first lane may take it away as soon as all have read it.
    runner.together()?;
    let decision = serde_json::from_str(&text).map_err(|error| Fault::Wrong {
        what: format!("{} is not what was written: {error}", path.display()),
    })?;
    match decision {
        Decision::Refused { reason } => Err(Fault::Skipped { reason }),
        Decision::Sizes { scale, memory_bytes, notes } => {
            Ok((Sizes::new(scale, runner.lanes(), memory_bytes), notes))
        }
    }
}

fn decided(settings: &Settings, lanes: u32, machine: &Machine) -> Decision {
    match fitted(settings, lanes, machine) {
        Ok(fitted) => Decision::Sizes {
            scale: fitted.sizes.scale,
            memory_bytes: machine.memory_bytes,
            notes: fitted.notes,
        },
        Err(fault) => Decision::Refused { reason: fault.to_string() },
    }
}

fn suites(
    lane: &mut Lane,
    mount: &Path,
    used_before: u64,
) -> Result<Vec<(&'static str, f64)>, Fault> {
    let room = Room::needed(&lane.sizes, &lane.settings, lane.machine.is_in_memory);
    let mut counts = vec![
        ("scale_factor", lane.sizes.scale),
        ("needed_files_bytes", room.files_bytes as f64),
        ("needed_memory_bytes", room.memory_bytes as f64),
    ];
    if lane.settings.has(Suite::Write) {
        write_suite::run(lane)?;
        make_table(lane)?;
        // What they took, written out, beside their lengths: this shows compression.
        lane.runner.together()?;
        if lane.runner.lane() == 0 {
            let folder = fs::File::open(mount).map_err(Fault::io("open", mount))?;
            sync_file_system(&folder)
                .map_err(|error| Fault::Failed { reason: error.to_string() })?;
            let used = used_bytes(mount)?.saturating_sub(used_before);
            let sizes = &lane.sizes;
            let lists = sizes.tiny + sizes.small + sizes.medium + sizes.huge + sizes.rows();
            let symbols = sizes.rows() * lane.settings.symbols.symbol_bytes() as u64;
            let written = 8 * (lists + 4 * sizes.random_file()) + symbols;
            counts.push(("space_used_bytes", used as f64));
            counts.push(("space_filled_bytes", (written * u64::from(sizes.lanes)) as f64));
        }
        lane.runner.together()?;
    }
    prepare(lane)?;
    if lane.settings.has(Suite::Write) {
        check_written(lane)?;
    }
    if lane.settings.has(Suite::Meta) {
        meta_suite::run(lane)?;
    }
    if lane.settings.has(Suite::Read) {
        read_suite::run_cold(lane)?;
    }
    if lane.settings.has(Suite::Reread) {
        read_suite::run_hot(lane)?;
    }
    if lane.settings.has(Suite::Random) {
        random_suite::run(lane)?;
    }
    if lane.settings.has(Suite::Sort) {
        sort_suite::run(lane)?;
    }
    Ok(counts)
}

fn used_bytes(mount: &Path) -> Result<u64, Fault> {
    let space = file_system_use(mount);
    let space = space.map_err(|error| Fault::Failed { reason: error.to_string() })?;
    Ok(space.total_bytes.saturating_sub(space.free_bytes))
}
