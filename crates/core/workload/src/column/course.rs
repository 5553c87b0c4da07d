//! The first lane decides the sizes, for what is free changes as soon as anybody starts; the others
//! read its decision from a file in the mount, before anything large is written.

use std::{
    fs,
    fs::File,
    path::{Path, PathBuf},
};

use pickfs_sys::{mount::file_system_use, nodes::nodes};

use super::{
    check::{TableContent, check_written, compare},
    derived::add_durable,
    files::{Files, Of},
    get::{get, read1},
    lane::{Lane, keeping, operations},
    layout::{Attribute, Layout, wrong},
    lock::enter,
    mix, packed,
    params::{Settings, Suite},
    read_suite,
    room::{Machine, Room, fitted},
    set::{set, unkept},
    sizes::{BINARY_REPEATS, Sizes},
    sync::sync,
    write_suite,
};
use crate::{
    fault::Fault,
    measurement::Measured,
    phase::{Done, PhaseRunner, cold::write_out},
    workload::{Prepared, Session},
};

/// Scale, bytes of memory and notes; or why the trial is refused.
type Decision = Result<(f64, u64, Vec<String>), String>;

/// What the lock test enters into its domain, again and again.
const LOCKED: [&str; 5] = ["ask", "bid", "last", "open", "close"];

pub(super) struct Course {
    settings: Settings,
    runner: Option<PhaseRunner>,
    files: Files,
    /// The first lane's, beside the directories of the lanes.
    decision: Option<PathBuf>,
    left: Vec<String>,
    checked: u64,
}

impl Course {
    pub(super) fn new(session: &Session) -> Result<Course, Fault> {
        let runner = PhaseRunner::new(session)?;
        let is_first = session.spec.lane == 0;
        Ok(Course {
            settings: Settings::new(&session.params),
            files: Files::new(runner.directory()),
            runner: Some(runner),
            decision: is_first.then(|| decision_file(&session.spec.directory)),
            left: Vec::new(),
            checked: 0,
        })
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        self.files.remove(self.decision.as_ref());
    }
}

impl Prepared for Course {
    fn measure(&mut self, session: &Session) -> Result<Measured, Fault> {
        let mut runner = self.runner.take().expect("a course is run once");
        let mount = &session.spec.directory;
        let machine = Machine::at(mount)?.alike(session.spec.scratch_bytes);
        let used_before = used_bytes(mount)?;
        let (sizes, notes) = agreed(&mut runner, &self.settings, mount, &machine)?;
        let mut lane = Lane::new(runner, self.settings.clone(), sizes, session.spec.seed, machine);
        let counts = suites(&mut lane, mount, used_before)?;
        self.checked = lane.checked;
        let mut measured = lane.runner.finish();
        add_durable(&self.settings, &mut measured.phases);
        if session.spec.lane == 0 {
            measured.notes.extend(notes);
            measured.counts.extend(counts.into_iter().map(|(name, value)| (name.into(), value)));
        }
        Ok(measured)
    }

    /// Everything was compared where it was still there; what this lane made is removed.
    fn verify(&mut self, _session: &Session) -> Result<u64, Fault> {
        self.left = self.files.remove(self.decision.as_ref());
        Ok(self.checked)
    }

    fn left(&self) -> Vec<String> {
        self.left.clone()
    }
}

fn decision_file(mount: &Path) -> PathBuf {
    mount.join("column-sizes.json")
}

fn agreed(
    runner: &mut PhaseRunner,
    settings: &Settings,
    mount: &Path,
    machine: &Machine,
) -> Result<(Sizes, Vec<String>), Fault> {
    let path = decision_file(mount);
    if runner.lane() == 0 {
        let fitted = fitted(settings, runner.lanes(), machine);
        let decision: Decision = fitted
            .map(|(sizes, notes)| (sizes.scale, machine.memory_bytes, notes))
            .map_err(|fault| fault.to_string());
        let text = serde_json::to_string(&decision).expect("numbers and texts");
        fs::write(&path, text).map_err(Fault::io("write", &path))?;
    }
    runner.together()?;
    let text = fs::read_to_string(&path).map_err(Fault::io("read", &path))?;
    // The first lane may take it away as soon as all have read it.
    runner.together()?;
    let decision: Result<Decision, _> = serde_json::from_str(&text);
    let decision = decision.map_err(|error| wrong(&path, error))?;
    let (scale, memory_bytes, notes) = decision.map_err(|reason| Fault::Skipped { reason })?;
    Ok((Sizes::new(scale, runner.lanes(), memory_bytes), notes))
}

fn suites(
    lane: &mut Lane,
    mount: &Path,
    used_before: u64,
) -> Result<Vec<(&'static str, f64)>, Fault> {
    let room = Room::needed(&lane.sizes, &lane.settings, lane.machine.is_in_memory);
    let mut counts = vec![
        ("scale_factor", lane.sizes.scale),
        ("memory_nodes", nodes().len().max(1) as f64),
        ("needed_files_bytes", room.files_bytes as f64),
        ("needed_memory_bytes", room.memory_bytes as f64),
    ];
    let suites = lane.settings.suites.clone();
    let has_written = suites.contains(&Suite::Write);
    if has_written {
        write_suite::run(lane)?;
        make_table(lane)?;
        // What they took, written out, beside their lengths: this shows compression.
        lane.runner.together()?;
        if lane.runner.lane() == 0 {
            write_out(mount)?;
            let used = used_bytes(mount)?.saturating_sub(used_before);
            let sizes = &lane.sizes;
            let lists = sizes.tiny + sizes.small + sizes.medium + sizes.huge + sizes.rows();
            let symbols = sizes.rows() * lane.settings.symbols.element_bytes();
            let written = 8 * (lists + 4 * sizes.random_file()) + symbols;
            counts.push(("space_used_bytes", used as f64));
            counts.push(("space_filled_bytes", (written * u64::from(sizes.lanes)) as f64));
        }
        lane.runner.together()?;
    }
    prepare(lane)?;
    if has_written {
        check_written(lane)?;
    }
    for suite in suites {
        match suite {
            Suite::Write => {}
            Suite::Meta => meta(lane)?,
            Suite::Read => read_suite::run_cold(lane)?,
            Suite::Reread => read_suite::run_hot(lane)?,
            Suite::Random => read_suite::run_random(lane)?,
            Suite::Sort => sort(lane)?,
            Suite::Mix => mix::run(lane)?,
            Suite::Packed => packed::run(lane)?,
        }
    }
    Ok(counts)
}

