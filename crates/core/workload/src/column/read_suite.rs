//! After the cold reads the lists are compared once more: their bytes have then come from the
//! device.

use std::path::{Path, PathBuf};

use super::{
    files::LONGS,
    get::{get, map_fault, read1},
    lane::{Counted, Lane},
    layout::Layout,
    prepared_files::{check_binary, check_lists},
    ranks::{even_pieces, in_parallel},
    sizes::BINARY_REPEATS,
    table::FLOATS,
};
use crate::{fault::Fault, phase::Done};

struct Sequential {
    what: &'static str,
    path: PathBuf,
    layout: Layout,
    elements: u64,
}

fn columns(lane: &Lane) -> Vec<Sequential> {
    let sizes = &lane.sizes;
    let list = |what, name: &str, elements| {
        let path = lane.files.at(name);
        Sequential { what, path, layout: LONGS, elements }
    };
    vec![
        list("int tiny", "seqreadTiny", sizes.tiny),
        list("int small", "seqreadSmall", sizes.small),
        list("int medium", "seqreadMedium", sizes.medium),
        Sequential {
            what: "float large",
            path: lane.table().floats,
            layout: FLOATS,
            elements: sizes.rows(),
        },
        list("int huge", "seqreadHuge", sizes.huge),
    ]
}

pub(super) fn run_cold(lane: &mut Lane) -> Result<(), Fault> {
    let columns = columns(lane);
    let mut files: Vec<PathBuf> = columns.iter().map(|column| column.path.clone()).collect();
    files.push(lane.files.at("readbinary"));
    lane.make_cold(&files)?;
    for column in &columns {
        sequential(lane, &format!("sequential read {}", column.what), column)?;
    }
    aggregate(lane, &lane.files.at("seqreadHuge"))?;
    binary(lane, "sequential read binary cold")?;
    check_lists(lane)
}

pub(super) fn run_hot(lane: &mut Lane) -> Result<(), Fault> {
    for column in &columns(lane)[1..] {
        sequential(lane, &format!("sequential reread {}", column.what), column)?;
    }
    binary(lane, "sequential read binary hot")
}

/// Maps and touches; the mapping is taken away after the clock has stopped.
fn sequential(lane: &mut Lane, phase: &str, column: &Sequential) -> Result<(), Fault> {
    let (touch, path) = (lane.settings.touch, column.path.clone());
    let work_bytes = 8 * column.elements;
    let real_bytes = work_bytes + column.layout.header_bytes() as u64;
    let counted = Counted { work_bytes, real_bytes, is_whole: true };
    let mut kept = None;
    lane.read_row(phase, &[path], counted, |_| {
        let mapped = kept.insert(get(&column.path, column.layout)?);
        touch.resident(&mapped.elements, &column.path)
    })
}

fn aggregate(lane: &mut Lane, path: &Path) -> Result<(), Fault> {
    let column = get(path, LONGS)?;
    lane.settings.touch.resident(&column.elements, path)?;
    let threads = lane.settings.threads as usize;
    let pieces = || even_pieces(column.elements.count(), threads);
    let count = column.elements.count() as u64;
    let spec = lane.spec("aggregate int huge");
    lane.runner.run(&spec, |_| {
        let largest = in_parallel(pieces(), |piece| column.elements.max_signed(piece));
        let largest: Vec<_> = largest.into_iter().collect::<Result<_, _>>().map_err(map_fault)?;
        std::hint::black_box(largest.into_iter().flatten().max());
        Ok(Done::bytes(8 * count))
    })
}

fn binary(lane: &mut Lane, phase: &str) -> Result<(), Fault> {
    let path = lane.files.at("readbinary");
    let work_bytes = 8 * lane.sizes.small * BINARY_REPEATS;
    let counted = Counted { work_bytes, real_bytes: work_bytes + 16, is_whole: true };
    let mut read = None;
    lane.read_row(phase, std::slice::from_ref(&path), counted, |_| {
        read = Some(read1(&path)?);
        Ok(())
    })?;
    read.map_or(Ok(()), |bytes| check_binary(lane, &bytes))
}
