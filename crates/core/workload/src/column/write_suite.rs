//! Input is made before the clock starts, and freed before the next row.

use std::{fs, path::Path};

use pickfs_sys::elements::bytes_of;

use super::{
    append::{Handle, open_append},
    check::{Compared, Replaced},
    files::{LONGS, Of},
    lane::Lane,
    layout::{Attribute, Header, Layout},
    list::{List, Windows},
    replace::replace,
    set::set,
    shuffle::Shuffle,
    sync::sync,
    table::FLOATS,
    watch::Watch,
};
use crate::{fault::Fault, phase::Done};

const TINY_OPEN_APPENDS: u64 = 200;
const TINY_APPENDS: u64 = 500;
const SMALL_APPENDS: u64 = 50;
const REPLACED_LONG: u64 = 42;
#[allow(clippy::approx_constant, reason = "the original's value, not a circle's")]
const REPLACED_FLOAT: f64 = 3.14;
const REPLACED_SORTED: u64 = 1089;

struct Amended {
    of: Of,
    name: &'static str,
    write: &'static str,
    replace: &'static str,
    repeats: u64,
}

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    fs::create_dir_all(lane.files.table_folder())
        .map_err(Fault::io("create", lane.files.table_folder()))?;
    append_and_forget(lane)?;
    lane.replaced.tiny = amended(
        lane,
        &Amended {
            of: Of::Tiny,
            name: "seqreadTiny",
            write: "int tiny",
            replace: "open replace int tiny",
            repeats: lane.sizes.tiny_replaces(),
        },
    )?;
    lane.replaced.small = amended(
        lane,
        &Amended {
            of: Of::Small,
            name: "seqreadSmall",
            write: "int small",
            replace: "open replace random int small",
            repeats: lane.sizes.small_replaces(),
        },
    )?;
    lane.replaced.medium = amended(
        lane,
        &Amended {
            of: Of::Medium,
            name: "seqreadMedium",
            write: "int medium",
            replace: "open replace random int medium",
            repeats: lane.sizes.medium_replaces(),
        },
    )?;
    set_symbols(lane)?;
    set_floats(lane)?;
    set_huge(lane)?;
    append_random_files(lane)?;
    append_table(lane)
}

fn append_and_forget(lane: &mut Lane) -> Result<(), Fault> {
    let tiny = lane.data.windows(Of::TinyAppends, lane.sizes.tiny);
    let small = lane.data.windows(Of::SmallAppends, lane.sizes.small);
    open_appends(lane, &tiny)?;
    handle_appends(lane, ("append tiny, sync once", "tinyAppendFH"), &tiny, TINY_APPENDS)?;
    handle_appends(lane, ("append small, sync once", "smallAppendFH"), &small, SMALL_APPENDS)
}

fn open_appends(lane: &mut Lane, windows: &Windows) -> Result<(), Fault> {
    let (path, by, chunk) =
        (lane.files.at("tinyAppend"), lane.settings.sync_by, lane.settings.set.chunk_bytes);
    let elements = lane.sizes.tiny * TINY_OPEN_APPENDS;
    let spec = lane.spec("open append tiny, sync once");
    lane.runner.run(&spec, |bench| {
        for append in 0..TINY_OPEN_APPENDS {
            let data = windows.at(append);
            let start_ns = bench.now_ns();
            open_append(&path, LONGS, bytes_of(data), data.len() as u64, chunk)?;
            Watch::lap(bench, start_ns, bench.now_ns(), 0);
        }
        sync(&[&path], by)?;
        Ok(counted(elements, 16 + 8 * elements))
    })?;
    forget_appends(lane, &path, elements, (windows, TINY_OPEN_APPENDS))
}

fn handle_appends(
    lane: &mut Lane,
    (phase, name): (&str, &str),
    windows: &Windows,
    count: u64,
) -> Result<(), Fault> {
    let (path, by) = (lane.files.at(name), lane.settings.sync_by);
    let mut handle = Handle::create(&path, LONGS)?;
    let elements = windows.at(0).len() as u64 * count;
    let spec = lane.spec(phase);
    lane.runner.run(&spec, |bench| {
        for append in 0..count {
            let data = windows.at(append);
            let start_ns = bench.now_ns();
            handle.append(bytes_of(data))?;
            Watch::lap(bench, start_ns, bench.now_ns(), 0);
        }
        sync(&[&path], by)?;
        Ok(counted(elements, 8 * elements))
    })?;
    drop(handle);
    forget_appends(lane, &path, 0, (windows, count))
}

