//! Input is made before the clock starts, and freed before the next row.

use std::{
    fs,
    iter::once,
    path::{Path, PathBuf},
};

use pickfs_sys::vm_state::WritebackPages;

use super::{
    append::{Handle, open_append},
    check::{Replaced, compare},
    files::{COLUMNS, Column, Of, Replace},
    get::replace,
    lane::{Lane, keeping, operations},
    layout::{Attribute, Layout},
    rows::{APPENDS_ALONE, APPENDS_TO_TABLE},
    set::set,
    shuffle::Shuffle,
    sync::sync,
};
use crate::{fault::Fault, phase::Done};

pub(super) fn run(lane: &mut Lane) -> Result<(), Fault> {
    fs::create_dir_all(lane.files.table_folder())
        .map_err(Fault::io("create", lane.files.table_folder()))?;
    append_and_forget(lane)?;
    COLUMNS.iter().try_for_each(|column| write_column(lane, column))?;
    let (windows, appends) = (lane.data.windows(Of::RandomFiles), lane.sizes.random_appends);
    let row = Appends {
        paths: &lane.files.random(),
        layout: Layout::Longs,
        count: appends,
        elements: lane.sizes.small,
        by_handle: false,
    };
    append(lane, "open append small, sync once", &row, |append| windows.at(append))?;
    drop(windows);
    for (phase, of) in APPENDS_TO_TABLE.into_iter().zip([Of::Symbols, Of::Large]) {
        let (data, table) = (lane.data.column(of), lane.table());
        let row = Appends {
            paths: &[if of == Of::Large { table.floats } else { table.symbols }],
            layout: lane.data.layout(of),
            count: lane.sizes.mid_appends,
            elements: lane.sizes.large,
            by_handle: false,
        };
        append(lane, phase, &row, |_| &data)?;
    }
    Ok(())
}

struct Appends<'a> {
    paths: &'a [PathBuf],
    layout: Layout,
    /// To each file.
    count: u64,
    /// Of each append.
    elements: u64,
    by_handle: bool,
}

fn append<'a>(
    lane: &mut Lane,
    phase: &str,
    row: &Appends<'_>,
    data: impl Fn(u64) -> &'a [u8],
) -> Result<(), Fault> {
    let Appends { paths, layout, count, elements, by_handle } = *row;
    let is_new = !by_handle && !paths[0].exists();
    let mut handle = by_handle.then(|| Handle::create(&paths[0], layout)).transpose()?;
    let (chunk, by_command) = (lane.settings.set.chunk_bytes, lane.settings.syncs_by_command);
    let all = count * paths.len() as u64;
    lane.row(phase, |bench| {
        let appends = (0..all).map(|append| (&paths[(append / count) as usize], data(append)));
        operations(bench, appends, |(path, data)| match &mut handle {
            Some(handle) => handle.append(data),
            None => open_append(path, layout, data, elements, chunk),
        })?;
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        sync(&paths, by_command)?;
        let headers = if is_new { layout.header_bytes() * paths.len() } else { 0 };
        let real_bytes = headers as u64 + all * elements * layout.element_bytes();
        Ok(Done { work: (8 * all * elements) as f64, real_bytes })
    })
}

fn append_and_forget(lane: &mut Lane) -> Result<(), Fault> {
    let tiny = lane.data.windows(Of::TinyAppends);
    let small = lane.data.windows(Of::SmallAppends);
    let (few, many) = (lane.sizes.tiny, lane.sizes.small);
    let files = [
        ("tinyAppend", &tiny, few, 200, false),
        ("tinyAppendFH", &tiny, few, 500, true),
        ("smallAppendFH", &small, many, 50, true),
    ];
    for (phase, (name, windows, elements, count, by_handle)) in APPENDS_ALONE.iter().zip(files) {
        let path = lane.files.at(name);
        let paths = std::slice::from_ref(&path);
        let row = Appends { paths, layout: Layout::Longs, count, elements, by_handle };
        append(lane, phase, &row, |append| windows.at(append))?;
        // The count in its header is the only thing that the two ways of appending leave differently.
        let counted = if by_handle { 0 } else { count * elements };
        let header = Layout::Longs.header(Attribute::None, counted);
        let appended = (0..count).map(|append| windows.at(append).to_vec());
        lane.checked += compare(&path, once(header).chain(appended))?;
        fs::remove_file(&path).map_err(Fault::io("remove", &path))?;
    }
    Ok(())
}

fn write_column(lane: &mut Lane, column: &Column) -> Result<(), Fault> {
    let (path, layout) = (lane.files.at(column.file), lane.data.layout(column.of));
    let data = lane.data.column(column.of);
    let count = data.len() as u64 / layout.element_bytes();
    let (header, how) = (layout.header(Attribute::None, count), lane.settings.set);
    let bytes = layout.file_bytes(count);
    lane.write_row(&format!("write {}", column.what), bytes, |bench| {
        let real_bytes = set(&path, &header, &data, how, &mut keeping(bench))?;
        Ok(Done { work: (8 * count) as f64, real_bytes })
    })?;
    // The memory goes behind the sync: nothing of ours stands between the two.
    lane.sync_row(&format!("sync {}", column.what), &[&path], count, Done::bytes(bytes))?;
    drop(data);
    if column.replaces.is_empty() {
        return Ok(());
    }
    let sizes = &lane.sizes;
    let (length, repeats) = match column.of {
        Of::Tiny => (count / 5, sizes.tiny_replaces()),
        Of::Small => (count / 5, sizes.small_replaces()),
        Of::Medium => (count / 5, sizes.medium_replaces()),
        Of::Huge => (sizes.huge_replaced(), 1),
        _ => (sizes.large_replaced(), 1),
    };
    let seed = lane.data.seed_of(Of::Replaced, column.of as u64);
    let mut indexes = Shuffle::new(count, seed).first(length.max(1));
    for (number, replace) in column.replaces.iter().enumerate() {
        if number > 0 {
            indexes.sort_unstable();
        }
        // Counted and sorted before: nothing of ours stands between the row and its sync.
        let (bytes, replaced) =
            (pages_bytes(&indexes), Replaced::new(indexes.clone(), replace.value));
        if replace_row(lane, replace, (&path, layout), &indexes, repeats, bytes)? {
            lane.replaced[column.of as usize] = replaced;
        }
        lane.sync_row(replace.sync, &[&path], count, Done::bytes(bytes))?;
    }
    Ok(())
}

/// Each call changes the same elements; gives whether it could be done.
fn replace_row(
    lane: &mut Lane,
    row: &Replace,
    (path, layout): (&Path, Layout),
    indexes: &[u64],
    repeats: u64,
    bytes: u64,
) -> Result<bool, Fault> {
    let limits = WritebackPages::now();
    let is_done = lane.row_if_possible(row.phase, |bench| {
        operations(bench, 0..repeats, |_| replace(path, layout, indexes, row.value))?;
        Ok(Done::bytes(8 * indexes.len() as u64 * repeats))
    })?;
    lane.keep_limits(&limits.unwrap_or_default(), bytes);
    lane.runner.value_last("pages_bytes", bytes as f64);
    Ok(is_done)
}

fn pages_bytes(indexes: &[u64]) -> u64 {
    let mut pages: Vec<u64> = indexes.iter().map(|index| (16 + 8 * index) / 4096).collect();
    pages.sort_unstable();
    pages.dedup();
    4096 * pages.len() as u64
}
