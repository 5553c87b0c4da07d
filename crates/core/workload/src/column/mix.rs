//! A day is appended while others query: what a database does from the first tick to the last.
//!
//! ```text
//! first lane   (waits)           append batch, sync each   append batch beside queries, until all others have theirs
//! others       query by symbol   (wait)                    query beside appends
//!
//! batch   a tiny list appended to each of two columns by opening them, fsync of both: one operation
//! query   a date (the sorted table of a lane) and a symbol: open pread(header) fstat mmap close, the symbol's rows
//!         gathered, munmap: one operation
//! ```
//!
//! Where the rows of a symbol stand is what its parted attribute says; a database keeps that with the column, here it
//! is read before. Each pair of date and symbol comes once in a row, from files that were cold when it began. A lane
//! alone does both after each other, and has no row of the mix; in memory nothing is cold, and nobody has one.

use std::{
    fs,
    iter::once,
    path::{Path, PathBuf},
};

use super::{
    append::open_append,
    check::compare,
    files::{Files, Of},
    get::get,
    lane::{Counted, IN_MEMORY, Lane, keeping, operations},
    layout::{Attribute, Layout, wrong},
    list::Windows,
    random::{Blocks, Place, ReadBy},
    shuffle::Shuffle,
    sizes::Sizes,
    sync::sync,
};
use crate::{fault::Fault, phase::Done};

pub(super) const QUERY: &str = "query by symbol";
pub(super) const APPEND: &str = "append batch, sync each";
pub(super) const QUERY_BESIDE: &str = "query beside appends";
pub(super) const APPEND_BESIDE: &str = "append batch beside queries";
pub(super) const DAY: [&str; 2] = ["kdbdb/day/time", "kdbdb/day/price"];

/// Most tables that a lane queries.
const DATES: u32 = 4;
const BATCHES_ALONE: u64 = 500;

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    let (own, lanes) = (lane.runner.lane(), lane.runner.lanes());
    let queries = if lanes == 1 || own > 0 { Some(Queries::new(lane)?) } else { None };
    let mut day = if own == 0 { Some(Day::begin(lane)?) } else { None };
    cold(lane)?;
    match &queries {
        Some(queries) => queries.run(lane, QUERY)?,
        None => lane.runner.stand_by(QUERY)?,
    }
    match &mut day {
        Some(day) => day.append(lane, APPEND, |batch| batch < BATCHES_ALONE)?,
        None => lane.runner.stand_by(APPEND)?,
    }
    if lanes > 1 {
        cold(lane)?;
        let gate = lane.runner.gate();
        match (&mut day, &queries) {
            (Some(_), _) if lane.machine.is_in_memory => lane.skip(APPEND_BESIDE, IN_MEMORY)?,
            (Some(day), _) => {
                day.append(lane, APPEND_BESIDE, |batch| batch == 0 || !gate.others_wait())?;
            }
            (None, Some(queries)) => queries.run(lane, QUERY_BESIDE)?,
            (None, None) => {}
        }
        flag_ended_day(lane);
        lane.runner.together()?;
    }
    lane.checked += day.map_or(Ok(0), |day| day.check())?;
    Ok(())
}

/// On the row of each lane: what is beside nothing from then on counts for neither.
fn flag_ended_day(lane: &mut Lane) {
    let (last, elements) = (batches_max(&lane.sizes), lane.sizes.tiny);
    let day = Files::new(&lane_folder(lane, 0)).at(DAY[1]);
    if fs::metadata(day).is_ok_and(|day| day.len() >= 8 * elements * last) {
        let text = format!("after {last} batches there was no room for more of the day");
        lane.runner.flag_last("day-ended", text);
    }
}

/// What the sort needed for a second copy of a column is free again.
fn batches_max(sizes: &Sizes) -> u64 {
    (sizes.rows() / (2 * sizes.tiny)).max(2 * BATCHES_ALONE)
}

fn lane_folder(lane: &Lane, number: u32) -> PathBuf {
    let mount = lane.runner.directory().parent().unwrap_or(Path::new("/"));
    mount.join(format!("lane-{}", number + 1))
}