fn used_bytes(mount: &Path) -> Result<u64, Fault> {
    let space = file_system_use(mount);
    let space = space.map_err(|error| Fault::Failed { reason: error.to_string() })?;
    Ok(space.total_bytes.saturating_sub(space.free_bytes))
}

fn make_table(lane: &mut Lane) -> Result<(), Fault> {
    let (domain, folder) = (lane.table().domain, lane.files.table_folder());
    fs::write(&domain, lane.data.domain.file()).map_err(Fault::io("write", &domain))?;
    let names = [&Layout::PlainSymbols.header(Attribute::None, 2)[..], b"sym\0floatcol\0"].concat();
    fs::write(folder.join(".d"), names).map_err(Fault::io("write a file in", &folder))?;
    sync(&[&folder], false)
}

fn prepare(lane: &mut Lane) -> Result<(), Fault> {
    let write = |name: &str, elements: &[u8]| {
        let header = Layout::Longs.header(Attribute::None, elements.len() as u64 / 8);
        set(&lane.files.at(name), &header, elements, lane.settings.set, &mut unkept).map(drop)
    };
    let small = lane.data.list(Of::Small).whole();
    write("mmap", &small)?;
    write("openclose", &small)?;
    write("readbinary", &small.repeat(BINARY_REPEATS as usize))?;
    write("fhcount", &lane.data.list(Of::Large).whole())
}

/// Their table is one of times.
fn meta(lane: &mut Lane) -> Result<(), Fault> {
    let files = ["openclose", "fhcount", "mmap"].map(|name| lane.files.at(name));
    lane.make_cold(&files)?;
    let [open_close, counted, mapped] = files;
    calls(lane, "close open", || File::open(&open_close).map_err(Fault::io("open", &open_close)))?;
    let domain = lane.files.at("locktest");
    if calls(lane, "lock", || enter(&domain, &LOCKED))? {
        // Each symbol was entered once.
        let header = Layout::PlainSymbols.header(Attribute::None, LOCKED.len() as u64);
        let texts = LOCKED.map(|symbol| [symbol.as_bytes(), b"\0"].concat());
        lane.checked += compare(&domain, [header].into_iter().chain(texts))?;
    }
    let expected = Layout::Floats.file_bytes(lane.sizes.large);
    calls(lane, "size", || {
        let file = File::open(&counted).map_err(Fault::io("open", &counted))?;
        let bytes = file.metadata().map_err(Fault::io("fstat", &counted))?.len();
        match bytes == expected {
            true => Ok(()),
            false => Err(wrong(&counted, format_args!("has {bytes} bytes instead of {expected}"))),
        }
    })?;
    calls(lane, "mmap", || get(&mapped, Layout::Longs))?;
    lane.checked += 1;
    Ok(())
}

fn calls<T>(
    lane: &mut Lane,
    phase: &str,
    call: impl Fn() -> Result<T, Fault>,
) -> Result<bool, Fault> {
    let count = lane.sizes.meta_calls;
    lane.row_if_possible(phase, |bench| {
        operations(bench, 0..count, |_| call())?;
        Ok(Done::work(count as f64))
    })
}

/// The table sorted on disk and given an attribute, each with its syncs. The column of symbols is in memory
/// when the sort starts, and the floats are not: as text it must be read whole before anybody knows its
/// length, and the original does that before its clock starts.
///
/// The original syncs the directory after the sort and leaves the columns dirty for the next row. Here they
/// are synced in a row of their own, so that a durable figure exists, and the attribute starts clean.
fn sort(lane: &mut Lane) -> Result<(), Fault> {
    let table = lane.table();
    lane.make_cold(&[table.symbols.clone(), table.floats.clone(), table.domain.clone()])?;
    drop(read1(&table.symbols)?);
    let (rows, folder) = (lane.sizes.rows(), lane.files.table_folder());
    let symbols = table.layout.file_bytes(rows);
    let written = symbols + Layout::Floats.file_bytes(rows);
    lane.write_row("disk sort", written, |bench| {
        let done = table.sort(&mut keeping(bench))?;
        Ok(Done { work: 16.0 * done.rows as f64, real_bytes: done.written_bytes })
    })?;
    lane.sync_row("sync table after sort", &[&folder], 2 * rows, Done::work(1.0))?;
    let columns = [table.symbols.as_path(), table.floats.as_path()];
    lane.sync_row("sync columns after sort", &columns, 2 * rows, Done::bytes(written))?;
    lane.write_row("add attribute", symbols, |bench| {
        let done = table.add_parted(&mut keeping(bench))?;
        Ok(Done { work: 8.0 * done.rows as f64, real_bytes: done.written_bytes })
    })?;
    let sync = "sync column after parted attribute";
    lane.sync_row(sync, &[&table.symbols], rows, Done::bytes(symbols))?;
    lane.checked += TableContent::of(lane).check_sorted(&table, Attribute::Parted)?;
    Ok(())
}