/// The count in its header is the only thing that the two ways of appending leave differently.
fn forget_appends(
    lane: &mut Lane,
    path: &Path,
    header_count: u64,
    (windows, count): (&Windows, u64),
) -> Result<(), Fault> {
    let header = Header { attribute: Attribute::None, count: header_count };
    let mut compared = Compared::open(path)?;
    compared.bytes(&LONGS.header(header))?;
    compared.appends(windows, count)?;
    compared.end()?;
    lane.checked += 1;
    fs::remove_file(path).map_err(Fault::io("remove", path))
}

fn counted(elements: u64, real_bytes: u64) -> Done {
    Done { work: 8.0 * elements as f64, real_bytes }
}

fn file_bytes(elements: u64) -> u64 {
    16 + 8 * elements
}

fn set_list(
    lane: &mut Lane,
    what: &str,
    path: &Path,
    (layout, list): (Layout, &List),
) -> Result<(), Fault> {
    let elements = list.whole();
    let count = list.count();
    let header = layout.header(Header { attribute: Attribute::None, count });
    let how = lane.settings.set;
    lane.write_row(&format!("write {what}"), file_bytes(count), |bench| {
        let written = set(path, &header, bytes_of(&elements), how, bench)?;
        Ok(counted(count, written))
    })?;
    // The memory goes behind the sync: nothing of ours stands between the two.
    lane.sync_row(&format!("sync {what}"), &[path], count, Done::bytes(file_bytes(count)))?;
    drop(elements);
    Ok(())
}

fn amended(lane: &mut Lane, amended: &Amended) -> Result<Replaced, Fault> {
    let path = lane.files.at(amended.name);
    let list = lane.data.list(amended.of, &lane.sizes);
    set_list(lane, amended.write, &path, (LONGS, &list))?;
    let indexes = indexes(lane, amended.of, list.count(), list.count() / 5);
    let row =
        Replacing { phase: amended.replace, path: &path, layout: LONGS, value: REPLACED_LONG };
    let done = Done::bytes(pages_bytes(&indexes));
    let replaced = replace_row(lane, &row, &indexes, amended.repeats)?;
    let synced = format!("sync {} after replace", amended.write);
    lane.sync_row(&synced, &[&path], list.count(), done)?;
    Ok(replaced)
}

fn indexes(lane: &Lane, of: Of, count: u64, length: u64) -> Vec<u64> {
    Shuffle::new(count, lane.data.seed_of(Of::Replaced, of as u64)).first(length.max(1))
}

struct Replacing<'a> {
    phase: &'a str,
    path: &'a Path,
    layout: Layout,
    value: u64,
}

/// A row of amends, each of the same indexes; gives what stands in the file afterwards.
fn replace_row(
    lane: &mut Lane,
    row: &Replacing<'_>,
    indexes: &[u64],
    repeats: u64,
) -> Result<Replaced, Fault> {
    let limits = super::conditions::DirtyLimits::now();
    let elements = indexes.len() as u64 * repeats;
    // Counted and sorted before: nothing of ours stands between the row and its sync.
    let (bytes, replaced) = (pages_bytes(indexes), Replaced::new(indexes.to_vec(), row.value));
    let is_done = lane.row_if_possible(row.phase, |bench| {
        for _ in 0..repeats {
            let start_ns = bench.now_ns();
            replace(row.path, row.layout, indexes, row.value)?;
            Watch::lap(bench, start_ns, bench.now_ns(), 0);
        }
        Ok(counted(elements, 8 * elements))
    })?;
    lane.keep_limits(&limits, bytes);
    lane.runner.value_last("pages_bytes", bytes as f64);
    Ok(if is_done { replaced } else { Replaced::default() })
}

fn pages_bytes(indexes: &[u64]) -> u64 {
    let mut pages: Vec<u64> = indexes.iter().map(|index| (16 + 8 * index) / 4096).collect();
    pages.sort_unstable();
    pages.dedup();
    4096 * pages.len() as u64
}

fn set_symbols(lane: &mut Lane) -> Result<(), Fault> {
    let (path, count) = (lane.table().symbols, lane.sizes.large);
    let data = symbol_bytes(lane);
    let layout = lane.settings.symbols.layout();
    let header = layout.header(Header { attribute: Attribute::None, count });
    let (how, bytes) = (lane.settings.set, (header.len() + data.len()) as u64);
    lane.write_row("write sym large", bytes, |bench| {
        let written = set(&path, &header, &data, how, bench)?;
        Ok(counted(count, written))
    })?;
    lane.sync_row("sync sym large", &[&path], count, Done::bytes(bytes))
}

