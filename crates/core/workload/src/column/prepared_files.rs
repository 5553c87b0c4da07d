use std::fs;

use pickfs_sys::elements::bytes_of;

use super::{
    check::{Compared, TableContent},
    files::{LONGS, Of},
    lane::Lane,
    layout::{Attribute, Header, Layout},
    set::set,
    sizes::BINARY_REPEATS,
    sync::{SyncBy, sync},
    table::FLOATS,
    watch::Tally,
};
use crate::fault::Fault;

pub(super) fn make_table(lane: &mut Lane) -> Result<(), Fault> {
    let table = lane.table();
    fs::write(&table.domain, lane.domain.file()).map_err(Fault::io("write", &table.domain))?;
    let columns = Layout::PlainSymbols.header(Header { attribute: Attribute::None, count: 2 });
    let path = lane.files.table_folder().join(".d");
    fs::write(&path, [&columns[..], b"sym\0floatcol\0"].concat())
        .map_err(Fault::io("write", &path))?;
    sync(&[&lane.files.table_folder()], SyncBy::Native)
}

pub(super) fn prepare(lane: &mut Lane) -> Result<(), Fault> {
    let small = lane.data.list(Of::Small, &lane.sizes).whole();
    for name in ["mmap", "openclose"] {
        write_list(lane, name, &small)?;
    }
    let repeated = small.repeat(BINARY_REPEATS as usize);
    write_list(lane, "readbinary", &repeated)?;
    let large = lane.data.list(Of::Large, &lane.sizes).whole();
    write_list(lane, "fhcount", &large)
}

fn write_list(lane: &Lane, name: &str, elements: &[u64]) -> Result<(), Fault> {
    let header = Header { attribute: Attribute::None, count: elements.len() as u64 };
    let (path, how) = (lane.files.at(name), lane.settings.set);
    let mut nobody = Tally::default();
    set(&path, &LONGS.header(header), bytes_of(elements), how, &mut nobody).map(drop)
}

pub(super) fn table_content(lane: &Lane) -> TableContent<'_> {
    TableContent {
        domain: &lane.domain,
        draw: lane.data.draw(&lane.sizes),
        floats: lane.data.list(Of::Large, &lane.sizes),
        replaced: &lane.replaced.large,
        copies: 1 + lane.sizes.mid_appends,
    }
}

pub(super) fn check_written(lane: &mut Lane) -> Result<(), Fault> {
    check_lists(lane)?;
    let table = lane.table();
    table_content(lane).check_symbols(&table.symbols, lane.settings.symbols)?;
    let mut compared = Compared::open(&table.domain)?;
    compared.bytes(&lane.domain.file())?;
    compared.end()?;
    let windows = lane.data.windows(Of::RandomFiles, lane.sizes.small);
    let header = header(lane.sizes.random_file());
    let mut append = 0;
    for path in lane.files.random() {
        let mut compared = Compared::open(&path)?;
        compared.bytes(&header)?;
        for _ in 0..lane.sizes.random_appends {
            compared.bytes(bytes_of(windows.at(append)))?;
            append += 1;
        }
        compared.end()?;
        lane.checked += 1;
    }
    lane.checked += 2;
    Ok(())
}

pub(super) fn check_lists(lane: &mut Lane) -> Result<(), Fault> {
    let replaced = &lane.replaced;
    for (of, name, replaced) in [
        (Of::Tiny, "seqreadTiny", &replaced.tiny),
        (Of::Small, "seqreadSmall", &replaced.small),
        (Of::Medium, "seqreadMedium", &replaced.medium),
        (Of::Huge, "seqreadHuge", &replaced.huge),
    ] {
        let list = lane.data.list(of, &lane.sizes);
        let mut compared = Compared::open(&lane.files.at(name))?;
        compared.bytes(&header(list.count()))?;
        compared.list(&list, replaced)?;
        compared.end()?;
    }
    let count = lane.sizes.rows();
    let floats = FLOATS.header(Header { attribute: Attribute::None, count });
    table_content(lane).check_floats(&lane.table().floats, &floats)?;
    lane.checked += 5;
    Ok(())
}

fn header(count: u64) -> Vec<u8> {
    LONGS.header(Header { attribute: Attribute::None, count })
}

pub(super) fn check_binary(lane: &mut Lane, found: &[u8]) -> Result<(), Fault> {
    let small = lane.data.list(Of::Small, &lane.sizes).whole();
    let header = header(small.len() as u64 * BINARY_REPEATS);
    let is_right = found.strip_prefix(&header[..]).is_some_and(|body| {
        let lists = body.chunks(8 * small.len());
        lists.len() as u64 == BINARY_REPEATS && { lists }.all(|list| list == bytes_of(&small))
    });
    lane.checked += 1;
    let wrong = || Fault::Wrong { what: "readbinary holds other bytes than were written".into() };
    if is_right { Ok(()) } else { Err(wrong()) }
}