fn cold(lane: &mut Lane) -> Result<(), Fault> {
    let table = lane.table();
    lane.make_cold(&[table.symbols, table.floats])
}

struct Queries {
    blocks: Blocks,
    expected: u64,
    dates: Vec<PathBuf>,
}

impl Queries {
    fn new(lane: &Lane) -> Result<Queries, Fault> {
        let (own, lanes) = (lane.runner.lane(), lane.runner.lanes());
        let (mut dates, mut pairs) = (Vec::new(), Vec::new());
        for date in 0..DATES.min(lanes) {
            let table = lane.table_in(&Files::new(&lane_folder(lane, (own + date) % lanes)));
            let parts = table.parts()?;
            pairs.extend(parts.windows(2).map(|part| Place {
                file: date,
                first: part[0],
                elements: (part[1] - part[0]) as u32,
            }));
            dates.push(table.floats);
        }
        let order = Shuffle::new(pairs.len() as u64, lane.data.seed_of(Of::Queries, 0));
        let asked = order.first(lane.sizes.queries()).into_iter().map(|at| pairs[at as usize]);
        let blocks = Blocks::of_places(dates.clone(), Layout::Floats, asked.collect());
        let columns = dates.iter().map(|date| get(date, Layout::Floats));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let expected = blocks.expected(|file, index| {
            let mut element = [0];
            // What is outside is found by the read itself.
            let _ = columns[file as usize].gather([index], &mut element);
            element[0]
        });
        Ok(Queries { blocks, expected, dates })
    }

    fn run(&self, lane: &mut Lane, phase: &str) -> Result<(), Fault> {
        let mut open = self.blocks.open(ReadBy::MappedPerRead)?;
        let (work, real_bytes) = (self.blocks.count(), self.blocks.bytes());
        let counted = Counted { work, real_bytes, is_whole: false };
        let mut sum = self.expected;
        lane.read_row(phase, &self.dates, counted, |bench| {
            sum = self.blocks.read(&mut open, &mut keeping(bench))?;
            Ok(())
        })?;
        match sum == self.expected {
            true => Ok(()),
            false => Err(wrong(phase.as_ref(), "gathered other rows than stand in the table")),
        }
    }
}

/// The partition that grows.
struct Day {
    columns: [PathBuf; 2],
    windows: Windows,
    elements: u64,
    batches: u64,
}

impl Day {
    fn begin(lane: &Lane) -> Result<Day, Fault> {
        let columns = DAY.map(|name| lane.files.at(name));
        let folder = lane.files.at("kdbdb/day");
        fs::create_dir(&folder).map_err(Fault::io("create", &folder))?;
        let (windows, elements) = (lane.data.windows(Of::TinyAppends), lane.sizes.tiny);
        Ok(Day { columns, windows, elements, batches: 0 })
    }

    fn append(
        &mut self,
        lane: &mut Lane,
        phase: &str,
        goes_on: impl Fn(u64) -> bool,
    ) -> Result<(), Fault> {
        let (begun, elements) = (self.batches, self.elements);
        let chunk = lane.settings.set.chunk_bytes;
        let (columns, windows, last) = (&self.columns, &self.windows, batches_max(&lane.sizes));
        let paths = [columns[0].as_path(), columns[1].as_path()];
        let batches = &mut self.batches;
        lane.row(phase, |bench| {
            let due = (begun..last).take_while(|batch| goes_on(batch - begun));
            operations(bench, due, |batch| {
                let data = windows.at(batch);
                for path in paths {
                    open_append(path, Layout::Longs, data, elements, chunk)?;
                }
                sync(&paths, false)?;
                *batches = batch + 1;
                Ok(())
            })?;
            let appended = *batches - begun;
            Ok(Done { work: appended as f64, real_bytes: 16 * elements * appended })
        })
    }

    fn check(&self) -> Result<u64, Fault> {
        let compared = self.columns.iter().map(|path| {
            let header = Layout::Longs.header(Attribute::None, self.batches * self.elements);
            let appended = (0..self.batches).map(|batch| self.windows.at(batch).to_vec());
            compare(path, once(header).chain(appended))
        });
        compared.sum()
    }
}