fn symbol_bytes(lane: &Lane) -> Vec<u8> {
    let draw = lane.data.draw(&lane.sizes);
    let numbers = (0..draw.count).map(|index| draw.number(index));
    lane.settings.symbols.bytes(&lane.domain, numbers)
}

fn set_floats(lane: &mut Lane) -> Result<(), Fault> {
    let path = lane.table().floats;
    let list = lane.data.list(Of::Large, &lane.sizes);
    set_list(lane, "float large", &path, (FLOATS, &list))?;
    let indexes = indexes(lane, Of::Large, list.count(), lane.sizes.large_replaced());
    let row = Replacing {
        phase: "open replace random float large",
        path: &path,
        layout: FLOATS,
        value: REPLACED_FLOAT.to_bits(),
    };
    let done = Done::bytes(pages_bytes(&indexes));
    lane.replaced.large = replace_row(lane, &row, &indexes, 1)?;
    lane.sync_row("sync float large after replace", &[&path], list.count(), done)
}

fn set_huge(lane: &mut Lane) -> Result<(), Fault> {
    let path = lane.files.at("seqreadHuge");
    let list = lane.data.list(Of::Huge, &lane.sizes);
    set_list(lane, "int huge", &path, (LONGS, &list))?;
    let mut indexes = indexes(lane, Of::Huge, list.count(), lane.sizes.huge_replaced());
    let done = Done::bytes(pages_bytes(&indexes));
    let random = Replacing {
        phase: "open replace random int huge",
        path: &path,
        layout: LONGS,
        value: REPLACED_LONG,
    };
    let first = replace_row(lane, &random, &indexes, 1)?;
    lane.sync_row("sync int huge after replace", &[&path], list.count(), done)?;
    indexes.sort_unstable();
    let sorted =
        Replacing { phase: "open replace sorted int huge", value: REPLACED_SORTED, ..random };
    let second = replace_row(lane, &sorted, &indexes, 1)?;
    lane.replaced.huge = if second.is_some() { second } else { first };
    lane.sync_row("sync int huge after sorted replace", &[&path], list.count(), done)
}

fn append_random_files(lane: &mut Lane) -> Result<(), Fault> {
    let windows = lane.data.windows(Of::RandomFiles, lane.sizes.small);
    let (paths, appends) = (lane.files.random(), lane.sizes.random_appends);
    let (by, chunk) = (lane.settings.sync_by, lane.settings.set.chunk_bytes);
    let elements = lane.sizes.small * appends * paths.len() as u64;
    let spec = lane.spec("open append small, sync once");
    lane.runner.run(&spec, |bench| {
        for (append, path) in paths.iter().flat_map(|path| vec![path; appends as usize]).enumerate()
        {
            let data = windows.at(append as u64);
            let start_ns = bench.now_ns();
            open_append(path, LONGS, bytes_of(data), data.len() as u64, chunk)?;
            Watch::lap(bench, start_ns, bench.now_ns(), 0);
        }
        let paths: Vec<&Path> = paths.iter().map(|path| path.as_path()).collect();
        sync(&paths, by)?;
        Ok(counted(elements, 8 * elements + 16 * paths.len() as u64))
    })
}

fn append_table(lane: &mut Lane) -> Result<(), Fault> {
    let table = lane.table();
    let data = symbol_bytes(lane);
    let layout = lane.settings.symbols.layout();
    append_column(lane, "open append mid sym, sync once", (&table.symbols, layout), &data)?;
    drop(data);
    let elements = lane.data.list(Of::Large, &lane.sizes).whole();
    let (phase, data) = ("open append mid float, sync once", bytes_of(&elements));
    append_column(lane, phase, (&table.floats, FLOATS), data)
}

fn append_column(
    lane: &mut Lane,
    phase: &str,
    (path, layout): (&Path, Layout),
    data: &[u8],
) -> Result<(), Fault> {
    let (count, appends) = (lane.sizes.large, lane.sizes.mid_appends);
    let (by, chunk) = (lane.settings.sync_by, lane.settings.set.chunk_bytes);
    let spec = lane.spec(phase);
    lane.runner.run(&spec, |bench| {
        for _ in 0..appends {
            let start_ns = bench.now_ns();
            open_append(path, layout, data, count, chunk)?;
            Watch::lap(bench, start_ns, bench.now_ns(), 0);
        }
        sync(&[path], by)?;
        Ok(counted(count * appends, data.len() as u64 * appends))
    })
}
